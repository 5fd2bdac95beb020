// Coordinator: a group of threads that stop together when one of them is done or fails.
//
//   Coordinator coordinator;
//   coordinator.start([&] { while (!coordinator.should_stop()) session.run(enqueue); });
//   ...
//   coordinator.request_stop();
//   coordinator.join();  // throws the error of the first thread that failed
//
// An exception in one thread asks all threads to stop. OutOfRange (the end of a queue) is not a failure, nor is
// Cancelled after a stop was requested. Thread-safe.
#pragma once

#include <exception>
#include <memory>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"

namespace panto {

class PANTO_EXPORT Coordinator {
 public:
  Coordinator();
  // Asks the threads to stop, cancels their pending waits, and joins them.
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Runs `body` on a new thread, as part of the caller's step. Throws FailedPrecondition after `join`,
  // ResourceExhausted if no thread can be created.
  void start(Callable<void()> body);
  bool should_stop() const noexcept;
  // Asks the threads to stop, and calls the actions of `on_stop` on this thread. Only the first `error` is kept; an
  // error after a stop without an error is dropped.
  void request_stop();
  void request_stop(std::exception_ptr error);
  // Calls `action` once, when a stop is requested; at once if a stop was requested already. `action` must not throw.
  void on_stop(Callable<void()> action);
  // Waits until a stop is requested, at most `seconds`. Returns whether a stop was requested.
  bool wait_for_stop(double seconds) const;
  // Waits until all threads have ended, and throws the first error. `grace` seconds after a stop was requested, pending
  // waits of the threads are cancelled.
  void join(double grace = 120);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace panto
