// Asynchronous kernels: those that wait for what happens elsewhere (a value of another run, a device, a queue).
//
// Such a kernel starts its work and returns. When the outputs are made, on whatever thread, it calls `done`, once, and
// touches its context no more. An eager call and a straight-line run wait for that.
//
//   void start_recv(const std::shared_ptr<AsyncContext>& c, Done done) {
//     on_arrival(c->text("tensor_name"), [c, done](Tensor value) { c->set_out(0, std::move(value)), done(); });
//   }
//   const CpuKernel recv_kernel("_Recv", Kernel{.start = start_recv});
//
// A context owns what it needs: it may outlive the call, the run and the graph that it is of. Where the run is to stop,
// the context's own cancellation is requested and nobody waits any more; `done` may still be called, or not. What
// watches that cancellation may hold the context: it is let go of when the call ends.
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
// What a Call borrows.
struct OwnedCall {
  explicit OwnedCall(const Call& from);
  Call owned_call;
  Step owned_step;
  std::vector<Tensor> owned_inputs;
  std::vector<const Tensor*> owned_pointers;  // to them
  std::vector<AttrValue> owned_attrs;
  std::vector<AttrSlot> owned_slots;  // borrow from them
  std::string owned_name;
  std::shared_ptr<KernelState> owned_state;
};
struct AsyncResult;
}  // namespace detail

class StartedCall;

// Outputs are allocated, unless the op is kSelfAllocating. `step().cancellation` is this call's own, never null.
class PANTO_EXPORT AsyncContext final : private detail::OwnedCall, public KernelContext {
 public:
  explicit AsyncContext(const Call& call);

 private:
  friend class StartedCall;
  void drop_watches();
};

// Copies are one. Where all are gone and none was called, the call fails.
class PANTO_EXPORT Done {
 public:
  explicit Done(std::shared_ptr<detail::AsyncResult> result);
  // The outputs are made. A second call fails the op (Internal) if it still waits, else it is logged.
  void operator()() const noexcept;
  // There was this error instead.
  void operator()(std::exception_ptr error) const noexcept;

 private:
  struct Token;
  std::shared_ptr<const Token> token_;
};

// A call of an asynchronous kernel that has been started. Thread-safety: used by one thread; the kernel may be on
// others.
class PANTO_EXPORT StartedCall {
 public:
  // `ended`, if given, is called once when the kernel is done, on whatever thread, perhaps before this returns; not
  // where this throws what `start` throws. It must not throw.
  StartedCall(const Call& call, KernelStartFn start, Callable<void()> ended = nullptr);
  // A kernel that is not done is asked to stop; nobody waits for it.
  ~StartedCall();
  StartedCall(const StartedCall&) = delete;
  StartedCall& operator=(const StartedCall&) = delete;

  // Returns when the kernel is done. Throws Cancelled or DeadlineExceeded where the step is stopped meanwhile.
  void wait(const Step& step);
  // When the kernel is done. Throws its error, and Internal where it called `done` twice or never, or leaves an output
  // undefined.
  void finish(std::span<Tensor> outputs);
  // For error context.
  const Call& call() const { return context_->call(); }

 private:
  std::shared_ptr<AsyncContext> context_;
  std::shared_ptr<detail::AsyncResult> result_;
};

// Starts the asynchronous kernel of the call and waits for it: what `Kernel::run` of such a kernel is. Throws its
// error, Cancelled or DeadlineExceeded where the call's step is stopped meanwhile, and Internal where it calls `done`
// twice or never, or leaves an output undefined.
PANTO_EXPORT void start_and_wait(KernelContext& c);

}  // namespace panto
