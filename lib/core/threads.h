// How many threads a kernel may use.
//
// The count is handed to each parallel region (`num_threads(n)` clause) and, around calls into libraries, set for the
// calling thread and restored. Nothing ever changes OpenMP's process-wide setting: the user's own regions keep theirs.
#pragma once

#include "panto/lib/base/export.h"

namespace panto {

// For work of the calling thread. The innermost ThreadShare if there is one, otherwise the process's number: what
// set_num_threads said, or PANTO_NUM_THREADS, or OMP_NUM_THREADS, or the processors this process may run on.
PANTO_EXPORT int num_threads() noexcept;
// For all threads of the process from now on. Throws InvalidArgument unless 1 <= count <= 1024.
PANTO_EXPORT void set_num_threads(int count);

// A worker of a pool takes its share: num_threads() of this thread is `count` until the scope ends.
class PANTO_EXPORT ThreadShare {
 public:
  explicit ThreadShare(int count) noexcept;
  ~ThreadShare();
  ThreadShare(const ThreadShare&) = delete;
  ThreadShare& operator=(const ThreadShare&) = delete;

 private:
  int previous_;
};

}  // namespace panto
