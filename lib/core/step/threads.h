// How many threads a kernel may use.
//
// The count is passed to each parallel region (`num_threads(n)` clause). Around calls into other libraries it is set
// for the calling thread, and restored. OpenMP's process-wide setting never changes: the user's own regions keep
// theirs.
//
// After `fork` a child may continue to compute if no other thread of the parent was computing at that moment. The
// thread that forked has lost its OpenMP team, if it had one: in the child it computes alone. New threads of the child
// use teams as usual.
#pragma once

#include "panto/lib/base/export.h"
#include "panto/lib/core/step/step.h"

namespace panto {

// The number of threads for work of the calling thread: its step's number, if set, else the process's number: set by
// set_num_threads, or PANTO_NUM_THREADS, or OMP_NUM_THREADS, or the number of processors that the process may use.
// Returns 1 if the thread's team was lost by a fork.
PANTO_EXPORT int num_threads() noexcept;
// For all threads of the process from now on. Throws InvalidArgument unless 1 <= count <= 1024.
PANTO_EXPORT void set_num_threads(int count);

// Must be called before a region of several threads: OpenMP keeps a team for the calling thread from then on.
PANTO_EXPORT void note_team() noexcept;

// For a worker of a thread pool: num_threads() of this thread is `count` until the scope ends.
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
