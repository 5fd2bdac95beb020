// Rows in the order of their keys, as kernels read them.
#pragma once

#include <cstdint>

#include "panto/device/cuda/bisect.cuh"
#include "panto/device/cuda/reduce/sorted_rows.h"

namespace panto::cuda {

struct Runs {
  const uint32_t* keys;
  const uint32_t* rows;
  int64_t count;
  uint32_t limit;                   // rows with this key are left out
  const uint32_t* wrong = nullptr;  // if it is there and not 0, all rows are left out

  // Rows with keys below `limit`.
  static Runs of(const SortedRows& sorted, int64_t limit) {
    return {sorted.keys(), sorted.rows(), sorted.count(), static_cast<uint32_t>(limit)};
  }

  // True if the i-th row is the first (the last) with its key.
  __device__ bool begins_at(int64_t i) const { return valid(i) && (i == 0 || keys[i - 1] != keys[i]); }
  __device__ bool ends_at(int64_t i) const { return valid(i) && (i + 1 == count || keys[i + 1] != keys[i]); }
  // Calls visit(number of the row) for the rows with the key of the i-th, from this one on.
  template <class Visit>
  __device__ void for_each(int64_t i, const Visit& visit) const {
    const uint32_t key = keys[i];
    for (; i < count && keys[i] == key; ++i) visit(int64_t{rows[i]});
  }
  // Returns where the rows with a key of at least `key` begin.
  __device__ int64_t begin_of(int64_t key) const {
    return first_with(count, [&](int64_t i) { return int64_t{keys[i]} >= key; });
  }

 private:
  __device__ bool valid(int64_t i) const { return keys[i] < limit && (wrong == nullptr || *wrong == 0); }
};

}  // namespace panto::cuda
