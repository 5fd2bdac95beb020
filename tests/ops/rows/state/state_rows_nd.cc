// Samples of ops on elements and slices of variables at positions in several dimensions.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "panto/autograd/tape.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::state_rows_nd_rows {
namespace {

// Calls f(first element of the variable, number of the row) for each position, and tells how many elements are there.
template <class F>
size_t at_positions(const Given& g, const F& f) {
  const Array &whole = g.in[0], &indices = g.in[1];
  const auto depth = static_cast<size_t>(indices.dims.back());
  size_t inner = 1;
  for (size_t k = depth; k < whole.dims.size(); ++k) inner *= static_cast<size_t>(whole.dims[k]);
  const size_t rows = depth == 0 ? 1 : indices.values.size() / depth;
  for (size_t r = 0; r < rows; ++r) {
    size_t place = 0;
    for (size_t d = 0; d < depth; ++d) {
      place = place * static_cast<size_t>(whole.dims[d]) + static_cast<size_t>(indices.values[r * depth + d]);
    }
    f(place * inner, r);
  }
  return inner;
}

std::vector<Array> gathered(const Given& g) {
  Array y;
  y.dims.assign(g.in[1].dims.begin(), g.in[1].dims.end() - 1);
  y.dims.insert(y.dims.end(), g.in[0].dims.begin() + g.in[1].dims.back(), g.in[0].dims.end());
  std::vector<size_t> places;
  const size_t inner = at_positions(g, [&](size_t place, size_t) { places.push_back(place); });
  for (const size_t place : places) {
    for (size_t k = 0; k < inner; ++k) y.values.push_back(g.in[0].values[place + k]);
  }
  return {y};
}

template <class F>
Reference scattered(F f) {
  return [f](const Given& g) {
    Array y = g.in[0];
    std::vector<size_t> places;
    const size_t inner = at_positions(g, [&](size_t place, size_t) { places.push_back(place); });
    for (size_t r = 0; r < places.size(); ++r) {
      for (size_t k = 0; k < inner; ++k) {
        y.values[places[r] + k] = f(y.values[places[r] + k], g.in[2].values[r * inner + k]);
      }
    }
    return std::vector<Array>{y};
  };
}

const std::vector<Sample> kSamples = {
    {.in = {variable(draw({4, 3})), array({3, 1}, {2, 0, 2}).as(kInt32), draw({3, 3}, -2, 2, 1)}},
    {.in = {variable(draw({4, 3})), array({3, 2}, {2, 1, 0, 0, 2, 1}).as(kInt64), draw({3}, -2, 2, 1)}},
    {.in = {variable(draw({2, 2, 3})), array({1, 2, 2}, {1, 1, 0, 1}).as(kInt32), draw({1, 2, 3}, -2, 2, 1)}},
    {.in = {variable(draw({3, 2})), list({1}).as(kInt32), draw({2}, -2, 2, 1)}},
    {.in = {variable(draw({3, 2})), array({0, 1}, {}).as(kInt32), draw({0, 2})}},
};
const std::vector<ErrorSample> kErrors = {
    {.in = {variable(draw({4, 3})), array({2, 1}, {0, 4}).as(kInt32), draw({2, 3})},
     .text = "indices[1, 0]: expected one in [0, 4), got 4"},
    {.in = {variable(draw({4, 3})), array({1, 2}, {0, -1}).as(kInt64), draw({1})},
     .text = "indices[0, 1]: expected one in [0, 3), got -1"},
    {.in = {variable(draw({4, 3})), array({2, 1}, {0, 1}).as(kInt32), draw({2, 2})},
     .text = "updates: expected shape [2,3], got [2,2]"},
    {.in = {variable(draw({4, 3})), array({1, 3}, {0, 0, 0}).as(kInt32), draw({1})},
     .text = "last dimension of indices: expected at most 2, the number of dimensions, got 3"},
    {.in = {variable(draw({4, 3}).as(kFloat64)), array({1, 1}, {0}).as(kInt32), draw({1, 3}).as(kFloat32)},
     .text = "dtype: expected the variable's float64, got float32"},
};

// Nothing changes where one of several positions is wrong.
void all_or_nothing() {
  const Variable v(tensor({{1.f, 2.f}, {3.f, 4.f}}), "elements");
  expect_error_begins([&] { resource_scatter_nd_add(v.handle(), tensor({{0, 0}, {0, 2}}), tensor({1.f, 1.f})); },
                      "InvalidArgument: indices[1, 1]: expected one in [0, 2), got 2");
  BOOST_TEST(difference(array({2, 2}, {1, 2, 3, 4}), v.value(), {}) == "");
}

void gather_gradient() {
  const Variable v(tensor({{1.f, 2.f}, {3.f, 4.f}}), "elements");
  GradientTape tape;
  const Tensor loss = sum(square(resource_gather_nd(v.handle(), tensor({{0, 1}, {1, 0}, {0, 1}}), kFloat32)));
  BOOST_TEST(difference(array({2, 2}, {0, 8, 6, 0}), tape.gradient(loss, v), {}) == "");
}

const Family family("state_rows_nd",
                    {
                        {"ResourceGatherNd",
                         {.samples = {{.in = {kSamples[0].in[0], kSamples[0].in[1]}},
                                      {.in = {kSamples[1].in[0], kSamples[1].in[1]}},
                                      {.in = {kSamples[2].in[0], kSamples[2].in[1]}},
                                      {.in = {kSamples[4].in[0], kSamples[4].in[1]}}},
                          .reference = gathered,
                          .errors = {{.in = {kErrors[0].in[0], kErrors[0].in[1]}, .text = kErrors[0].text}},
                          .own = {{"gradient_of_the_variable", gather_gradient}},
                          .gradient = false,
                          .data_dependent_shape = true}},
                        {"ResourceScatterNdUpdate",
                         {.samples = kSamples,
                          .after = scattered([](double, double y) { return y; }),
                          .errors = kErrors,
                          .effect = true}},
                        {"ResourceScatterNdAdd",
                         {.samples = kSamples,
                          .after = scattered([](double x, double y) { return x + y; }),
                          .errors = kErrors,
                          .own = {{"all_or_nothing", all_or_nothing}},
                          .effect = true}},
                        {"ResourceScatterNdSub",
                         {.samples = kSamples,
                          .after = scattered([](double x, double y) { return x - y; }),
                          .errors = kErrors,
                          .effect = true}},
                        {"ResourceScatterNdMax",
                         {.samples = kSamples,
                          .after = scattered([](double x, double y) { return std::max(x, y); }),
                          .errors = kErrors,
                          .effect = true}},
                        {"ResourceScatterNdMin",
                         {.samples = kSamples,
                          .after = scattered([](double x, double y) { return std::min(x, y); }),
                          .errors = kErrors,
                          .effect = true}},
                    });

}  // namespace
}  // namespace panto::test::state_rows_nd_rows
