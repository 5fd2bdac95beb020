// Samples of elementwise arithmetic. Reference values: the C++ standard library in float64.
#include <algorithm>
#include <cmath>
#include <limits>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/rows/math/shared_rows.h"
#include "panto/tests/ops/table.h"

namespace panto::test::math_rows {
namespace {

double sign(double x) { return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0)); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double floor_mod(double x, double y) {
  const double r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
double larger(double x, double y) { return std::isnan(x) || std::isnan(y) ? x + y : std::max(x, y); }
double smaller(double x, double y) { return std::isnan(x) || std::isnan(y) ? x + y : std::min(x, y); }

constexpr DTypeSet kWhole = dtypes::kInteger;
constexpr DTypeSet kFraction = dtypes::kFloating;

const Array kThree = list({1, 2, 3});

const Family unary(
    "math",
    {
        {"Neg", real(-4, 4), [](double x) { return -x; }},
        {"Conj", real(-4, 4), [](double x) { return x; }, {.gradient = false}},
        {"Abs", real(-4, 4), [](double x) { return std::abs(x); }},
        {"Sign", real(-4, 4), sign},
        {"Floor", real(-4, 4), [](double x) { return std::floor(x); }},
        {"Ceil", real(-4, 4), [](double x) { return std::ceil(x); }},
        {"Rint", real(-4, 4), [](double x) { return std::nearbyint(x); }},
        {"Round", real(-4, 4), [](double x) { return std::nearbyint(x); }},
        {"IsNan", real(-4, 4), [](double x) { return std::isnan(x) ? 1. : 0.; }},
        {"IsInf", real(-4, 4), [](double x) { return std::isinf(x) ? 1. : 0.; }},
        {"IsFinite", real(-4, 4), [](double x) { return std::isfinite(x) ? 1. : 0.; }},
        {"Square", real(-4, 4), [](double x) { return x * x; }},
        {"Sqrt", real(0.01, 9), [](double x) { return std::sqrt(x); }},
        {"Rsqrt", real(0.01, 9), [](double x) { return 1 / std::sqrt(x); }},
        {"Reciprocal", real(0.2, 4), [](double x) { return 1 / x; }, {.types = kFraction}},
        {"Exp", real(-4, 4), [](double x) { return std::exp(x); }},
        {"Exp", real(-90, 90), [](double x) { return std::exp(x); }, {.label = "wide", .gradient = false}},
        {"Expm1", real(-4, 4), [](double x) { return std::expm1(x); }},
        {"Expm1", real(-1e-3, 1e-3), [](double x) { return std::expm1(x); }, {.label = "small"}},
        {"Log", real(0.01, 9), [](double x) { return std::log(x); }},
        {"Log", real(0.9, 1.1), [](double x) { return std::log(x); }, {.label = "near one"}},
        {"Log1p", real(-0.9, 9), [](double x) { return std::log1p(x); }},
        {"Log1p", real(-1e-3, 1e-3), [](double x) { return std::log1p(x); }, {.label = "small"}},
        {"Sin", real(-7, 7), [](double x) { return std::sin(x); }, {.units = 8}},
        {"Cos", real(-7, 7), [](double x) { return std::cos(x); }, {.units = 8}},
        {"Tanh", real(-4, 4), [](double x) { return std::tanh(x); }},
        {"Tanh", real(-1e-2, 1e-2), [](double x) { return std::tanh(x); }, {.label = "small"}},
        {"Tanh", real(-30, 30), [](double x) { return std::tanh(x); }, {.label = "wide", .gradient = false}},
        {"Sigmoid", real(-6, 6), sigmoid},
        {"Sigmoid", real(-80, 80), sigmoid, {.label = "wide", .units = 8, .gradient = false}},
        {"Erf", real(-3, 3), [](double x) { return std::erf(x); }},
        {"Erfc", real(-3, 3), [](double x) { return std::erfc(x); }},
        {"Relu", real(-4, 4), [](double x) { return x < 0 ? 0 : x; }},
        {"Softplus", real(-6, 6), [](double x) { return x > 700 ? x : std::log1p(std::exp(x)); }, {.units = 8}},
        {"Silu", real(-4, 4), [](double x) { return x * sigmoid(x); }, {.units = 8}},
        {"Gelu", real(-3, 3), [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.))); }, {.units = 64}},
        {"Gelu",
         real(-3, 3),
         [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); },
         {.samples = {{.in = {draw({37}, -3, 3)}, .attrs = {{"approximate", true}}}},
          .label = "approximate",
          .units = 64}},
    });

const Family binary(
    "math",
    {
        {"AddV2", real(-4, 4), real(-4, 4), [](double x, double y) { return x + y; }},
        {"Sub", real(-4, 4), real(-4, 4), [](double x, double y) { return x - y; }},
        {"Mul", real(-4, 4), real(-4, 4), [](double x, double y) { return x * y; }},
        {"RealDiv", real(-4, 4), real(0.3, 4), [](double x, double y) { return x / y; }, {.types = kFraction}},
        {"Div", real(-4, 4), real(0.3, 4), [](double x, double y) { return x / y; }, {.types = kFraction}},
        {"Div",
         real(-20, 20),
         real(1, 5),
         [](double x, double y) { return std::trunc(x / y); },
         {.errors = {kDivisionByZero}, .label = "integers", .types = kWhole}},
        {"FloorDiv",
         real(-4, 4),
         real(0.3, 4),
         [](double x, double y) { return std::floor(x / y); },
         {.types = kFraction}},
        {"FloorDiv",
         real(-20, 20),
         real(-5, -1),
         [](double x, double y) { return std::floor(x / y); },
         {.errors = {kDivisionByZero}, .label = "integers", .types = kWhole}},
        {"FloorMod", real(-4, 4), real(0.3, 4), floor_mod, {.types = kFraction}},
        {"FloorMod",
         real(-20, 20),
         real(-5, -1),
         floor_mod,
         {.errors = {kDivisionByZero}, .label = "integers", .types = kWhole}},
        {"Pow",
         real(0.1, 3),
         real(-3, 3),
         [](double x, double y) { return std::pow(x, y); },
         {.types = kFraction, .units = 8}},
        {"Pow",
         real(-4, 4),
         real(0, 5),
         [](double x, double y) { return std::pow(x, y); },
         {.errors = {{.in = {kThree, list({1, -1, 2})},
                      .text = "exponent: expected none below 0 for integers, got a negative one",
                      .type = kInt32}},
          .label = "integers",
          .types = kWhole}},
        {"Maximum", real(-4, 4), real(-4, 4), larger},
        {"Minimum", real(-4, 4), real(-4, 4), smaller},
        {"SquaredDifference", real(-4, 4), real(-4, 4), [](double x, double y) { return (x - y) * (x - y); }},
        {"ReluGrad",
         {.samples = {{.in = {draw({2, 3}), draw({2, 3}, -2, 2, 5)}}, {.in = {draw({37}), draw({37}, -2, 2, 5)}}},
          .reference =
              [](const Given& g) {
                Array dx = g.in[0];
                for (size_t i = 0; i < dx.values.size(); ++i) dx.values[i] *= g.in[1].values[i] > 0;
                return std::vector<Array>{dx};
              },
          .errors = {{.in = {draw({2, 3}), draw({3})}, .text = "shapes: expected equal ones, got [2,3] and [3]"}}}},
    });

const Family of_complex("math",
                        {
                            {"Neg", complex_row(1, each([](Complex x) { return -x; }))},
                            {"Conj", complex_row(1, each([](Complex x) { return std::conj(x); }))},
                            {"Square", complex_row(1, each([](Complex x) { return x * x; }))},
                            {"Sqrt", complex_row(1, each([](Complex x) { return std::sqrt(x); }))},
                            {"Rsqrt", complex_row(1, each([](Complex x) { return 1. / std::sqrt(x); }))},
                            {"Reciprocal", complex_row(1, each([](Complex x) { return 1. / x; }))},
                            {"Exp", complex_row(1, each([](Complex x) { return std::exp(x); }))},
                            {"Expm1", complex_row(1, each([](Complex x) { return std::exp(x) - 1.; }), 64)},
                            {"Log", complex_row(1, each([](Complex x) { return std::log(x); }))},
                            {"Log1p", complex_row(1, each([](Complex x) { return std::log(1. + x); }), 64)},
                            {"Sin", complex_row(1, each([](Complex x) { return std::sin(x); }))},
                            {"Cos", complex_row(1, each([](Complex x) { return std::cos(x); }))},
                            {"Tanh", complex_row(1, each([](Complex x) { return std::tanh(x); }))},
                            {"Sigmoid", complex_row(1, each([](Complex x) { return 1. / (1. + std::exp(-x)); }), 64)},
                            {"Sign", complex_row(1, each([](Complex x) { return x == 0. ? x : x / std::abs(x); }))},
                            {"Div", complex_row(2, each([](Complex x, Complex y) { return x / y; }))},
                            {"AddV2", complex_row(2, each([](Complex x, Complex y) { return x + y; }))},
                            {"Sub", complex_row(2, each([](Complex x, Complex y) { return x - y; }))},
                            {"Mul", complex_row(2, each([](Complex x, Complex y) { return x * y; }))},
                            {"RealDiv", complex_row(2, each([](Complex x, Complex y) { return x / y; }))},
                            {"Pow", complex_row(2, each([](Complex x, Complex y) { return std::pow(x, y); }), 256)},
                            {"SquaredDifference",
                             complex_row(2, each([](Complex x, Complex y) { return (x - y) * std::conj(x - y); }))},
                        });

// Integers that float64 does not hold.
constexpr Whole kBig = (Whole{1} << 53) + 1, kMost = INT64_MAX, kLeast = INT64_MIN, kTop = UINT64_MAX;
Details whole_row(std::vector<Sample> samples) {
  return {.samples = std::move(samples), .label = "beyond 2^53", .types = {kInt64, kUint64}};
}
const Family of_wholes(
    "math",
    {
        {"Neg",
         whole_row({{.in = {wholes({3}, {kBig, -kMost, kLeast})}, .out = {wholes({3}, {-kBig, kMost, kLeast})}}})},
        {"Abs",
         whole_row({{.in = {wholes({3}, {-kBig, -kMost, kLeast})}, .out = {wholes({3}, {kBig, kMost, kLeast})}}})},
        {"AddV2",
         whole_row({{.in = {wholes({2}, {kBig, kMost}), wholes({2}, {2, 1})}, .out = {wholes({2}, {kBig + 2, kLeast})}},
                    {.in = {wholes({2}, {kBig, kTop}), wholes({2}, {2, 2})}, .out = {wholes({2}, {kBig + 2, 1})}}})},
        {"Sub", whole_row({{.in = {wholes({2}, {kBig, kLeast}), wholes({2}, {2, 1})},
                            .out = {wholes({2}, {kBig - 2, kMost})}}})},
        {"Mul", whole_row({{.in = {wholes({2}, {kBig, -kBig}), wholes({2}, {3, 5})},
                            .out = {wholes({2}, {kBig * 3, -kBig * 5})}}})},
        {"Div", whole_row({{.in = {wholes({2}, {kMost, -kMost}), wholes({2}, {3, 2})},
                            .out = {wholes({2}, {kMost / 3, -(kMost / 2)})}},
                           {.in = {wholes({1}, {kTop}), wholes({1}, {5})}, .out = {wholes({1}, {kTop / 5})}}})},
        {"FloorDiv", whole_row({{.in = {wholes({2}, {kMost, -kMost}), wholes({2}, {3, 2})},
                                 .out = {wholes({2}, {kMost / 3, -(kMost / 2) - 1})}}})},
        {"FloorMod",
         whole_row({{.in = {wholes({2}, {kBig + 1, -kMost}), wholes({2}, {kBig, 10})}, .out = {wholes({2}, {1, 3})}}})},
        {"Maximum", whole_row({{.in = {wholes({2}, {kBig, -kMost}), wholes({2}, {kBig - 1, kLeast})},
                                .out = {wholes({2}, {kBig, -kMost})}}})},
        {"Minimum", whole_row({{.in = {wholes({2}, {kBig, -kMost}), wholes({2}, {kBig - 1, kLeast})},
                                .out = {wholes({2}, {kBig - 1, kLeast})}}})},
        {"Square", whole_row({{.in = {wholes({2}, {kBig, 3037000499})},
                               .out = {wholes({2}, {(Whole{1} << 54) + 1, Whole{3037000499} * 3037000499})}}})},
        {"Equal",
         whole_row({{.in = {wholes({2}, {kBig, kMost}), wholes({2}, {kBig - 1, kMost})}, .out = {list({0, 1})}}})},
        {"Less",
         whole_row({{.in = {wholes({2}, {kBig - 1, kMost}), wholes({2}, {kBig, kMost - 1})}, .out = {list({1, 0})}}})},
    });

std::vector<Array> sum_of_all(const Given& g) {
  Array sum = g.in[0];
  for (size_t k = 1; k < g.in.size(); ++k) {
    for (size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += g.in[k].values[i];
  }
  return {sum};
}

const Family many(
    "math",
    {
        {"AddN",
         {.samples = {{.in = {draw({2, 3})}},
                      {.in = {draw({2, 3}), draw({2, 3}, -2, 2, 1)}},
                      {.in = {draw({37}), draw({37}, -2, 2, 1), draw({37}, -2, 2, 2), draw({37}, -2, 2, 3)}},
                      {.in = {draw({0, 3}), draw({0, 3})}}},
          .reference = sum_of_all,
          .errors = {{.in = {draw({2, 3}), draw({3})}, .text = "shapes: expected equal ones, got [2,3] and [3]"},
                     {.in = {}, .text = "N: expected at least 1"}}}},
    });

const Family sums("math", {
                              {"Add", real(-4, 4), real(-4, 4), [](double x, double y) { return x + y; }},
                              {"Add",
                               {.samples = {{.in = {texts({2, 2}, {"a", "b", "", "d"}), texts({2}, {"x", "y"})},
                                             .out = {texts({2, 2}, {"ax", "by", "x", "dy"})}},
                                            {.in = {texts({}, {"a"}), texts({}, {"b"})}, .out = {texts({}, {"ab"})}}},
                                .label = "strings",
                                .types = {kString}}},
                          });

// ---- Comparison, logic, selection -------------------------------------------------------------------------------

const Family compare(
    "compare",
    {
        {"Equal", real(-2, 2), real(-2, 2), [](double x, double y) { return static_cast<double>(x == y); }},
        {"Equal",
         {.samples = {{.in = {texts({3}, {"a", "b", ""}), texts({3}, {"a", "c", ""})}, .out = {list({1, 0, 1})}}},
          .label = "strings",
          .types = {kString}}},
        {"Equal",
         {.samples =
              {{.in = {list({1, 2}), kThree}, .attrs = {{"incompatible_shape_error", false}}, .out = {scalar(0)}}},
          .errors = {{.in = {list({1, 2}), kThree}, .text = "shapes: expected ones that broadcast, got [2] and [3]"}},
          .label = "incompatible"}},
        {"NotEqual", real(-2, 2), real(-2, 2), [](double x, double y) { return static_cast<double>(x != y); }},
        {"NotEqual",
         {.samples =
              {{.in = {list({1, 2}), kThree}, .attrs = {{"incompatible_shape_error", false}}, .out = {scalar(1)}}},
          .label = "incompatible"}},
        {"Less", real(-2, 2), real(-2, 2), [](double x, double y) { return static_cast<double>(x < y); }},
        {"LessEqual", real(-2, 2), real(-2, 2), [](double x, double y) { return static_cast<double>(x <= y); }},
        {"Greater", real(-2, 2), real(-2, 2), [](double x, double y) { return static_cast<double>(x > y); }},
        {"GreaterEqual", real(-2, 2), real(-2, 2), [](double x, double y) { return static_cast<double>(x >= y); }},
        {"LogicalAnd", real(-0.99, 0.99), real(-0.99, 0.99), [](double x, double y) { return x * y; }},
        {"LogicalOr", real(-0.99, 0.99), real(-0.99, 0.99), [](double x, double y) { return larger(x, y); }},
        {"LogicalNot", real(-0.99, 0.99), [](double x) { return 1 - x; }},
    });

std::vector<Array> select(const Given& g) {
  Array y;
  for (const Array& a : g.in) {
    if (a.dims.size() > y.dims.size()) y.dims.insert(y.dims.begin(), a.dims.size() - y.dims.size(), 1);
    for (size_t k = 1; k <= a.dims.size(); ++k) {
      int64_t& d = y.dims[y.dims.size() - k];
      if (d == 1) d = a.dims[a.dims.size() - k];
    }
  }
  for (size_t i = 0; i < static_cast<size_t>(y.numel()); ++i) {
    auto at = [&](const Array& a) { return a.values[a.broadcast_position(y.dims, i)]; };
    y.values.push_back(at(g.in[0]) != 0 ? at(g.in[1]) : at(g.in[2]));
  }
  return {y};
}

const Family selection("compare",
                       {
                           {"SelectV2",
                            {.samples = {{.in = {zeros_and_ones({2, 3}), draw({2, 3}), draw({2, 3}, -2, 2, 1)}},
                                         {.in = {zeros_and_ones({37}), draw({37}), draw({37}, -2, 2, 1)}},
                                         {.in = {zeros_and_ones({2, 1}), draw({3}), draw({2, 3}, -2, 2, 1)}},
                                         {.in = {scalar(1), draw({3}), draw({2, 1}, -2, 2, 1)}},
                                         {.in = {scalar(0), scalar(1), scalar(2)}},
                                         {.in = {zeros_and_ones({4, 1, 1}), draw({3, 1}), draw({2}, -2, 2, 1)}},
                                         {.in = {zeros_and_ones({0, 3}), draw({3}), draw({0, 1})}}},
                             .reference = select,
                             .errors = {{.in = {zeros_and_ones({2}), draw({3}), draw({3})},
                                         .text = "shapes: expected ones that broadcast"}}}},
                           {"SelectV2",
                            {.samples = {{.in = {list({1, 0}), texts({2}, {"a", "b"}), texts({}, {"c"})},
                                          .out = {texts({2}, {"a", "c"})}}},
                             .label = "strings",
                             .types = {kString}}},
                       });

const Family casts("cast", {
                               {"Cast",
                                {.samples = {{.in = {list({-2, -1, 0, 1, 2, 100}).as(kFloat32)}},
                                             {.in = {list({0, 1, 2, 100}).as(kUint8)}},
                                             {.in = {list({0, 1, 2, 100}).as(kBFloat16)}},
                                             {.in = {list({0, 1, 2, 100}).as(kFloat16)}},
                                             {.in = {list({0, 1, 2, 100}).as(kFloat64)}},
                                             {.in = {list({0, 1}).as(kBool)}},
                                             {.in = {list({0, 1, 2, 100}).as(kInt8)}},
                                             {.in = {list({0, 1, 2, 100}).as(kInt32)}},
                                             {.in = {list({0, 1, 2, 100}).as(kUint64)}},
                                             {.in = {list({0, 1, 2, 100}).as(kComplex64)}},
                                             {.in = {draw({37}, 0, 100).as(kFloat32)}},
                                             {.in = {array({0, 2}, {}).as(kFloat32)}},
                                             {.in = {scalar(3).as(kInt64)}}},
                                 .reference = same,
                                 .types = dtypes::kPlain - DTypeSet{kUint8, kUint16, kUint32, kUint64}}},
                               {"Cast",
                                {.samples = {{.in = {list({0, 1, 2.75, 100.5}).as(kFloat32)}},
                                             {.in = {list({0, 1, 2, 255}).as(kInt64)}}},
                                 .reference = same,
                                 .label = "unsigned",
                                 .types = {kUint8, kUint16, kUint32, kUint64}}},
                           });

}  // namespace
}  // namespace panto::test::math_rows
