// The slices of a tensor that index rows address, as GatherNd, ScatterNd and updates of variables take them; and the
// rows of one slice, one after the other.
#pragma once

#include <cstdint>

#include "panto/device/cuda/array/index_list.cuh"
#include "panto/device/cuda/reduce/sorted_rows.h"
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

// Rows in the order of their keys, on the device.
struct Runs {
  const uint32_t* keys;
  const uint32_t* rows;
  int64_t count;
  uint32_t limit;         // rows with this key are left out
  const uint32_t* wrong;  // not 0: all rows are left out

  // True if the i-th row is the first (the last) with its key.
  __device__ bool begins_at(int64_t i) const { return valid(i) && (i == 0 || keys[i - 1] != keys[i]); }
  __device__ bool ends_at(int64_t i) const { return valid(i) && (i + 1 == count || keys[i + 1] != keys[i]); }
  // Calls visit(number of the row) for the rows with the key of the i-th, from this one on.
  template <class Visit>
  __device__ void for_each(int64_t i, const Visit& visit) const {
    const uint32_t key = keys[i];
    for (; i < count && keys[i] == key; ++i) visit(int64_t{rows[i]});
  }

 private:
  __device__ bool valid(int64_t i) const { return *wrong == 0 && keys[i] < limit; }
};

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
