// The sort that kernels which need an order share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cub/device/device_radix_sort.cuh>

#include "panto/device/cuda/device.h"
#include "panto/device/scratch.h"

namespace panto::cuda {

// Sorts `count` pairs, fewer than 2^31, by the lowest `bits` bits of their keys; those with the same key stay in order.
template <class Key>
void sort_pairs(CudaDevice& device, int64_t count, int bits, const Key* keys, Key* sorted_keys, const uint32_t* values,
                uint32_t* sorted_values) {
  const DeviceUse stream = device.use();
  const auto n = static_cast<int>(count);
  size_t bytes = 0;
  const auto sort = [&](void* space) {
    check(cub::DeviceRadixSort::SortPairs(space, bytes, keys, sorted_keys, values, sorted_values, n, 0, bits, stream),
          "sorting");
  };
  sort(nullptr);
  const Scratch<uint8_t> space(device, std::max<int64_t>(1, static_cast<int64_t>(bytes)));
  sort(space.data());
}

}  // namespace panto::cuda
