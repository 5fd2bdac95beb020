// The loop of reductions on the GPU, the counterpart of device/cpu/reduce/reduce.h: any set of axes, the reducers of
// device/math/reducers.h.
//
//   reduce<SumOf<float>>(device, ReduceShape(shape, axes), Elements<float>{x}, finish)
//
// finish(r, total, n) runs on the device with the total of result r and its number of elements, and writes the output.
// A reducer with add(lane, x, i) also gets the index i of x among the result's elements.
//
// Determinism: which thread adds which elements in which order depends on the shape only. Accuracy: a running value of
// type Lane sees at most kBatch elements (kBatch rows of a column); lanes are combined in the wider type Total.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "panto/device/cuda/elementwise/loops.cuh"
#include "panto/device/math/reducers.h"
#include "panto/device/scratch.h"
#include "panto/device/shape/reduce_shape.h"

namespace panto::cuda {

inline constexpr int kReduceThreads = 256;
inline constexpr int kBatch = 4;              // units of elements that a thread reads before it adds any
inline constexpr int64_t kMinPart = 4096;     // fewest elements for a block of their own
inline constexpr int64_t kManyBlocks = 1024;  // keep a GPU busy; a constant, so that results are the same on all GPUs
inline constexpr int64_t kMostBlocks = int64_t{1} << 30;
inline constexpr unsigned kAllLanes = ~0u;

// The kept or the reduced dimensions, innermost first, with the input's strides.
struct Walk {
  static constexpr int kMaxRank = 16;
  int rank = 0;
  bool wide = false;  // positions may need more than 31 bits
  int64_t size[kMaxRank];
  int64_t stride[kMaxRank];
  Divisor<uint32_t> narrow[kMaxRank];  // divisors for the sizes, unless `wide`

  Walk() = default;
  // Takes the dimensions from `skip` on.
  explicit Walk(const ReduceShape::Dims& dims, size_t skip = 0) {
    int64_t count = 1;
    for (size_t d = skip; d < dims.size(); ++d) {
      if (rank == kMaxRank) {
        fail(Code::kUnimplemented, "input: expected at most 16 kept or reduced dimensions between others on a GPU");
      }
      size[rank] = dims[d].size;
      stride[rank] = dims[d].stride;
      count *= dims[d].size;
      ++rank;
    }
    wide = count > INT32_MAX;
    for (int d = 0; d < rank; ++d) set_size(d, size[d]);
  }
  void set_size(int d, int64_t n) {
    size[d] = n;
    if (!wide) narrow[d] = Divisor<uint32_t>(std::max<int64_t>(1, n));
  }
  // Returns the offset of the element at this position. The outermost dimension needs no division.
  __device__ int64_t offset(int64_t at) const {
    if (rank == 0) return 0;
    int64_t result = 0;
    for (int d = 0; d < rank - 1; ++d) {
      const int64_t next = wide ? at / size[d] : static_cast<int64_t>(narrow[d].quotient(static_cast<uint32_t>(at)));
      result += (at - next * size[d]) * stride[d];
      at = next;
    }
    return result + at * stride[rank - 1];
  }
};

// Elements in 16 bytes.
template <class T>
inline constexpr int kUnit = 16 / static_cast<int>(sizeof(T));

template <class T>
bool aligned(const T* p) {
  return is_aligned<T, kUnit<T>>(p);
}

// Source of a reduction's elements: memory.
template <class T>
struct Elements {
  using Element = T;
  static constexpr int kUnit = cuda::kUnit<T>;
  const T* data;

  bool is_aligned() const { return aligned(data); }
  __device__ T at(int64_t i) const { return data[i]; }
  // Loads elements i, i + 1, ... Precondition: is_aligned(), and i is a multiple of kUnit.
  __device__ void load(int64_t i, T (&to)[kUnit]) const {
    const auto unit = *reinterpret_cast<const Pack<T, kUnit>*>(data + i);
#pragma unroll
    for (int j = 0; j < kUnit; ++j) to[j] = unit.v[j];
  }
};

// Source of a reduction's elements: f(i), for a function of the element's index.
template <class F>
struct Computed {
  using Element = decltype(std::declval<const F&>()(int64_t{}));
  static constexpr int kUnit = 1;
  F f;

  bool is_aligned() const { return false; }
  __device__ Element at(int64_t i) const { return f(i); }
  __device__ void load(int64_t i, Element (&to)[kUnit]) const { to[0] = f(i); }
};

// Finish of a reduction: writes the result.
template <class R, class Out>
struct Store {
  Out* out;
  __device__ void operator()(int64_t i, const typename R::Total& total, int64_t n) const {
    out[i] = R::finish(total, n);
  }
};

template <class R, class Lane, class Element>
__device__ void add_to(Lane& lane, Element x, int64_t i) {
  if constexpr (requires { R::add(lane, x, i); }) {
    lane = R::add(lane, x, i);
  } else {
    lane = R::add(lane, x);
  }
}

// Moves a value of any plain type between the lanes of a warp by `move`, which moves 32 bits.
template <class T, class Move>
__device__ T move_words(const T& value, const Move& move) {
  static_assert(std::is_trivially_copyable_v<T>);
  constexpr size_t kWords = (sizeof(T) + 3) / 4;
  uint32_t words[kWords] = {};
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (size_t k = 0; k < kWords; ++k) words[k] = move(words[k]);
  T result = value;
  memcpy(&result, words, sizeof(T));
  return result;
}
// Returns the value of the lane `distance` above.
template <class T>
__device__ T shuffle_down(const T& value, unsigned distance) {
  return move_words(value, [=](uint32_t word) { return __shfl_down_sync(kAllLanes, word, distance); });
}
// Returns the value of the lane `distance` below; its own if there is none.
template <class T>
__device__ T shuffle_up(const T& value, unsigned distance) {
  return move_words(value, [=](uint32_t word) { return __shfl_up_sync(kAllLanes, word, distance); });
}
// Returns the value of lane `lane`.
template <class T>
__device__ T shuffle_from(const T& value, int lane) {
  return move_words(value, [=](uint32_t word) { return __shfl_sync(kAllLanes, word, lane); });
}

// An uninitialised array in shared memory of a type that may have constructors.
template <class T, int kSize>
struct SharedArray {
  alignas(16) unsigned char bytes[sizeof(T) * kSize];
  __device__ T& operator[](int i) { return reinterpret_cast<T*>(bytes)[i]; }
};

// ---- The innermost dimension is reduced -----------------------------------------------------------------------------

// How results and their elements are split between threads. A result's elements are counted in units of kUnit
// neighbours, or of one element if the innermost dimension is not a multiple of kUnit and not the only one.
struct RowPlan {
  int64_t results, parts;
  int64_t units;  // per result
  int64_t part;   // units per part
  int64_t count;  // elements per result
  int unit;       // elements per unit
  bool vectors;   // units are whole and aligned
  int team;       // threads per part: a power of two up to 32, or kReduceThreads
  Walk kept, reduced;
};

template <class R, class Source>
__device__ typename R::Total reduce_units(const RowPlan& p, const Source& from, int64_t base, int64_t begin,
                                          int64_t end, int member) {
  using Element = typename Source::Element;
  using Lane = typename R::Lane;
  constexpr int kUnit = Source::kUnit;
  typename R::Total total = R::total();
  for (int64_t first = begin + member; first < end; first += int64_t{kBatch} * p.team) {
    Lane lanes[kUnit];
#pragma unroll
    for (int j = 0; j < kUnit; ++j) lanes[j] = R::lane();
    const int64_t last = first + int64_t{kBatch - 1} * p.team;
    if (p.unit == kUnit && last < end && (last + 1) * kUnit <= p.count) {
      Element x[kBatch][kUnit];
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        const int64_t at = base + p.reduced.offset(first + int64_t{b} * p.team);
        if (p.vectors) {
          from.load(at, x[b]);
        } else {
#pragma unroll
          for (int j = 0; j < kUnit; ++j) x[b][j] = from.at(at + j);
        }
      }
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
#pragma unroll
        for (int j = 0; j < kUnit; ++j) add_to<R>(lanes[j], x[b][j], (first + int64_t{b} * p.team) * kUnit + j);
      }
    } else {
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        const int64_t u = first + int64_t{b} * p.team;
        if (u >= end) break;
        const int64_t at = base + p.reduced.offset(u);
        const int64_t rest = p.count - u * p.unit;
#pragma unroll
        for (int j = 0; j < kUnit; ++j) {
          if (j < p.unit && j < rest) add_to<R>(lanes[j], from.at(at + j), u * p.unit + j);
        }
      }
    }
#pragma unroll
    for (int width = kUnit / 2; width > 0; width /= 2) {
#pragma unroll
      for (int j = 0; j < width; ++j) lanes[j] = R::join(lanes[j], lanes[j + width]);
    }
    total = R::fold(total, lanes[0]);
  }
  return total;
}

// Task t is part t / results of result t % results. If `keep` is not null, totals go there for the next kernel.
template <class R, class Source, class Finish>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_rows(RowPlan p, Source from, Finish finish, typename R::Total* keep) {
  using Total = typename R::Total;
  __shared__ SharedArray<Total, kReduceThreads / 32> shared;
  const int thread = static_cast<int>(threadIdx.x);
  const int member = thread & (p.team - 1);
  const int teams = kReduceThreads / p.team;
  const int64_t tasks = p.results * p.parts;
  // All threads of a block do the same number of rounds, because they take part in shuffles.
  for (int64_t first = int64_t{blockIdx.x} * teams; first < tasks; first += int64_t{gridDim.x} * teams) {
    const int64_t task = first + thread / p.team;
    const bool works = task < tasks;
    Total total = R::total();
    int64_t part = 0;
    int64_t result = task;
    if (works) {
      if (p.parts > 1) {
        part = task / p.results;
        result = task - part * p.results;
      }
      const int64_t end = min(p.units, (part + 1) * p.part);
      total = reduce_units<R>(p, from, p.kept.offset(result), part * p.part, end, member);
    }
    for (int width = min(p.team, 32) / 2; width > 0; width /= 2) {
      total = R::merge(total, shuffle_down(total, static_cast<unsigned>(width)));
    }
    if (p.team > 32) {
      if (thread % 32 == 0) shared[thread / 32] = total;
      __syncthreads();
      if (thread == 0) {
        for (int w = 1; w < kReduceThreads / 32; ++w) total = R::merge(total, shared[w]);
      }
      __syncthreads();  // before the next round writes `shared`
    }
    if (works && member == 0) {
      if (keep != nullptr) {
        keep[task] = total;
      } else {
        finish(task, total, p.count);
      }
    }
  }
}

// ---- The innermost dimension is kept --------------------------------------------------------------------------------

// Blocks of `across` threads, each with kUnit columns, and kReduceThreads / across rows.
struct ColumnPlan {
  int64_t results, parts;
  int64_t count;    // rows per result
  int64_t part;     // rows per part
  int64_t columns;  // the innermost dimension
  int64_t tiles;    // blocks side by side
  int64_t outer;    // results / columns
  int across;       // a power of two up to kReduceThreads
  bool vectors;     // columns are whole units, and aligned
  Walk kept, reduced;
};

// Merges the totals of a block's rows into its first row's.
template <class R, int kTotals>
__device__ void merge_down(typename R::Total (&totals)[kTotals],
                           SharedArray<typename R::Total, kReduceThreads * kTotals>& shared, int across) {
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int j = 0; j < kTotals; ++j) shared[j * kReduceThreads + thread] = totals[j];
  __syncthreads();
  for (int half = kReduceThreads / 2; half >= across; half /= 2) {
    if (thread < half) {
#pragma unroll
      for (int j = 0; j < kTotals; ++j) {
        totals[j] = R::merge(totals[j], shared[j * kReduceThreads + thread + half]);
        shared[j * kReduceThreads + thread] = totals[j];
      }
    }
    __syncthreads();
  }
}

// At most 4: a unit of bool has 16, and so many totals do not fit into registers.
template <class Source>
inline constexpr int kColumns = std::min(Source::kUnit, 4);

template <class R, class Source, class Finish>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_columns(ColumnPlan p, Source from, Finish finish, typename R::Total* keep) {
  using Total = typename R::Total;
  using Lane = typename R::Lane;
  using Element = typename Source::Element;
  constexpr int kWidth = kColumns<Source>;
  constexpr int kRows = 2 * kBatch;
  __shared__ SharedArray<Total, kReduceThreads * kWidth> shared;
  const int thread = static_cast<int>(threadIdx.x);
  const int down = kReduceThreads / p.across;
  const int row = thread / p.across;
  const int64_t tasks = p.outer * p.parts * p.tiles;
  for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
    const int64_t tile = task % p.tiles;
    const int64_t part = task / p.tiles % p.parts;
    const int64_t outer = task / (p.tiles * p.parts);
    const int64_t column = (tile * p.across + thread % p.across) * kWidth;
    const int64_t base = p.kept.offset(outer) + column;
    const int64_t end = min(p.count, (part + 1) * p.part);
    const int width = static_cast<int>(min(int64_t{kWidth}, p.columns - column));  // may be below 1
    Total totals[kWidth];
#pragma unroll
    for (int j = 0; j < kWidth; ++j) totals[j] = R::total();
    for (int64_t first = part * p.part + row; first < end && width > 0; first += int64_t{kRows} * down) {
      Lane lanes[kWidth];
#pragma unroll
      for (int j = 0; j < kWidth; ++j) lanes[j] = R::lane();
      if (width >= kWidth && first + int64_t{kRows - 1} * down < end) {
        Element x[kRows][kWidth];
#pragma unroll
        for (int b = 0; b < kRows; ++b) {
          const int64_t at = base + p.reduced.offset(first + int64_t{b} * down);
          if (kWidth == Source::kUnit && p.vectors) {
            if constexpr (kWidth == Source::kUnit) from.load(at, x[b]);
          } else {
#pragma unroll
            for (int j = 0; j < kWidth; ++j) x[b][j] = from.at(at + j);
          }
        }
#pragma unroll
        for (int b = 0; b < kRows; ++b) {
#pragma unroll
          for (int j = 0; j < kWidth; ++j) add_to<R>(lanes[j], x[b][j], first + int64_t{b} * down);
        }
      } else {
#pragma unroll
        for (int b = 0; b < kRows; ++b) {
          const int64_t i = first + int64_t{b} * down;
          if (i >= end) break;
          const int64_t at = base + p.reduced.offset(i);
#pragma unroll
          for (int j = 0; j < kWidth; ++j) {
            if (j < width) add_to<R>(lanes[j], from.at(at + j), i);
          }
        }
      }
#pragma unroll
      for (int j = 0; j < kWidth; ++j) totals[j] = R::fold(totals[j], lanes[j]);
    }
    merge_down<R>(totals, shared, p.across);
    if (row == 0) {
      const int64_t result = part * p.results + outer * p.columns + column;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        if (j >= width) continue;
        if (keep != nullptr) {
          keep[result + j] = totals[j];
        } else {
          finish(result + j, totals[j], p.count);
        }
      }
    }
  }
}

// ---- Parts ----------------------------------------------------------------------------------------------------------

// `from`: totals [parts, results].
template <class R, class Finish>
__global__ void __launch_bounds__(kReduceThreads) merge_parts(int64_t results, int64_t parts, int64_t count, int across,
                                                              const typename R::Total* from, Finish finish) {
  using Total = typename R::Total;
  __shared__ SharedArray<Total, kReduceThreads> shared;
  const int thread = static_cast<int>(threadIdx.x);
  const int down = kReduceThreads / across;
  for (int64_t first = int64_t{blockIdx.x} * across; first < results; first += int64_t{gridDim.x} * across) {
    const int64_t result = first + thread % across;
    Total totals[1] = {R::total()};
    if (result < results) {
#pragma unroll 4
      for (int64_t part = thread / across; part < parts; part += down) {
        totals[0] = R::merge(totals[0], from[part * results + result]);
      }
    }
    merge_down<R>(totals, shared, across);
    if (thread < across && result < results) finish(result, totals[0], count);
  }
}

inline int power_of_two_up_to(int64_t n, int most) {
  int p = 1;
  while (p < most && p < n) p *= 2;
  return p;
}

inline unsigned blocks_for(int64_t n) { return static_cast<unsigned>(std::min(n, kMostBlocks)); }

// Calls launch(keep) to start the kernel; a second kernel merges the totals if there are several parts.
template <class R, class Finish, class Launch>
void finish_parts(CudaDevice& device, cudaStream_t stream, int64_t results, int64_t parts, int64_t count,
                  const Finish& finish, const Launch& launch) {
  using Total = typename R::Total;
  const Scratch<Total> scratch(device, parts == 1 ? 0 : checked_mul(results, parts));
  launch(scratch.data());
  check(cudaGetLastError(), "starting a kernel");
  if (parts == 1) return;
  const int across = power_of_two_up_to(results, 32);
  merge_parts<R><<<blocks_for(ceil_div(results, across)), kReduceThreads, 0, stream>>>(results, parts, count, across,
                                                                                       scratch.data(), finish);
  check(cudaGetLastError(), "starting a kernel");
}

// Precondition: s.results > 0.
template <class R, class Source, class Finish>
void reduce(CudaDevice& device, const ReduceShape& s, const Source& from, const Finish& finish) {
  const DeviceUse stream = device.use();
  if (s.inner_reduced || s.count == 0) {
    RowPlan p;
    p.results = s.results;
    p.count = s.count;
    p.kept = Walk(s.kept);
    p.reduced = Walk(s.reduced);
    const int64_t inner = s.reduced.empty() ? 1 : s.reduced[0].size;
    p.vectors = s.count % Source::kUnit == 0 && inner % Source::kUnit == 0 && from.is_aligned();
    p.unit = inner % Source::kUnit == 0 || s.reduced.size() <= 1 ? Source::kUnit : 1;
    p.units = ceil_div(s.count, p.unit);
    if (p.reduced.rank == 0) {
      p.reduced.rank = 1;
      p.reduced.set_size(0, p.units);
      p.reduced.stride[0] = p.unit;
    } else {  // counted in units
      p.reduced.set_size(0, ceil_div(p.reduced.size[0], p.unit));
      p.reduced.stride[0] = p.unit;
    }
    const int64_t parts = std::min(ceil_div(kManyBlocks, s.results), s.count / kMinPart);
    p.part = std::max<int64_t>(1, ceil_div(p.units, std::max<int64_t>(1, parts)));
    p.parts = std::max<int64_t>(1, ceil_div(p.units, p.part));
    p.team = p.part > 32 * kBatch ? kReduceThreads : power_of_two_up_to(ceil_div(p.part, 2), 32);
    const unsigned blocks = blocks_for(ceil_div(p.results * p.parts, kReduceThreads / p.team));
    finish_parts<R>(device, stream, p.results, p.parts, p.count, finish, [&](typename R::Total* keep) {
      reduce_rows<R><<<blocks, kReduceThreads, 0, stream>>>(p, from, finish, keep);
    });
    return;
  }
  ColumnPlan p;
  p.results = s.results;
  p.count = s.count;
  p.columns = s.kept[0].size;
  p.outer = s.results / p.columns;
  p.kept = Walk(s.kept, 1);
  p.reduced = Walk(s.reduced);
  constexpr int kWidth = kColumns<Source>;
  // With few rows a thread takes all of them, so that it still reads several at once.
  p.across = power_of_two_up_to(ceil_div(p.columns, kWidth), p.count <= 64 ? kReduceThreads : 32);
  p.tiles = ceil_div(p.columns, int64_t{p.across} * kWidth);
  p.vectors = p.columns % Source::kUnit == 0 && from.is_aligned();
  const int64_t least = std::max<int64_t>(1, kMinPart / (int64_t{p.across} * kWidth));
  const int64_t parts = std::min(ceil_div(kManyBlocks, p.tiles * p.outer), s.count / least);
  p.part = ceil_div(p.count, std::max<int64_t>(1, parts));
  p.parts = ceil_div(p.count, p.part);
  const unsigned blocks = blocks_for(p.outer * p.parts * p.tiles);
  finish_parts<R>(device, stream, p.results, p.parts, p.count, finish, [&](typename R::Total* keep) {
    reduce_columns<R><<<blocks, kReduceThreads, 0, stream>>>(p, from, finish, keep);
  });
}

}  // namespace panto::cuda
