// Rows in the order of their keys: how kernels that join rows of one key do so in the same order in every run, without
// atomics.
#pragma once

#include <cstdint>

#include "panto/device/cuda/array/array_index.h"
#include "panto/device/cuda/device.h"
#include "panto/device/scratch.h"

namespace panto::cuda {

// The numbers of rows, sorted by key; those with the same key are in order. The arrays may be freed as soon as the work
// that reads them is enqueued.
class SortedRows {
 public:
  // `keys`: a number in [0, limit] for each row. Throws Unimplemented unless `count` and `limit` are below 2^31.
  SortedRows(CudaDevice& device, const uint32_t* keys, int64_t count, int64_t limit);
  const uint32_t* keys() const { return numbers_.data(); }
  const uint32_t* rows() const { return numbers_.data() + count_; }
  int64_t count() const { return count_; }

 private:
  int64_t count_;
  Scratch<uint32_t> numbers_;
};

// Sorts rows by segment. Those with a negative id come last, with the key `segments`; so do those with an id of
// `segments` or more, which are reported as a fault.
SortedRows sort_by_segment(CudaDevice& device, const IndexList& ids, int64_t segments);

// Throws Unimplemented unless both are below 2^31. Call it before memory for the keys is asked for.
void expect_sortable(int64_t rows, int64_t keys);

}  // namespace panto::cuda
