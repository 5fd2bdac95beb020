// Kernels that reshape and slice sparse tensors.
#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/sparse/entries.h"
#include "panto/device/math/vocabulary.h"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/strided_dims.h"
#include "panto/lib/ops/sparse/coo.h"

namespace panto {
namespace {

using cpu::EntryIndices;

std::span<const int64_t> integers(const KernelContext& c, int i) {
  return {c.data<int64_t>(i), static_cast<size_t>(c.numel(i))};
}

void run_reshape(KernelContext& c) {
  const EntryIndices indices(c, 0);
  const std::span<const int64_t> from = integers(c, 1);
  const std::vector<int64_t> to = sparse::reshaped(from, integers(c, 2));
  std::ranges::copy(to, c.out_data<int64_t>(1));
  auto* out = c.out_data<int64_t>(0);
  if (std::ranges::equal(from, to)) {
    std::copy_n(c.data<int64_t>(0), c.numel(0), out);
    return;
  }
  if (indices.count() == 0) return;
  std::vector<int64_t> strides, new_strides;
  row_major_strides(from, strides);
  row_major_strides(to, new_strides);
  for (int64_t i = 0; i < indices.count(); ++i) {
    int64_t at = 0;  // wraps if an index is out of range
    for (size_t d = 0; d < from.size(); ++d) at = k::add(at, k::mul(indices[i][d], strides[d]));
    for (const int64_t stride : new_strides) {
      *out++ = at / stride;
      at %= stride;
    }
  }
}

struct RunSlice {
  template <class T>
  static void run(KernelContext& c) {
    const EntryIndices indices(c, 0);
    const int64_t rank = indices.rank();
    const std::span<const int64_t> shape = integers(c, 2), start = integers(c, 3), size = integers(c, 4);
    Tensor dims = allocate_tensor(c.device(), kInt64, Shape{rank});
    for (size_t d = 0; d < shape.size(); ++d) {
      if (size[d] < 0) invalid("size[{}]: expected at least 0, got {}", d, size[d]);
      int64_t rest;
      if (__builtin_sub_overflow(shape[d], start[d], &rest)) {
        rest = start[d] < 0 ? std::numeric_limits<int64_t>::max() : 0;
      }
      mutable_data<int64_t>(dims)[d] = std::max<int64_t>(0, std::min(size[d], rest));
    }
    std::vector<int64_t> taken;
    for (int64_t i = 0; i < indices.count(); ++i) {
      bool inside = true;
      // index - first may exceed int64, but not uint64.
      for (int64_t d = 0; inside && d < rank; ++d) {
        const int64_t index = indices[i][d], first = start[static_cast<size_t>(d)];
        inside = index >= first && static_cast<uint64_t>(index) - static_cast<uint64_t>(first) <
                                       static_cast<uint64_t>(size[static_cast<size_t>(d)]);
      }
      if (inside) taken.push_back(i);
    }
    const auto count = static_cast<int64_t>(taken.size());
    Tensor to = allocate_tensor(c.device(), kInt64, Shape{count, rank});
    Tensor values = allocate_tensor(c.device(), c.in(1).dtype(), Shape{count});
    auto* index = mutable_data<int64_t>(to);
    T* value = mutable_data<T>(values);
    for (const int64_t i : taken) {
      for (size_t d = 0; d < shape.size(); ++d) *index++ = k::sub(indices[i][d], start[d]);
      *value++ = c.data<T>(1)[i];
    }
    c.set_out(0, std::move(to));
    c.set_out(1, std::move(values));
    c.set_out(2, std::move(dims));
  }
};

struct RunSliceGrad {
  template <class T>
  static void run(KernelContext& c) {
    const EntryIndices whole(c, 1), part(c, 3);
    const std::span<const int64_t> start = integers(c, 2);
    const T* grad = c.data<T>(0);
    T* out = c.out_data<T>(0);
    int64_t next = 0;
    for (int64_t i = 0; i < whole.count(); ++i) {
      bool same = next < part.count();
      for (size_t d = 0; same && d < start.size(); ++d) same = whole[i][d] == k::add(part[next][d], start[d]);
      out[i] = same ? grad[next++] : T{};
    }
    if (next < part.count()) {
      invalid("output_indices[{}]: expected an entry that is also in input_indices, got another", next);
    }
  }
};

const CpuKernel reshape_kernel("SparseReshape", run_reshape);
const CpuKernel slice_kernel("SparseSlice", types::every{}, RunSlice{});
const CpuKernel slice_grad_kernel("SparseSliceGrad", types::arithmetic{}, RunSliceGrad{});

}  // namespace
}  // namespace panto
