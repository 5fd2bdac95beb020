// How many threads a kernel may use.
//
// The count is handed to each parallel region (`num_threads(n)` clause) and, around calls into libraries, set for the
// calling thread and restored. Nothing ever changes OpenMP's process-wide setting: the user's own regions keep theirs.
//
// After `fork` a child may go on computing, as long as no other thread of the parent was computing at the moment. The
// thread that forked has lost the team with which it shared loops, if it had one: in the child it computes alone.
// Threads that the child starts share their loops as usual.
#pragma once

#include "panto/lib/base/export.h"
#include "panto/lib/core/step/step.h"

namespace panto {

// For work of the calling thread. As many as its step says, if it does, otherwise the process's number: what
// set_num_threads said, or PANTO_NUM_THREADS, or OMP_NUM_THREADS, or the processors this process may run on. 1 where
// the thread's team was lost by a fork.
PANTO_EXPORT int num_threads() noexcept;
// For all threads of the process from now on. Throws InvalidArgument unless 1 <= count <= 1024.
PANTO_EXPORT void set_num_threads(int count);

// The calling thread is about to run a region of several threads, whose team OpenMP keeps for it.
PANTO_EXPORT void note_team() noexcept;

// A worker of a pool takes its share: num_threads() of this thread is `count` until the scope ends.
class PANTO_EXPORT ThreadShare {
 public:
  explicit ThreadShare(int count) noexcept;
  ThreadShare(const ThreadShare&) = delete;
  ThreadShare& operator=(const ThreadShare&) = delete;

 private:
  Step step_;
  StepScope scope_;
};

}  // namespace panto
