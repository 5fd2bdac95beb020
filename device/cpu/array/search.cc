// Positions of nonzero elements, distinct elements, and counts.
#include <algorithm>
#include <functional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/histogram.h"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/indexing.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/array_types.h"

namespace panto {
namespace {

// A first pass counts each part's elements, so that the second knows where each part's positions go.
struct RunWhere {
  template <class T>
  static void run(KernelContext& c) {
    const T* x = c.data<T>(0);
    const int64_t n = c.numel(0), parts = n < kShared ? 1 : cpu::tiles_for_processors();
    const Shape& shape = c.shape(0);
    const int rank = shape.rank();
    std::vector<int64_t> counts(static_cast<size_t>(parts));
    over_parts(n, parts, [&](int64_t part, int64_t begin, int64_t end) {
      counts[static_cast<size_t>(part)] = std::count_if(x + begin, x + end, [](T v) { return v != T{}; });
    });
    int64_t count = 0;
    for (int64_t& of_part : counts) count += std::exchange(of_part, count);
    Tensor out = allocate_tensor(c.device(), kInt64, Shape{count, rank});
    auto* at = mutable_data<int64_t>(out);
    const int64_t row = rank == 0 ? 1 : shape.dim(rank - 1);
    over_parts(n, parts, [&](int64_t part, int64_t begin, int64_t end) {
      int64_t* to = at + counts[static_cast<size_t>(part)] * rank;
      for (int64_t first = begin; first < end;) {
        const int64_t column = first % row, width = std::min(end - first, row - column);
        to = put_row(x + first, width, column, first / row, shape, to);
        first += width;
      }
    });
    c.set_out(0, std::move(out));
  }

 private:
  static constexpr int64_t kShared = 1 << 16;

  template <class Body>
  static void over_parts(int64_t n, int64_t parts, const Body& body) {
    const int64_t each = (n + parts - 1) / parts;
    cpu::parallel_ranges(
        parts, parts > 1 ? n * 8 : 0,
        [&](int64_t begin, int64_t end) {
          for (int64_t p = begin; p < end; ++p) body(p, std::min(n, p * each), std::min(n, (p + 1) * each));
        },
        1);
  }

  // Writes the positions of the nonzero ones of `width` elements, which start at `column` of a row of the last
  // dimension.
  template <class T>
  static int64_t* put_row(const T* x, int64_t width, int64_t column, int64_t row, const Shape& shape, int64_t* to) {
    const int rank = shape.rank();
    int64_t leading[kMaxRank];
    for (int d = rank - 1; d-- > 0;) {
      leading[d] = row % shape.dim(d);
      row /= shape.dim(d);
    }
    constexpr int64_t kBlock = 64;
    for (int64_t begin = 0; begin < width; begin += kBlock) {
      // No branch per element: it would be unpredictable.
      uint8_t found[kBlock];
      int64_t count = 0;
      const int64_t end = std::min(kBlock, width - begin);
      for (int64_t i = 0; i < end; ++i) {
        found[count] = static_cast<uint8_t>(i);
        count += x[begin + i] != T{} ? 1 : 0;
      }
      const int64_t first = column + begin;
      if (rank == 1) {
        for (int64_t i = 0; i < count; ++i) to[i] = first + found[i];
        to += count;
        continue;
      }
      for (int64_t i = 0; i < count; ++i, to += rank) {
        for (int d = 0; d < rank - 1; ++d) to[d] = leading[d];
        if (rank > 0) to[rank - 1] = first + found[i];
      }
    }
    return to;
  }
};

// Equal elements have equal hashes, -0 and 0 too.
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

// Numbers distinct elements in order of first appearance: a hash table with linear probing, at least half of it free.
// NaN equals nothing, so NaNs are not in the table and each gets a number of its own.
template <class T>
class Different {
 public:
  // All positions are positions in `x`.
  explicit Different(const T* x) : x_(x), slots_(size_t{1} << bits_, kFree) {}

  // Returns the number of the element at this position. A new element gets the previous count() as its number.
  int64_t number(int64_t at) {
    if (is_nan(x_[at])) return add(at);
    Slot* slot = find(x_[at]);
    if (slot->number >= 0) return slot->number;
    *slot = {tag_of(x_[at]), count()};
    const int64_t made = add(at);
    if (2 * taken_++ >= slots_.size()) grow();
    return made;
  }
  bool contains(const T& x) { return !is_nan(x) && find(x)->number >= 0; }
  int64_t count() const { return static_cast<int64_t>(first_.size()); }
  const std::vector<int64_t>& first() const { return first_; }  // position of each one's first appearance

 private:
  // An integer is its own tag; for other types the tag is a hash, which avoids most comparisons of elements.
  static constexpr bool kTagIsAll = std::is_integral_v<T>;
  using Tag = std::conditional_t<kTagIsAll, T, size_t>;
  struct Slot {
    Tag tag;
    int64_t number;
  };
  static constexpr Slot kFree{Tag{}, -1};

  static bool is_nan(const T& x) {
    if constexpr (std::is_integral_v<T> || std::is_same_v<T, std::string>) {
      return false;
    } else {
      return x != x;
    }
  }
  static Tag tag_of(const T& x) {
    if constexpr (kTagIsAll) {
      return x;
    } else {
      return HashOf{}(x);
    }
  }
  size_t place(Tag tag) const {
    return static_cast<size_t>(static_cast<uint64_t>(tag) * 0x9e3779b97f4a7c15u >> (64 - bits_));
  }
  Slot* find(const T& x) {
    const Tag tag = tag_of(x);
    for (size_t at = place(tag);; at = (at + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[at];
      if (slot.number < 0) return &slot;
      if (slot.tag != tag) continue;
      if constexpr (kTagIsAll) return &slot;
      if (x_[first_[static_cast<size_t>(slot.number)]] == x) return &slot;
    }
  }
  int64_t add(int64_t at) {
    first_.push_back(at);
    return count() - 1;
  }
  void grow() {
    bits_ += 2;
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(size_t{1} << bits_, kFree));
    for (const Slot& slot : old) {
      if (slot.number < 0) continue;
      size_t at = place(slot.tag);
      while (slots_[at].number >= 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  const T* x_;
  int bits_ = 10;
  size_t taken_ = 0;
  std::vector<Slot> slots_;
  std::vector<int64_t> first_;
};

struct RunUnique {
  template <class T>
  static void run(KernelContext& c) {
    const T* x = c.data<T>(0);
    const int64_t n = c.numel(0);
    Tensor idx = allocate_tensor(c.device(), c.type("out_idx"), Shape{n});
    Different<T> different(x);
    with_index_type(c.type("out_idx"), [&]<class Index>() {
      auto* to = mutable_data<Index>(idx);
      cpu::in_pieces(n, 1 << 16, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] = static_cast<Index>(different.number(i));
      });
    });
    const std::vector<int64_t>& first = different.first();
    Tensor y = allocate_tensor(c.device(), c.in(0).dtype(), Shape{static_cast<int64_t>(first.size())});
    auto* values = mutable_data<T>(y);
    for (size_t k = 0; k < first.size(); ++k) values[k] = x[first[k]];
    c.set_out(0, std::move(y));
    c.set_out(1, std::move(idx));
  }
};

// Slices i of a [outer, count, inner] tensor along `count`; the map's keys are slice numbers.
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
    Different<T> left_out(y);
    for (int64_t i = 0; i < c.numel(1); ++i) left_out.number(i);
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

// Threads share out the rows; one thread adds up all of a row.
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
    const Bins<T> in(low, high, bins);
    const T* x = c.data<T>(0);
    with_index_type(c.type("dtype"), [&]<class Count>() {
      auto* counts = c.out_data<Count>(0);
      std::fill_n(counts, bins, Count{0});
      for (int64_t i = 0; i < c.numel(0); ++i) {
        if (x[i] != x[i]) invalid("values[{}]: expected a number, got NaN", i);
        ++counts[in.of(x[i])];
      }
    });
  }
};

using comparable = types::Join<types::numbers, TypeList<std::string>>::type;
const CpuKernel where_kernel("Where", types::of<"Where">{}, RunWhere{});
const CpuKernel bincount_kernel("DenseBincount", types::of<"DenseBincount">{}, RunBincount{});
const CpuKernel histogram_kernel("HistogramFixedWidth", types::of<"HistogramFixedWidth">{}, RunHistogram{});
const CpuKernel list_diff_kernel("ListDiff", comparable{}, RunListDiff{});
const CpuKernel unique_slices_kernel("UniqueV2", comparable{}, RunUniqueSlices{});
const CpuKernel unique_kernel("Unique", comparable{}, RunUnique{});

}  // namespace
}  // namespace panto
