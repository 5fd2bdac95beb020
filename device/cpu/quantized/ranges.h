// Converts between the integers of quantized tensors and the numbers that they represent. The arithmetic follows
// TensorFlow's, step by step and in its types (tensorflow/core/kernels/quantization_utils.h), to get the same integers.
//
// Nothing here may be contracted to fused multiply-adds, which round once where TensorFlow rounds twice. On x86 callers
// are not compiled for instruction sets that have them; elsewhere `rounded` prevents the contraction.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "panto/device/math/quantized.h"
#include "panto/device/math/rounded.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"

namespace panto::quantized {

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

}  // namespace panto::quantized
