// Kernel: a plain function for (op, device kind, primary dtype), looked up in a table.
//
//   const CpuKernel tanh_kernel("Tanh", types::floating{}, unary<TanhFn>);      // device/cpu/kernel.h makes these
//
// Thread-safety: kernels of one op may run in several threads at once.
#pragma once

#include <memory>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/core/tensor/dtype.h"

namespace panto {

class AsyncContext;
class Done;
class KernelContext;

// The state that a kernel's prepare function made (parsed attributes, primitives, packed constants), kept for all runs
// of the call.
struct PANTO_EXPORT KernelState : std::enable_shared_from_this<KernelState> {
  KernelState() = default;
  KernelState(const KernelState&) = default;
  KernelState(KernelState&&) = default;
  KernelState& operator=(const KernelState&) = default;
  KernelState& operator=(KernelState&&) = default;
  virtual ~KernelState() = default;
  // Memory that the state takes besides the call's own tensors, if it is much.
  virtual int64_t bytes() const noexcept { return 0; }
};

using KernelFn = void (*)(KernelContext&);
// Start function of an asynchronous kernel, see lib/core/step/async.h.
using KernelStartFn = void (*)(const std::shared_ptr<AsyncContext>&, Done);
// Runs once per prepared call; the result is passed to every run of that call. Null: nothing to keep.
using KernelPrepareFn = std::shared_ptr<KernelState> (*)(const KernelContext&);

struct Kernel {
  KernelFn run = nullptr;
  KernelPrepareFn prepare = nullptr;
  // For elementwise kernels: what a fused program uses of this kernel. Null: it cannot be fused. Only the back-end
  // knows the type (CPU: a loop; CUDA: a functor); it lives forever.
  const void* payload = nullptr;
  // For asynchronous kernels. A kernel without a `run` of its own gets one that starts and waits (start_and_wait).
  KernelStartFn start = nullptr;
};

// Queues a kernel for op `op` on devices of kind `kind`, "CPU" (design §2: linked at first use). Keep it at namespace
// scope; the strings must outlive the process. `primary` kInvalid: for ops without a type attribute.
class PANTO_EXPORT KernelEntry {
 public:
  KernelEntry(const char* op, const char* kind, DType primary, Kernel kernel) noexcept;
};

}  // namespace panto
