// What samples of ops share whose windows slide over images: convolutions and pools.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test {

inline const std::vector<int64_t> kOnes = {1, 1, 1, 1};

inline std::vector<int64_t> or_ones(std::vector<int64_t> list) { return list.empty() ? kOnes : list; }

// One of the two dimensions that windows slide along.
struct Side {
  int64_t input, size, stride, dilation, before, output;
  int64_t at(int64_t position, int64_t tap) const { return position * stride - before + tap * dilation; }
};

struct Layout {
  bool first;  // channels are dimension 1
  size_t height, width, channels;
  explicit Layout(const Given& g)
      : first(g.text("data_format") == "NCHW"), height(first ? 2 : 1), width(first ? 3 : 2), channels(first ? 1 : 3) {}
  Index index(int64_t n, int64_t y, int64_t x, int64_t c) const {
    return first ? Index{n, c, y, x} : Index{n, y, x, c};
  }
};

inline Side side_of(const Given& g, size_t dim, int64_t input, int64_t size, bool dilates) {
  Side s{input, size, g.integers("strides")[dim], dilates ? or_ones(g.integers("dilations"))[dim] : 1, 0, 0};
  const int64_t extent = (size - 1) * s.dilation + 1;
  const std::string padding = g.text("padding");
  if (padding == "SAME") {
    s.output = (input + s.stride - 1) / s.stride;
    s.before = std::max<int64_t>(0, (s.output - 1) * s.stride + extent - input) / 2;
    return s;
  }
  int64_t padded = input;
  if (padding == "EXPLICIT") {
    s.before = g.integers("explicit_paddings")[2 * dim];
    padded += s.before + g.integers("explicit_paddings")[2 * dim + 1];
  }
  s.output = (padded - extent + s.stride) / s.stride;
  return s;
}

inline double& element(Array& a, const Index& index) {
  size_t flat = 0;
  for (size_t k = 0; k < index.size(); ++k)
    flat = flat * static_cast<size_t>(a.dims[k]) + static_cast<size_t>(index[k]);
  return a.values[flat];
}

// The attributes that convolutions and pools have.
inline Attrs attrs_of(const char* padding, std::vector<int64_t> strides = kOnes, Attrs more = {}) {
  more.emplace_back("padding", padding);
  more.emplace_back("strides", std::move(strides));
  return more;
}

// Dimensions as an input.
inline Array sizes(const Index& dims) {
  Array a = list({});
  a.dims = {static_cast<int64_t>(dims.size())};
  for (const int64_t d : dims) a.values.push_back(static_cast<double>(d));
  return a.as(kInt32);
}

}  // namespace panto::test
