// Stopping a thread's computation from outside, as Ctrl-C at a prompt does.
//
// After a request, ops that the thread calls, and long loops and runs of graphs in any thread, throw Cancelled. Op
// calls need no extra check for it: the request sets the pointer to the thread's state to null, and the code that then
// looks for the state finds the request.
#pragma once

#include <memory>

#include "panto/lib/base/export.h"

namespace panto {

// Asks the calling thread to stop. Meant for a signal handler: async-signal-safe.
PANTO_EXPORT void request_cancel() noexcept;
// Withdraws the request. Must be called by the thread that was asked to stop.
PANTO_EXPORT void clear_cancel() noexcept;
PANTO_EXPORT bool cancel_requested() noexcept;
// For long loops. Throws Cancelled if it was requested, for this thread or for its step (lib/core/step/step.h), and
// DeadlineExceeded after the step's deadline.
PANTO_EXPORT void throw_if_cancelled();

// While it lives, its thread runs code that a library generated at run time. A prompt must not leave such code by
// force, and cannot tell it from code that its interpreter compiled.
class PANTO_EXPORT GeneratedCodeScope {
 public:
  GeneratedCodeScope() noexcept;
  ~GeneratedCodeScope();
  GeneratedCodeScope(const GeneratedCodeScope&) = delete;
  GeneratedCodeScope& operator=(const GeneratedCodeScope&) = delete;
};
// True if the calling thread is in such a scope. Async-signal-safe.
PANTO_EXPORT bool in_generated_code() noexcept;

// Remembers which scopes (tapes, traces, devices, names) a thread has open. `restore` closes those opened since, after
// code was left without running destructors.
class PANTO_EXPORT ScopeMark {
 public:
  ScopeMark();
  ~ScopeMark();
  ScopeMark(const ScopeMark&) = delete;
  ScopeMark& operator=(const ScopeMark&) = delete;
  void restore() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace panto
