// Restricts oneDNN and BLAS calls to the calling thread: these libraries ask OpenMP for the number of threads.
#pragma once

#include <omp.h>

namespace panto::cpu {

// Sets OpenMP's number of threads to 1 for the calling thread only, until the scope ends.
class OneThread {
 public:
  OneThread() : previous_(omp_get_max_threads()) {
    if (previous_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (previous_ != 1) omp_set_num_threads(previous_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int previous_;
};

}  // namespace panto::cpu
