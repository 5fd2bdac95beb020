// The k largest elements of rows, in order: by selection for small k, by radix sort for large k.
//
// An element becomes an item: an unsigned key plus the element's position. Elements that come earlier in the result
// have smaller keys. Equal elements are ordered by position and NaN precedes all numbers, so the order is unique,
// whatever the algorithm and the number of threads.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/rank_key.h"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/indexing.h"
#include "panto/lib/ops/array_types.h"

namespace panto {
namespace {

// A 32-bit key and a 32-bit position in one integer.
struct ShortItem {
  using Key = uint32_t;
  uint64_t all;
  ShortItem() = default;
  ShortItem(uint32_t key, int64_t at) : all(uint64_t{key} << 32 | static_cast<uint64_t>(at)) {}
  uint32_t key() const { return static_cast<uint32_t>(all >> 32); }
  int64_t at() const { return static_cast<int64_t>(all & 0xFFFFFFFFu); }
  bool operator<(const ShortItem& other) const { return all < other.all; }
};
struct LongItem {
  using Key = uint64_t;
  uint64_t code;
  int64_t place;
  LongItem() = default;
  LongItem(uint64_t key, int64_t at) : code(key), place(at) {}
  uint64_t key() const { return code; }
  int64_t at() const { return place; }
  bool operator<(const LongItem& other) const {
    return code < other.code || (code == other.code && place < other.place);
  }
};

constexpr int kBits = 8;
constexpr size_t kDigits = size_t{1} << kBits;
constexpr int64_t kShort = 200;                    // below this: comparison sort instead of radix sort
constexpr int64_t kSharedSort = int64_t{1} << 16;  // from this row length on, several threads sort one row

template <class Item>
size_t digit_of(const Item& item, int pass) {
  return static_cast<size_t>(item.key() >> (pass * kBits)) & (kDigits - 1);
}

// Calls body(part, begin, end) for `parts` parts of [0, n).
template <class Body>
void over_parts(int64_t n, int64_t parts, const Body& body) {
  const int64_t each = (n + parts - 1) / parts;
  cpu::parallel_ranges(
      parts, parts > 1 ? n * 64 : 0,
      [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) body(p, std::min(n, p * each), std::min(n, (p + 1) * each));
      },
      1);
}

// Stable sort by key, from the lowest digit up. One thread counts and distributes each of the `parts` parts. The result
// is in `other` if the function returns true, else in `items`.
template <class Item>
bool radix_sort(Item* items, Item* other, int64_t n, int64_t parts) {
  constexpr int kPasses = static_cast<int>(8 * sizeof(typename Item::Key) / kBits);
  std::vector<int64_t> counts(static_cast<size_t>(parts) * kDigits);
  bool swapped = false;
  for (int pass = 0; pass < kPasses; ++pass) {
    over_parts(n, parts, [&](int64_t part, int64_t begin, int64_t end) {
      int64_t* own = counts.data() + static_cast<size_t>(part) * kDigits;
      std::fill_n(own, kDigits, int64_t{0});
      for (int64_t i = begin; i < end; ++i) ++own[digit_of(items[i], pass)];
    });
    // Turns the counts into the start of each part's items of each digit.
    int64_t before = 0, most = 0;
    for (size_t digit = 0; digit < kDigits; ++digit) {
      const int64_t first = before;
      for (size_t part = 0; part < static_cast<size_t>(parts); ++part) {
        before += std::exchange(counts[part * kDigits + digit], before);
      }
      most = std::max(most, before - first);
    }
    if (most == n) continue;  // all have this digit
    over_parts(n, parts, [&](int64_t part, int64_t begin, int64_t end) {
      int64_t* own = counts.data() + static_cast<size_t>(part) * kDigits;
      for (int64_t i = begin; i < end; ++i) other[own[digit_of(items[i], pass)]++] = items[i];
    });
    std::swap(items, other);
    swapped = !swapped;
  }
  return swapped;
}

// Returns a row's items with those of the k largest elements first, in order.
template <class Item>
class Ranking {
 public:
  // `parts`: how many threads may sort one row.
  template <class T>
  const Item* first(const T* x, int64_t n, int64_t k, int64_t parts) {
    if (8 * k > n) return whole(x, n, k, parts);
    select(x, n, k);
    std::sort(items_.begin(), items_.end());
    return items_.data();
  }

 private:
  template <class T>
  const Item* whole(const T* x, int64_t n, int64_t k, int64_t parts) {
    items_.resize(static_cast<size_t>(n));
    over_parts(n, parts, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) items_[static_cast<size_t>(i)] = Item(rank_key(x[i]), i);
    });
    if (n < kShort) {
      std::partial_sort(items_.begin(), items_.begin() + k, items_.end());
      return items_.data();
    }
    other_.resize(static_cast<size_t>(n));
    return radix_sort(items_.data(), other_.data(), n, parts) ? other_.data() : items_.data();
  }

  // Collects about 2k candidates, then reduces them to the first k. From then on, elements that do not precede the last
  // of these are skipped; soon that is most of them.
  template <class T>
  void select(const T* x, int64_t n, int64_t k) {
    using Key = typename Item::Key;
    constexpr int64_t kBlock = 64;
    const auto most = static_cast<size_t>(std::min(n, 2 * k + 512));
    items_.clear();
    items_.reserve(most);
    Key last = std::numeric_limits<Key>::max();
    bool chosen = false;
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t count = std::min(kBlock, n - begin);
      Key keys[kBlock];
      bool any = !chosen;
      for (int64_t i = 0; i < count; ++i) {
        keys[i] = rank_key(x[begin + i]);
        any |= keys[i] < last;
      }
      if (!any) continue;
      for (int64_t i = 0; i < count; ++i) {
        // An equal key at a later position ranks behind `last`.
        if (chosen && keys[i] >= last) continue;
        items_.emplace_back(keys[i], begin + i);
        if (items_.size() < most) continue;
        last = keep(k).key();
        chosen = true;
      }
    }
    keep(k);
  }
  // Reduces items_ to the first k; returns the last of these.
  Item keep(int64_t k) {
    const auto last = items_.begin() + (k - 1);
    std::nth_element(items_.begin(), last, items_.end());
    const Item found = *last;
    items_.resize(static_cast<size_t>(k));
    return found;
  }

  std::vector<Item> items_, other_;
};

template <class Item, class T, class Index>
void rank_rows(const T* x, int64_t rows, int64_t n, int64_t k, T* values, Index* indices) {
  const auto rank = [&](Ranking<Item>& ranking, int64_t r, int64_t parts) {
    const Item* found = ranking.first(x + r * n, n, k, parts);
    over_parts(k, parts, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        values[r * k + i] = x[r * n + found[i].at()];
        indices[r * k + i] = static_cast<Index>(found[i].at());
      }
    });
  };
  if (const int64_t parts = cpu::tiles_for_processors(); rows < parts && n >= kSharedSort && 8 * k > n) {
    Ranking<Item> ranking;
    for (int64_t r = 0; r < rows; ++r) rank(ranking, r, parts);
    return;
  }
  cpu::parallel_ranges(
      rows, rows * n * 64,
      [&](int64_t begin, int64_t end) {
        Ranking<Item> ranking;
        for (int64_t r = begin; r < end; ++r) rank(ranking, r, 1);
      },
      1);
}

struct RunTopK {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.shape(0).dim(c.shape(0).rank() - 1), k = c.out_shape(0).dim(c.shape(0).rank() - 1);
    if (c.out_numel(0) == 0) return;
    with_index_type(c.out(1).dtype(), [&]<class Index>() {
      auto* indices = c.out_data<Index>(1);
      if constexpr (sizeof(T) == 4) {
        if (n <= std::numeric_limits<uint32_t>::max()) {
          return rank_rows<ShortItem>(c.data<T>(0), c.numel(0) / n, n, k, c.out_data<T>(0), indices);
        }
      }
      rank_rows<LongItem>(c.data<T>(0), c.numel(0) / n, n, k, c.out_data<T>(0), indices);
    });
  }
};

const CpuKernel top_k_kernel("TopKV2", types::of<"TopKV2">{}, InWider<RunTopK, AsCommon>{});

}  // namespace
}  // namespace panto
