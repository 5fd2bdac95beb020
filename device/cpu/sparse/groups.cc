// Kernels that reduce a sparse tensor along some dimensions, with a sparse result.
#include <algorithm>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/sparse/entries.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/vocabulary.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/array/values.h"

namespace panto {
namespace {

using cpu::EntryIndices;

// The entries' indices in the dimensions that are kept, and where these dimensions are in the result.
struct Kept {
  std::vector<int64_t> indices, places, shape;

  explicit Kept(const KernelContext& c) {
    const EntryIndices all(c, 0);
    const int64_t rank = all.rank();
    const bool keep_dims = c.flag("keep_dims");
    std::vector<bool> reduced(static_cast<size_t>(rank));
    for (int64_t i = 0; i < c.numel(3); ++i) {
      const int64_t axis = host_integer(c.in(3), i);
      reduced[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
    }
    std::vector<int64_t> dims;
    for (int64_t d = 0; d < rank; ++d) {
      const bool is_kept = !reduced[static_cast<size_t>(d)];
      if (is_kept) {
        dims.push_back(d);
        places.push_back(static_cast<int64_t>(shape.size()));
      }
      if (is_kept || keep_dims) shape.push_back(is_kept ? host_integer(c.in(2), d) : 1);
    }
    indices.reserve(dims.size() * static_cast<size_t>(all.count()));
    for (int64_t i = 0; i < all.count(); ++i) {
      for (const int64_t d : dims) {
        const int64_t size = host_integer(c.in(2), d), index = all[i][d];
        if (!cpu::in_range(index, size)) cpu::out_of_range("input_indices", i, d, size, index);
        indices.push_back(index);
      }
    }
  }
};

template <class Entries>
struct RunGroups {
  template <class T>
  static void run(KernelContext& c) {
    const Kept kept(c);
    const auto rank = static_cast<int64_t>(kept.places.size()), out_rank = static_cast<int64_t>(kept.shape.size());
    const EntryIndices indices(kept.indices.data(), c.numel(1), rank);
    std::vector<int64_t> firsts;
    std::vector<T> values;
    const std::vector<int64_t> order = cpu::order_of(indices);
    for (size_t begin = 0, end; begin < order.size(); begin = end) {
      auto joined = convert<Compute<T>>(c.data<T>(1)[order[begin]]);
      for (end = begin + 1; end < order.size(); ++end) {
        if (cpu::compare_indices(indices[order[begin]], indices[order[end]], rank) != 0) break;
        joined = Entries::join(joined, convert<Compute<T>>(c.data<T>(1)[order[end]]));
      }
      firsts.push_back(order[begin]);
      values.push_back(convert<T>(joined));
    }
    const auto count = static_cast<int64_t>(values.size());
    Tensor to = allocate_tensor(c.device(), kInt64, Shape{count, out_rank});
    Tensor out = allocate_tensor(c.device(), dtype_of<T>, Shape{count});
    Tensor shape = allocate_tensor(c.device(), kInt64, Shape{out_rank});
    auto* index = mutable_data<int64_t>(to);
    std::fill_n(index, count * out_rank, int64_t{0});
    for (const int64_t i : firsts) {
      for (int64_t d = 0; d < rank; ++d) index[kept.places[static_cast<size_t>(d)]] = indices[i][d];
      index += out_rank;
    }
    std::ranges::copy(values, mutable_data<T>(out));
    std::ranges::copy(kept.shape, mutable_data<int64_t>(shape));
    c.set_out(0, std::move(to));
    c.set_out(1, std::move(out));
    c.set_out(2, std::move(shape));
  }
};

const CpuKernel sum_kernel("SparseReduceSumSparse", types::arithmetic{}, RunGroups<cpu::AddEntries>{});
const CpuKernel max_kernel("SparseReduceMaxSparse", types::reals{}, RunGroups<cpu::LargestEntry>{});

}  // namespace
}  // namespace panto
