// Samples of elementwise ops that are called seldom: trigonometry, guarded products, truncation, bits, activations.
// Reference values: the C++ standard library in float64, integers by hand.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/rows/math/shared_rows.h"
#include "panto/tests/ops/table.h"

namespace panto::test::rare_rows {
namespace {

constexpr DTypeSet kWhole = dtypes::kInteger;
constexpr DTypeSet kFraction = dtypes::kFloating;
constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

const Family trigonometry(
    "math",
    {
        {"Tan", real(-1.3, 1.3), [](double x) { return std::tan(x); }, {.units = 8}},
        {"Tan",
         real(-40, 40),
         [](double x) { return std::tan(x); },
         {.label = "wide", .types = {kFloat64}, .units = 8}},
        {"Asin", real(-0.95, 0.95), [](double x) { return std::asin(x); }},
        {"Asin",
         real(1.1, 3),
         [](double x) { return std::asin(x); },
         {.label = "outside", .types = kFraction, .gradient = false}},
        {"Acos", real(-0.95, 0.95), [](double x) { return std::acos(x); }},
        {"Atan", real(-4, 4), [](double x) { return std::atan(x); }},
        {"Sinh", real(-4, 4), [](double x) { return std::sinh(x); }, {.units = 8}},
        {"Sinh", real(-1e-3, 1e-3), [](double x) { return std::sinh(x); }, {.label = "small"}},
        {"Cosh", real(-4, 4), [](double x) { return std::cosh(x); }, {.units = 8}},
        {"Asinh", real(-9, 9), [](double x) { return std::asinh(x); }},
        {"Asinh", real(-1e-3, 1e-3), [](double x) { return std::asinh(x); }, {.label = "small"}},
        {"Acosh", real(1.1, 9), [](double x) { return std::acosh(x); }},
        {"Atanh", real(-0.9, 0.9), [](double x) { return std::atanh(x); }},
        {"Atanh", real(-1e-3, 1e-3), [](double x) { return std::atanh(x); }, {.label = "small"}},
        {"Atan2", real(-4, 4), real(0.2, 4), [](double y, double x) { return std::atan2(y, x); }},
        {"Atan2", real(-4, 4), real(-4, -0.2), [](double y, double x) { return std::atan2(y, x); }, {.label = "left"}},
        {"Atan2",
         {.samples = {{.in = {list({0, 0, 1, -1, 0}), list({1, -1, 0, 0, 0})},
                       .out = {list({0, M_PI, M_PI / 2, -M_PI / 2, 0})}}},
          .label = "axes",
          .types = kFraction,
          .gradient = false}},
    });

const Family of_complex("math",
                        {
                            {"Tan", complex_row(1, each([](Complex x) { return std::tan(x); }), 64, -1, 1)},
                            {"Asin", complex_row(1, each([](Complex x) { return std::asin(x); }), 64)},
                            {"Acos", complex_row(1, each([](Complex x) { return std::acos(x); }), 64)},
                            {"Atan", complex_row(1, each([](Complex x) { return std::atan(x); }), 64)},
                            {"Sinh", complex_row(1, each([](Complex x) { return std::sinh(x); }), 64)},
                            {"Cosh", complex_row(1, each([](Complex x) { return std::cosh(x); }), 64)},
                            {"Asinh", complex_row(1, each([](Complex x) { return std::asinh(x); }), 64)},
                            {"Acosh", complex_row(1, each([](Complex x) { return std::acosh(x); }), 64)},
                            {"Atanh", complex_row(1, each([](Complex x) { return std::atanh(x); }), 64)},
                            {"DivNoNan", complex_row(2, each([](Complex x, Complex y) { return x / y; }), 64)},
                            {"MulNoNan", complex_row(2, each([](Complex x, Complex y) { return x * y; }), 64)},
                            {"Xdivy", complex_row(2, each([](Complex x, Complex y) { return x / y; }), 64)},
                            {"Xlogy", complex_row(2, each([](Complex x, Complex y) { return x * std::log(y); }), 64)},
                            {"Xlog1py",
                             complex_row(2, each([](Complex x, Complex y) { return x * std::log(1. + y); }), 64)},
                        });

// Where one side is zero, whatever the other one is.
Details at_zero(Array x, Array y, Array z) {
  return {.samples = {{.in = {std::move(x), std::move(y)}, .out = {std::move(z)}}},
          .label = "zero",
          .types = kFraction,
          .gradient = false};
}

const Family guarded(
    "math", {
                {"DivNoNan", real(-4, 4), real(0.3, 4), [](double x, double y) { return y == 0 ? 0 : x / y; }},
                {"DivNoNan", at_zero(list({1, 0, kInf, kNan, 3}), list({0, 0, 0, 0, 2}), list({0, 0, 0, 0, 1.5}))},
                {"MulNoNan", real(-4, 4), real(0.3, 4), [](double x, double y) { return y == 0 ? 0 : x * y; }},
                {"MulNoNan", at_zero(list({1, 0, kInf, kNan, 3}), list({0, 0, 0, 0, 2}), list({0, 0, 0, 0, 6}))},
                {"Xdivy", real(0.2, 4), real(0.3, 4), [](double x, double y) { return x == 0 ? 0 : x / y; }},
                {"Xdivy", at_zero(list({0, 0, 0, 0, 3}), list({1, 0, kInf, kNan, 2}), list({0, 0, 0, 0, 1.5}))},
                {"Xlogy",
                 real(0.2, 4),
                 real(0.3, 4),
                 [](double x, double y) { return x == 0 ? 0 : x * std::log(y); },
                 {.units = 8}},
                {"Xlogy", at_zero(list({0, 0, 0, 0, 3}), list({1, 0, -1, kNan, 1}), list({0, 0, 0, 0, 0}))},
                {"Xlog1py",
                 real(0.2, 4),
                 real(-0.7, 4),
                 [](double x, double y) { return x == 0 ? 0 : x * std::log1p(y); },
                 {.units = 8}},
                {"Xlog1py", at_zero(list({0, 0, 0, 0, 3}), list({1, -1, -2, kNan, 0}), list({0, 0, 0, 0, 0}))},
            });

const Family truncated("math", {
                                   {"TruncateDiv",
                                    real(-4, 4),
                                    real(0.3, 4),
                                    [](double x, double y) { return std::trunc(x / y); },
                                    {.types = kFraction}},
                                   {"TruncateDiv",
                                    real(-20, 20),
                                    real(-5, -1),
                                    [](double x, double y) { return std::trunc(x / y); },
                                    {.errors = {kDivisionByZero}, .label = "integers", .types = kWhole}},
                                   {"TruncateMod",
                                    real(-4, 4),
                                    real(0.3, 4),
                                    [](double x, double y) { return std::fmod(x, y); },
                                    {.types = kFraction}},
                                   {"TruncateMod",
                                    real(-20, 20),
                                    real(-5, -1),
                                    [](double x, double y) { return std::fmod(x, y); },
                                    {.errors = {kDivisionByZero}, .label = "integers", .types = kWhole}},
                               });

Details bits(std::vector<Sample> samples, DTypeSet types = kWhole, const char* label = "") {
  return {.samples = std::move(samples), .label = label, .types = types};
}
const Family of_bits(
    "math",
    {
        {"BitwiseAnd", bits({{.in = {list({0, 5, 12, 127}), list({7, 6, 10, 85})}, .out = {list({0, 4, 8, 85})}},
                             {.in = {list({12, 10}), scalar(6)}, .out = {list({4, 2})}}})},
        {"BitwiseAnd", bits({{.in = {list({-1, -2}), list({85, -3})}, .out = {list({85, -4})}}},
                            {kInt8, kInt16, kInt32, kInt64}, "negative")},
        {"BitwiseOr", bits({{.in = {list({0, 5, 12, 127}), list({7, 6, 10, 85})}, .out = {list({7, 7, 14, 127})}},
                            {.in = {scalar(1), list({12, 10})}, .out = {list({13, 11})}}})},
        {"BitwiseXor", bits({{.in = {list({0, 5, 12, 127}), list({7, 6, 10, 85})}, .out = {list({7, 3, 6, 42})}},
                             {.in = {list({12, 10}), scalar(6)}, .out = {list({10, 12})}}})},
        {"Invert",
         bits({{.in = {list({0, 5, -1, 127})}, .out = {list({-1, -6, 0, -128})}}}, {kInt8, kInt16, kInt32, kInt64})},
        {"Invert", bits({{.in = {list({0, 5, 255})}, .out = {list({255, 250, 0})}}}, {kUint8}, "unsigned")},
        {"LeftShift", bits({{.in = {list({0, 5, 1, 3}), list({7, 2, 0, 4})}, .out = {list({0, 20, 1, 48})}},
                            {.in = {list({1, 2, 3}), scalar(1)}, .out = {list({2, 4, 6})}}})},
        {"LeftShift", bits({{.in = {list({-1, 1, 3, -128}), list({1, 7, -5, 100})}, .out = {list({-2, -128, 3, 0})}}},
                           {kInt8}, "eight bits")},
        {"RightShift", bits({{.in = {list({64, 5, 1, 3}), list({3, 1, 0, 4})}, .out = {list({8, 2, 1, 0})}},
                             {.in = {list({4, 2, 3}), scalar(1)}, .out = {list({2, 1, 1})}}})},
        {"RightShift",
         bits({{.in = {list({-1, -128, -5, -128}), list({1, 3, -5, 100})}, .out = {list({-1, -16, -5, -1})}}}, {kInt8},
              "eight bits")},
        {"PopulationCount", bits({{.in = {list({0, 1, 7, 64, 127})}, .out = {list({0, 1, 3, 1, 7})}}})},
        {"PopulationCount", bits({{.in = {list({-1, -2})}, .out = {list({16, 15})}}}, {kInt16}, "negative")},
    });

double elu(double x) { return x < 0 ? std::expm1(x) : x; }
double selu(double x) { return x < 0 ? 1.7580993408473766 * std::expm1(x) : 1.0507009873554805 * x; }
double relu6(double x) { return std::min(std::max(x, 0.), 6.); }

// dx = dy f'(input of the gradient op).
Details gradient_row(double (*slope)(double)) {
  return {.samples = {{.in = {draw({2, 3}), draw({2, 3}, -2, 2, 5)}}, {.in = {draw({37}), draw({37}, -2, 8, 5)}}},
          .reference =
              [slope](const Given& g) {
                Array dx = g.in[0];
                for (size_t i = 0; i < dx.values.size(); ++i) dx.values[i] *= slope(g.in[1].values[i]);
                return std::vector<Array>{dx};
              },
          .errors = {{.in = {draw({2, 3}), draw({3})}, .text = "shapes: expected equal ones, got [2,3] and [3]"}},
          .units = 8};
}

const Family activations(
    "nn", {
              {"Elu", real(-4, 4), elu},
              {"Elu", real(-1e-3, 1e-3), elu, {.label = "small", .second_order = false}},
              {"EluGrad", gradient_row([](double y) { return y < 0 ? y + 1 : 1; })},
              {"Selu", real(-4, 4), selu, {.units = 8}},
              {"SeluGrad", gradient_row([](double y) { return y < 0 ? y + 1.7580993408473766 : 1.0507009873554805; })},
              {"Relu6", real(-4, 5), relu6},
              {"Relu6", real(4, 9), relu6, {.label = "large"}},
              {"Relu6Grad", gradient_row([](double x) { return x > 0 && x < 6 ? 1. : 0.; })},
              {"Softsign", real(-4, 4), [](double x) { return x / (1 + std::abs(x)); }, {.units = 8}},
              {"SoftsignGrad", gradient_row([](double x) { return 1 / ((1 + std::abs(x)) * (1 + std::abs(x))); })},
              {"LeakyRelu", real(-4, 4), [](double x) { return x > 0 ? x : 0.2f * x; }},
              {"LeakyRelu",
               real(-4, 4),
               [](double x) { return x > 0 ? x : 0.5 * x; },
               {.samples = {{.in = {draw({37}, -3, 3)}, .attrs = {{"alpha", 0.5}}}}, .label = "half"}},
              {"LeakyReluGrad", gradient_row([](double x) { return x > 0 ? 1. : 0.2f; })},
          });

}  // namespace
}  // namespace panto::test::rare_rows
