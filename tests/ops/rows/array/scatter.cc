// Samples of ops that combine updates with what a tensor has at the positions that indices spell.
#include <algorithm>
#include <cmath>
#include <limits>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::scatter_rows {
namespace {

using Combine = double (*)(double, double);

// One update after the other.
Reference combined(Combine f) {
  return [f](const Given& g) {
    const Array &indices = g.in[1], &updates = g.in[2];
    Array out = g.in[0];
    const auto depth = static_cast<size_t>(indices.dims.back());
    size_t inner = 1, rows = 1;
    for (size_t k = depth; k < out.dims.size(); ++k) inner *= static_cast<size_t>(out.dims[k]);
    for (size_t k = 0; k + 1 < indices.dims.size(); ++k) rows *= static_cast<size_t>(indices.dims[k]);
    for (size_t r = 0; r < rows; ++r) {
      size_t place = 0;
      for (size_t d = 0; d < depth; ++d) {
        place = place * static_cast<size_t>(out.dims[d]) + static_cast<size_t>(indices.values[r * depth + d]);
      }
      for (size_t i = 0; i < inner; ++i) {
        double& to = out.values[place * inner + i];
        to = f(to, updates.values[r * inner + i]);
      }
    }
    return std::vector<Array>{out};
  };
}

std::vector<Sample> samples() {
  return {{.in = {draw({6}), array({2, 1}, {4, 1}), draw({2}, -2, 2, 1)}},
          {.in = {draw({3, 2}), array({2, 1}, {2, 0}), draw({2, 2}, -2, 2, 1)}},
          {.in = {draw({3, 4}), array({2, 2}, {0, 1, 2, 3}), draw({2}, -2, 2, 1)}},
          {.in = {draw({3, 2}), array({3, 1}, {1, 1, 0}), draw({3, 2}, -2, 2, 1)}},
          {.in = {draw({3}), array({0, 1}, {}), draw({0})}},
          {.in = {draw({3}), array({1, 0}, {}), draw({1, 3}, -2, 2, 1)}}};
}

const std::vector<ErrorSample> kErrors = {
    {.in = {draw({3}), array({1, 1}, {-1}), draw({1})}, .text = "indices[0, 0]: expected one in [0, 3), got -1"},
    {.in = {draw({3}), array({1, 1}, {3}), draw({1})}, .text = "indices[0, 0]: expected one in [0, 3), got 3"},
    {.in = {draw({3}), array({1, 1}, {0}), draw({2})}, .text = "updates: expected shape [1], got [2]"},
    {.in = {draw({3}), array({1, 2}, {0, 0}), draw({1})},
     .text = "last dimension of indices: expected at most 1, the number of dimensions, got 2"}};

double larger(double a, double b) { return std::max(a, b); }
double smaller(double a, double b) { return std::min(a, b); }
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// What is the same at one place shares the gradient: no limit of differences.
Details equal_elements(Combine f) {
  return {.samples = {{.in = {list({1, 2, 3}), array({3, 1}, {1, 1, 2}), list({2, 2, 3})}}},
          .reference = combined(f),
          .label = "equal",
          .gradient = false};
}
Details not_a_number() {
  return {
      .samples = {{.in = {list({kNan, 2, 3}), array({2, 1}, {0, 1}), list({5, kNan})}, .out = {list({kNan, kNan, 3})}}},
      .label = "nan",
      .types = dtypes::kFloating,
      .gradient = false};
}

const Family scatters(
    "array",
    {
        {"TensorScatterAdd",
         {.samples = samples(), .reference = combined([](double a, double b) { return a + b; }), .errors = kErrors}},
        {"TensorScatterSub",
         {.samples = samples(), .reference = combined([](double a, double b) { return a - b; }), .errors = kErrors}},
        {"TensorScatterMax", {.samples = samples(), .reference = combined(larger), .errors = kErrors}},
        {"TensorScatterMax", equal_elements(larger)},
        {"TensorScatterMax", not_a_number()},
        {"TensorScatterMin", {.samples = samples(), .reference = combined(smaller), .errors = kErrors}},
        {"TensorScatterMin", equal_elements(smaller)},
        {"TensorScatterMin", not_a_number()},
    });

}  // namespace
}  // namespace panto::test::scatter_rows
