// Gathering by indices, one-hot vectors. Indices are checked before they are used.

#include <algorithm>
#include <atomic>
#include <limits>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/indexing.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/half.h"

namespace panto {
namespace {

// The lowest faulty position that several threads report.
class FirstFault {
 public:
  void report(int64_t position) {
    int64_t lowest = at_.load(std::memory_order_relaxed);
    while (position < lowest && !at_.compare_exchange_weak(lowest, position, std::memory_order_relaxed)) {
    }
  }
  bool any() const { return at_.load(std::memory_order_relaxed) != kNone; }
  int64_t at() const { return at_.load(std::memory_order_relaxed); }

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> at_{kNone};
};

// Copies nothing for an index out of range; the caller then discards the output.
struct Gather : GatherDims {
  // Rows are prefetched this far ahead; the hardware cannot predict their addresses.
  static constexpr int64_t kAhead = 16;

  template <class T, class Index>
  void run(const T* params, const Index* indices, T* out, FirstFault& fault) const {
    const int64_t rows = batch * outer * each;
    const int64_t work = rows * (inner * static_cast<int64_t>(2 * sizeof(T)) + static_cast<int64_t>(sizeof(Index)));
    cpu::parallel_ranges(
        rows, work,
        [&](int64_t begin, int64_t end) {
          int64_t j = begin % each;
          int64_t block = begin / each;  // batch * outer + o
          for (int64_t row = begin; row < end; ++row) {
            const int64_t position = block / outer * each + j;
            const auto index = static_cast<int64_t>(indices[position]);
            if (inner > 1 && j + kAhead < each) {
              const auto next = static_cast<int64_t>(indices[position + kAhead]);
              if (next >= 0 && next < limit) __builtin_prefetch(params + (block * limit + next) * inner);
            }
            if (index < 0 || index >= limit) [[unlikely]] {
              fault.report(position);
            } else if (inner == 1) {
              out[row] = params[block * limit + index];
            } else {
              std::copy_n(params + (block * limit + index) * inner, inner, out + row * inner);
            }
            if (++j == each) {
              j = 0;
              ++block;
            }
          }
        },
        1);
  }
};

struct RunGather {
  template <class T>
  static void run(KernelContext& c) {
    const Gather gather{gather_dims(c)};
    if (c.out_numel(0) == 0) return check_only(c, gather.limit);
    with_index_type(c.in(1).dtype(), [&]<class Index>() {
      FirstFault fault;
      const auto* list = c.data<Index>(1);
      gather.run(c.data<T>(0), list, c.out_data<T>(0), fault);
      if (fault.any()) bad_index(fault.at(), gather.limit, static_cast<int64_t>(list[fault.at()]));
    });
  }

 private:
  // For an empty output: nothing is copied, but a wrong index is still an error.
  static void check_only(KernelContext& c, int64_t limit) {
    with_index_type(c.in(1).dtype(), [&]<class Index>() {
      const auto* list = c.data<Index>(1);
      for (int64_t i = 0; i < c.numel(1); ++i) {
        const auto index = static_cast<int64_t>(list[i]);
        if (index < 0 || index >= limit) bad_index(i, limit, index);
      }
    });
  }
  [[noreturn]] static void bad_index(int64_t position, int64_t limit, int64_t index) {
    invalid("indices[{}]: expected one in [0, {}), got {}", position, limit, index);
  }
};

struct RunOneHot {
  template <class T>
  static void run(KernelContext& c) {
    const OneHotDims dims = one_hot_dims(c);
    const int64_t outer = dims.outer, depth = dims.depth, inner = dims.inner;
    const T& on = *c.data<T>(2);
    const T& off = *c.data<T>(3);
    T* out = c.out_data<T>(0);
    if (c.out_numel(0) == 0) return;
    with_index_type(c.in(0).dtype(), [&]<class Index>() {
      const auto* indices = c.data<Index>(0);
      cpu::parallel_ranges(
          outer, c.out_numel(0) * static_cast<int64_t>(sizeof(T)),
          [&](int64_t begin, int64_t end) {
            std::fill(out + begin * depth * inner, out + end * depth * inner, off);
            for (int64_t o = begin; o < end; ++o) {
              for (int64_t i = 0; i < inner; ++i) {
                const auto hot = static_cast<int64_t>(indices[o * inner + i]);
                if (hot >= 0 && hot < depth) out[(o * depth + hot) * inner + i] = on;
              }
            }
          },
          1);
    });
  }
};

struct RunUnravelIndex {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.numel(0), rank = c.numel(1);
    const T *indices = c.data<T>(0), *dims = c.data<T>(1);
    T* out = c.out_data<T>(0);
    int64_t count = 1;
    for (int64_t k = 0; k < rank; ++k) {
      if (dims[k] < 1) invalid("dims[{}]: expected at least 1, got {}", k, dims[k]);
      count = checked_mul(count, static_cast<int64_t>(dims[k]), "number of elements");
    }
    for (int64_t i = 0; i < n; ++i) {
      auto rest = static_cast<int64_t>(indices[i]);
      if (rest < 0 || rest >= count) invalid("indices[{}]: expected one in [0, {}), got {}", i, count, rest);
      for (int64_t k = rank; k-- > 0; rest /= dims[k]) out[k * n + i] = static_cast<T>(rest % dims[k]);
    }
  }
};

const CpuKernel unravel_kernel("UnravelIndex", types::index{}, RunUnravelIndex{});
const CpuKernel gather_kernel("GatherV2", types::every{}, RunGather{});
const CpuKernel one_hot_kernel("OneHot", types::every{}, RunOneHot{});

}  // namespace
}  // namespace panto
