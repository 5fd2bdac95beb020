// DynamicPartition, DynamicStitch and ReverseSequence.
#include <algorithm>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/shape/indexing.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/resource.h"

namespace panto {
namespace {

struct RunReverseSequence {
  template <class T>
  static void run(KernelContext& c) {
    const ReversedDims dims(c);
    const int64_t size = dims.size, examples = dims.examples;
    with_index_type(c.in(1).dtype(), [&]<class Index>() {
      const auto* lengths = c.data<Index>(1);
      for (int64_t i = 0; i < examples; ++i) {
        if (lengths[i] >= 0 && lengths[i] <= size) continue;
        invalid("seq_lengths[{}]: expected one in [0, {}], got {}", i, size, lengths[i]);
      }
      if (c.out_numel(0) == 0) return;
      // Moves pieces of `inner` contiguous elements.
      const int64_t inner = std::min(dims.step, dims.example);
      const int64_t step = dims.step / inner, example = dims.example / inner;
      const T* x = c.data<T>(0);
      T* y = c.out_data<T>(0);
      cpu::parallel_ranges(
          c.out_numel(0) / inner, c.out_numel(0) * static_cast<int64_t>(2 * sizeof(T)),
          [&](int64_t begin, int64_t end) {
            for (int64_t p = begin; p < end; ++p) {
              const int64_t s = p / step % size, length = lengths[p / example % examples];
              const int64_t from = s < length ? p + (length - 1 - 2 * s) * step : p;
              std::copy_n(x + from * inner, inner, y + p * inner);
            }
          },
          1);
    });
  }
};

struct RunDynamicPartition {
  template <class T>
  static void run(KernelContext& c) {
    const auto* numbers = c.data<int32_t>(1);
    const int64_t n = c.num_outputs(), count = c.numel(1);
    const int64_t inner = numel_behind(c.shape(0), c.shape(1).rank());
    std::vector<int64_t> sizes(static_cast<size_t>(n), 0);
    for (int64_t i = 0; i < count; ++i) {
      if (numbers[i] < 0 || numbers[i] >= n) {
        invalid("partitions[{}]: expected one in [0, {}), got {}", i, n, numbers[i]);
      }
      ++sizes[static_cast<size_t>(numbers[i])];
    }
    std::vector<T*> to;
    for (int k = 0; k < c.num_outputs(); ++k) {
      Tensor part = allocate_tensor(c.device(), c.in(0).dtype(),
                                    with_first(sizes[static_cast<size_t>(k)], c.shape(0), c.shape(1).rank()));
      to.push_back(mutable_data<T>(part));
      c.set_out(k, std::move(part));
    }
    const T* data = c.data<T>(0);
    for (int64_t i = 0; i < count; ++i) {
      T*& at = to[static_cast<size_t>(numbers[i])];
      at = std::copy_n(data + i * inner, inner, at);
    }
  }
};

struct RunDynamicStitch {
  template <class T>
  static void run(KernelContext& c) {
    const int n = c.num_inputs() / 2;
    int64_t size = 0;
    for (int k = 0; k < n; ++k) {
      const auto* indices = c.data<int32_t>(k);
      for (int64_t i = 0; i < c.numel(k); ++i) {
        if (indices[i] < 0) invalid("indices[{}][{}]: expected at least 0, got {}", k, i, indices[i]);
        size = std::max<int64_t>(size, int64_t{indices[i]} + 1);
      }
    }
    Tensor merged = allocate_tensor(c.device(), c.in(n).dtype(), with_first(size, c.shape(n), c.shape(0).rank()));
    T* out = mutable_data<T>(merged);
    std::fill_n(out, merged.numel(), T{});
    const int64_t inner = numel_behind(c.shape(n), c.shape(0).rank());
    for (int k = 0; k < n; ++k) {
      const auto* indices = c.data<int32_t>(k);
      const T* data = c.data<T>(n + k);
      for (int64_t i = 0; i < c.numel(k); ++i) std::copy_n(data + i * inner, inner, out + indices[i] * inner);
    }
    c.set_out(0, std::move(merged));
  }
};

const CpuKernel reverse_sequence_kernel("ReverseSequence", types::every{}, RunReverseSequence{});
const CpuKernel dynamic_partition_kernel("DynamicPartition", types::every{}, RunDynamicPartition{});
const CpuKernel dynamic_stitch_kernel("DynamicStitch", types::plain{}, RunDynamicStitch{});
const CpuKernel dynamic_stitch_other_kernel("DynamicStitch", TypeList<std::string, Variant>{}, RunDynamicStitch{});

}  // namespace
}  // namespace panto
