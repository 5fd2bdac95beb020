// Kernel: a plain function for (op, device kind, primary dtype), looked up in a table.
//
//   const CpuKernel tanh_kernel("Tanh", types::floating{}, unary<TanhFn>);      // device/cpu/kernel.h makes these
//
// Thread-safety: kernels of one op may run in several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <typeinfo>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/core/tensor/dtype.h"

namespace panto {

class AsyncContext;
class Done;
class KernelContext;

// What a kernel's prepare part made (parsed attributes, primitives, packed constants), kept for the runs of its call.
struct PANTO_EXPORT KernelState : std::enable_shared_from_this<KernelState> {
  KernelState() = default;
  KernelState(const KernelState&) = default;
  KernelState(KernelState&&) = default;
  KernelState& operator=(const KernelState&) = default;
  KernelState& operator=(KernelState&&) = default;
  virtual ~KernelState() = default;
  // Memory that it takes beyond the call's own tensors, where that is much.
  virtual int64_t bytes() const noexcept { return 0; }
};

using KernelFn = void (*)(KernelContext&);
// Of an asynchronous kernel, see lib/core/call/async.h.
using KernelStartFn = void (*)(const std::shared_ptr<AsyncContext>&, Done);
// Runs once per prepared call; what it returns is handed to every run of that call. Null: nothing to keep.
using KernelPrepareFn = std::shared_ptr<KernelState> (*)(const KernelContext&);

// Computes n consecutive elements of the output of an elementwise kernel. Bit i of `moves` tells whether input i moves
// along with the output; the others stay at their first element; if none moves, n is 1. The output may be an input's
// memory. Returns what was wrong with the data: a Fault (device/fault.h), as a number.
using InnerLoopFn = uint32_t (*)(unsigned moves, void* out, int64_t n, const void* const* in);

struct Kernel {
  KernelFn run = nullptr;
  KernelPrepareFn prepare = nullptr;
  // Of elementwise kernels in host memory: what fused programs are made of, and what an element costs, in bytes that
  // could be moved meanwhile.
  InnerLoopFn row = nullptr;
  int64_t row_work = 0;
  // Of elementwise kernels on GPUs: the functor that fused programs call; it is in device/math/functors.h, which they
  // have.
  const std::type_info* functor = nullptr;
  // Of asynchronous kernels, which have no `run` of their own: they get one that starts and waits.
  KernelStartFn start = nullptr;
};

// Queues a kernel for an op named `op` (design §2: linked at first use). Keep it at namespace scope; the strings must
// outlive the process. `primary` kInvalid: for ops without a type attribute.
class PANTO_EXPORT KernelEntry {
 public:
  KernelEntry(const char* op, DeviceKind kind, DType primary, Kernel kernel) noexcept;
};

}  // namespace panto
