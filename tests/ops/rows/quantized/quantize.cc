// Rows of what makes integers of numbers and back. That TensorFlow gives the same bits is asked of its stored answers
// (replay_test.cc).
#include <algorithm>
#include <cmath>

#include "panto/ops/quantized.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/families.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::quantize_rows {
namespace {

double lowest(DType t) { return t == kQInt8 ? -128 : t == kQInt16 ? -32768 : t == kQInt32 ? -2147483648.0 : 0; }
double highest(DType t) {
  return t == kQInt8 ? 127 : t == kQUint8 ? 255 : t == kQInt16 ? 32767 : t == kQUint16 ? 65535 : 2147483647.0;
}

struct Range {
  double low, high;
};
// The ends that hold for an element: numbers for all, or one for each index of `axis`.
Range range_of(const Given& g, const Index& i) {
  const int64_t axis = g.integer("axis");
  const Index place = axis < 0 ? Index{} : Index{i[static_cast<size_t>(axis)]};
  return {at(g.in[1], place), at(g.in[2], place)};
}

struct Quantized {
  double integer;
  Range range;
};
Quantized quantized(const Given& g, double x, Range r) {
  const DType t = g.type;
  const std::string mode = g.text("mode");
  const double low = lowest(t), high = highest(t);
  const double room = std::max({1.0, std::fabs(r.low), std::fabs(r.high)}) * g.real("ensure_minimum_range");
  r.low = std::min(0.0, r.low);
  r.high = std::max({0.0, r.high, r.low + room});
  double v = 0;
  if (mode == "SCALED") {
    const double least = low + (g.flag("narrow_range") ? 1 : 0);
    double step = r.high / high;
    if (least < 0) step = std::max(step, r.low / least);
    r = {least * step, high * step};
    v = std::clamp(x, r.low, r.high) / step;
    v = g.text("round_mode") == "HALF_TO_EVEN" ? std::nearbyint(v) : std::round(v);
  } else {
    const double step = (r.high - r.low) / (high - low);
    const double inside = std::clamp(x, r.low, r.high);
    v = mode == "MIN_FIRST" ? std::clamp(std::round(inside / step) - std::round(r.low / step) + low, low, high)
                            : std::round((inside - r.low) / step + low);
  }
  return {v, r};
}

std::vector<Array> quantize_reference(const Given& g) {
  const auto ends = [&](bool upper) {
    return make(g.in[1].dims, [&](const Index& i) {
      const Range r = quantized(g, 0, {at(g.in[1], i), at(g.in[2], i)}).range;
      return upper ? r.high : r.low;
    });
  };
  return {make(g.in[0].dims, [&](const Index& i) { return quantized(g, at(g.in[0], i), range_of(g, i)).integer; }),
          ends(false), ends(true)};
}

std::vector<Array> dequantize_reference(const Given& g) {
  const DType t = g.type;
  const std::string mode = g.text("mode");
  return {make(g.in[0].dims, [&](const Index& i) {
    const double q = at(g.in[0], i);
    const Range r = range_of(g, i);
    if (mode == "SCALED") {
      const double least = lowest(t) + (g.flag("narrow_range") ? 1 : 0);
      return q * (least < 0 ? std::max(r.low / least, r.high / highest(t)) : r.high / highest(t));
    }
    const double step = (r.high - r.low) / (highest(t) - lowest(t));
    const double first = mode == "MIN_FIRST" ? std::round(r.low / step) * step : r.low;
    return first + (q - lowest(t)) * step;
  })};
}

std::vector<Array> requantize_channels_reference(const Given& g) {
  const bool is_signed =
      std::ranges::any_of(g.attrs, [](const Attr& a) { return a.name == "out_type" && a.value.as<DType>() == kQInt8; });
  const double asked = std::max(std::fabs(g.in[3].values[0]), std::fabs(g.in[4].values[0]));
  return {make(g.in[0].dims,
               [&](const Index& i) {
                 const double width = std::max(std::fabs(at(g.in[1], {i[3]})), std::fabs(at(g.in[2], {i[3]})));
                 const double v = std::nearbyint(at(g.in[0], i) * (is_signed ? 127 : 255) * width / asked / 0x1p31);
                 return std::clamp(v, is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0);
               }),
          g.in[3], g.in[4]};
}

const Array kLow = list({-1, 0, -3}), kHigh = list({1, 2, 1});
const Array kSums = array({2, 3}, {-30000, -200, 0, 77, 4500, 29999});
const Array kChannels = array({1, 2, 2, 2}, {-2147483648.0, -30000, -200, 0, 77, 4500, 29999, 2147483647});
const Array kLows = list({-2097152, -100000}), kHighs = list({2097152, 300000});
const Array kWide = scalar(2097152), kWideLow = scalar(-2097152);

Attrs with(Attrs attrs, const char* mode) {
  attrs.emplace_back("mode", mode);
  return attrs;
}

// Back and forth is off by half a step at most, and the steps are those of the range that came out.
void goes_there_and_back() {
  const Tensor x = tensor({-1.f, -0.4f, 0.f, 0.3f, 2.5f});
  for (const char* mode : {"MIN_COMBINED", "MIN_FIRST", "SCALED"}) {
    for (const DType type : {kQInt8, kQUint8, kQInt16, kQUint16}) {
      if (std::string(mode) == "SCALED" && (type == kQUint8 || type == kQUint16)) continue;  // no sign: nothing below 0
      const auto q = quantize(x, -1, 2.5, type, {.mode = mode});
      BOOST_TEST(dtype_name(q.output.dtype()) == dtype_name(type));
      const Tensor back = dequantize(q.output, q.output_min, q.output_max, {.mode = mode});
      const float step =
          (q.output_max.item<float>() - q.output_min.item<float>()) / (dtype_size(type) == 1 ? 254 : 65534);
      for (int i = 0; i < 5; ++i) {
        BOOST_TEST(std::fabs(back.data<float>()[static_cast<size_t>(i)] - x.data<float>()[static_cast<size_t>(i)]) <=
                   step);
      }
    }
  }
}

const Family quantize_ops(
    "quantized",
    {
        {"QuantizeV2",
         {.samples = {{.in = {draw({2, 5}, -3, 3), scalar(-2), scalar(2.5)}},
                      {.in = {draw({7}, -3, 3), scalar(-2), scalar(2.5)}, .attrs = with({}, "MIN_FIRST")},
                      {.in = {draw({7}, -3, 3), scalar(-2), scalar(2.5)}, .attrs = with({}, "SCALED")},
                      {.in = {draw({7}, -3, 3), scalar(-2), scalar(1)},
                       .attrs = with({{"round_mode", "HALF_TO_EVEN"}}, "SCALED")},
                      {.in = {draw({5}), scalar(0.5), scalar(0.75)}},
                      {.in = {draw({5}), scalar(0), scalar(0)}, .attrs = {{"ensure_minimum_range", 0.5}}},
                      {.in = {draw({2, 3, 2}), kLow, kHigh}, .attrs = {{"axis", 1}}},
                      {.in = {draw({2, 3}), kLow, kHigh}, .attrs = with({{"axis", 1}}, "SCALED")},
                      {.in = {draw({0, 2}), scalar(-1), scalar(1)}}},
          .reference = quantize_reference,
          .errors = {{.in = {draw({3}), scalar(2), scalar(1)},
                      .text = "max_range: expected at least min_range, which is 2, got 1"},
                     {.in = {draw({3}), list({0}), list({1})}, .text = "min_range: expected a scalar, got shape [1]"},
                     {.in = {draw({3}), list({0, 0}), list({1, 1})},
                      .attrs = {{"axis", 0}},
                      .text = "length of min_range: expected 3, got 2"},
                     {.in = {draw({3}), scalar(0), scalar(1)},
                      .attrs = {{"axis", 0}},
                      .text = "min_range: expected a vector, got shape []"},
                     {.in = {draw({3}), scalar(0), scalar(1)},
                      .attrs = {{"axis", -2}},
                      .text = "axis: expected at least -1, got -2"},
                     {.in = {draw({3}), list({0}), list({1})},
                      .attrs = {{"axis", 1}},
                      .text = "input: expected a rank of at least 2, got shape [3]"},
                     {.in = {draw({3}), scalar(0), scalar(1)},
                      .attrs = {{"round_mode", "HALF_TO_EVEN"}},
                      .text = "round_mode: expected HALF_AWAY_FROM_ZERO with mode MIN_COMBINED, got HALF_TO_EVEN"},
                     {.in = {draw({3}), kLow, kHigh},
                      .attrs = with({{"axis", 0}}, "MIN_FIRST"),
                      .code = Code::kUnimplemented,
                      .text = "mode: expected MIN_COMBINED or SCALED with axis, got MIN_FIRST"}},
          .own = {{"there_and_back", goes_there_and_back}},
          .types = {kQInt8, kQUint8, kQInt16, kQUint16}}},
        {"QuantizeV2",
         {.samples = {{.in = {array({2, 2}, {-3, -1.7, 0, 0.4}), scalar(-4), scalar(4)},
                       .out = {array({2, 2}, {-1610612736, -912680576, 0, 214748416}), scalar(-4.0), scalar(4.0)}},
                      {.in = {array({2, 2}, {-3, -1.7, 0, 0.4}), scalar(-4), scalar(4)},
                       .attrs = with({}, "MIN_FIRST"),
                       .out = {array({2, 2}, {-1610612736, -912680576, 0, 214748368}), scalar(-4.0), scalar(4.0)}},
                      {.in = {array({2, 2}, {-3, -1.7, 0, 0.4}), scalar(-4), scalar(4)},
                       .attrs = with({}, "SCALED"),
                       .out = {array({2, 2}, {-1610612736, -912680576, 0, 214748368}), scalar(-4.0), scalar(4.0)}}},
          .label = "32-bits",
          .types = {kQInt32}}},
        {"Dequantize",
         {.samples = {{.in = {iota({2, 5}, 3), scalar(-2), scalar(2.5)}},
                      {.in = {iota({7}, 90), scalar(-2), scalar(2.5)}, .attrs = with({}, "MIN_FIRST")},
                      {.in = {iota({7}, 50), scalar(-2), scalar(2.5)}, .attrs = with({}, "SCALED")},
                      {.in = {iota({7}, 50), scalar(-2), scalar(1)}, .attrs = with({{"narrow_range", true}}, "SCALED")},
                      {.in = {iota({2, 3, 2}), kLow, kHigh}, .attrs = {{"axis", 1}}},
                      {.in = {iota({2, 3}), kLow, kHigh}, .attrs = with({{"axis", 1}}, "SCALED")},
                      {.in = {iota({0, 2}), scalar(-1), scalar(1)}}},
          .reference = dequantize_reference,
          .errors = {{.in = {iota({3}), list({0}), list({1})}, .text = "min_range: expected a scalar, got shape [1]"},
                     {.in = {iota({3}), list({0, 0}), list({1, 1})},
                      .attrs = {{"axis", 0}},
                      .text = "length of min_range: expected 3, got 2"},
                     {.in = {iota({3}), scalar(0), scalar(1)},
                      .attrs = with({{"dtype", kBFloat16}}, "SCALED"),
                      .text = "mode: expected MIN_COMBINED for bfloat16, got SCALED"}}}},
        {"Requantize",
         {.samples = {{.in = {kSums, kWideLow, kWide, scalar(-10), scalar(30)},
                       .attrs = {{"out_type", kQUint8}},
                       .out = {array({2, 3}, {0, 63, 64, 64, 92, 251}), scalar(-10.0), scalar(30.0)}},
                      {.in = {kSums, kWideLow, kWide, scalar(-10), scalar(30)},
                       .attrs = {{"out_type", kQInt8}},
                       .out = {array({2, 3}, {-128, -65, -64, -64, -36, 123}), scalar(-10.0), scalar(30.0)}}},
          .errors = {{.in = {kSums, scalar(-1), scalar(1), scalar(1), scalar(2)},
                      .attrs = {{"out_type", kQUint8}},
                      .text = "requested_output_min: expected at most 0, got 1"},
                     {.in = {kSums, scalar(-1), scalar(1), scalar(0), scalar(-1)},
                      .attrs = {{"out_type", kQUint8}},
                      .text = "requested_output_max: expected at least requested_output_min, which is 0, got -1"},
                     {.in = {kSums, scalar(-1), scalar(1), scalar(0), scalar(1)},
                      .attrs = {{"out_type", kQInt16}},
                      .code = Code::kUnimplemented,
                      .text = "out_type: expected quint8 or qint8, got qint16"},
                     {.in = {kSums, list({-1}), scalar(1), scalar(0), scalar(1)},
                      .attrs = {{"out_type", kQUint8}},
                      .text = "input_min: expected a scalar, got shape [1]"}}}},
        {"RequantizePerChannel",
         {.samples = {{.in = {kChannels, kLows, kHighs, scalar(-10), scalar(30)}, .attrs = {{"out_type", kQInt8}}},
                      {.in = {kChannels, kLows, kHighs, scalar(-10), scalar(30)}},
                      {.in = {kChannels, kLows, kHighs, scalar(-50), scalar(2)}, .attrs = {{"out_type", kQInt8}}},
                      {.in = {iota({2, 1, 3, 2}, -5), list({0, -1e9}), list({2e9, 1}), scalar(0), scalar(1)}},
                      {.in = {iota({1, 0, 3, 2}), list({0, -1}), list({2, 1}), scalar(0), scalar(1)}}},
          .reference = requantize_channels_reference,
          .errors = {{.in = {kChannels, kLows, kHighs, scalar(0), scalar(30)},
                      .attrs = {{"out_type", kQInt8}},
                      .text = "requested_output_min: expected less than 0 for qint8, got 0"},
                     {.in = {kChannels, kLows, kHighs, scalar(-1), scalar(30)},
                      .attrs = {{"out_type", kQInt16}},
                      .code = Code::kUnimplemented,
                      .text = "out_type: expected quint8 or qint8, got qint16"},
                     {.in = {kChannels, list({-1}), list({1}), scalar(-1), scalar(30)},
                      .text = "length of input_min: expected 2, got 1"},
                     {.in = {kChannels, kLows, list({1, 2, 3}), scalar(-1), scalar(30)},
                      .text = "length of input_max: expected 2, got 3"},
                     {.in = {kChannels, kLows, kHighs, list({-1}), scalar(30)},
                      .text = "requested_output_min: expected a scalar, got shape [1]"},
                     {.in = {kSums, kLows, kHighs, scalar(-1), scalar(30)},
                      .text = "input: expected rank 4, got shape [2,3]"}}}},
        {"RequantizationRange",
         {.samples = {{.in = {kSums, kWideLow, kWide}, .out = {scalar(-29.29638671875), scalar(29.29638671875)}},
                      {.in = {iota({0}), scalar(-1), scalar(1)}, .out = {scalar(0), scalar(0)}}},
          .errors = {{.in = {kSums, list({-1}), scalar(1)}, .text = "input_min: expected a scalar, got shape [1]"}}}},
        {"QuantizeDownAndShrinkRange",
         {.samples = {{.in = {kSums, kWideLow, kWide},
                       .attrs = {{"out_type", kQUint8}},
                       .out = {array({2, 3}, {0, 127, 128, 128, 147, 255}), scalar(-29.29638671875),
                               scalar(29.29638671875)}}},
          .errors = {{.in = {kSums, scalar(-1), scalar(1)},
                      .attrs = {{"out_type", kQInt8}},
                      .code = Code::kUnimplemented,
                      .text = "out_type: expected quint8, got qint8"}}}},
    });

}  // namespace
}  // namespace panto::test::quantize_rows
