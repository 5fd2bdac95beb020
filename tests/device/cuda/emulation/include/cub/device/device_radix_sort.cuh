// What kernels use of CUB, for the GPU that the CPU emulates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <type_traits>
#include <vector>

#include "panto/tests/device/cuda/pretend_cuda.h"

namespace cub {

struct DeviceRadixSort {
  // Sorts by bits [begin_bit, end_bit) of the keys and keeps the order of equal ones. As CUB's, a first call with null
  // says how many bytes are needed.
  template <class Key, class Value>
  static cudaError_t SortPairs(void* space, size_t& bytes, const Key* keys, Key* sorted_keys, const Value* values,
                               Value* sorted_values, int count, int begin_bit, int end_bit, cudaStream_t stream) {
    static_assert(std::is_unsigned_v<Key>, "keys are compared as bits");
    if (space == nullptr) {
      bytes = 1;
      return cudaSuccess;
    }
    panto::test::launch(stream, [=] {
      const auto part = [=](int i) {
        const Key above = static_cast<Key>(keys[i] >> begin_bit);
        const int width = end_bit - begin_bit;
        return width >= static_cast<int>(8 * sizeof(Key)) ? above : static_cast<Key>(above & ((Key{1} << width) - 1));
      };
      std::vector<int> order(static_cast<size_t>(count));
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, [&](int a, int b) { return part(a) < part(b); });
      for (int i = 0; i < count; ++i) {
        sorted_keys[i] = keys[order[static_cast<size_t>(i)]];
        sorted_values[i] = values[order[static_cast<size_t>(i)]];
      }
    });
    return cudaSuccess;
  }
};

}  // namespace cub
