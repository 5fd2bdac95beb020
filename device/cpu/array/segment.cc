// Segment sums, means, products and extremes. Segment ids are checked before they are used. The order in which rows are
// joined does not depend on the number of threads.
#include <algorithm>
#include <atomic>
#include <vector>

#include "panto/device/cpu/array/rows_in_part.h"
#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/elementwise/inner_loop.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/stream.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/segment_rows.h"
#include "panto/device/op_kernels.h"
#include "panto/device/scratch.h"
#include "panto/device/shape/indexing.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/array_types.h"

namespace panto {
namespace {

// ---- Unsorted ids --------------------------------------------------------------------------------------------------

template <class Rows>
struct UnsortedSegments {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t segments = c.out_shape(0).dim(0);
    const int64_t rows = c.numel(1);
    T* out = c.out_data<T>(0);
    std::fill_n(out, c.out_numel(0), Rows::template nothing<T>());
    with_index_type(c.in(1).dtype(), [&]<class Index>() {
      const auto* ids = c.data<Index>(1);
      for (int64_t r = 0; r < rows; ++r) {
        if (static_cast<int64_t>(ids[r]) >= segments) {
          invalid("segment_ids[{}]: expected one below {}, got {}", r, segments, static_cast<int64_t>(ids[r]));
        }
      }
      if (c.numel(0) > 0) join(c.data<T>(0), ids, rows, c.numel(0) / rows, segments, out);
    });
  }

 private:
  // Long rows are split by columns between threads. For short rows each thread owns some segments and scans all ids.
  template <class T, class Index>
  static void join(const T* data, const Index* ids, int64_t rows, int64_t columns, int64_t segments, T* out) {
    const int64_t work = rows * columns * static_cast<int64_t>(4 * sizeof(T));
    if (columns >= kLongRow) {
      cpu::parallel_for(columns, work, [&](int64_t begin, int64_t end) {
        join_part(data, ids, rows, columns, 0, segments, begin, end, out);
      });
    } else {
      cpu::parallel_for(
          segments, work,
          [&](int64_t begin, int64_t end) { join_part(data, ids, rows, columns, begin, end, 0, columns, out); }, 1);
    }
  }

  // Joins the columns [begin, end) of the segments [first, last).
  template <class T, class Index>
  static void join_part(const T* data, const Index* ids, int64_t rows, int64_t columns, int64_t first, int64_t last,
                        int64_t begin, int64_t end, T* out) {
    constexpr int64_t kPiece = 1 << 20;  // elements
    const int64_t piece = std::max<int64_t>(1, kPiece / std::max<int64_t>(1, end - begin));
    const auto segment = [&](int64_t r) { return static_cast<int64_t>(ids[r]); };
    const auto in_out = [&](int64_t r) { return out + segment(r) * columns + begin; };
    cpu::in_pieces(rows, piece, [&](int64_t from_row, int64_t to_row) {
      cpu::multiversioned_for<T>([&] {
        cpu::for_rows_in_part(from_row, to_row, first, last, segment, in_out, end - begin, [&](int64_t r, T* to) {
          const T* from = data + r * columns + begin;
          PANTO_INDEPENDENT
          for (int64_t i = 0; i < end - begin; ++i) {
            to[i] = convert<T>(Rows{}(convert<Compute<T>>(to[i]), convert<Compute<T>>(from[i])));
          }
        });
      });
    });
  }
  static constexpr int64_t kLongRow = 1024;
};

// ---- Sorted ids ----------------------------------------------------------------------------------------------------

// Rows [begin, end) have the same id.
struct Run {
  int64_t begin, end, segment;
};

template <class Index>
std::vector<Run> runs_of(const Index* ids, int64_t rows) {
  std::vector<Run> runs;
  for (int64_t r = 0; r < rows;) {
    const auto id = static_cast<int64_t>(ids[r]);
    if (id < 0) invalid("segment_ids[{}]: expected at least 0, got {}", r, id);
    if (!runs.empty() && id < runs.back().segment) {
      invalid("segment_ids[{}]: expected at least {}, the one before, got {}", r, runs.back().segment, id);
    }
    const int64_t begin = r;
    while (++r < rows && ids[r] == ids[begin]) continue;
    runs.push_back({begin, r, id});
  }
  return runs;
}

template <class Rows, bool kMean = false>
struct SortedSegments {
  template <class T>
  static void run(KernelContext& c) {
    const std::vector<Run> runs = find_runs(c);
    const Shape& shape = c.shape(0);
    const Shape dims = with_first(runs.empty() ? 0 : runs.back().segment + 1, shape);
    Tensor out = allocate_tensor(c.device(), c.in(0).dtype(), dims);
    if (out.numel() > 0) {
      const int64_t columns = c.numel(0) / shape.dim(0);
      auto* to = mutable_data<T>(out);
      if (static_cast<int64_t>(runs.size()) < dims.dim(0)) {
        std::fill_n(to, out.numel(), Rows::template gap<T>());
      }
      join(c.data<T>(0), runs, c.numel(0), columns, to);
    }
    c.set_out(0, std::move(out));
  }

 private:
  static std::vector<Run> find_runs(KernelContext& c) {
    std::vector<Run> runs;
    with_index_type(c.in(1).dtype(), [&]<class Index>() { runs = runs_of(c.data<Index>(1), c.numel(1)); });
    return runs;
  }

  template <class T>
  static void join(const T* data, const std::vector<Run>& runs, int64_t elements, int64_t columns, T* out) {
    constexpr int64_t kColumns = 256;  // joined at a time
    const int64_t tiles = (columns + kColumns - 1) / kColumns;
    cpu::parallel_ranges(
        static_cast<int64_t>(runs.size()) * tiles, elements * static_cast<int64_t>(sizeof(T)),
        [&](int64_t begin, int64_t end) {
          Compute<T> joined[kColumns];
          for (int64_t task = begin; task < end; ++task) {
            const Run& run = runs[static_cast<size_t>(task / tiles)];
            const int64_t column = task % tiles * kColumns, width = std::min(kColumns, columns - column);
            const T* row = data + run.begin * columns + column;
            for (int64_t i = 0; i < width; ++i) joined[i] = convert<Compute<T>>(row[i]);
            cpu::in_pieces(run.end - run.begin - 1, 1 << 14, [&](int64_t first, int64_t last) {
              for (int64_t r = first; r < last; ++r) {
                row += columns;
                for (int64_t i = 0; i < width; ++i) joined[i] = Rows{}(joined[i], convert<Compute<T>>(row[i]));
              }
            });
            T* to = out + run.segment * columns + column;
            for (int64_t i = 0; i < width; ++i) to[i] = finished_segment<kMean, T>(joined[i], run.end - run.begin);
          }
        },
        1);
  }
};

// ---- Sorted ids of gathered rows -----------------------------------------------------------------------------------

// Gathers rows and joins them without storing the gathered rows.
template <bool kMean>
struct ChosenSegments {
  template <class T>
  static void run(KernelContext& c) {
    const Shape& shape = c.shape(0);
    const int64_t limit = shape.dim(0), columns = limit == 0 ? 0 : c.numel(0) / limit;
    const int64_t count = c.numel(1);
    const Scratch<int64_t> scratch(c.device(), count);
    int64_t* const rows = scratch.data();
    with_index_type(c.in(1).dtype(), [&]<class Index>() { look_up(c.data<Index>(1), limit, rows, count); });
    std::vector<Run> runs;
    with_index_type(c.in(2).dtype(), [&]<class Index>() { runs = runs_of(c.data<Index>(2), c.numel(2)); });
    const int64_t segments = runs.empty() ? 0 : runs.back().segment + 1;
    Tensor out = allocate_tensor(c.device(), c.in(0).dtype(), with_first(segments, shape));
    auto* to = mutable_data<T>(out);
    if (static_cast<int64_t>(runs.size()) < segments) std::fill_n(to, out.numel(), T{});
    join(c.data<T>(0), rows, count, runs, columns, to);
    c.set_out(0, std::move(out));
  }

 private:
  template <class Index>
  static void look_up(const Index* indices, int64_t limit, int64_t* rows, int64_t count) {
    std::atomic<bool> one_is_outside{false};
    cpu::parallel_ranges(count, count * static_cast<int64_t>(2 * sizeof(int64_t)), [&](int64_t begin, int64_t end) {
      bool outside = false;
      for (int64_t i = begin; i < end; ++i) {
        rows[i] = static_cast<int64_t>(indices[i]);
        outside |= (rows[i] < 0) | (rows[i] >= limit);
      }
      if (outside) one_is_outside = true;
    });
    if (!one_is_outside) return;
    const int64_t* at = std::find_if(rows, rows + count, [&](int64_t row) { return row < 0 || row >= limit; });
    invalid("indices[{}]: expected one in [0, {}), got {}", at - rows, limit, *at);
  }

  template <class T>
  static void join(const T* data, const int64_t* rows, int64_t count, const std::vector<Run>& runs, int64_t columns,
                   T* out) {
    constexpr int64_t kColumns = 256;  // joined at a time
    constexpr int64_t kAhead = 16;     // prefetch distance in rows; addresses are unpredictable
    const int64_t tiles = (columns + kColumns - 1) / kColumns;
    const int64_t elements = count * columns;
    cpu::parallel_ranges(
        static_cast<int64_t>(runs.size()) * tiles, elements * static_cast<int64_t>(2 * sizeof(T)),
        [&](int64_t begin, int64_t end) {
          cpu::multiversioned([&] {
            T joined[kColumns];
            for (int64_t task = begin; task < end; ++task) {
              const Run& run = runs[static_cast<size_t>(task / tiles)];
              const int64_t column = task % tiles * kColumns, width = std::min(kColumns, columns - column);
              const int64_t first = run.begin;
              std::copy_n(data + rows[first] * columns + column, width, joined);
              cpu::in_pieces(run.end - run.begin - 1, 1 << 14, [&](int64_t from, int64_t to) {
                for (int64_t r = first + 1 + from; r <= first + to; ++r) {
                  const T* row = data + rows[r] * columns + column;
                  if (r + kAhead < count) cpu::prefetch(data + rows[r + kAhead] * columns + column, width);
                  for (int64_t i = 0; i < width; ++i) joined[i] += row[i];
                }
              });
              T* to = out + run.segment * columns + column;
              const T parts = kMean ? static_cast<T>(run.end - run.begin) : T{1};
              for (int64_t i = 0; i < width; ++i) to[i] = joined[i] / parts;
            }
          });
        },
        1);
  }
};

const CpuKernel chosen_sum("SparseSegmentSum", TypeList<float, double>{}, ChosenSegments<false>{});
const CpuKernel chosen_mean("SparseSegmentMean", TypeList<float, double>{}, ChosenSegments<true>{});
const CpuKernel unsorted_sum("UnsortedSegmentSum", types::of<"UnsortedSegmentSum">{},
                             InWider<UnsortedSegments<AddRows>>{});
const CpuKernel unsorted_prod("UnsortedSegmentProd", types::of<"UnsortedSegmentProd">{},
                              InWider<UnsortedSegments<MultiplyRows>>{});
const CpuKernel unsorted_max("UnsortedSegmentMax", types::of<"UnsortedSegmentMax">{}, UnsortedSegments<LargestRow>{});
const CpuKernel unsorted_min("UnsortedSegmentMin", types::of<"UnsortedSegmentMin">{}, UnsortedSegments<SmallestRow>{});
const CpuKernel sorted_sum("SegmentSum", types::of<"SegmentSum">{}, SortedSegments<AddRows>{});
const CpuKernel sorted_mean("SegmentMean", types::of<"SegmentMean">{}, SortedSegments<AddRows, true>{});
const CpuKernel sorted_prod("SegmentProd", types::of<"SegmentProd">{}, SortedSegments<MultiplyRows>{});
const CpuKernel sorted_max("SegmentMax", types::of<"SegmentMax">{}, SortedSegments<LargestRow>{});
const CpuKernel sorted_min("SegmentMin", types::of<"SegmentMin">{}, SortedSegments<SmallestRow>{});

}  // namespace
}  // namespace panto
