// Extents and margins along the spatial dimensions of sequences (one), images (two) and volumes (three): arguments of
// convolutions, pools and padding.
//
//   Conv2D(3, 32, {3, 5}, {.stride = 2})          // Extents<2>: {3, 5} is 3 rows and 5 columns, 2 is {2, 2}
//   ZeroPadding2D({{1, 0}, {2, 2}})               // Margins<2>: {{top, bottom}, {left, right}}
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace panto {

// The size of a window, or its stride: `3` is 3 in each dimension, `{3, 2}` 3 rows and 2 columns.
template <int Rank>
class Extents {
 public:
  constexpr Extents(int64_t side) { sizes_.fill(side); }  // NOLINT(google-explicit-constructor): {.stride = 2}
  template <std::convertible_to<int64_t>... Sizes>
    requires(Rank > 1 && sizeof...(Sizes) == Rank)
  constexpr Extents(Sizes... sizes) : sizes_{static_cast<int64_t>(sizes)...} {}

  constexpr int64_t operator[](int i) const { return sizes_[static_cast<size_t>(i)]; }
  bool operator==(const Extents&) const = default;

 private:
  std::array<int64_t, Rank> sizes_;
};

// For images.
using Extent = Extents<2>;

// How much to add or remove before and after along one dimension: `2` is 2 on both sides.
struct Margin {
  int64_t before = 0, after = 0;
  constexpr Margin(int64_t both) : before(both), after(both) {}  // NOLINT(google-explicit-constructor): {1, 2}
  constexpr Margin(int64_t before, int64_t after) : before(before), after(after) {}
  bool operator==(const Margin&) const = default;
};

// Margins of sequences: 1 or {before, after}; of images: 1, {rows, columns} or {{top, bottom}, {left, right}}; of
// volumes likewise.
template <int Rank>
class Margins {
 public:
  constexpr Margins(int64_t everywhere)  // NOLINT(google-explicit-constructor): ZeroPadding2D(1)
      : margins_(repeated(everywhere)) {}
  constexpr Margins(int64_t before, int64_t after)
    requires(Rank == 1)
      : margins_{{{before, after}}} {}
  constexpr Margins(Margin rows, Margin columns)
    requires(Rank == 2)
      : margins_{{rows, columns}} {}
  constexpr Margins(Margin depth, Margin rows, Margin columns)
    requires(Rank == 3)
      : margins_{{depth, rows, columns}} {}

  constexpr const Margin& operator[](int i) const { return margins_[static_cast<size_t>(i)]; }

 private:
  static constexpr std::array<Margin, Rank> repeated(int64_t margin) {
    if constexpr (Rank == 1) return {{margin}};
    if constexpr (Rank == 2) return {{margin, margin}};
    if constexpr (Rank == 3) return {{margin, margin, margin}};
  }

  std::array<Margin, Rank> margins_;
};

}  // namespace panto
