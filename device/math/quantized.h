// The integers of quantized tensors on all devices, and the numbers that they represent. The arithmetic follows
// TensorFlow's, step by step and in its types (tensorflow/core/kernels/quantization_utils.h), to get the same integers.
//
// Nothing here may be contracted to fused multiply-adds, which round once where TensorFlow rounds twice. On x86 callers
// are not compiled for instruction sets that have them; elsewhere `rounded` prevents the contraction.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "panto/device/math/rounded.h"
#include "panto/device/math/vocabulary.h"
#include "panto/lib/core/call/call.h"

namespace panto::quantized {

using EightBits = TypeList<QUint8, QInt8>;
using AllBits = TypeList<QUint8, QInt8, QInt32, QInt16, QUint16>;

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

// Converts v, already rounded, to Int, clamped to its range; NaN becomes the lowest integer.
template <class Int>
PANTO_FN Int clamped(double v) {
  if (!(v > static_cast<double>(kLowest<Int>))) return std::numeric_limits<Int>::lowest();
  if (v >= static_cast<double>(kHighest<Int>)) return std::numeric_limits<Int>::max();
  return static_cast<Int>(v);
}

// ---- Many values, in float32 ----------------------------------------------------------------------------------------

// For whole tensors TensorFlow computes both conversions in float32.
template <class Int>
struct FloatSteps {
  float size = 0, offset;  // size of a step; value of integer 0

  PANTO_FN explicit FloatSteps(Range r) {
    float low = r.low;
    if (r.low != r.high) {
      size = static_cast<float>(static_cast<double>(r.high - r.low) / (static_cast<double>(kSteps<Int>) - 1.0));
      low = std::round(r.low / size) * size;
    }
    offset = low - rounded(static_cast<float>(kLowest<Int>) * size);
  }
  PANTO_FN float operator()(Int q) const { return offset + rounded(static_cast<float>(q) * size); }
};
template <class Int>
struct FloatNearest {
  float per_step = 0, low;
  // The extreme floats that convert to Int.
  static constexpr float kLeast = sizeof(Int) == 4 ? -2147483648.0F : static_cast<float>(kLowest<Int>);
  static constexpr float kMost = sizeof(Int) == 4 ? 2147483520.0F : static_cast<float>(kHighest<Int>);

  PANTO_FN explicit FloatNearest(Range r) {
    if (r.low != r.high) {
      per_step = static_cast<float>((static_cast<double>(kSteps<Int>) - 1.0) / static_cast<double>(r.high - r.low));
    }
    low = std::round(r.low * per_step) - static_cast<float>(kLowest<Int>);
  }
  PANTO_FN Int operator()(float x) const {
    const float v = std::round(x * per_step) - low;
    return v > kLeast ? static_cast<Int>(v < kMost ? v : kMost) : static_cast<Int>(kLeast);  // NaN: the lowest
  }
};

// ---- QuantizeV2 and Dequantize --------------------------------------------------------------------------------------

// The attributes of a call.
struct QuantizedMode {
  enum class Kind : uint8_t { kMinCombined, kMinFirst, kScaled };
  Kind kind;
  bool narrow;
  bool to_even = false;     // of QuantizeV2
  float minimum_range = 0;  // likewise

  static QuantizedMode of_quantize(const CallView& c) {
    QuantizedMode mode(c);
    mode.to_even = c.text("round_mode") == "HALF_TO_EVEN";
    mode.minimum_range = c.real("ensure_minimum_range");
    return mode;
  }
  explicit QuantizedMode(const CallView& c)
      : kind(c.text("mode") == "SCALED"      ? Kind::kScaled
             : c.text("mode") == "MIN_FIRST" ? Kind::kMinFirst
                                             : Kind::kMinCombined),
        narrow(c.flag("narrow_range")) {}
};

// Quantizes elements that share a range, whose end is not below its beginning.
template <class Int>
class Quantizer {
 public:
  PANTO_FN Quantizer(const QuantizedMode& mode, Range given)
      : mode_(mode), range_(widened(given, mode.minimum_range)), nearest_(range_) {
    if (mode_.kind == QuantizedMode::Kind::kMinCombined) {
      factor_ = static_cast<float>((static_cast<double>(kHighest<Int>) - static_cast<double>(kLowest<Int>)) /
                                   static_cast<double>(range_.high - range_.low));
    } else if (mode_.kind == QuantizedMode::Kind::kScaled) {
      const auto least = static_cast<float>(kLowest<Int> + (mode_.narrow ? 1 : 0));
      const auto most = static_cast<float>(kHighest<Int>);
      constexpr float kLargest = std::numeric_limits<float>::max();
      factor_ = std::min(least * range_.low > 0 ? least / range_.low : kLargest,
                         most * range_.high > 0 ? most / range_.high : kLargest);
      range_ = {least / factor_, most / factor_};
    }
  }
  PANTO_FN Range range() const { return range_; }

  PANTO_FN Int operator()(float x) const {
    switch (mode_.kind) {
      case QuantizedMode::Kind::kMinCombined: {
        const float v = rounded((inside(x) - range_.low) * factor_);
        // For unsigned integers TensorFlow adds a half and truncates.
        return clamped<Int>(kLowest<Int> < 0 ? std::round(v - kHalf) : std::trunc(v + 0.5F));
      }
      case QuantizedMode::Kind::kMinFirst: return nearest_(x);
      case QuantizedMode::Kind::kScaled: break;
    }
    const float v = inside(x) * factor_;
    return clamped<Int>(mode_.to_even ? std::rint(v) : std::round(v));
  }

 private:
  static constexpr float kHalf = kLowest<Int> < 0 ? static_cast<float>(kSteps<Int> >> 1) : 0.0F;

  // Extends the range to contain 0 and to be wide enough for further computations.
  PANTO_FN static Range widened(Range r, float least) {
    const float low = std::min(0.0F, r.low);
    const float room = std::max(1.0F, std::max(std::fabs(r.low), std::fabs(r.high))) * least;
    return {low, std::max(0.0F, std::max(r.high, low + room))};
  }
  PANTO_FN float inside(float x) const { return std::max(range_.low, std::min(range_.high, x)); }

  QuantizedMode mode_;
  Range range_;
  float factor_ = 0;
  FloatNearest<Int> nearest_;
};

template <class Int>
struct Dequantizer {
  QuantizedMode::Kind mode;
  float size, low, half;
  FloatSteps<Int> first;

  PANTO_FN Dequantizer(const QuantizedMode& m, Range r) : mode(m.kind), low(r.low), half(0), first(r) {
    const auto highest = static_cast<float>(kHighest<Int>);
    if (mode == QuantizedMode::Kind::kScaled) {
      const auto least = static_cast<float>(kLowest<Int> + (m.narrow ? 1 : 0));
      size = kLowest<Int> == 0 ? r.high / highest : std::max(r.low / least, r.high / highest);
    } else {
      size = (r.high - r.low) / (highest - static_cast<float>(kLowest<Int>));
      if (kLowest<Int> < 0) half = static_cast<float>(kSteps<Int> >> 1);
    }
  }
  PANTO_FN float operator()(Int q) const {
    if (mode == QuantizedMode::Kind::kMinFirst) return first(q);
    if (mode == QuantizedMode::Kind::kScaled) return static_cast<float>(q) * size;
    return rounded((static_cast<float>(q) + half) * size) + low;
  }
};

// ---- QuantizeAndDequantize -----------------------------------------------------------------------------------------

// The attributes of a call, and the number of bits, which may be in the device's memory.
struct RoundTripMode {
  bool is_signed, narrow, given, to_even;
  int64_t bits;            // unless `bits_at` has them
  const int32_t* bits_at;  // may be null

  explicit RoundTripMode(const KernelContext& c)
      : is_signed(c.flag("signed_input")),
        narrow(c.flag("narrow_range")),
        given(c.flag("range_given")),
        to_even(c.num_inputs() == 4 || c.text("round_mode") == "HALF_TO_EVEN"),
        bits(c.num_inputs() == 3 ? c.integer("num_bits") : 0),
        bits_at(c.num_inputs() == 3 ? nullptr : c.data<int32_t>(3)) {}

  PANTO_FN int64_t given_bits() const { return bits_at == nullptr ? bits : *bits_at; }
  PANTO_FN int64_t most_bits() const { return is_signed ? 61 : 62; }
};

// Rounds to the numbers that integers of so many bits stand for. The scale is the largest factor for which both ends of
// the range fit. Precondition: the bits are in [1, mode.most_bits()].
template <class T>
class RoundTrip {
 public:
  PANTO_FN RoundTrip(const RoundTripMode& mode, int64_t bits, T from, T to)
      : clips_(mode.given), to_even_(mode.to_even), low_(from), high_(to) {
    const int64_t half = int64_t{1} << (bits - 1);
    const auto least = static_cast<T>(mode.is_signed ? -half + (mode.narrow ? 1 : 0) : 0);
    const auto most = static_cast<T>(mode.is_signed ? half - 1 : 2 * half - 1);
    constexpr T kLargest = std::numeric_limits<T>::max();
    const T by_low = least * low_ > 0 ? least / low_ : kLargest;
    const T by_high = most * high_ > 0 ? most / high_ : kLargest;
    if (by_low < by_high) {
      factor_ = by_low;
      step_ = low_ / least;
      high_ = most * step_;
    } else {
      factor_ = by_high;
      step_ = high_ / most;
      low_ = least * step_;
    }
  }
  PANTO_FN T operator()(T x) const {
    const T kept = !clips_ ? x : x > high_ ? high_ : x < low_ ? low_ : x;
    const T scaled = kept * factor_;
    return (to_even_ ? std::rint(scaled) : std::floor(scaled + T{0.5})) * step_;
  }

 private:
  bool clips_, to_even_;
  T low_, high_, factor_, step_;
};

// ---- Channels -------------------------------------------------------------------------------------------------------

// A tensor seen as [outer, depth, inner]: one range for each index of `depth`. Without an axis (-1) there is one range.
struct Channels {
  int64_t outer = 1, depth = 1, inner = 1;
  Channels(const Shape& shape, int64_t axis) {
    for (int k = 0; k < shape.rank(); ++k) (k < axis ? outer : k == axis ? depth : inner) *= shape.dim(k);
  }
  // Returns the channel of element i.
  PANTO_FN int64_t of(int64_t i) const { return i / inner % depth; }
  // Calls f(first, count) for each contiguous run of elements of channel `index`.
  template <class F>
  void for_rows(int64_t index, const F& f) const {
    for (int64_t o = 0; o < outer; ++o) f((o * depth + index) * inner, inner);
  }
};

}  // namespace panto::quantized
