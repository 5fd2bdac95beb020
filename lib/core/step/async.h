// Asynchronous kernels: kernels that wait for an event elsewhere (a value of another run, a device, a queue).
//
// Such a kernel starts its work and returns. When the outputs are made, it calls `done` once, on any thread, and does
// not use its context afterwards. An eager call and a straight-line run wait for `done`.
//
//   void start_recv(const std::shared_ptr<AsyncContext>& c, Done done) {
//     on_arrival(c->text("tensor_name"), [c, done](Tensor value) { c->set_out(0, std::move(value)), done(); });
//   }
//   const CpuKernel recv_kernel("_Recv", Kernel{.start = start_recv});
//
// A context owns everything it needs: it may outlive the call, the run and the graph. If the run is stopped, the
// context's own cancellation is requested and the caller stops waiting; `done` may still be called, or not. Watches of
// that cancellation may hold the context: they are removed when the call ends.
#pragma once

#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/step/step.h"

namespace panto {

namespace detail {
// Owned copies of everything that a Call borrows.
struct OwnedCall {
  explicit OwnedCall(const Call& from);
  Call owned_call;
  Step owned_step;
  std::vector<Tensor> owned_inputs;
  std::vector<const Tensor*> owned_pointers;  // to owned_inputs
  std::vector<AttrValue> owned_attrs;
  std::vector<AttrSlot> owned_slots;  // borrow from owned_attrs
  std::string owned_name;
  std::shared_ptr<KernelState> owned_state;
};
struct AsyncResult;
}  // namespace detail

class StartedCall;

// Outputs are allocated, unless the op is kSelfAllocating. `step().cancellation` belongs to this call and is never
// null.
class PANTO_EXPORT AsyncContext final : private detail::OwnedCall, public KernelContext {
 public:
  explicit AsyncContext(const Call& call);

 private:
  friend class StartedCall;
  void drop_watches();
};

// Copies share one state. If all copies are destroyed and none was called, the call fails.
class PANTO_EXPORT Done {
 public:
  explicit Done(std::shared_ptr<detail::AsyncResult> result);
  // The outputs are made. A second call fails the op (Internal) if the caller still waits, else it is only logged.
  void operator()() const noexcept;
  // The kernel failed with this error.
  void operator()(std::exception_ptr error) const noexcept;

 private:
  struct Token;
  std::shared_ptr<const Token> token_;
};

// A started call of an asynchronous kernel. Thread-safety: used by one thread; the kernel may run on others.
class PANTO_EXPORT StartedCall {
 public:
  // `ended`, if given, is called once when the kernel is done, on any thread, perhaps before the constructor returns;
  // not if the constructor throws because `start` throws. It must not throw.
  StartedCall(const Call& call, KernelStartFn start, Callable<void()> ended = nullptr);
  // Asks a kernel that is not done to stop, and does not wait for it.
  ~StartedCall();
  StartedCall(const StartedCall&) = delete;
  StartedCall& operator=(const StartedCall&) = delete;

  // Returns when the kernel is done. Throws Cancelled or DeadlineExceeded if the step is stopped meanwhile.
  void wait(const Step& step);
  // Moves the outputs out; call it when the kernel is done. Throws the kernel's error, and Internal if it called `done`
  // twice or never, or left an output undefined.
  void finish(std::span<Tensor> outputs);
  // For error context.
  const Call& call() const { return context_->call(); }

 private:
  std::shared_ptr<AsyncContext> context_;
  std::shared_ptr<detail::AsyncResult> result_;
};

// Starts the asynchronous kernel of the call and waits for it; the `Kernel::run` of such kernels. Throws the kernel's
// error; Cancelled or DeadlineExceeded if the call's step is stopped meanwhile; Internal if the kernel calls `done`
// twice or never, or leaves an output undefined.
PANTO_EXPORT void start_and_wait(KernelContext& c);

}  // namespace panto
