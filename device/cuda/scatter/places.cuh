// The slices of a tensor that index rows address, as GatherNd, ScatterNd and updates of variables take them.
#pragma once

#include <cstdint>

#include "panto/device/cuda/array/index_list.cuh"
#include "panto/device/cuda/reduce/runs.cuh"
#include "panto/device/scratch.h"
#include "panto/device/shape/positions.h"
#include "panto/lib/core/tensor/shape.h"

namespace panto::cuda {

struct Places {
  IndexList indices;
  int64_t rows, depth;
  int64_t slices;          // how many there are
  int64_t dims[kMaxRank];  // the first `depth` dimensions of the tensor

  // Returns the number of the slice that row r addresses, or -1 if an index is out of range.
  __device__ int64_t at(int64_t r) const {
    uint64_t slice = 0;
    for (int64_t d = 0; d < depth; ++d) {
      const int64_t index = index_at(indices, r * depth + d);
      if (index < 0 || index >= dims[d]) return -1;
      slice = slice * static_cast<uint64_t>(dims[d]) + static_cast<uint64_t>(index);
    }
    return static_cast<int64_t>(slice);
  }
};

// The places that the indices, input i, address.
Places places_of(const KernelContext& c, int i, const Positions& positions);
// The same for input i that has numbers of `rows` rows.
Places rows_of(const KernelContext& c, int i, int64_t rows);
// Reports a fault if an index is out of range.
void check_places(CudaDevice& device, const Places& places);

// The rows that address slices, sorted by slice. An index out of range is reported as a fault, and leaves out all rows:
// then nothing is changed, as on the CPU. Throws Unimplemented for 2^31 rows or slices.
class SortedPlaces {
 public:
  SortedPlaces(CudaDevice& device, const Places& places);
  Runs runs() const { return {order_.keys(), order_.rows(), order_.count(), limit_, wrong()}; }
  // The word that leaves out all rows if it is not 0.
  uint32_t* wrong() const { return keys_.data() + order_.count(); }

 private:
  static Scratch<uint32_t> keys_of(CudaDevice& device, const Places& places);

  uint32_t limit_;
  Scratch<uint32_t> keys_;
  SortedRows order_;
};

}  // namespace panto::cuda
