// Samples of FakeQuant and QuantizeAndDequantize.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "panto/autograd/transforms/derivatives.h"
#include "panto/autograd/transforms/jvp.h"
#include "panto/autograd/transforms/vmap.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::quantization_rows {
namespace {

// ---- FakeQuant ----------------------------------------------------------------------------------------------------

struct Range {
  double low, high;
};

// Multiples of the step from `low` to `high`, which are 2^bits, or one fewer.
struct Multiples {
  double low, high, step;
  Multiples(const Given& g, Range r) {
    const double first = g.flag("narrow_range") ? 1 : 0, last = std::pow(2.0, g.integer("num_bits")) - 1;
    step = (r.high - r.low) / (last - first);
    const double below = std::clamp(std::round(first - r.low / step), first, last) - first;  // steps below 0
    low = -below * step;
    high = low + (last - first) * step;
  }
};

Range fixed(const Given& g) { return {g.real("min"), g.real("max")}; }
// Of an index: numbers hold for all.
Range learned(const Given& g, const Index& index, size_t first) {
  const Array &low = g.in[first], &high = g.in[first + 1];
  return low.dims.empty() ? Range{low.values[0], high.values[0]}
                          : Range{at(low, {index.back()}), at(high, {index.back()})};
}

double nearest(const Given& g, double x, Range r) {
  if (r.low == 0 && r.high == 0) return 0;
  const Multiples m(g, r);
  return std::clamp(std::floor(x / m.step + 0.5) * m.step, m.low, m.high);
}

std::vector<Array> fixed_reference(const Given& g) {
  return {make(g.in[0].dims, [&](const Index& i) { return nearest(g, at(g.in[0], i), fixed(g)); })};
}
std::vector<Array> learned_reference(const Given& g) {
  return {make(g.in[0].dims, [&](const Index& i) { return nearest(g, at(g.in[0], i), learned(g, i, 1)); })};
}

std::vector<Array> fixed_gradient(const Given& g) {
  const Multiples m(g, fixed(g));
  return {make(g.in[0].dims, [&](const Index& i) {
    const double x = at(g.in[1], i);
    return m.low <= x && x <= m.high ? at(g.in[0], i) : 0;
  })};
}

std::vector<Array> learned_gradient(const Given& g) {
  Array below = make(g.in[2].dims, [](const Index&) { return 0; }), above = below;
  const Array back = make(g.in[0].dims, [&](const Index& i) -> double {
    const Range r = learned(g, i, 2);
    const double x = at(g.in[1], i), dy = at(g.in[0], i);
    if (r.low == 0 && r.high == 0) return dy;
    const Multiples m(g, r);
    const size_t channel = below.dims.empty() ? 0 : static_cast<size_t>(i.back());
    if (x < m.low) below.values[channel] += dy;
    if (x > m.high) above.values[channel] += dy;
    return m.low <= x && x <= m.high ? dy : 0;
  });
  return {back, below, above};
}

// ---- QuantizeAndDequantize ----------------------------------------------------------------------------------------

// The elements of one index of `axis`, or all.
bool same_range(const Given& g, const Index& a, const Index& b) {
  const int64_t axis = g.integer("axis");
  return axis < 0 || a[static_cast<size_t>(axis)] == b[static_cast<size_t>(axis)];
}

std::vector<Array> quantized(const Given& g) {
  const bool is_signed = g.flag("signed_input"), given = g.flag("range_given");
  const double bits = g.in.size() == 4 ? g.in[3].values[0] : static_cast<double>(g.integer("num_bits"));
  const double most = std::pow(2, is_signed ? bits - 1 : bits) - 1;
  const double least = !is_signed ? 0 : g.flag("narrow_range") ? -most : -most - 1;
  const bool up = g.in.size() == 3 && g.text("round_mode") == "HALF_UP";
  const Array& x = g.in[0];
  return {make(x.dims, [&](const Index& i) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for_each_index(x.dims, [&](const Index& other) {
      if (!same_range(g, i, other)) return;
      low = std::min(low, at(x, other));
      high = std::max(high, at(x, other));
    });
    if (given) {
      const Index place = g.in[1].dims.empty() ? Index{} : Index{i[static_cast<size_t>(g.integer("axis"))]};
      low = at(g.in[1], place);
      high = at(g.in[2], place);
    }
    // An end on the side that the integers do not have asks for nothing.
    double scale = std::numeric_limits<double>::infinity();
    if (least * low > 0) scale = std::min(scale, least / low);
    if (most * high > 0) scale = std::min(scale, most / high);
    if (std::isinf(scale)) return 0.0;
    const double kept = given ? std::clamp(at(x, i), least / scale, most / scale) : at(x, i);
    return (up ? std::floor(kept * scale + 0.5) : std::nearbyint(kept * scale)) / scale;
  })};
}

std::vector<Array> quantized_gradient(const Given& g) {
  const Array dx = make(g.in[0].dims, [&](const Index& i) {
    const Index place = g.in[2].dims.empty() ? Index{} : Index{i[static_cast<size_t>(g.integer("axis"))]};
    return at(g.in[2], place) <= at(g.in[1], i) && at(g.in[1], i) <= at(g.in[3], place) ? at(g.in[0], i) : 0.0;
  });
  const Array none = make(g.in[2].dims, [](const Index&) { return 0.0; });
  return {dx, none, none};
}

// What goes back through steps is not their derivative, which is 0.
template <class Op>
bool goes_back(const Op& op, const Array& x, const Array& expected) {
  const Tensor weights = to_tensor(draw(x.dims, 1, 2, 7), kFloat32);
  const Tensor got = grad([&](const Tensor& v) { return sum(op(v) * weights); })(to_tensor(x, kFloat32));
  return difference(to_array(to_tensor(expected, kFloat32) * weights), got, {}).empty();
}
const Array kAcross = array({6}, {-3, -1, -0.2, 0.4, 1, 5});

// Also in a batch, and forward.
template <class Op>
bool goes_through(const Op& op, const Array& x, const Array& passed) {
  const Tensor in = to_tensor(x, kFloat32), mask = to_tensor(passed, kFloat32);
  const Tensor batch = pack({in, in + 0.01F}), weights = to_tensor(draw(x.dims, 1, 2, 7), kFloat32);
  const Tensor back = grad([&](const Tensor& v) { return sum(vmap(op)(v) * weights); })(batch);
  const Tensor ahead = jvp(op, in, weights).second;
  return difference(to_array(pack({mask * weights, mask * weights})), back, {}).empty() &&
         difference(to_array(mask * weights), ahead, {}).empty();
}

void fixed_goes_back() {
  const auto op = [](const Tensor& v) { return fake_quant_with_min_max_args(v, {.min = -1.5F, .max = 2}); };
  BOOST_TEST(goes_back(op, kAcross, array({6}, {0, 1, 1, 1, 1, 0})));
  BOOST_TEST(goes_through(op, kAcross, array({6}, {0, 1, 1, 1, 1, 0})));
}
void learned_goes_back() {
  const auto op = [](const Tensor& v) { return fake_quant_with_min_max_vars(v, -1.5F, 2.0F); };
  BOOST_TEST(goes_back(op, kAcross, array({6}, {0, 1, 1, 1, 1, 0})));
  BOOST_TEST(goes_through(op, kAcross, array({6}, {0, 1, 1, 1, 1, 0})));
  const Tensor x = to_tensor(kAcross, kFloat32);
  const auto by_low = [&](const Tensor& low) { return sum(fake_quant_with_min_max_vars(x, low, 2.0F) * x); };
  const auto by_high = [&](const Tensor& high) { return sum(fake_quant_with_min_max_vars(x, -1.5F, high) * x); };
  BOOST_TEST(grad(by_low)(to_tensor(scalar(-1.5), kFloat32)).item<float>() == -3);
  BOOST_TEST(grad(by_high)(to_tensor(scalar(2), kFloat32)).item<float>() == 5);
}
void channels_go_back() {
  const Tensor low = to_tensor(list({-1.5, 0}), kFloat32), high = to_tensor(list({2, 0.5}), kFloat32);
  const auto op = [&](const Tensor& v) { return fake_quant_with_min_max_vars_per_channel(v, low, high); };
  BOOST_TEST(goes_back(op, array({3, 2}, kAcross.values), array({3, 2}, {0, 0, 1, 1, 1, 0})));
  BOOST_TEST(goes_through(op, array({3, 2}, kAcross.values), array({3, 2}, {0, 0, 1, 1, 1, 0})));
}
void ranges_go_back() {
  const auto passes = [](const Tensor& v) {
    return quantize_and_dequantize_straight(v, -1.5F, 2.0F, {.range_given = true});
  };
  BOOST_TEST(goes_back(passes, kAcross, filled({6}, 1)));
  const auto bits = [](const Tensor& v) { return quantize_and_dequantize_bits(v, -1.5F, 2.0F, 4); };
  BOOST_TEST(goes_back(bits, kAcross, filled({6}, 1)));
  const auto stops = [](const Tensor& v) { return quantize_and_dequantize(v, -1.5F, 2.0F, {.range_given = true}); };
  BOOST_TEST(goes_through(passes, kAcross, filled({6}, 1)));
  BOOST_TEST(goes_through(bits, kAcross, filled({6}, 1)));
  BOOST_TEST(goes_through(stops, kAcross, array({6}, {0, 1, 1, 1, 1, 0})));
  BOOST_TEST(goes_back(stops, kAcross, array({6}, {0, 1, 1, 1, 1, 0})));
}
// One NaN in a range that is found makes it NaN; in one that is given it stays where it is.
void nan_spreads() {
  const Tensor x = to_tensor(list({NAN, 1, -0.5}), kFloat32);
  BOOST_TEST(reduce_all(isnan(quantize_and_dequantize(x, 0.0F, 0.0F))).item<bool>());
  const Tensor kept = quantize_and_dequantize(x, -1.0F, 1.0F, {.range_given = true});
  BOOST_TEST(isnan(kept[0]).item<bool>());
  BOOST_TEST(kept[1].item<float>() == 1);
}

const Array kLow = list({-1.1, 0, -2}), kHigh = list({1, 0, 3});
const Attrs kFourBits = {{"num_bits", 4}, {"narrow_range", true}};
const Attrs kGiven = {{"range_given", true}};

std::vector<Sample> quantize_samples() {
  return {{.in = {draw({2, 5}), scalar(0), scalar(0)}},
          {.in = {draw({2, 5}), scalar(-1), scalar(1.5)}, .attrs = kGiven},
          {.in = {draw({7}), scalar(-1), scalar(1.5)}, .attrs = {{"range_given", true}, {"signed_input", false}}},
          {.in = {draw({7}), scalar(-1.5), scalar(0.7)},
           .attrs = {{"range_given", true}, {"num_bits", 3}, {"narrow_range", true}, {"round_mode", "HALF_UP"}}},
          {.in = {draw({2, 3, 2}), list({0, 0, 0}), list({0, 0, 0})}, .attrs = {{"axis", 1}, {"num_bits", 5}}},
          {.in = {draw({2, 3}), list({-1, 0, -2}), list({1, 0.5, 1})}, .attrs = {{"axis", 1}, {"range_given", true}}},
          {.in = {draw({0, 3}), scalar(0), scalar(0)}},
          {.in = {filled({3}, 0), scalar(0), scalar(0)}}};
}
std::vector<ErrorSample> quantize_errors() {
  return {
      {.in = {draw({3}), scalar(2), scalar(1)},
       .attrs = kGiven,
       .text = "input_min: expected at most input_max, which is 1, got 2"},
      {.in = {draw({3}), scalar(0), scalar(1)},
       .attrs = {{"num_bits", 62}},
       .text = "num_bits: expected 1 to 61, got 62"},
      {.in = {draw({3}), scalar(0), scalar(1)},
       .attrs = {{"num_bits", 0}},
       .text = "num_bits: expected 1 to 61, got 0"},
      {.in = {draw({3}), scalar(0), scalar(1)}, .attrs = {{"axis", -2}}, .text = "axis: expected at least -1, got -2"},
      {.in = {draw({3}), scalar(0), scalar(1)},
       .attrs = {{"axis", 0}},
       .text = "input_min: expected a vector, got shape []"},
      {.in = {draw({3}), list({0, 0}), list({1, 1})},
       .attrs = {{"axis", 0}},
       .text = "the length of min: expected 3, got 2"},
      {.in = {draw({3}), list({0}), list({1})}, .text = "input_min: expected a scalar, got shape [1]"}};
}

const Family quantization(
    "nn",
    {
        {"FakeQuantWithMinMaxArgs",
         {.samples = {{.in = {draw({2, 5}, -8, 8)}},
                      {.in = {draw({7}, -1, 4)}, .attrs = {{"min", 1.0}, {"max", 3.0}}},
                      {.in = {draw({7}, -4, 1)},
                       .attrs = {{"min", -3.0}, {"max", -1.0}, {"num_bits", 4}, {"narrow_range", true}}},
                      {.in = {draw({0, 2})}}},
          .reference = fixed_reference,
          .errors = {{.in = {draw({2})}, .attrs = {{"num_bits", 1}}, .text = "num_bits: expected 2 to 16, got 1"},
                     {.in = {draw({2})}, .attrs = {{"num_bits", 17}}, .text = "num_bits: expected 2 to 16, got 17"},
                     {.in = {draw({2})},
                      .attrs = {{"min", 1.0}, {"max", 1.0}},
                      .text = "min: expected less than max, which is 1, got 1"}},
          .own = {{"goes_back", fixed_goes_back}},
          .gradient = false}},
        {"FakeQuantWithMinMaxArgsGradient",
         {.samples = {{.in = {draw({2, 5}), draw({2, 5}, -8, 8, 1)}},
                      {.in = {draw({7}), draw({7}, -1, 4, 1)}, .attrs = {{"min", 1.0}, {"max", 3.0}}}},
          .reference = fixed_gradient,
          .errors = {{.in = {draw({2}), draw({3})}, .text = "inputs: expected the shape [2] of gradients, got [3]"}}}},
        {"FakeQuantWithMinMaxVars",
         {.samples = {{.in = {draw({2, 5}), scalar(-1), scalar(1.3)}},
                      {.in = {draw({7}), scalar(0.2), scalar(1.3)}, .attrs = kFourBits},
                      {.in = {draw({3}), scalar(0), scalar(0)}},
                      {.in = {draw({0}), scalar(-1), scalar(0)}}},
          .reference = learned_reference,
          .errors = {{.in = {draw({2}), list({1}), scalar(2)}, .text = "min: expected a scalar, got shape [1]"}},
          .own = {{"goes_back", learned_goes_back}},
          .gradient = false}},
        {"FakeQuantWithMinMaxVarsGradient",
         {.samples = {{.in = {draw({2, 5}), draw({2, 5}, -2, 2, 1), scalar(-1), scalar(1.3)}},
                      {.in = {draw({7}), draw({7}, -2, 2, 1), scalar(0.2), scalar(1.3)}, .attrs = kFourBits},
                      {.in = {draw({3}), draw({3}, -2, 2, 1), scalar(0), scalar(0)}}},
          .reference = learned_gradient,
          .errors = {{.in = {draw({2}), draw({3}), scalar(0), scalar(1)},
                      .text = "inputs: expected the shape [2] of gradients, got [3]"}}}},
        {"FakeQuantWithMinMaxVarsPerChannel",
         {.samples = {{.in = {draw({4, 3}), kLow, kHigh}},
                      {.in = {draw({2, 2, 1, 3}), kLow, kHigh}, .attrs = kFourBits},
                      {.in = {draw({3}), kLow, kHigh}}},
          .reference = learned_reference,
          .errors = {{.in = {draw({2, 3}), list({1, 2}), kHigh}, .text = "the length of min: expected 3, got 2"},
                     {.in = {scalar(1), list({1}), list({2})},
                      .text = "inputs: expected a rank of at least 1, got shape []"}},
          .own = {{"goes_back", channels_go_back}},
          .gradient = false}},
        {"FakeQuantWithMinMaxVarsPerChannelGradient",
         {.samples = {{.in = {draw({4, 3}), draw({4, 3}, -2, 2, 1), kLow, kHigh}},
                      {.in = {draw({2, 2, 1, 3}), draw({2, 2, 1, 3}, -2, 2, 1), kLow, kHigh}, .attrs = kFourBits},
                      {.in = {draw({3}), draw({3}, -2, 2, 1), kLow, kHigh}}},
          .reference = learned_gradient,
          .errors = {{.in = {draw({2, 3}), draw({2, 3}), kLow, list({1, 2})},
                      .text = "the length of max: expected 3, got 2"}}}},
        {"QuantizeAndDequantizeV2",
         {.samples = quantize_samples(), .reference = quantized, .errors = quantize_errors(), .gradient = false}},
        {"QuantizeAndDequantizeV3",
         {.samples = {{.in = {draw({2, 5}), scalar(-1), scalar(1.5), scalar(8)}},
                      {.in = {draw({2, 5}), scalar(0), scalar(0), scalar(3)}, .attrs = {{"range_given", false}}},
                      {.in = {draw({2, 3}), list({-1, 0, -2}), list({1, 0.5, 1}), scalar(4)}, .attrs = {{"axis", 1}}}},
          .reference = quantized,
          .errors = {{.in = {draw({3}), scalar(0), scalar(1), scalar(0)}, .text = "num_bits: expected 1 to 61, got 0"},
                     {.in = {draw({3}), scalar(0), scalar(1), list({4})},
                      .text = "num_bits: expected a scalar, got shape [1]"}},
          .gradient = false}},
        {"QuantizeAndDequantizeV4",
         {.samples = quantize_samples(),
          .reference = quantized,
          .errors = quantize_errors(),
          .own = {{"go_back", ranges_go_back}, {"nan_spreads", nan_spreads}},
          .gradient = false}},
        {"QuantizeAndDequantizeV4Grad",
         {.samples = {{.in = {draw({2, 5}), draw({2, 5}, -2, 2, 1), scalar(-1), scalar(1)}},
                      {.in = {draw({2, 3, 2}), draw({2, 3, 2}, -2, 2, 1), kLow, kHigh}, .attrs = {{"axis", 1}}},
                      {.in = {draw({2, 3}), draw({2, 3}, -2, 2, 1), kLow, kHigh}, .attrs = {{"axis", 1}}}},
          .reference = quantized_gradient}},
    });

}  // namespace
}  // namespace panto::test::quantization_rows
