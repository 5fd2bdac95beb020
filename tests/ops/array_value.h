// Array: a tensor's worth of doubles, from which tensors of any dtype are made. The rows of the table are written in
// it.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::test {

// Holds every int64 and uint64.
using Whole = __int128;

struct Array {
  std::vector<int64_t> dims;
  std::vector<double> values;
  std::vector<double> imag = {};   // beside the values, which are the real parts; empty: all are 0
  std::vector<Whole> wholes = {};  // what the values are near to, for integers beyond 2^53; empty: the values are exact
  std::vector<std::string> texts;  // instead of values, for strings
  DType type = DType::kInvalid;    // kInvalid: the type that the question asks for
  bool drawn = false;              // any values will do: they may be rounded to fit a type
  bool is_variable = false;        // a resource that holds these values
  bool is_list = false;            // a variant that holds the list of their slices along the first dimension

  int64_t numel() const;
  // The flat position of an index in an array that is broadcast to `shape`, whose flat position is `flat`.
  size_t broadcast_position(const std::vector<int64_t>& shape, size_t flat) const;
  std::complex<double> complex(size_t flat) const { return {values[flat], imag.empty() ? 0 : imag[flat]}; }
  Array as(DType t) const {
    Array copy = *this;
    copy.type = t;
    return copy;
  }
};

Array array(std::vector<int64_t> dims, std::vector<double> values);
Array scalar(double value);
Array list(std::vector<double> values);
Array texts(std::vector<int64_t> dims, std::vector<std::string> values);
// Of types that hold them, int64 and uint64.
Array wholes(std::vector<int64_t> dims, std::vector<Whole> values);
Array complexes(std::vector<int64_t> dims, const std::vector<std::complex<double>>& values);
// Real and imaginary parts as `draw` gives them.
Array draw_complex(std::vector<int64_t> dims, double low = -2, double high = 2, int seed = 0);
// `first`, `first + 1`, ...
Array iota(std::vector<int64_t> dims, double first = 0);
Array filled(std::vector<int64_t> dims, double value);
// Spread evenly over (low, high) without a pattern; no two values of one array are alike. `seed` makes others.
Array draw(std::vector<int64_t> dims, double low = -2, double high = 2, int seed = 0);
Array zeros_and_ones(std::vector<int64_t> dims, int seed = 0);
// A list of the slices of these values along the first dimension.
Array listed(Array values);
// A resource variable with this value.
Array variable(Array value);

// Whether `t` can hold the values exactly, or (drawn ones) after rounding.
bool fits(const Array& a, DType t);
// What a tensor of type `t` holds: the values rounded to it (to whole, and for unsigned types positive, numbers).
Array rounded_to(const Array& a, DType t);
// In host memory, a new one at each call. Precondition: fits(a, t).
Tensor to_tensor(const Array& a, DType t);
// The same elements, not aligned to more than one element, in memory that is not the library's.
Tensor unaligned(const Tensor& t);
Array to_array(const Tensor& t);

// |a - b| <= units * epsilon(type) * max(|b|, floor); integers, bools and strings are equal. `rounded_once`: 16-bit
// types are what is computed in float32, within that tolerance, and then rounded to: a unit of their last place more.
struct Tolerance {
  double units = 0;
  double floor = 0;
  bool rounded_once = false;
};
double epsilon(DType t);
// Empty if `actual` is what is expected (integers: truncated, and the low bits of that); otherwise what differs, with
// values and position. Tolerances are counted in the type `unit_type`, or in the tensor's own.
std::string difference(const Array& expected, const Tensor& actual, Tolerance tolerance,
                       DType unit_type = DType::kInvalid);
// Empty if dtype, shape and bytes are the same (NaNs of any kind are).
std::string difference(const Tensor& expected, const Tensor& actual);

}  // namespace panto::test
