// Samples of _ScalarLoop, which is made when a loop runs. What it does with lists of other loops, and that loops come
// to use it, tests/trace/control/scalar_loops_test.cc asks.
#include <functional>
#include <string>
#include <vector>

#include "panto/tests/ops/table.h"

namespace panto::test::scalar_loop_rows {
namespace {

// Round by round, of numbers.
std::vector<Array> by_rounds(const Given& g) {
  const auto ops = g.texts("ops");
  const auto operands = g.integers("operands"), carried = g.integers("carried"), pushed = g.integers("pushed");
  std::vector<Array> results(g.in);
  double rounds = 0;
  for (bool more = true; more; ++rounds) {
    std::vector<double> values;
    for (size_t i = 0; i < carried.size(); ++i) values.push_back(results[i].values[0]);
    for (size_t s = 0; s < ops.size(); ++s) {
      const double x = values[static_cast<size_t>(operands[2 * s])],
                   y = values[static_cast<size_t>(operands[2 * s + 1])];
      values.push_back(ops[s] == "AddV2" ? x + y : ops[s] == "Mul" ? x * y : static_cast<double>(x < y));
    }
    for (size_t i = 0; i < carried.size(); ++i) results[i].values[0] = values[static_cast<size_t>(carried[i])];
    for (size_t w = 0; w < pushed.size(); ++w) {
      Array& list = results[carried.size() + w];
      list.values.push_back(values[static_cast<size_t>(pushed[w])]);
      ++list.dims[0];
    }
    more = values[static_cast<size_t>(g.integers("outputs")[0])] != 0;
  }
  results.push_back(scalar(rounds).as(kInt64));
  results.push_back(scalar(0).as(kBool));
  return results;
}

// i, x = i + 1, x * factor while i + 1 < limit; the values are i, x, 1, limit, factor.
Sample halving(double limit, Attrs lists, std::vector<Array> more = {}) {
  const std::vector<DType> types = {kInt32, kFloat32, kInt32, kInt32, kFloat32};
  Sample sample{.in = {scalar(0).as(kInt32), scalar(1.5).as(kFloat32), scalar(1).as(kInt32), scalar(limit).as(kInt32),
                       scalar(0.5).as(kFloat32)},
                .attrs = {{"T", types},
                          {"Tin", types},
                          {"Tout", std::vector<DType>{kBool}},
                          {"ops", std::vector<std::string>{"AddV2", "Mul", "Less"}},
                          {"types", std::vector<DType>{kInt32, kFloat32, kInt32}},
                          {"operands", std::vector<int64_t>{0, 2, 1, 4, 5, 3}},
                          {"outputs", std::vector<int64_t>{7}},
                          {"num_read", 0}}};
  sample.in.insert(sample.in.end(), more.begin(), more.end());
  sample.attrs.insert(sample.attrs.end(), lists.begin(), lists.end());
  return sample;
}

Attrs pushing(std::vector<int64_t> pushed, std::vector<int64_t> carried = {5, 6, 2, 3, 4}) {
  const int count = static_cast<int>(pushed.size());
  return {{"num_written", count}, {"pushed", std::move(pushed)}, {"carried", std::move(carried)}};
}

Attrs shaped(std::vector<PartialShape> shapes) {
  Attrs attrs = pushing({});
  attrs.emplace_back("shapes", 0).value = AttrValue(std::move(shapes));
  return attrs;
}

// Scalars beside x.
std::vector<PartialShape> with_x_of(const Shape& shape) { return {Shape{}, shape, Shape{}, Shape{}, Shape{}}; }

// x is a matrix of one element.
Sample in_dimensions() {
  Sample sample = halving(5, shaped(with_x_of({1, 1})));
  sample.in[1] = array({1, 1}, {1.5}).as(kFloat32);
  return sample;
}

ErrorSample wrong(Attrs lists, const char* text) {
  const Sample sample = halving(3, std::move(lists));
  return {.in = sample.in, .attrs = sample.attrs, .text = text};
}

const Family scalar_loop(
    "scalar_loop",
    {{"_ScalarLoop",
      {.samples = {halving(5, pushing({})), in_dimensions(), halving(-1, pushing({})),
                   // x and the factor change places.
                   halving(4, pushing({}, {5, 4, 2, 3, 1})),
                   halving(3, pushing({1, 6}),
                           {listed(filled({0}, 0)).as(kFloat32), listed(filled({0}, 0)).as(kFloat32)})},
       .reference = by_rounds,
       .errors = {wrong(pushing({}, {5, 6, 2}), "carried: expected 5, one for each of T, got 3"),
                  wrong(pushing({}, {5, 6, 2, 3, 8}), "carried: expected values in [0, 8), got 8"),
                  wrong(pushing({}, {5, 6, 2, 3, 5}), "carried[4]: expected float32, got int32"),
                  wrong(shaped({Shape{1}}), "shapes: expected none, or one for each of 5 values and 0 lists, got 1"),
                  wrong(shaped(with_x_of({2})), "shapes: expected one element, got [2]"),
                  wrong(shaped(with_x_of({1})), "shape of values[1]: expected [1], got []")}}}});

}  // namespace
}  // namespace panto::test::scalar_loop_rows
