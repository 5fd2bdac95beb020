// Converts between the integers of quantized tensors and the numbers that they represent. The arithmetic follows
// TensorFlow's, step by step and in its types (tensorflow/core/kernels/quantization_utils.h), to get the same integers.
//
// Nothing here may be contracted to fused multiply-adds, which round once where TensorFlow rounds twice. On x86 callers
// are not compiled for instruction sets that have them; elsewhere `rounded` prevents the contraction.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "panto/device/math/rounded.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"

namespace panto::quantized {

// The integer type in which element type Q is stored.
template <class Q>
using IntOf = decltype(Q::value);

// Number of values of Int.
template <class Int>
inline constexpr int64_t kSteps = int64_t{1} << (8 * sizeof(Int));
template <class Int>
inline constexpr int64_t kLowest = std::numeric_limits<Int>::lowest();
template <class Int>
inline constexpr int64_t kHighest = std::numeric_limits<Int>::max();

struct Range {
  float low, high;
  bool operator==(const Range&) const = default;
};
inline Range range_in(const KernelContext& c, int i) { return {*c.data<float>(i), *c.data<float>(i + 1)}; }
inline void put_range(KernelContext& c, Range r) {
  *c.out_data<float>(1) = r.low;
  *c.out_data<float>(2) = r.high;
}
inline void expect_wide(const KernelContext& c, int i) {
  const Range r = range_in(c, i);
  if (r.low < r.high) return;
  const char* name = c.op().signature().inputs[static_cast<size_t>(i)].name.c_str();
  const char* next = c.op().signature().inputs[static_cast<size_t>(i) + 1].name.c_str();
  invalid("{}: expected more than {}, which is {}, got {}", next, name, r.low, r.high);
}

// Converts v, already rounded, to Int, clamped to its range; NaN becomes the lowest integer.
template <class Int>
Int clamped(double v) {
  if (!(v > static_cast<double>(kLowest<Int>))) return std::numeric_limits<Int>::lowest();
  if (v >= static_cast<double>(kHighest<Int>)) return std::numeric_limits<Int>::max();
  return static_cast<Int>(v);
}

// ---- One value, in float64 ------------------------------------------------------------------------------------------

template <class Int>
struct StepsOf {
  double size = 0, offset = 0;  // size of a step; value of the lowest integer
  bool flat;
  float low;

  explicit StepsOf(Range r) : flat(r.low == r.high), low(r.low) {
    if (flat) return;
    constexpr double kSpread = static_cast<double>(kSteps<Int>) / (static_cast<double>(kSteps<Int>) - 1.0);
    size = static_cast<double>(r.high - r.low) * kSpread / static_cast<double>(kSteps<Int>);
    const auto narrow = static_cast<float>(size);
    offset = std::round(r.low / narrow) * narrow;
  }
  float operator()(int64_t q) const {
    if (flat) return low;
    // TensorFlow first converts to float32, even 32-bit integers.
    const double steps = static_cast<double>(static_cast<float>(q)) - static_cast<double>(kLowest<Int>);
    return static_cast<float>(offset + rounded(steps * size));
  }
};
template <class Int>
float number_of(int64_t q, Range r) {
  return StepsOf<Int>(r)(q);
}

// Converts a number to the nearest integer; `unclamped` may exceed the range of Int.
template <class Int>
struct NearestOf {
  double per_step = 0, low = 0;
  bool flat;

  explicit NearestOf(Range r) : flat(r.low == r.high) {
    if (flat) return;
    constexpr double kSpread = static_cast<double>(kSteps<Int>) / (static_cast<double>(kSteps<Int>) - 1.0);
    per_step = static_cast<double>(kSteps<Int>) / (static_cast<double>(r.high - r.low) * kSpread);
    low = std::round(static_cast<double>(r.low) * per_step);
  }
  // Clamps to +-2^62.
  int64_t unclamped(float x) const {
    if (flat) return kLowest<Int>;
    const double v = std::round(static_cast<double>(x) * per_step) - low + static_cast<double>(kLowest<Int>);
    constexpr double kMost = 0x1p62;
    return v > -kMost ? static_cast<int64_t>(std::min(v, kMost)) : -static_cast<int64_t>(kMost);
  }
  Int operator()(float x) const { return static_cast<Int>(std::clamp(unclamped(x), kLowest<Int>, kHighest<Int>)); }
};
template <class Int>
int64_t unclamped_integer(float x, Range r) {
  return NearestOf<Int>(r).unclamped(x);
}
template <class Int>
Int integer_of(float x, Range r) {
  return NearestOf<Int>(r)(x);
}

// ---- Many values, in float32 ----------------------------------------------------------------------------------------

// For whole tensors TensorFlow computes both conversions in float32.
template <class Int>
struct FloatSteps {
  float size = 0, offset;  // size of a step; value of integer 0

  explicit FloatSteps(Range r) {
    float low = r.low;
    if (r.low != r.high) {
      size = static_cast<float>(static_cast<double>(r.high - r.low) / (static_cast<double>(kSteps<Int>) - 1.0));
      low = std::round(r.low / size) * size;
    }
    offset = low - rounded(static_cast<float>(kLowest<Int>) * size);
  }
  float operator()(Int q) const { return offset + rounded(static_cast<float>(q) * size); }
};
template <class Int>
struct FloatNearest {
  float per_step = 0, low;
  // The extreme floats that convert to Int.
  static constexpr float kLeast = sizeof(Int) == 4 ? -2147483648.0F : static_cast<float>(kLowest<Int>);
  static constexpr float kMost = sizeof(Int) == 4 ? 2147483520.0F : static_cast<float>(kHighest<Int>);

  explicit FloatNearest(Range r) {
    if (r.low != r.high) {
      per_step = static_cast<float>((static_cast<double>(kSteps<Int>) - 1.0) / static_cast<double>(r.high - r.low));
    }
    low = std::round(r.low * per_step) - static_cast<float>(kLowest<Int>);
  }
  Int operator()(float x) const {
    const float v = std::round(x * per_step) - low;
    return v > kLeast ? static_cast<Int>(std::min(v, kMost)) : static_cast<Int>(kLeast);  // NaN: the lowest
  }
};

// ---- Ranges of results ----------------------------------------------------------------------------------------------

template <class Int>
float step_of(Range r) {
  return (r.high - r.low) / static_cast<float>(kHighest<Int> - kLowest<Int>);
}
// Returns the range of sums of products; its step is the product of both steps.
template <class A, class B>
Range range_of_products(Range a, Range b) {
  const float step = step_of<A>(a) * step_of<B>(b);
  return {step * static_cast<float>(kLowest<int32_t>), step * static_cast<float>(kHighest<int32_t>)};
}
// Returns the symmetric range of sums, `factor` times the larger operand range.
inline Range range_of_sums(Range a, Range b, float factor) {
  const float high = std::max(std::max(a.high, -a.low), std::max(b.high, -b.low)) * factor;
  return {-high, high};
}

// Throws Unimplemented unless the second operand has 8 bits and the result is qint32.
inline void expect_types(const CallView& c, AttrName second, AttrName result) {
  const DType b = c.type(second), out = c.type(result);
  if (b != kQUint8 && b != kQInt8) {
    failf(Code::kUnimplemented, "{}: expected quint8 or qint8, got {}", second.text, dtype_name(b));
  }
  if (out != kQInt32) failf(Code::kUnimplemented, "{}: expected qint32, got {}", result.text, dtype_name(out));
}
// Calls f.operator()<A, B>() for the integer types of two 8-bit operands.
template <class A, class F>
void with_second(DType b, const F& f) {
  b == kQUint8 ? f.template operator()<A, uint8_t>() : f.template operator()<A, int8_t>();
}
// Throws Unimplemented unless the result has the input's type.
inline void expect_same_type(const CallView& c, AttrName of, AttrName result) {
  if (c.type(of) != c.type(result)) {
    failf(Code::kUnimplemented, "{}: expected {}, the type of the input, got {}", result.text, dtype_name(c.type(of)),
          dtype_name(c.type(result)));
  }
}

using EightBits = TypeList<QUint8, QInt8>;
using AllBits = TypeList<QUint8, QInt8, QInt32, QInt16, QUint16>;

// A tensor seen as [outer, depth, inner]: one range for each index of `depth`. Without an axis there is one range.
struct Channels {
  int64_t outer = 1, depth = 1, inner = 1;
  Channels(const Shape& shape, int64_t axis) {
    for (int k = 0; k < shape.rank(); ++k) (k < axis ? outer : k == axis ? depth : inner) *= shape.dim(k);
  }
  // Calls f(first, count) for each contiguous run of elements of channel `index`.
  template <class F>
  void for_rows(int64_t index, const F& f) const {
    for (int64_t o = 0; o < outer; ++o) f((o * depth + index) * inner, inner);
  }
};

}  // namespace panto::quantized
