// Where elements are, which are the largest, which are different, how often they occur.
#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/convert.h"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/indexing.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/array/values.h"

namespace panto {
namespace {

// The positions of the k largest of x[0 ... n), the first of equal ones first.
template <class T>
void find_largest(const T* x, int64_t n, int64_t k, std::vector<int64_t>& positions) {
  positions.resize(static_cast<size_t>(n));
  std::iota(positions.begin(), positions.end(), int64_t{0});
  const auto before = [x](int64_t a, int64_t b) {
    const T u = x[a], v = x[b];
    const bool u_nan = u != u, v_nan = v != v;
    if (u_nan != v_nan) return u_nan;
    if (u_nan || u == v) return a < b;
    return v < u;
  };
  std::partial_sort(positions.begin(), positions.begin() + k, positions.end(), before);
}

struct RunTopK {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.shape(0).dim(c.shape(0).rank() - 1), k = c.out_shape(0).dim(c.shape(0).rank() - 1);
    if (c.out_numel(0) == 0) return;
    const int64_t rows = c.numel(0) / n;
    const T* x = c.data<T>(0);
    T* values = c.out_data<T>(0);
    with_index_type(c.type("index_type"), [&]<class Index>() {
      auto* indices = c.out_data<Index>(1);
      cpu::parallel_ranges(
          rows, c.numel(0) * 64,
          [&](int64_t begin, int64_t end) {
            std::vector<int64_t> positions;
            for (int64_t r = begin; r < end; ++r) {
              find_largest(x + r * n, n, k, positions);
              for (int64_t i = 0; i < k; ++i) {
                const int64_t at = positions[static_cast<size_t>(i)];
                values[r * k + i] = x[r * n + at];
                indices[r * k + i] = static_cast<Index>(at);
              }
            }
          },
          1);
    });
  }
};

struct RunWhere {
  template <class T>
  static void run(KernelContext& c) {
    const T* x = c.data<T>(0);
    const int64_t n = c.numel(0);
    const Shape& shape = c.shape(0);
    const int rank = shape.rank();
    const int64_t count = std::count_if(x, x + n, [](T v) { return v != T{}; });
    Tensor out = allocate_tensor(c.device(), kInt64, Shape{count, rank});
    auto* at = mutable_data<int64_t>(out);
    for (int64_t i = 0; i < n; ++i) {
      if (x[i] == T{}) continue;
      int64_t rest = i;
      for (int d = rank; d-- > 0;) {
        at[d] = rest % shape.dim(d);
        rest /= shape.dim(d);
      }
      at += rank;
    }
    c.set_out(0, std::move(out));
  }
};

// Elements that are equal have one: -0 and 0 are.
struct HashOf {
  template <class T>
  size_t operator()(const T& x) const {
    if constexpr (is_half_type<T>) {
      return std::hash<float>{}(static_cast<float>(x));
    } else if constexpr (is_complex_type<T>) {
      using Part = typename T::value_type;
      return std::hash<Part>{}(x.real()) * 31 + std::hash<Part>{}(x.imag());
    } else {
      return std::hash<T>{}(x);
    }
  }
};

struct RunUnique {
  template <class T>
  static void run(KernelContext& c) {
    const T* x = c.data<T>(0);
    const int64_t n = c.numel(0);
    Tensor idx = allocate_tensor(c.device(), c.type("out_idx"), Shape{n});
    std::unordered_map<T, int64_t, HashOf> numbers;
    std::vector<int64_t> first;  // positions in x
    with_index_type(c.type("out_idx"), [&]<class Index>() {
      auto* to = mutable_data<Index>(idx);
      for (int64_t i = 0; i < n; ++i) {
        const auto [known, is_new] = numbers.emplace(x[i], static_cast<int64_t>(first.size()));
        if (is_new) first.push_back(i);
        to[i] = static_cast<Index>(known->second);
      }
    });
    Tensor y = allocate_tensor(c.device(), c.in(0).dtype(), Shape{static_cast<int64_t>(first.size())});
    auto* values = mutable_data<T>(y);
    for (size_t k = 0; k < first.size(); ++k) values[k] = x[first[k]];
    c.set_out(0, std::move(y));
    c.set_out(1, std::move(idx));
  }
};

// Slices along a dimension, of [outer, count, inner] elements, are told apart by their numbers.
struct RunUniqueSlices {
  template <class T>
  static void run(KernelContext& c) {
    const Shape& shape = c.shape(0);
    const int axis = c.numel(1) == 0 ? 0 : axis_of(host_integer(c.in(1)), shape.rank());
    const Slices<T> x(c.data<T>(0), shape, axis);
    Tensor idx = allocate_tensor(c.device(), c.type("out_idx"), Shape{x.count});
    const auto hash = [&](int64_t i) { return x.hash(i); };
    const auto same = [&](int64_t i, int64_t j) { return x.same(i, j); };
    std::unordered_map<int64_t, int64_t, decltype(hash), decltype(same)> numbers(8, hash, same);
    std::vector<int64_t> first;  // positions in x
    with_index_type(c.type("out_idx"), [&]<class Index>() {
      auto* to = mutable_data<Index>(idx);
      for (int64_t i = 0; i < x.count; ++i) {
        const auto [known, is_new] = numbers.emplace(i, static_cast<int64_t>(first.size()));
        if (is_new) first.push_back(i);
        to[i] = static_cast<Index>(known->second);
      }
    });
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    dims[static_cast<size_t>(axis)] = static_cast<int64_t>(first.size());
    Tensor y = allocate_tensor(c.device(), c.in(0).dtype(), Shape(dims));
    auto* values = mutable_data<T>(y);
    for (int64_t o = 0; o < x.outer; ++o) {
      for (const int64_t i : first) values = std::copy_n(x.row(o, i), x.inner, values);
    }
    c.set_out(0, std::move(y));
    c.set_out(1, std::move(idx));
  }

 private:
  template <class T>
  struct Slices {
    Slices(const T* x, const Shape& shape, int axis) : x(x), count(shape.dim(axis)) {
      for (int k = 0; k < axis; ++k) outer *= shape.dim(k);
      for (int k = axis + 1; k < shape.rank(); ++k) inner *= shape.dim(k);
    }
    const T* row(int64_t o, int64_t i) const { return x + (o * count + i) * inner; }
    size_t hash(int64_t i) const {
      size_t h = 0;
      for (int64_t o = 0; o < outer; ++o) {
        for (const T *at = row(o, i), *end = at + inner; at != end; ++at) h = (h ^ HashOf{}(*at)) * 0x9e3779b97f4a7c15;
      }
      return h ^ (h >> 32);
    }
    bool same(int64_t i, int64_t j) const {
      for (int64_t o = 0; o < outer; ++o) {
        if (!std::equal(row(o, i), row(o, i) + inner, row(o, j))) return false;
      }
      return true;
    }
    const T* x;
    int64_t outer = 1, count, inner = 1;
  };

  static int axis_of(int64_t axis, int rank) {
    const int64_t from_front = axis < 0 ? axis + rank : axis;
    if (from_front < 0 || from_front >= rank) invalid("axis: expected one in [{}, {}), got {}", -rank, rank, axis);
    return static_cast<int>(from_front);
  }
};

struct RunListDiff {
  template <class T>
  static void run(KernelContext& c) {
    const T *x = c.data<T>(0), *y = c.data<T>(1);
    const std::unordered_set<T, HashOf> left_out(y, y + c.numel(1));
    std::vector<int64_t> kept;  // positions in x
    for (int64_t i = 0; i < c.numel(0); ++i) {
      if (!left_out.contains(x[i])) kept.push_back(i);
    }
    const auto count = static_cast<int64_t>(kept.size());
    Tensor out = allocate_tensor(c.device(), c.in(0).dtype(), Shape{count});
    Tensor idx = allocate_tensor(c.device(), c.type("out_idx"), Shape{count});
    auto* values = mutable_data<T>(out);
    for (size_t k = 0; k < kept.size(); ++k) values[k] = x[kept[k]];
    with_index_type(c.type("out_idx"), [&]<class Index>() {
      auto* to = mutable_data<Index>(idx);
      for (size_t k = 0; k < kept.size(); ++k) to[k] = static_cast<Index>(kept[k]);
    });
    c.set_out(0, std::move(out));
    c.set_out(1, std::move(idx));
  }
};

// Rows are shared between threads, never the elements of one that are added up.
struct RunBincount {
  template <class T>
  static void run(KernelContext& c) {
    with_index_type(c.in(0).dtype(), [&]<class Index>() { count<T>(c, c.data<Index>(0), c.data<Index>(1)[0]); });
  }

 private:
  template <class T, class Index>
  static void count(KernelContext& c, const Index* x, int64_t size) {
    const auto* negative = std::find_if(x, x + c.numel(0), [](Index i) { return i < 0; });
    if (negative != x + c.numel(0)) invalid("input[{}]: expected at least 0, got {}", negative - x, int64_t{*negative});
    const bool binary = c.flag("binary_output");
    const T* weights = c.numel(2) > 0 && !binary ? c.data<T>(2) : nullptr;
    const Shape& shape = c.shape(0);
    const int64_t rows = shape.rank() == 2 ? shape.dim(0) : 1, columns = shape.dim(shape.rank() - 1);
    const int64_t work = c.numel(0) * static_cast<int64_t>(sizeof(Index)) + c.out_numel(0) * int64_t{sizeof(T)};
    cpu::parallel_ranges(
        rows, work,
        [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) {
            T* bins = c.out_data<T>(0) + r * size;
            std::fill_n(bins, size, T{});
            for (int64_t i = r * columns; i < (r + 1) * columns; ++i) {
              if (x[i] >= size) continue;
              T& bin = bins[x[i]];
              bin = binary ? T{1} : bin + (weights != nullptr ? weights[i] : T{1});
            }
          }
        },
        1);
  }
};

struct RunHistogram {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t bins = c.out_numel(0);
    const T low = c.data<T>(1)[0], high = c.data<T>(1)[1];
    if (!(low < high)) invalid("value_range: expected a lower end below the upper one, got {} and {}", low, high);
    const double width = (static_cast<double>(high) - static_cast<double>(low)) / static_cast<double>(bins);
    const auto last = static_cast<double>(bins - 1);
    const T* x = c.data<T>(0);
    with_index_type(c.type("dtype"), [&]<class Count>() {
      auto* counts = c.out_data<Count>(0);
      std::fill_n(counts, bins, Count{0});
      for (int64_t i = 0; i < c.numel(0); ++i) {
        if (x[i] != x[i]) invalid("values[{}]: expected a number, got NaN", i);
        ++counts[static_cast<int64_t>(std::min(distance(std::max(x[i], low), low) / width, last))];
      }
    });
  }

 private:
  // Floats are subtracted in their own type, as in TensorFlow: it decides in which bin one at an edge is.
  template <class T>
  static double distance(T x, T low) {
    if constexpr (std::is_floating_point_v<T>) return static_cast<double>(x - low);
    return static_cast<double>(x) - static_cast<double>(low);
  }
};

using comparable = types::Join<types::numbers, TypeList<std::string>>::type;
const CpuKernel top_k_kernel("TopKV2", types::of<"TopKV2">{}, InWider<RunTopK, AsCommon>{});
const CpuKernel where_kernel("Where", types::of<"Where">{}, RunWhere{});
const CpuKernel bincount_kernel("DenseBincount", types::of<"DenseBincount">{}, RunBincount{});
const CpuKernel histogram_kernel("HistogramFixedWidth", types::of<"HistogramFixedWidth">{}, RunHistogram{});
const CpuKernel list_diff_kernel("ListDiff", comparable{}, RunListDiff{});
const CpuKernel unique_slices_kernel("UniqueV2", comparable{}, RunUniqueSlices{});
const CpuKernel unique_kernel("Unique", comparable{}, RunUnique{});

}  // namespace
}  // namespace panto
