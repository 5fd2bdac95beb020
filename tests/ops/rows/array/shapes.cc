// Samples of ops on shapes as values, of numbers at equal distances, of bytes read as another type, and of identities
// that watch.
#include <limits>

#include "panto/autograd/tape.h"
#include "panto/autograd/transforms/jvp.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"
#include "panto/trace/trace.h"

namespace panto::test::array_shapes_rows {
namespace {

std::vector<Array> shapes_of(const Given& g) {
  std::vector<Array> shapes;
  for (const Array& x : g.in) {
    Array dims;
    for (const int64_t d : x.dims) dims.values.push_back(static_cast<double>(d));
    dims.dims = {static_cast<int64_t>(dims.values.size())};
    shapes.push_back(dims);
  }
  return shapes;
}

std::vector<Array> evenly_spaced(const Given& g) {
  const double start = g.in[0].values[0], stop = g.in[1].values[0];
  const int64_t num = integer(g.in[2]);
  return {make({num}, [&](const Index& index) {
    return num == 1 ? start : start + static_cast<double>(index[0]) * (stop - start) / static_cast<double>(num - 1);
  })};
}

const Family shape_values(
    "array",
    {
        {"ShapeN",
         {.samples = {{.in = {draw({2, 3}), draw({})}},
                      {.in = {draw({0, 4, 1})}},
                      {.in = {draw({5}), draw({5}), draw({1, 2})}}},
          .reference = shapes_of,
          .errors = {{.in = {}, .text = "N: expected at least 1, got 0"}}}},
        {"BroadcastArgs",
         {.samples = {{.in = {list({2, 3}), list({3})}, .out = {list({2, 3})}},
                      {.in = {list({2, 1}), list({4, 1, 3})}, .out = {list({4, 2, 3})}},
                      {.in = {list({}), list({0, 3})}, .out = {list({0, 3})}},
                      {.in = {list({0}), list({1})}, .out = {list({0})}},
                      {.in = {list({}), list({})}, .out = {list({})}}},
          .errors = {{.in = {list({2}), list({3})}, .text = "shapes: expected ones that broadcast, got [2] and [3]"},
                     {.in = {list({2, -1}), list({3})}, .text = "s0[1]: expected at least 0, got -1"},
                     {.in = {scalar(2), list({3})}, .text = "s0: expected a vector, got shape []"}}}},
        {"ConcatOffset",
         {.samples = {{.in = {scalar(1), list({2, 3}), list({2, 5}), list({2, 1})},
                       .out = {list({0, 0}), list({0, 3}), list({0, 8})}},
                      {.in = {scalar(-2), list({4, 1}), list({2, 1})}, .out = {list({0, 0}), list({4, 0})}},
                      {.in = {scalar(0), list({0}), list({3})}, .out = {list({0}), list({0})}}},
          .errors = {{.in = {scalar(1), list({2, 3}), list({3, 3})},
                      .text = "shape[1]: expected 2 at 0, as in shape[0], got 3"},
                     {.in = {scalar(2), list({2, 3}), list({2, 3})},
                      .text = "concat_dim: expected one in [-2, 2), got 2"},
                     {.in = {scalar(0), list({2, 3}), list({2})}, .text = "lengths of shapes: expected 2, got 1"},
                     {.in = {scalar(0), list({2})}, .text = "N: expected at least 2, got 1"}}}},
        {"LinSpace",
         {.samples = {{.in = {draw({}), draw({}, -2, 2, 1), scalar(5)}},
                      {.in = {scalar(0), scalar(1), scalar(3)}},
                      {.in = {scalar(3), scalar(-3), scalar(2)}},
                      {.in = {scalar(2), scalar(7), scalar(1)}}},
          .reference = evenly_spaced,
          .errors = {{.in = {scalar(0), scalar(1), scalar(0)}, .text = "num: expected at least 1, got 0"},
                     {.in = {list({0}), scalar(1), scalar(2)}, .text = "start: expected a scalar, got shape [1]"}}}},
        // Of float64 in pairs, which may become any type.
        {"Bitcast",
         {.samples = {{.in = {list({1, -2})},
                       .attrs = {{"type", kInt64}},
                       .out = {wholes({2}, {Whole{0x3ff} << 52, -(Whole{1} << 62)})}},
                      {.in = {list({1, -2})},
                       .attrs = {{"type", kUint16}},
                       .out = {array({2, 4}, {0, 0, 0, 0x3ff0, 0, 0, 0, 0xc000})}},
                      {.in = {array({1, 2}, {0.5, -3})},
                       .attrs = {{"type", kComplex128}},
                       .out = {complexes({1}, {{0.5, -3}})}},
                      {.in = {array({0, 2}, {})}, .attrs = {{"type", kUint32}}, .out = {array({0, 2, 2}, {})}}},
          .errors = {{.in = {list({1, 2, 3})},
                      .attrs = {{"type", kComplex128}},
                      .text = "last dimension: expected 2, the elements that make one of complex128, got shape [3]"},
                     {.in = {scalar(1)},
                      .attrs = {{"type", kComplex128}},
                      .text = "last dimension: expected 2, the elements that make one of complex128, got shape []"},
                     {.in = {list({1})}, .attrs = {{"type", kBool}}, .text = "type: expected"}},
          .types = {kFloat64}}},
    });

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void prevented() {
  const Tensor x = tensor({1.F, 2.F});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = prevent_gradient(x, {.message = "not this way"}) * 2.F;
  expect_error_begins([&] { (void)tape.gradient(y, x); },
                      "FailedPrecondition: gradient of PreventGradient: expected none to be asked for: not this way");
  expect_error_begins([&] { (void)jvp([](const Tensor& a) { return prevent_gradient(a); }, x, x); },
                      "FailedPrecondition: gradient of PreventGradient");
}

void prevented_saved() {
  const Tensor inputs[] = {tensor({1.F, 2.F}), tensor({1, 2}), tensor({true}), tensor("text")};
  for (const Tensor& x : inputs) {
    BOOST_TEST(difference(x, prevent_gradient(x)) == "");
    const auto f = trace([](const Tensor& a) { return prevent_gradient(a, {.message = "never"}); });
    BOOST_TEST(difference(x, f(x)) == "");
    const TestFolder folder;
    f.save(folder / "f.pb");
    BOOST_TEST(difference(x, load(folder / "f.pb")(x)) == "");
  }
}

void checked_gradient() {
  const Tensor x = tensor({0.F, 4.F});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sqrt(check_numerics(x, "roots"));
  expect_error_begins([&] { (void)tape.gradient(y, x); },
                      "InvalidArgument: gradient of: roots: expected finite numbers, got infinity at element 0");
}

const Attr kMessage = {"message", "a tensor"};

const Family watching("array",
                      {
                          {"CheckNumerics",
                           {.samples = {{.in = {draw({2, 3})}, .attrs = {kMessage}},
                                        {.in = {draw({})}, .attrs = {kMessage}},
                                        {.in = {draw({0, 2})}, .attrs = {kMessage}}},
                            .reference = same,
                            .errors = {{.in = {list({1, kNan})},
                                        .attrs = {kMessage},
                                        .text = "a tensor: expected finite numbers, got NaN at element 1"},
                                       {.in = {list({kInf, kNan})},
                                        .attrs = {kMessage},
                                        .text = "a tensor: expected finite numbers, got infinity at element 0"},
                                       {.in = {list({-kInf})},
                                        .attrs = {kMessage},
                                        .text = "a tensor: expected finite numbers, got -infinity at element 0"}},
                            .own = {{"checked_gradient", checked_gradient}}}},
                          // No samples: the questions about gradients would be refused.
                          {"PreventGradient", {.own = {{"prevented", prevented}, {"saved", prevented_saved}}}},
                      });

}  // namespace
}  // namespace panto::test::array_shapes_rows
