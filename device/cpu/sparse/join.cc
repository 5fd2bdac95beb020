// Kernels that concatenate and split sparse tensors.
#include <algorithm>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/sparse/entries.h"
#include "panto/device/math/vocabulary.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/array/values.h"

namespace panto {
namespace {

using cpu::EntryIndices;

struct RunConcat {
  template <class T>
  static void run(KernelContext& c) {
    const auto n = static_cast<int>(c.integer("N"));
    const int64_t rank = c.out_shape(0).dim(1), count = c.out_shape(0).dim(0);
    const int64_t axis = c.integer("concat_dim"), along = axis < 0 ? axis + rank : axis;
    std::vector<int64_t> indices(static_cast<size_t>(count * rank)), dims;
    std::vector<T> values;
    values.reserve(static_cast<size_t>(count));
    auto* to = indices.data();
    for (int i = 0; i < n; ++i) {
      const EntryIndices part(c, i);
      if (i == 0) dims.assign(static_cast<size_t>(rank), 0);
      const int64_t offset = dims[static_cast<size_t>(along)];
      for (int64_t k = 0; k < part.count(); ++k) {
        std::copy_n(part[k], rank, to);
        to[along] = k::add(to[along], offset);  // wraps if an index is out of range
        to += rank;
        values.push_back(c.data<T>(n + i)[k]);
      }
      for (int64_t d = 0; d < rank; ++d) {
        int64_t& dim = dims[static_cast<size_t>(d)];
        dim = host_integer(c.in(2 * n + i), d) + (d == along ? dim : 0);
      }
    }
    std::ranges::copy(dims, c.out_data<int64_t>(2));
    const EntryIndices all(indices.data(), count, rank);
    auto* out = c.out_data<int64_t>(0);
    T* out_values = c.out_data<T>(1);
    for (const int64_t i : cpu::order_of(all)) {
      out = std::copy_n(all[i], rank, out);
      *out_values++ = values[static_cast<size_t>(i)];
    }
  }
};

// Splits a dimension into `parts` parts of `size` indices; the first `longer` parts have one more.
struct Cut {
  int64_t size, longer;
  Cut(int64_t dim, int64_t parts) : size(dim / parts), longer(dim % parts) {}
  int64_t part_of(int64_t index) const {
    const int64_t in_longer = longer * (size + 1);
    return index < in_longer ? index / (size + 1) : longer + (index - in_longer) / size;
  }
  int64_t begin(int64_t part) const { return part * size + std::min(part, longer); }
  int64_t length(int64_t part) const { return size + (part < longer ? 1 : 0); }
};

struct RunSplit {
  template <class T>
  static void run(KernelContext& c) {
    const EntryIndices indices(c, 1);
    const int64_t rank = indices.rank(), parts = c.integer("num_split"), axis = host_integer(c.in(0));
    const int64_t along = axis < 0 ? axis + rank : axis;
    const auto n = static_cast<int>(parts);
    cpu::check_within(indices, c.data<int64_t>(3), "indices");
    const Cut cut(c.data<int64_t>(3)[along], parts);
    std::vector<int64_t> counts(static_cast<size_t>(parts));
    for (int64_t i = 0; i < indices.count(); ++i) ++counts[static_cast<size_t>(cut.part_of(indices[i][along]))];
    std::vector<int64_t*> to;
    std::vector<T*> values;
    for (int k = 0; k < n; ++k) {
      const int64_t count = counts[static_cast<size_t>(k)];
      Tensor part = allocate_tensor(c.device(), kInt64, Shape{count, rank});
      Tensor part_values = allocate_tensor(c.device(), c.in(2).dtype(), Shape{count});
      Tensor dims = allocate_tensor(c.device(), kInt64, Shape{rank});
      to.push_back(mutable_data<int64_t>(part));
      values.push_back(mutable_data<T>(part_values));
      std::copy_n(c.data<int64_t>(3), rank, mutable_data<int64_t>(dims));
      mutable_data<int64_t>(dims)[along] = cut.length(k);
      c.set_out(k, std::move(part));
      c.set_out(n + k, std::move(part_values));
      c.set_out(2 * n + k, std::move(dims));
    }
    for (int64_t i = 0; i < indices.count(); ++i) {
      const int64_t part = cut.part_of(indices[i][along]);
      int64_t*& at = to[static_cast<size_t>(part)];
      std::copy_n(indices[i], rank, at);
      at[along] -= cut.begin(part);
      at += rank;
      *values[static_cast<size_t>(part)]++ = c.data<T>(2)[i];
    }
  }
};

const CpuKernel concat_kernel("SparseConcat", types::every{}, RunConcat{});
const CpuKernel split_kernel("SparseSplit", types::every{}, RunSplit{});

}  // namespace
}  // namespace panto
