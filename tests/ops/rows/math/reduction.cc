// Samples of reductions and scans.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "panto/autograd/transforms/derivatives.h"
#include "panto/autograd/transforms/jvp.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::reduction_rows {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// `step` folds an element into what was found so far; `end` makes the result of that and the number of elements.
using Step = double (*)(double, double);
using End = double (*)(double, double);

template <Step step, End end>
std::vector<Array> reduce(const Given& g, double start) {
  const Array& x = g.in[0];
  std::vector<bool> reduced(x.dims.size());
  for (const int64_t axis : integers(g.in[1])) reduced[normal_axis(axis, x.dims.size())] = true;
  Index kept;
  double count = 1;
  for (size_t k = 0; k < x.dims.size(); ++k) {
    kept.push_back(reduced[k] ? 1 : x.dims[k]);
    if (reduced[k]) count *= static_cast<double>(x.dims[k]);
  }
  Array y = filled(kept, start);
  for (size_t i = 0; i < x.values.size(); ++i) {
    double& v = y.values[y.broadcast_position(x.dims, i)];
    v = step(v, x.values[i]);
  }
  for (double& v : y.values) v = end(v, count);
  if (!g.flag("keep_dims")) {
    y.dims.clear();
    for (size_t k = 0; k < x.dims.size(); ++k) {
      if (!reduced[k]) y.dims.push_back(x.dims[k]);
    }
  }
  return {y};
}

double add(double a, double b) { return a + b; }
double multiply(double a, double b) { return a * b; }
double larger(double a, double b) { return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b); }
double smaller(double a, double b) { return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b); }
double as_it_is(double v, double) { return v; }
double divide(double v, double count) { return v / count; }

std::vector<Array> sum(const Given& g) { return reduce<add, as_it_is>(g, 0); }
std::vector<Array> mean(const Given& g) { return reduce<add, divide>(g, 0); }
std::vector<Array> prod(const Given& g) { return reduce<multiply, as_it_is>(g, 1); }
std::vector<Array> max(const Given& g) { return reduce<larger, as_it_is>(g, -kInfinity); }
std::vector<Array> min(const Given& g) { return reduce<smaller, as_it_is>(g, kInfinity); }
std::vector<Array> all(const Given& g) { return reduce<smaller, as_it_is>(g, 1); }
std::vector<Array> any(const Given& g) { return reduce<larger, as_it_is>(g, 0); }

std::vector<Sample> samples_of(Array (*input)(Index, int), bool with_nothing) {
  std::vector<Sample> samples = {
      {.in = {input({2, 3}, 0), list({0})}},
      {.in = {input({2, 3}, 1), list({1})}},
      {.in = {input({2, 3}, 2), list({0, 1})}},
      {.in = {input({2, 3}, 3), list({-1})}, .attrs = {{"keep_dims", true}}},
      {.in = {input({2, 3}, 4), list({})}},
      {.in = {input({2, 3, 4}, 5), list({1})}},
      {.in = {input({2, 3, 4}, 6), list({2, 0})}, .attrs = {{"keep_dims", true}}},
      {.in = {input({37}, 7), list({0})}},
      {.in = {input({3, 19}, 8), scalar(1)}},
      {.in = {input({19, 3}, 9), scalar(-2)}},
      {.in = {input({}, 10), list({})}},
      {.in = {input({0, 3}, 11), list({1})}},
  };
  if (with_nothing) {
    samples.push_back({.in = {input({0, 3}, 12), list({0})}});
    samples.push_back({.in = {input({2, 0}, 13), list({1})}, .attrs = {{"keep_dims", true}}});
  }
  return samples;
}

Array numbers(Index dims, int seed) { return draw(std::move(dims), -2, 2, seed); }
Array truths(Index dims, int seed) { return zeros_and_ones(std::move(dims), seed); }
// Small enough for the product of 37 of them.
Array factors(Index dims, int seed) { return draw(std::move(dims), 0.7, 1.4, seed); }

std::vector<ErrorSample> errors_of(const Array& x) {
  return {{.in = {x, list({2})}, .text = "reduction_indices: expected one in [-2, 2), got 2"},
          {.in = {x, list({-3})}, .text = "reduction_indices: expected one in [-2, 2), got -3"},
          {.in = {x, list({0, -2})}, .text = "reduction_indices: expected every axis once, got 0 twice"},
          {.in = {x, array({1, 1}, {0})}, .text = "reduction_indices: expected a vector, got shape [1,1]"}};
}

const std::vector<ErrorSample> kErrors = errors_of(draw({2, 3}));
const std::vector<ErrorSample> kBoolErrors = errors_of(zeros_and_ones({2, 3}));

// Of the integers that the type has.
Whole least(DType t) { return dtypes::kSigned.contains(t) ? -(Whole{1} << (8 * dtype_size(t) - 1)) : 0; }
Whole most(DType t) {
  const size_t bits = 8 * dtype_size(t);
  return (Whole{1} << (dtypes::kSigned.contains(t) ? bits - 1 : bits)) - 1;
}
Details extreme_of_nothing(Whole (*value)(DType)) {
  return {.samples = {{.in = {array({0, 2}, {}), list({0})}}},
          .reference = [value](const Given& g) { return std::vector{wholes({2}, {value(g.type), value(g.type)})}; },
          .label = "of no integers",
          .types = dtypes::kInteger};
}

const Family reductions(
    "reduction",
    {
        {"Sum", {.samples = samples_of(numbers, true), .reference = sum, .errors = kErrors, .floor = 4}},
        {"Mean",
         {.samples = samples_of(numbers, false), .reference = mean, .errors = kErrors, .types = dtypes::kFloating}},
        {"Mean",
         {.samples = {{.in = {array({2, 2}, {1, 2, 4, 8}), list({1})}, .out = {list({1, 6})}},
                      {.in = {array({2, 2}, {1, 2, 4, 8}), list({0, 1})}, .out = {scalar(3)}}},
          .label = "integers",
          .types = dtypes::kInteger}},
        {"Mean",
         {.samples = {{.in = {array({0, 2}, {}), list({0})}, .out = {list({std::nan(""), std::nan("")})}}},
          .label = "of nothing",
          .types = dtypes::kFloating,
          .gradient = false}},
        {"Prod", {.samples = samples_of(factors, true), .reference = prod, .errors = kErrors, .units = 64}},
        {"Prod",
         {.samples = {{.in = {array({2, 3}, {1, 0, 3, 2, 5, 4}), list({1})}, .out = {list({0, 40})}},
                      {.in = {array({3}, {0, 2, 0}), list({0})}, .out = {scalar(0)}}},
          .label = "with zeros"}},
        {"Sum",
         {.samples = {{.in = {complexes({2, 2}, {{1, 2}, {3, -4}, {0.5, 0}, {0, 0.25}}), list({1})},
                       .out = {complexes({2}, {{4, -2}, {0.5, 0.25}})}}},
          .label = "complex",
          .types = dtypes::kComplex}},
        {"Prod",
         {.samples = {{.in = {complexes({2, 2}, {{1, 2}, {3, -4}, {0.5, 0}, {0, 0.25}}), list({1})},
                       .out = {complexes({2}, {{11, 2}, {0, 0.125}})}}},
          .label = "complex",
          .types = dtypes::kComplex}},
        {"Sum",
         {.samples = {{.in = {wholes({3}, {(Whole{1} << 53) + 1, 2, INT64_MAX - (Whole{1} << 54)}), list({0})},
                       .out = {wholes({}, {INT64_MAX - (Whole{1} << 53) + 3})}}},
          .label = "beyond 2^53",
          .types = {kInt64, kUint64}}},
        {"Max",
         {.samples = {{.in = {wholes({3}, {(Whole{1} << 60) + 1, (Whole{1} << 60) + 2, Whole{1} << 60}), list({0})},
                       .out = {wholes({}, {(Whole{1} << 60) + 2})}}},
          .label = "beyond 2^53",
          .types = {kInt64, kUint64}}},
        {"Max", {.samples = samples_of(numbers, false), .reference = max, .errors = kErrors}},
        {"Max",
         {.samples = {{.in = {array({0, 2}, {}), list({0})}, .out = {list({-kInfinity, -kInfinity})}},
                      {.in = {list({1, std::nan(""), 3}), list({0})}, .out = {scalar(std::nan(""))}},
                      {.in = {list({-kInfinity, 1}), list({0})}, .out = {scalar(1)}}},
          .label = "special",
          .types = dtypes::kFloating,
          .gradient = false}},
        {"Max", extreme_of_nothing(least)},
        {"Min", extreme_of_nothing(most)},
        {"Min", {.samples = samples_of(numbers, false), .reference = min, .errors = kErrors}},
        {"Min",
         {.samples = {{.in = {array({0, 2}, {}), list({0})}, .out = {list({kInfinity, kInfinity})}},
                      {.in = {list({1, std::nan(""), 3}), list({0})}, .out = {scalar(std::nan(""))}}},
          .label = "special",
          .types = dtypes::kFloating,
          .gradient = false}},
        {"All", {.samples = samples_of(truths, true), .reference = all, .errors = kBoolErrors}},
        {"Any", {.samples = samples_of(truths, true), .reference = any, .errors = kBoolErrors}},
    });

// ---- Positions and running sums ---------------------------------------------------------------------------------

template <bool largest>
std::vector<Array> position(const Given& g) {
  const Array& x = g.in[0];
  const size_t axis = normal_axis(integer(g.in[1]), x.dims.size());
  Index dims = x.dims;
  dims.erase(dims.begin() + static_cast<int64_t>(axis));
  return {make(dims, [&](Index index) {
    index.insert(index.begin() + static_cast<int64_t>(axis), 0);
    int64_t best = 0;
    for (int64_t i = 0; i < x.dims[axis]; ++i) {
      Index other = index, found = index;
      other[axis] = i;
      found[axis] = best;
      if (largest ? at(x, other) > at(x, found) : at(x, other) < at(x, found)) best = i;
    }
    return static_cast<double>(best);
  })};
}

template <bool product>
std::vector<Array> running(const Given& g) {
  const Array& x = g.in[0];
  const size_t axis = normal_axis(integer(g.in[1]), x.dims.size());
  const bool exclusive = g.flag("exclusive"), reverse = g.flag("reverse");
  return {make(x.dims, [&](const Index& index) {
    double result = product ? 1 : 0;
    for (int64_t i = 0; i < x.dims[axis]; ++i) {
      const int64_t before = reverse ? i - index[axis] : index[axis] - i;
      if (exclusive ? before <= 0 : before < 0) continue;
      Index other = index;
      other[axis] = i;
      result = product ? result * at(x, other) : result + at(x, other);
    }
    return result;
  })};
}

// y[0] = 0, y[i + 1] = a[i] y[i] + b[i].
std::vector<Array> recurrence(const Given& g) {
  const Array &a = g.in[0], &b = g.in[1];
  const size_t axis = normal_axis(integer(g.in[2]), a.dims.size());
  const bool reverse = g.flag("reverse");
  return {make(a.dims, [&](const Index& index) {
    double y = 0;
    const int64_t n = a.dims[axis];
    for (int64_t i = reverse ? n - 1 : 0; i != index[axis]; i += reverse ? -1 : 1) {
      Index other = index;
      other[axis] = i;
      y = at(a, other) * y + at(b, other);
    }
    return y;
  })};
}

std::vector<Sample> scan_samples(Array (*input)(Index, int)) {
  return {{.in = {input({5}, 0), scalar(0)}},
          {.in = {input({2, 3}, 1), scalar(1)}},
          {.in = {input({2, 3}, 2), scalar(-2)}},
          {.in = {input({2, 3}, 3), scalar(1)}, .attrs = {{"exclusive", true}}},
          {.in = {input({2, 3}, 4), scalar(0)}, .attrs = {{"reverse", true}}},
          {.in = {input({2, 3, 2}, 5), scalar(1)}, .attrs = {{"exclusive", true}, {"reverse", true}}},
          {.in = {input({0, 3}, 6), scalar(0)}},
          {.in = {input({37}, 7), scalar(0)}}};
}
const std::vector<ErrorSample> kScanErrors = {
    {.in = {draw({2, 3}), scalar(2)}, .text = "axis: expected one in [-2, 2), got 2"},
    {.in = {draw({2}), list({0})}, .text = "axis: expected a scalar, got shape [1]"}};

const std::vector<Sample> kPositionSamples = {
    {.in = {draw({5}), scalar(0)}},     {.in = {draw({2, 3}), scalar(1)}},
    {.in = {draw({2, 3}), scalar(-2)}}, {.in = {draw({2, 3, 4}), scalar(1)}, .attrs = {{"output_type", kInt32}}},
    {.in = {draw({0, 3}), scalar(1)}},  {.in = {filled({3, 2}, 1), scalar(0)}},
    {.in = {draw({37}), scalar(0)}},
};
const std::vector<ErrorSample> kPositionErrors = {
    {.in = {draw({2, 3}), scalar(2)}, .text = "axis: expected one in [-2, 2), got 2"},
    {.in = {draw({2, 0}), scalar(1)}, .text = "dimension 1: expected at least one element, got 0"},
    {.in = {draw({2}), list({0})}, .text = "dimension: expected a scalar, got shape [1]"},
    {.in = {draw({}), scalar(0)}, .text = "input: expected a rank of at least 1, got shape []"},
};

// From the definition.
std::vector<Array> running_logsumexp(const Given& g) {
  const size_t axis = normal_axis(integer(g.in[1]), g.in[0].dims.size());
  const bool reverse = g.flag("reverse");
  return {make(g.in[0].dims, [&](const Index& index) {
    double sum = 0;
    for (Index i = index; i[axis] >= 0 && i[axis] < g.in[0].dims[axis]; i[axis] += reverse ? 1 : -1) {
      if (i != index || !g.flag("exclusive")) sum += std::exp(at(g.in[0], i));
    }
    return std::log(sum);
  })};
}

// Where something is in front, the exclusive sums are those of the elements but the last.
void exclusive_logsumexp_derivatives() {
  const Tensor x = to_tensor(draw({6}), kFloat64), weights = to_tensor(draw({5}, -1, 1, 1), kFloat64);
  for (const bool reverse : {false, true}) {
    const auto exclusive = [&](const Tensor& v) {
      const Tensor all = cumulative_logsumexp(v, 0, {.exclusive = true, .reverse = reverse});
      return sum(slice(all, {reverse ? 0 : 1}, {5}) * weights);
    };
    const auto shorter = [&](const Tensor& v) {
      return sum(cumulative_logsumexp(slice(v, {reverse ? 1 : 0}, {5}), 0, {.reverse = reverse}) * weights);
    };
    const Tolerance close{.units = 16, .floor = 1};
    BOOST_TEST(difference(to_array(grad(shorter)(x)), grad(exclusive)(x), close) == "");
    const Tensor direction = to_tensor(draw({6}, -1, 1, 2), kFloat64);
    BOOST_TEST(difference(to_array(jvp(shorter, x, direction).second), jvp(exclusive, x, direction).second, close) ==
               "");
  }
}

const Family scans(
    "reduction",
    {
        {"ArgMax", {.samples = kPositionSamples, .reference = position<true>, .errors = kPositionErrors}},
        {"ArgMin", {.samples = kPositionSamples, .reference = position<false>, .errors = kPositionErrors}},
        {"Cumsum",
         {.samples = scan_samples(numbers),
          .reference = running<false>,
          .errors = kScanErrors,
          .units = 16,
          .floor = 4}},
        {"Cumprod", {.samples = scan_samples(factors), .reference = running<true>, .errors = kScanErrors, .units = 64}},
        {"Cumprod",
         {.samples = {{.in = {complexes({3}, {{1, 2}, {0, -1}, {2, 1}}), scalar(0)},
                       .out = {complexes({3}, {{1, 2}, {2, -1}, {5, 0}})}}},
          .label = "complex",
          .types = dtypes::kComplex}},
        {"Cumprod",
         {.samples = {{.in = {array({2, 3}, {1, 0, 3, 2, 5, 0}), scalar(1)},
                       .out = {array({2, 3}, {1, 0, 0, 2, 10, 0})}},
                      {.in = {list({0, 2, 0, 3}), scalar(0)},
                       .attrs = {{"exclusive", true}, {"reverse", true}},
                       .out = {list({0, 0, 3, 1})}}},
          .label = "with zeros"}},
        {"CumulativeLogsumexp",
         {.samples = {{.in = {draw({5}), scalar(0)}},
                      {.in = {draw({2, 3}), scalar(-1)}},
                      {.in = {draw({2, 3}), scalar(0)}, .attrs = {{"reverse", true}}},
                      {.in = {draw({2, 3, 2}), scalar(1)}},
                      {.in = {draw({0, 3}), scalar(0)}},
                      {.in = {draw({37}), scalar(0)}}},
          .reference = running_logsumexp,
          .errors = kScanErrors,
          .own = {{"exclusive_derivatives", exclusive_logsumexp_derivatives}}}},
        // The first elements are minus infinity, of which finite differences know nothing.
        {"CumulativeLogsumexp",
         {.samples = {{.in = {draw({2, 3}), scalar(1)}, .attrs = {{"exclusive", true}}},
                      {.in = {draw({2, 3, 2}), scalar(1)}, .attrs = {{"exclusive", true}, {"reverse", true}}}},
          .reference = running_logsumexp,
          .label = "exclusive",
          .gradient = false}},
        {"CumulativeLogsumexp",
         {.samples = {{.in = {list({-kInfinity, -kInfinity, 3, kInfinity, 1, kNan, 2}), scalar(0)},
                       .out = {list({-kInfinity, -kInfinity, 3, kInfinity, kInfinity, kNan, kNan})}},
                      {.in = {list({1000, 1000, -1000}), scalar(0)},
                       .out = {list({1000, 1000 + std::log(2), 1000 + std::log(2)})}}},
          .label = "special",
          .gradient = false}},
        {"_LinearRecurrence",
         {.samples = {{.in = {draw({5}), draw({5}, -2, 2, 1), scalar(0)}},
                      {.in = {draw({2, 3}), draw({2, 3}, -2, 2, 1), scalar(-1)}},
                      {.in = {draw({4, 3}), draw({4, 3}, -2, 2, 1), scalar(0)}, .attrs = {{"reverse", true}}},
                      {.in = {draw({2, 4, 2}), draw({2, 4, 2}, -2, 2, 1), scalar(1)}},
                      {.in = {draw({0, 3}), draw({0, 3}), scalar(0)}},
                      {.in = {draw({37}, -0.9, 0.9), draw({37}), scalar(0)}}},
          .reference = recurrence,
          .errors = {{.in = {draw({2, 3}), draw({3}), scalar(0)}, .text = "b: expected the shape of a, [2,3], got [3]"},
                     {.in = {draw({3}), draw({3}), scalar(1)}, .text = "axis: expected one in [-1, 1), got 1"}},
          .units = 64}},
    });

}  // namespace
}  // namespace panto::test::reduction_rows
