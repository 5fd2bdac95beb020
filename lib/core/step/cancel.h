// Stopping what a thread computes from outside, as Ctrl-C at a prompt does.
//
// Ops that the thread calls afterwards, and long loops and runs of graphs in any thread, throw Cancelled. It costs
// calls nothing that they did not do before: the thread's state is taken away, and who looks for it finds the request.
#pragma once

#include <memory>

#include "panto/lib/base/export.h"

namespace panto {

// Asks the calling thread to stop. Meant for a signal handler: async-signal-safe.
PANTO_EXPORT void request_cancel() noexcept;
// Takes the request back. To be called by the thread that was asked.
PANTO_EXPORT void clear_cancel() noexcept;
PANTO_EXPORT bool cancel_requested() noexcept;
// Throws Cancelled where it was requested, here or of the step that the thread works for (lib/core/step/step.h), and
// DeadlineExceeded after that one's deadline: for loops that take long.
PANTO_EXPORT void throw_if_cancelled();

// While one lives, its thread is in code that a library generated at run time: nobody else can tell it from what an
// interpreter compiled, and a prompt must not leave it by force.
class PANTO_EXPORT GeneratedCodeScope {
 public:
  GeneratedCodeScope() noexcept;
  ~GeneratedCodeScope();
  GeneratedCodeScope(const GeneratedCodeScope&) = delete;
  GeneratedCodeScope& operator=(const GeneratedCodeScope&) = delete;
};
// Whether the calling thread is in such a scope: async-signal-safe.
PANTO_EXPORT bool in_generated_code() noexcept;

// Which scopes (tapes, traces, devices, names) a thread has open. `restore` closes those that were opened since, for
// code that was left without running destructors.
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
