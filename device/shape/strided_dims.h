// The dimensions of a copy between strided blocks of memory. Transpose, Slice, ConcatV2, Pad, Tile, BroadcastTo and
// some of their gradients are such copies. Each back-end has an engine that runs them (StridedCopy).
#pragma once

#include <cstdint>
#include <span>

#include "panto/lib/core/tensor/shape.h"

namespace panto {

// Dimensions, innermost first, with the strides in elements of both blocks. Dimensions of size 1 are dropped;
// dimensions that continue one another are merged.
class StridedDims {
 public:
  struct Dim {
    int64_t size, in, out;
  };

  // Dimensions must be added from the innermost to the outermost.
  void add(Dim dim) {
    count_ *= dim.size;
    if (dim.size == 1) return;
    if (rank_ > 0) {
      Dim& inner = dims_[rank_ - 1];
      if (dim.in == inner.in * inner.size && dim.out == inner.out * inner.size) {
        inner.size *= dim.size;
        return;
      }
    }
    dims_[rank_++] = dim;
  }

  int rank() const { return rank_; }
  int64_t count() const { return count_; }
  const Dim& dim(int i) const { return dims_[i]; }
  // True if the elements read are contiguous.
  bool reads_one_block() const { return count_ == 0 || rank_ == 0 || (rank_ == 1 && dims_[0].in == 1); }

 protected:
  // Tile and the checks of long permutations may use two dimensions for each of the tensor's.
  static constexpr int kMaxDims = 2 * kMaxRank;

  Dim dims_[kMaxDims];
  int rank_ = 0;
  int64_t count_ = 1;
};

// The strides of row-major dimensions, outermost first.
template <class Strides>
void row_major_strides(std::span<const int64_t> dims, Strides& strides) {
  strides.resize(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= dims[i];
  }
}

}  // namespace panto
