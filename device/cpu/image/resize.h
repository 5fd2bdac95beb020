// The places of all rows or columns of a resized image (device/math/resize.h).
#pragma once

#include <cstdint>
#include <vector>

#include "panto/device/math/resize.h"

namespace panto::cpu {

// Returns place(i) for each i in [0, n).
template <class Place>
auto all_places(int64_t n, const Place& place) {
  std::vector<decltype(place(n))> places;
  places.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) places.push_back(place(i));
  return places;
}
inline std::vector<Between> bilinear_places(const ResizeAxis& a) {
  return all_places(a.to, [&](int64_t i) { return bilinear_place(a, i); });
}

}  // namespace panto::cpu
