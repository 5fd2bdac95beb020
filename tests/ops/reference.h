// What reference functions are written with, above all an array from a function of the index.
#pragma once

#include <complex>
#include <functional>
#include <vector>

#include "panto/tests/ops/table.h"

namespace panto::test {

using Index = std::vector<int64_t>;

// The element at `index`.
inline double at(const Array& a, const Index& index) {
  size_t flat = 0;
  for (size_t k = 0; k < a.dims.size(); ++k)
    flat = flat * static_cast<size_t>(a.dims[k]) + static_cast<size_t>(index[k]);
  return a.values[flat];
}

// Calls `f` with every index of an array of these dimensions, in row-major order.
template <class F>
void for_each_index(const Index& dims, F f) {
  Array shape;
  shape.dims = dims;
  for (int64_t flat = 0; flat < shape.numel(); ++flat) {
    Index index(dims.size());
    int64_t rest = flat;
    for (size_t k = dims.size(); k-- > 0;) {
      index[k] = rest % dims[k];
      rest /= dims[k];
    }
    f(index);
  }
}

template <class F>
Array make(const Index& dims, F f) {
  Array a;
  a.dims = dims;
  for_each_index(dims, [&](const Index& index) { a.values.push_back(f(index)); });
  return a;
}

inline int64_t integer(const Array& a, size_t i = 0) { return static_cast<int64_t>(a.values[i]); }

// Integer vector `a`.
inline Index integers(const Array& a) {
  Index result;
  for (const double v : a.values) result.push_back(static_cast<int64_t>(v));
  return result;
}

inline size_t normal_axis(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

// The references of elementwise ops on complex numbers; operands broadcast.
using Complex = std::complex<double>;
inline Reference each(Complex (*f)(Complex)) {
  return [f](const Given& g) {
    std::vector<Complex> y;
    for (size_t i = 0; i < g.in[0].values.size(); ++i) y.push_back(f(g.in[0].complex(i)));
    return std::vector<Array>{complexes(g.in[0].dims, y)};
  };
}
inline Reference each(Complex (*f)(Complex, Complex)) {
  return [f](const Given& g) {
    const Array &a = g.in[0], &b = g.in[1];
    const Index& dims = a.values.size() >= b.values.size() ? a.dims : b.dims;
    Array shape;
    shape.dims = dims;
    std::vector<Complex> z;
    for (size_t i = 0; i < static_cast<size_t>(shape.numel()); ++i) {
      z.push_back(f(a.complex(a.broadcast_position(dims, i)), b.complex(b.broadcast_position(dims, i))));
    }
    return std::vector<Array>{complexes(dims, z)};
  };
}

// Of ops that give their input as it is.
inline std::vector<Array> same(const Given& g) { return {g.in[0]}; }

}  // namespace panto::test
