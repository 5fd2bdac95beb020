// SpaceToBatchND and BatchToSpaceND: moves blocks of elements into the batch and back.

#include <algorithm>

#include "panto/device/cuda/array/pick.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/unquantized.h"
#include "panto/lib/ops/array/values.h"

namespace panto {
namespace {

// Finds the input element for an element of [places of a block, batch, blocks of each dimension..., inner] (kToBatch)
// or of [batch, dimensions..., inner]; -1 where there is padding. Dimensions are innermost first.
template <bool kToBatch, class Index>
struct BatchBlocks {
  using Int = std::make_signed_t<Index>;
  static constexpr int kMost = cuda::kMostDims<Index>;
  int count = 0;
  cuda::Divisor<Index> inner, batch, rows;  // rows: the blocks of all dimensions
  cuda::Divisor<Index> size[kMost];         // of a block
  cuda::Divisor<Index> extent[kMost];       // the number of blocks (kToBatch), or of elements
  Int before[kMost], space[kMost];

  BatchBlocks(const KernelContext& c, const Shape& whole, const Shape& examples) {
    const auto dims = static_cast<int>(c.numel(1));
    int64_t behind = 1, all = 1;
    for (int k = dims + 1; k < whole.rank(); ++k) behind *= whole.dim(k);
    for (int k = dims; k > 0; --k) {
      const int64_t block = host_integer(c.in(1), k - 1), blocks = examples.dim(k);
      all *= blocks;
      if (block == 1 && blocks == 1) continue;  // one element, as nothing is empty here
      size[count] = cuda::Divisor<Index>(block);
      extent[count] = cuda::Divisor<Index>(kToBatch ? blocks : whole.dim(k));
      before[count] = static_cast<Int>(host_integer(c.in(2), int64_t{2} * (k - 1)));
      space[count] = static_cast<Int>(kToBatch ? whole.dim(k) : blocks);
      ++count;
    }
    inner = cuda::Divisor<Index>(behind);
    batch = cuda::Divisor<Index>(whole.dim(0));
    rows = cuda::Divisor<Index>(all);
  }

  __device__ int64_t operator()(int64_t i) const {
    const Index row = inner.quotient(static_cast<Index>(i));
    const Index column = static_cast<Index>(i) - row * inner.value();
    const int64_t at = kToBatch ? in_space(row) : in_examples(row);
    return at < 0 ? -1 : at * static_cast<Int>(inner.value()) + static_cast<Int>(column);
  }

 private:
  __device__ int64_t in_space(Index row) const {
    const Index example = rows.quotient(row);
    Index place = batch.quotient(example);
    Index rest = row - example * rows.value();
    Int at = 0, step = 1;
    for (int k = 0; k < count; ++k) {
      const Index outer = extent[k].quotient(rest), upper = size[k].quotient(place);
      const Index block = rest - outer * extent[k].value(), within = place - upper * size[k].value();
      const Int x = static_cast<Int>(block * size[k].value() + within) - before[k];
      if (x < 0 || x >= space[k]) return -1;
      at += x * step;
      step *= space[k];
      rest = outer;
      place = upper;
    }
    return at + static_cast<Int>(example - batch.quotient(example) * batch.value()) * step;
  }

  __device__ int64_t in_examples(Index rest) const {
    Int at = 0, step = 1, place = 0, places = 1;
    for (int k = 0; k < count; ++k) {
      const Index outer = extent[k].quotient(rest);
      const Index x = rest - outer * extent[k].value() + static_cast<Index>(before[k]);
      const Index block = size[k].quotient(x);
      at += static_cast<Int>(block) * step;
      step *= space[k];
      place += static_cast<Int>(x - block * size[k].value()) * places;
      places *= static_cast<Int>(size[k].value());
      rest = outer;
    }
    return (place * static_cast<Int>(batch.value()) + static_cast<Int>(rest)) * step + at;
  }
};

template <bool kToBatch>
struct RunBatchBlocks {
  template <class T>
  static void run(KernelContext& c) {
    const Shape &whole = kToBatch ? c.shape(0) : c.out_shape(0), &examples = kToBatch ? c.out_shape(0) : c.shape(0);
    if (c.out_numel(0) == 0) return;
    cuda::CudaDevice& device = cuda::device_of(c);
    if (c.numel(0) == 0) {  // padding only
      return cuda::clear_output(c);
    }
    cuda::with_index(std::max(c.numel(0), c.out_numel(0)), [&]<class Index>() {
      const BatchBlocks<kToBatch, Index> from(c, whole, examples);
      cuda::pick<T>(device, c.out_numel(0), from, c.data<T>(0), nullptr, c.out_data<T>(0));
    });
  }
};

const UnquantizedKernel<"GPU", RunBatchBlocks<true>> space_to_batch_kernel("SpaceToBatchND");
const CudaKernel batch_to_space_kernel("BatchToSpaceND", types::plain{}, RunBatchBlocks<false>{});

}  // namespace
}  // namespace panto
