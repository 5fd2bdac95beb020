// The loop of reductions: one template for any set of axes.
//
//   struct MaxOf {...};                                       // a reducer, see device/math/reducers.h
//   reduce<MaxOf<float>>(x, shape, axes, out, n, device)      // device: where the scratch memory comes from
//
// Determinism: the elements of one result are cut into blocks of a fixed size. Each block is combined in a fixed order
// (in kLanes running values that the compiler keeps in vector registers), and blocks are combined in order. So a result
// depends on the shape only, never on the number of threads. Accuracy: a running value of type Lane sees at most kBlock
// / kLanes (or kRowBlock) elements; blocks are combined in the wider type Total.
//
// A reducer R has
//   Element, Lane, Total                the types of an element, of a running value within a block, of blocks combined
//   Lane lane(); Total total();         the identities
//   Lane add(Lane, Element)             adds an element to a running value
//   Lane join(Lane, Lane)               combines two running values
//   Total fold(Total, Lane)             adds a block's running value to a total
//   Total merge(Total, Total)           combines two totals
//   Result finish(Total, int64_t n)     n: elements per result
//   Core (optional)                     a reducer with the same loops but another finish(); loops are compiled for Core
//
// Elements may be stored in another type than Element (halves, narrow integers): blocks are converted, in the caches,
// and go through the same loops. Contiguous bfloat16s that are summed are converted in registers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "panto/device/cpu/elementwise/cast.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/stream.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/reducers.h"
#include "panto/device/scratch.h"
#include "panto/device/shape/reduce_shape.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::cpu {

inline constexpr int64_t kLanes = 32;        // running values of a contiguous block
inline constexpr int64_t kBlock = 1024;      // elements of one block
inline constexpr int64_t kTogether = 4;      // blocks that are read in turns
inline constexpr int64_t kTurn = 128;        // elements per turn
inline constexpr int64_t kRowBlock = 32;     // rows that are added up element by element before folding
inline constexpr int64_t kTile = 512;        // columns per tile
inline constexpr int64_t kPart = 64 * 1024;  // elements of one result per task: the grain of sharing

// The running values of a block, one per lane.
template <class R>
struct Lanes {
  using Lane = typename R::Lane;
  Lane at[kLanes];

  Lanes() { std::fill_n(at, kLanes, R::lane()); }
  // n: a multiple of kLanes.
  [[gnu::always_inline]] void add(const typename R::Element* x, int64_t n) {
    Lane now[kLanes];  // a copy that the compiler keeps in registers
    std::copy_n(at, kLanes, now);
    for (int64_t i = 0; i < n; i += kLanes) {
// Unrolled fully: only -O3 would do so itself, and a loop keeps `now` in memory.
#pragma GCC unroll 32
      for (int64_t l = 0; l < kLanes; ++l) now[l] = R::add(now[l], x[i + l]);
    }
    std::copy_n(now, kLanes, at);
  }
  // Lanes are joined first, so that few of them are folded into the total one after the other.
  typename R::Total fold_into(typename R::Total total) {
    for (int64_t width = kLanes / 2; width >= kLanes / 8; width /= 2) {
      for (int64_t l = 0; l < width; ++l) at[l] = R::join(at[l], at[l + width]);
    }
    for (int64_t l = 0; l < kLanes / 8; ++l) total = R::fold(total, at[l]);
    return total;
  }
};

// Reduces a contiguous run block by block. `in_turns`: reads several blocks in turns, which is faster from memory on
// some processors (device/cpu/stream.h). Inlined, to be compiled for the caller's instruction set (device/cpu/isa.h).
template <class R>
[[gnu::always_inline]] inline typename R::Total reduce_run(const typename R::Element* x, int64_t n,
                                                           typename R::Total total, bool in_turns = false) {
  for (; in_turns && n >= kTogether * kBlock; n -= kTogether * kBlock, x += kTogether * kBlock) {
    Lanes<R> lanes[kTogether];
    for (int64_t i = 0; i < kBlock; i += kTurn) {
      for (int64_t k = 0; k < kTogether; ++k) lanes[k].add(x + k * kBlock + i, kTurn);
    }
    for (Lanes<R>& block : lanes) total = block.fold_into(total);
  }
  while (n >= kLanes) {
    const int64_t size = std::min(n, kBlock) / kLanes * kLanes;
    Lanes<R> lanes;
    lanes.add(x, size);
    total = lanes.fold_into(total);
    x += size;
    n -= size;
  }
  if (n > 0) {
    typename R::Lane last = R::lane();
    for (int64_t i = 0; i < n; ++i) last = R::add(last, x[i]);
    total = R::fold(total, last);
  }
  return total;
}

// Walks over the elements of some dimensions in row-major order.
class Walk {
 public:
  Walk(const ReduceShape::Dims& dims, int64_t start) : dims_(dims), index_(dims.size()) {
    for (size_t d = 0; d < dims.size(); ++d) {
      index_[d] = start % dims[d].size;
      start /= dims[d].size;
      offset_ += index_[d] * dims[d].stride;
    }
  }
  int64_t offset() const { return offset_; }
  void next() {
    for (size_t d = 0; d < dims_.size(); ++d) {
      offset_ += dims_[d].stride;
      if (++index_[d] < dims_[d].size) return;
      offset_ -= dims_[d].size * dims_[d].stride;
      index_[d] = 0;
    }
  }

 private:
  const ReduceShape::Dims& dims_;
  SmallVector<int64_t, 4> index_;
  int64_t offset_ = 0;
};

template <class R>
struct CoreOf {
  using type = R;
};
template <class R>
  requires requires { typename R::Core; }
struct CoreOf<R> {
  using type = typename R::Core;
};

// Reduces `count` contiguous runs of n elements, one behind the other, run r into totals[r].
template <class R>
[[gnu::noinline]] void add_runs(const typename R::Element* x, int64_t n, int64_t count, typename R::Total* totals,
                                bool in_turns) {
  multiversioned_for<Compute<typename R::Element>>([&] {
    for (int64_t r = 0; r < count; ++r) totals[r] = reduce_run<R>(x + r * n, n, totals[r], in_turns);
  });
}

// Converts n elements of `x` to R's element type.
template <class R, class In>
void convert_for(const In* x, int64_t n, typename R::Element* to) {
  static const InnerLoopFn convert = cast_inner_loop(dtype_of<typename R::Element>, dtype_of<In>);
  const void* const in[] = {x};
  convert(1, to, n, in);
}

// add_runs for elements of any type.
template <class R, class In>
void add_runs_of(const In* x, int64_t n, int64_t count, typename R::Total* totals, bool in_turns) {
  if constexpr (std::is_same_v<In, typename R::Element>) {
    add_runs<R>(x, n, count, totals, in_turns);
  } else if constexpr (std::is_same_v<In, BFloat16> && std::is_same_v<R, SumOf<float>>) {
    // Each is converted by a shift, in registers. Rows of 4096: 1.18 -> 1.01 ms on two Sapphire Rapids cores.
    add_runs<RoundedOf<R, In>>(x, n, count, totals, in_turns);
  } else {
    alignas(64) typename R::Element block[kBlock];
    const int64_t together = std::max<int64_t>(1, kBlock / n);
    for (int64_t r = 0; r < count; r += together) {
      const int64_t runs = std::min(together, count - r);
      for (int64_t i = 0; i < n; i += kBlock) {
        const int64_t size = std::min(kBlock, n - i);
        convert_for<R>(x + r * n + i, runs * size, block);
        add_runs<R>(block, size, runs, totals + r, false);
      }
    }
  }
}

// Reduces if the innermost dimension is reduced: each result is the total of contiguous runs.
template <class R, class In, class Out>
void reduce_runs(const ReduceShape& s, const In* x, Out* out, Device& device) {
  using Core = typename CoreOf<R>::type;
  using Total = typename R::Total;
  // Each element of `segments` is one run. All runs of a result form one sequence, which is cut into parts.
  const int64_t run = s.reduced.empty() ? 1 : s.reduced[0].size;
  ReduceShape::Dims segments;
  for (size_t d = 1; d < s.reduced.size(); ++d) segments.push_back(s.reduced[d]);
  const int64_t parts = ceil_div(s.count, kPart);
  const bool in_turns = reads_in_turns();
  if (parts == 1 && segments.empty() && s.kept.size() <= 1) {
    // The common case: the last dimension of a matrix, or a small tensor reduced completely.
    parallel_ranges(
        s.results, s.results * run * static_cast<int64_t>(sizeof(*x)),
        [&](int64_t begin, int64_t end) {
          constexpr int64_t kRuns = 64;
          Total totals[kRuns];
          for (int64_t r = begin; r < end; r += kRuns) {
            const int64_t runs = std::min(kRuns, end - r);
            std::fill_n(totals, runs, R::total());
            add_runs_of<Core>(x + r * run, run, runs, totals, in_turns);
            for (int64_t i = 0; i < runs; ++i) out[r + i] = convert<Out>(R::finish(totals[i], run));
          }
        },
        64);
    return;
  }
  const Scratch<Total> scratch(device, parts > 1 ? s.results * parts : 0);
  const int64_t work = s.results * s.count * static_cast<int64_t>(sizeof(*x));
  parallel_ranges(
      s.results * parts, work,
      [&](int64_t begin, int64_t end) {
        Walk result(s.kept, begin / parts);
        for (int64_t task = begin; task < end; ++task) {
          const int64_t part = task % parts;
          const int64_t last = std::min(s.count, (part + 1) * kPart);
          Total total = R::total();
          Walk segment(segments, part * kPart / run);
          for (int64_t i = part * kPart; i < last;) {
            const int64_t within = i % run;
            const int64_t n = std::min(run - within, last - i);
            add_runs_of<Core>(x + result.offset() + segment.offset() + within, n, 1, &total, in_turns);
            segment.next();
            i += n;
          }
          if (parts == 1) {
            out[task] = convert<Out>(R::finish(total, s.count));
          } else {
            scratch.data()[task] = total;
          }
          if (part == parts - 1) result.next();
        }
      },
      parts > 1 ? 1 : std::max<int64_t>(1, 64 / s.count));
  for (int64_t r = 0; parts > 1 && r < s.results; ++r) {
    Total total = scratch.data()[r * parts];
    for (int64_t p = 1; p < parts; ++p) total = R::merge(total, scratch.data()[r * parts + p]);
    out[r] = convert<Out>(R::finish(total, s.count));
  }
}

// Adds `rows` rows of `columns` <= kTile elements, element by element, to `totals`. Inlined, like reduce_run.
template <class R>
[[gnu::always_inline]] inline void reduce_rows(const typename R::Element* x, int64_t rows, int64_t stride,
                                               int64_t columns, typename R::Total* totals) {
  using Lane = typename R::Lane;
  Lane lanes[kTile];
  for (int64_t first = 0; first < rows; first += kRowBlock) {
    const int64_t last = std::min(rows, first + kRowBlock);
    for (int64_t j = 0; j < columns; ++j) lanes[j] = R::lane();
    int64_t i = first;
    // Four rows at a time, to load and store the running values less often.
    for (; i + 4 <= last; i += 4) {
      const typename R::Element* row = x + i * stride;
      for (int64_t j = 0; j < columns; ++j) {
        lanes[j] =
            R::add(R::add(R::add(R::add(lanes[j], row[j]), row[j + stride]), row[j + 2 * stride]), row[j + 3 * stride]);
      }
    }
    for (; i < last; ++i) {
      for (int64_t j = 0; j < columns; ++j) lanes[j] = R::add(lanes[j], x[i * stride + j]);
    }
    for (int64_t j = 0; j < columns; ++j) totals[j] = R::fold(totals[j], lanes[j]);
  }
}

// Adds `rows` rows to `totals`, `joined` rows at a time as one long row.
template <class R>
[[gnu::noinline]] void add_rows(const typename R::Element* x, int64_t rows, int64_t stride, int64_t columns,
                                int64_t joined, typename R::Total* totals) {
  multiversioned_for<typename R::Element>([&] {
    reduce_rows<R>(x, rows / joined, stride * joined, columns * joined, totals);
    const int64_t rest = rows % joined;
    if (rest > 0) reduce_rows<R>(x + (rows - rest) * stride, 1, stride, columns * rest, totals);
  });
}

// add_rows for elements of any type. Precondition: rows that are joined are contiguous.
template <class R, class In>
void add_rows_of(const In* x, int64_t rows, int64_t stride, int64_t columns, int64_t joined,
                 typename R::Total* totals) {
  if constexpr (std::is_same_v<In, typename R::Element>) {
    add_rows<R>(x, rows, stride, columns, joined, totals);
  } else {
    alignas(64) typename R::Element block[kRowBlock * kTile];
    const int64_t together = kRowBlock * joined;
    for (int64_t first = 0; first < rows; first += together) {
      const int64_t count = std::min(together, rows - first);
      if (stride == columns) {
        convert_for<R>(x + first * stride, count * columns, block);
      } else {
        for (int64_t i = 0; i < count; ++i) convert_for<R>(x + (first + i) * stride, columns, block + i * columns);
      }
      add_rows<R>(block, count, columns, columns, joined, totals);
    }
  }
}

// Reduces if the innermost dimension is kept: rows are added element by element.
template <class R, class In, class Out>
void reduce_columns(const ReduceShape& s, const In* x, Out* out, Device& device) {
  using Total = typename R::Total;
  const int64_t width = s.kept[0].size;  // of a row
  ReduceShape::Dims outer;
  for (size_t d = 1; d < s.kept.size(); ++d) outer.push_back(s.kept[d]);
  // Rows at one stride in memory form a group; there is one group for each element of `segments`.
  const int64_t group = s.reduced.empty() ? 1 : s.reduced[0].size;
  const int64_t stride = s.reduced.empty() ? width : s.reduced[0].stride;
  ReduceShape::Dims segments;
  for (size_t d = 1; d < s.reduced.size(); ++d) segments.push_back(s.reduced[d]);
  // Narrow rows are joined to one long row.
  const int64_t joined = stride == width ? std::max<int64_t>(1, std::min(group, 128 / width)) : 1;
  const int64_t tiles = ceil_div(width, kTile);
  const int64_t part_rows = std::max<int64_t>(joined, ceil_div(kPart, std::min(width, kTile)) / joined * joined);
  const int64_t parts = ceil_div(s.count, part_rows);
  const int64_t results = s.results / width;
  const Scratch<Total> scratch(device, parts > 1 ? s.results * parts : 0);
  const int64_t work = s.results * s.count * static_cast<int64_t>(sizeof(*x));
  parallel_ranges(
      results * parts * tiles, work,
      [&](int64_t begin, int64_t end) {
        Total totals[kTile];
        for (int64_t task = begin; task < end; ++task) {
          const int64_t result = task / (parts * tiles);
          const int64_t part = task / tiles % parts;
          const int64_t column = task % tiles * kTile;
          const int64_t columns = std::min(kTile, width - column);
          const In* base = x + Walk(outer, result).offset() + column;
          const int64_t last = std::min(s.count, (part + 1) * part_rows);
          std::fill_n(totals, columns * joined, R::total());
          Walk segment(segments, part * part_rows / group);
          for (int64_t i = part * part_rows; i < last;) {
            const int64_t within = i % group;
            const int64_t rows = std::min(group - within, last - i);
            add_rows_of<typename CoreOf<R>::type>(base + segment.offset() + within * stride, rows, stride, columns,
                                                  joined, totals);
            segment.next();
            i += rows;
          }
          for (int64_t r = 1; r < joined; ++r) {
            for (int64_t j = 0; j < columns; ++j) totals[j] = R::merge(totals[j], totals[r * columns + j]);
          }
          if (parts > 1) {
            std::copy_n(totals, columns, scratch.data() + (result * parts + part) * width + column);
          } else {
            Out* to = out + result * width + column;
            for (int64_t j = 0; j < columns; ++j) to[j] = convert<Out>(R::finish(totals[j], s.count));
          }
        }
      },
      1);
  if (parts == 1) return;
  parallel_ranges(s.results, s.results * parts * static_cast<int64_t>(sizeof(Total)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const Total* first = scratch.data() + r / width * parts * width + r % width;
      Total total = *first;
      for (int64_t p = 1; p < parts; ++p) total = R::merge(total, first[p * width]);
      out[r] = convert<Out>(R::finish(total, s.count));
    }
  });
}

// Reduces `x` over `axes` into the `n` elements of `out`, one for each index of the other dimensions. In and Out: R's
// own types, or others that convert to them.
template <class R, class In, class Out>
void reduce(const In* x, const PartialShape& shape, const AxisFlags& axes, Out* out, int64_t n, Device& device) {
  const ReduceShape s(shape, axes);
  if (s.results != n) fail(Code::kInternal, "reduction: expected an output as inferred from these axes, got another");
  if (s.results == 0) return;
  if (s.count == 0) {
    std::fill_n(out, s.results, convert<Out>(R::finish(R::total(), 0)));
  } else if (s.inner_reduced) {
    reduce_runs<R>(s, x, out, device);
  } else {
    reduce_columns<R>(s, x, out, device);
  }
}

}  // namespace panto::cpu
