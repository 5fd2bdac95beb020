// Coordinator: threads that stop together, when one of them is done or fails.
//
//   Coordinator coordinator;
//   coordinator.start([&] { while (!coordinator.should_stop()) session.run(enqueue); });
//   ...
//   coordinator.request_stop();
//   coordinator.join();  // throws what the first thread threw that failed
//
// What a thread throws asks all of them to stop. OutOfRange, the end of what a queue gives, and Cancelled once a stop
// was asked for are no failures. Thread-safe.
#pragma once

#include <exception>
#include <memory>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"

namespace panto {

class PANTO_EXPORT Coordinator {
 public:
  Coordinator();
  // Asks its threads to stop, cancels what they wait for, and waits for them.
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Runs `body` on a thread of its own, as part of the step that the caller is in. Throws FailedPrecondition after
  // `join`, ResourceExhausted where there is no thread to be had.
  void start(Callable<void()> body);
  bool should_stop() const noexcept;
  // Asks the threads to stop: calls what `on_stop` was given, on this thread. Only the first `error` counts, and none
  // after a stop without one.
  void request_stop();
  void request_stop(std::exception_ptr error);
  // `action` is called once, when a stop is asked for; at once if it was. It must not throw.
  void on_stop(Callable<void()> action);
  // Waits until a stop is asked for, at most so long. Whether it was.
  bool wait_for_stop(double seconds) const;
  // Waits until all threads have ended, and throws the first error. From `grace` seconds after a stop was asked for on,
  // what they wait for is cancelled.
  void join(double grace = 120);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace panto
