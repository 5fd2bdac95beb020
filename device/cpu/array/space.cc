// Moves blocks of elements into the batch and back, in contiguous runs.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/error.h"
#include "panto/lib/ops/array/values.h"

namespace panto {
namespace {

// Converts between [batch, dimensions..., inner] and [places of a block, batch, blocks of each dimension..., inner].
template <bool kToBatch>
struct BatchBlocks {
  template <class T>
  static void run(KernelContext& c) {
    const Shape &space = kToBatch ? c.shape(0) : c.out_shape(0), &examples = kToBatch ? c.out_shape(0) : c.shape(0);
    const auto count = static_cast<int>(c.numel(1));
    int64_t inner = 1, rows = examples.dim(0);
    for (int k = count + 1; k < space.rank(); ++k) inner *= space.dim(k);
    for (int k = 1; k <= count; ++k) rows *= examples.dim(k);
    const T* from = c.data<T>(0);
    T* to = c.out_data<T>(0);
    std::vector<int64_t> sizes, before;
    for (int k = 0; k < count; ++k) {
      sizes.push_back(host_integer(c.in(1), k));
      before.push_back(host_integer(c.in(2), 2 * k));
    }
    if (inner == 0 || rows == 0) return;
    cpu::parallel_ranges(
        rows, rows * inner * static_cast<int64_t>(2 * sizeof(T)),
        [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const int64_t at = position(row, count, space, examples, sizes, before);
            if constexpr (kToBatch) {
              T* const out = to + row * inner;
              at < 0 ? std::fill_n(out, inner, T{}) : std::copy_n(from + at * inner, inner, out);
            } else {
              if (at >= 0) std::copy_n(from + row * inner, inner, to + at * inner);
            }
          }
        },
        1);
  }

 private:
  // Returns the position in `space` of row `row` of the examples; -1 if it is outside.
  static int64_t position(int64_t row, int count, const Shape& space, const Shape& examples,
                          const std::vector<int64_t>& sizes, const std::vector<int64_t>& before) {
    int64_t block[kMaxRank + 1];
    for (int k = count; k > 0; --k) {
      block[k] = row % examples.dim(k);
      row /= examples.dim(k);
    }
    int64_t place = row / space.dim(0), at = 0, step = 1;
    for (int k = count; k > 0; --k) {
      const int64_t size = sizes[static_cast<size_t>(k) - 1];
      const int64_t i = block[k] * size + place % size - before[static_cast<size_t>(k) - 1];
      if (i < 0 || i >= space.dim(k)) return -1;
      place /= size;
      at += i * step;
      step *= space.dim(k);
    }
    return at + row % space.dim(0) * step;
  }
};

const CpuKernel space_to_batch_kernel("SpaceToBatchND", types::numbers{}, BatchBlocks<true>{});
const CpuKernel batch_to_space_kernel("BatchToSpaceND", types::every{}, BatchBlocks<false>{});

}  // namespace
}  // namespace panto
