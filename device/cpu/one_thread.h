// Calls into oneDNN and BLAS from here use the calling thread only: they ask OpenMP how many threads there are.
#pragma once

#include <omp.h>

namespace panto::cpu {

// Sets what OpenMP would use for regions of this thread, and of no other, until the scope ends.
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
