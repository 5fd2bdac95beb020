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

// ---- Convolutions, by definition ------------------------------------------------------------------------------------
//
// Products(g, input sizes, filter sizes) has these sizes as `input` and `filter`, those of the `output()`, and
// for_each_product(f), which calls f(index of the input, of the filter, of the output) for every product that there is.

template <class Products>
std::vector<Array> conv(const Given& g) {
  const Products p(g, g.in[0].dims, g.in[1].dims);
  Array y = filled(p.output(), 0);
  p.for_each_product(
      [&](const Index& i, const Index& f, const Index& o) { element(y, o) += at(g.in[0], i) * at(g.in[1], f); });
  return {y};
}
template <class Products>
std::vector<Array> conv_by_input(const Given& g) {
  const Products p(g, integers(g.in[0]), g.in[1].dims);
  Array dx = filled(p.input, 0);
  p.for_each_product(
      [&](const Index& i, const Index& f, const Index& o) { element(dx, i) += at(g.in[2], o) * at(g.in[1], f); });
  return {dx};
}
template <class Products>
std::vector<Array> conv_by_filter(const Given& g) {
  const Products p(g, g.in[0].dims, integers(g.in[1]));
  Array df = filled(p.filter, 0);
  p.for_each_product(
      [&](const Index& i, const Index& f, const Index& o) { element(df, f) += at(g.in[0], i) * at(g.in[2], o); });
  return {df};
}

// ---- Pools, by definition -------------------------------------------------------------------------------------------
//
// Pool(g, input sizes) has these sizes as `input`, the `result()` filled with zeros, and for_each_window(f), which
// calls f(index of the window, indices of its elements).

inline const Index& largest(const Array& x, const std::vector<Index>& elements) {
  const Index* best = &elements[0];
  for (const Index& e : elements) {
    if (at(x, e) > at(x, *best) || (at(x, e) != at(x, e) && at(x, *best) == at(x, *best))) best = &e;
  }
  return *best;
}

template <class Pool>
std::vector<Array> max_pool(const Given& g) {
  const Pool p(g, g.in[0].dims);
  Array y = p.result();
  p.for_each_window(
      [&](const Index& o, const std::vector<Index>& e) { element(y, o) = at(g.in[0], largest(g.in[0], e)); });
  return {y};
}
template <class Pool>
std::vector<Array> max_pool_grad(const Given& g) {
  const Pool p(g, g.in[0].dims);
  Array dx = filled(g.in[0].dims, 0);
  p.for_each_window(
      [&](const Index& o, const std::vector<Index>& e) { element(dx, largest(g.in[0], e)) += at(g.in[2], o); });
  return {dx};
}
template <class Pool>
std::vector<Array> max_pool_grad_grad(const Given& g) {
  const Pool p(g, g.in[0].dims);
  Array y = p.result();
  p.for_each_window(
      [&](const Index& o, const std::vector<Index>& e) { element(y, o) = at(g.in[2], largest(g.in[0], e)); });
  return {y};
}
template <class Pool>
std::vector<Array> avg_pool(const Given& g) {
  const Pool p(g, g.in[0].dims);
  Array y = p.result();
  p.for_each_window([&](const Index& o, const std::vector<Index>& elements) {
    for (const Index& e : elements) element(y, o) += at(g.in[0], e) / static_cast<double>(elements.size());
  });
  return {y};
}
template <class Pool>
std::vector<Array> avg_pool_grad(const Given& g) {
  const Pool p(g, integers(g.in[0]));
  Array dx = filled(p.input, 0);
  p.for_each_window([&](const Index& o, const std::vector<Index>& elements) {
    for (const Index& e : elements) element(dx, e) += at(g.in[1], o) / static_cast<double>(elements.size());
  });
  return {dx};
}

// The attributes that pools have.
inline Attrs pool_attrs(const char* padding, std::vector<int64_t> ksize, std::vector<int64_t> strides,
                        Attrs more = {}) {
  more.emplace_back("ksize", std::move(ksize));
  return attrs_of(padding, std::move(strides), std::move(more));
}

}  // namespace panto::test
