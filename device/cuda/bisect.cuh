// Bisection on the GPU.
#pragma once

#include <cstdint>

namespace panto::cuda {

// Returns the first i in [0, n) for which holds(i) is true, or n. It must be false up to some place and true from there
// on. Takes the same steps as std::lower_bound and std::upper_bound, so that NaN leads to the same place.
template <class F>
__device__ int64_t first_with(int64_t n, const F& holds) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (holds(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace panto::cuda
