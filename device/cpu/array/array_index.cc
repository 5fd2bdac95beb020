// Gathering by indices, sums by segment, one-hot vectors. Indices are checked before anything is read or written by
// them.

#include <algorithm>
#include <atomic>
#include <limits>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/vocabulary.h"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/indexing.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/half.h"

namespace panto {
namespace {

// The lowest position at which something was wrong, found by several threads.
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

// Of an index that is out of range nothing is copied; the caller throws the output away.
struct Gather : GatherDims {
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
  // Nothing is to be copied; a wrong index is wrong all the same, unless there is nothing to index.
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

// Columns are shared between threads, never the rows that are added up: the order of additions does not depend on how
// many threads there are.
template <class T, class Index>
void sum_segments(const T* data, const Index* ids, int64_t rows, int64_t columns, T* out) {
  constexpr int64_t kPiece = 1 << 20;  // elements
  cpu::parallel_for(columns, rows * columns * static_cast<int64_t>(2 * sizeof(T)), [&](int64_t begin, int64_t end) {
    const int64_t piece = std::max<int64_t>(1, kPiece / std::max<int64_t>(1, end - begin));
    cpu::in_pieces(rows, piece, [&](int64_t first, int64_t last) {
      for (int64_t r = first; r < last; ++r) {
        const auto id = static_cast<int64_t>(ids[r]);
        if (id < 0) continue;
        T* to = out + id * columns;
        const T* from = data + r * columns;
        for (int64_t i = begin; i < end; ++i) to[i] = k::add(to[i], from[i]);
      }
    });
  });
}

struct RunSegmentSum {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t segments = c.out_shape(0).dim(0);
    const int64_t rows = c.numel(1);
    T* out = c.out_data<T>(0);
    std::fill_n(out, c.out_numel(0), T{});
    with_index_type(c.in(1).dtype(), [&]<class Index>() {
      const auto* ids = c.data<Index>(1);
      for (int64_t r = 0; r < rows; ++r) {
        if (static_cast<int64_t>(ids[r]) >= segments) {
          invalid("segment_ids[{}]: expected one below {}, got {}", r, segments, static_cast<int64_t>(ids[r]));
        }
      }
      if (c.numel(0) > 0) sum_segments(c.data<T>(0), ids, rows, c.numel(0) / rows, out);
    });
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

const CpuKernel gather_kernel("GatherV2", types::every{}, RunGather{});
const CpuKernel unsorted_segment_sum_kernel("UnsortedSegmentSum", types::of<"UnsortedSegmentSum">{},
                                            InWider<RunSegmentSum>{});
const CpuKernel one_hot_kernel("OneHot", types::every{}, RunOneHot{});

}  // namespace
}  // namespace panto
