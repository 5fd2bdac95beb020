// Samples of ops on rows of variables.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>

#include "panto/autograd/tape.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"
#include "panto/trace/trace.h"

namespace panto::test::state_rows_rows {
namespace {

size_t row_size(const Array& a) {
  size_t n = 1;
  for (size_t k = 1; k < a.dims.size(); ++k) n *= static_cast<size_t>(a.dims[k]);
  return n;
}

std::vector<Array> gather(const Given& g) {
  Array y;
  y.dims = g.in[1].dims;
  y.dims.insert(y.dims.end(), g.in[0].dims.begin() + 1, g.in[0].dims.end());
  const size_t n = row_size(g.in[0]);
  for (const int64_t row : integers(g.in[1])) {
    for (size_t k = 0; k < n; ++k) y.values.push_back(g.in[0].values[static_cast<size_t>(row) * n + k]);
  }
  return {y};
}

template <class F>
Reference scattered(F f) {
  return [f](const Given& g) {
    Array y = g.in[0];
    const size_t n = row_size(y);
    const Index rows = integers(g.in[1]);
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t k = 0; k < n; ++k) {
        double& v = y.values[static_cast<size_t>(rows[i]) * n + k];
        v = f(v, g.in[2].dims.empty() ? g.in[2].values[0] : g.in[2].values[i * n + k]);
      }
    }
    return std::vector<Array>{y};
  };
}

const std::vector<Sample> kScatters = {
    {.in = {variable(draw({4, 3})), list({2, 0, 2}).as(kInt32), draw({3, 3}, -2, 2, 1)}},
    {.in = {variable(draw({4, 2, 3})), array({2, 1}, {3, 1}).as(kInt64), draw({2, 1, 2, 3}, -2, 2, 1)}},
    {.in = {variable(draw({5})), list({4, 4}).as(kInt64), draw({2}, -2, 2, 1)}},
    {.in = {variable(draw({3, 2})), scalar(1).as(kInt32), draw({2}, -2, 2, 1)}},
    {.in = {variable(draw({3, 2})), list({1, 2}).as(kInt32), scalar(2)}},
    {.in = {variable(draw({3, 2})), list({}).as(kInt32), draw({0, 2})}},
    {.in = {variable(draw({40, 70})), list({7, 39, 7}).as(kInt32), draw({3, 70}, -2, 2, 1)}},
};
const std::vector<ErrorSample> kScatterErrors = {
    {.in = {variable(draw({4, 3})), list({0, 4}).as(kInt32), draw({2, 3})},
     .text = "indices[1]: expected a row in [0, 4), got 4"},
    {.in = {variable(draw({4, 3})), list({-1, 0}).as(kInt64), draw({2, 3})},
     .text = "indices[0]: expected a row in [0, 4), got -1"},
    {.in = {variable(draw({4, 3})), list({0, 1}).as(kInt32), draw({2, 2})},
     .text = "updates: expected a scalar or shape [2,3], got [2,2]"},
    {.in = {variable(draw({})), list({0}).as(kInt32), draw({1})},
     .text = "variable: expected a rank of at least 1, got shape []"},
    {.in = {variable(draw({4, 3}).as(kFloat64)), list({0}).as(kInt32), draw({1, 3}).as(kFloat32)},
     .text = "dtype: expected the variable's float64, got float32"},
};

const std::vector<Sample> kDivisions = {
    {.in = {variable(draw({4, 3})), list({2, 0, 2}).as(kInt32), draw({3, 3}, 1, 2, 1)}},
    {.in = {variable(draw({3, 2})), list({1, 2}).as(kInt32), scalar(2)}},
};

void divided_integers() {
  const Variable v(tensor({7, -7, std::numeric_limits<int32_t>::min()}), "v");
  resource_scatter_div(v.handle(), {0, 1, 2}, tensor({2, 2, -1}));
  BOOST_TEST(v.value().to_string() == "[          3          -3 -2147483648]");
  expect_error_begins([&] { resource_scatter_div(v.handle(), {0, 1}, tensor({2, 0})); },
                      "InvalidArgument: updates: expected no 0 among integers to divide by, got one");
  BOOST_TEST(v.value().to_string() == "[          3          -3 -2147483648]");
}

// Nothing changes where one of several indices is wrong.
void all_or_nothing() {
  const Variable v(tensor({{1.f, 2.f}, {3.f, 4.f}}), "rows");
  expect_error_begins([&] { resource_scatter_add(v.handle(), {0, 2}, tensor({{1.f, 1.f}, {1.f, 1.f}})); },
                      "InvalidArgument: indices[1]: expected a row in [0, 2), got 2");
  BOOST_TEST(difference(array({2, 2}, {1, 2, 3, 4}), v.value(), {}) == "");
}

void gather_gradient() {
  const Variable v(tensor({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}}), "table");
  const auto loss = [&] { return sum(square(resource_gather(v.handle(), {2, 0, 2}, kFloat32))); };
  GradientTape tape;
  BOOST_TEST(difference(array({3, 2}, {2, 4, 0, 0, 20, 24}), tape.gradient(loss(), v), {}) == "");
  const Function f = trace([&] {
    GradientTape inner;
    return inner.gradient(loss(), v);
  });
  BOOST_TEST(difference(array({3, 2}, {2, 4, 0, 0, 20, 24}), f(), {}) == "");
}

const Family family("state_rows",
                    {
                        {"ResourceGather",
                         {.samples = {{.in = {variable(draw({4, 3})), list({2, 0, 2}).as(kInt32)}},
                                      {.in = {variable(draw({4, 2, 3})), array({2, 1}, {3, 1}).as(kInt64)}},
                                      {.in = {variable(draw({5})), scalar(4).as(kInt64)}},
                                      {.in = {variable(draw({3, 2})), list({}).as(kInt32)}}},
                          .reference = gather,
                          .errors = {{.in = {variable(draw({4, 3})), list({0, 4}).as(kInt32)},
                                      .text = "indices[1]: expected a row in [0, 4), got 4"},
                                     {.in = {variable(draw({})), list({0}).as(kInt32)},
                                      .text = "variable: expected a rank of at least 1, got shape []"},
                                     {.in = {variable(draw({4, 3})), array({1, 1}, {0}).as(kInt32)},
                                      .attrs = {{"batch_dims", 1}},
                                      .code = Code::kUnimplemented,
                                      .text = "batch_dims: expected 0, got 1"}},
                          .own = {{"gradient_of_the_variable", gather_gradient}},
                          .gradient = false,
                          .data_dependent_shape = true}},
                        {"ResourceScatterAdd",
                         {.samples = kScatters,
                          .after = scattered([](double x, double y) { return x + y; }),
                          .errors = kScatterErrors,
                          .own = {{"all_or_nothing", all_or_nothing}},
                          .effect = true}},
                        {"ResourceScatterSub",
                         {.samples = kScatters,
                          .after = scattered([](double x, double y) { return x - y; }),
                          .errors = kScatterErrors,
                          .effect = true}},
                        {"ResourceScatterMul",
                         {.samples = kScatters,
                          .after = scattered([](double x, double y) { return x * y; }),
                          .errors = kScatterErrors,
                          .effect = true}},
                        {"ResourceScatterDiv",
                         {.samples = kDivisions,
                          .after = scattered([](double x, double y) { return x / y; }),
                          .errors = kScatterErrors,
                          .own = {{"integers", divided_integers}},
                          .types = dtypes::kDifferentiable,
                          .effect = true}},
                        {"ResourceScatterMax",
                         {.samples = kScatters,
                          .after = scattered([](double x, double y) { return std::max(x, y); }),
                          .errors = kScatterErrors,
                          .effect = true}},
                        {"ResourceScatterMin",
                         {.samples = kScatters,
                          .after = scattered([](double x, double y) { return std::min(x, y); }),
                          .errors = kScatterErrors,
                          .effect = true}},
                        {"ResourceScatterUpdate",
                         {.samples = kScatters,
                          .after = scattered([](double, double y) { return y; }),
                          .errors = kScatterErrors,
                          .effect = true}},
                    });

}  // namespace
}  // namespace panto::test::state_rows_rows
