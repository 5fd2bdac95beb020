// Samples of ops that make tensors from little, tell their shapes, or pass them on.
#include <memory>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/control/custom_gradient.h"
#include "panto/lib/ops/operators.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"
#include "panto/trace/trace.h"

namespace panto::test::array_make_rows {
namespace {

// ---- Made from little -------------------------------------------------------------------------------------------

std::vector<Array> fill(const Given& g) { return {filled(integers(g.in[0]), g.in[1].values[0])}; }

std::vector<Array> range(const Given& g) {
  const double start = g.in[0].values[0], limit = g.in[1].values[0], delta = g.in[2].values[0];
  Array y;
  for (double v = start; delta > 0 ? v < limit : v > limit; v = start + static_cast<double>(y.values.size()) * delta) {
    y.values.push_back(v);
  }
  y.dims = {static_cast<int64_t>(y.values.size())};
  return {y};
}

const Family made(
    "array",
    {
        {"Fill",
         {.samples = {{.in = {list({2, 3}), draw({})}}, {.in = {list({}), draw({})}}, {.in = {list({0, 3}), draw({})}}},
          .reference = fill,
          .errors = {{.in = {list({2, -3}), scalar(1)}, .text = "dims[1]: expected at least 0, got -3"},
                     {.in = {list({2}), list({1, 2})}, .text = "value: expected a scalar, got shape [2]"},
                     {.in = {scalar(2), scalar(1)}, .text = "dims: expected a vector, got shape []"}}}},
        {"Range",
         {.samples = {{.in = {scalar(0), scalar(5), scalar(1)}},
                      {.in = {scalar(2), scalar(10), scalar(3)}},
                      {.in = {scalar(5), scalar(5), scalar(1)}},
                      {.in = {scalar(0), scalar(1), scalar(0.25)}},
                      {.in = {scalar(5), scalar(-1), scalar(-2)}}},
          .reference = range,
          .errors = {{.in = {scalar(0), scalar(5), scalar(0)}, .text = "delta: expected a number other than 0, got 0"},
                     {.in = {scalar(5), scalar(0), scalar(1)}, .text = "limit: expected it at or beyond start 5"},
                     {.in = {list({0}), scalar(5), scalar(1)}, .text = "start: expected a scalar, got shape [1]"}}}},
        // Numbers that only an unsigned type has.
        {"Range",
         {.samples = {{.in = {wholes({}, {2}), wholes({}, {(Whole{1} << 64) - 1}), wholes({}, {Whole{1} << 62})},
                       .out = {wholes({4},
                                      {2, 2 + (Whole{1} << 62), 2 + (Whole{1} << 63), 2 + 3 * (Whole{1} << 62)})}}},
          .errors = {{.in = {wholes({}, {Whole{1} << 63}), scalar(5), scalar(1)},
                      .text = "limit: expected it at or beyond start 9223372036854775808",
                      .type = kUint64}},
          .label = "unsigned",
          .types = {kUint64},
          .data_dependent_shape = true}},  // what is known of values are int64
        {"ZerosLike",
         {.samples = {{.in = {draw({2, 3})}}, {.in = {draw({})}}, {.in = {draw({0})}}},
          .reference = [](const Given& g) { return std::vector<Array>{filled(g.in[0].dims, 0)}; },
          .types = dtypes::kPlain}},
        {"ZerosLike",
         {.samples = {{.in = {texts({2}, {"a", "b"})}, .out = {texts({2}, {"", ""})}}},
          .label = "strings",
          .types = {kString}}},
        {"OnesLike",
         {.samples = {{.in = {draw({2, 3})}}, {.in = {draw({})}}, {.in = {draw({0})}}},
          .reference = [](const Given& g) { return std::vector<Array>{filled(g.in[0].dims, 1)}; }}},
        {"Const",
         {.samples =
              {{.in = {}, .attrs = {{"value", tensor({1.f, 2.f})}, {"dtype", kFloat32}}, .out = {list({1, 2})}},
               {.in = {}, .attrs = {{"value", tensor("text")}, {"dtype", kString}}, .out = {texts({}, {"text"})}}},
          .errors = {{.in = {},
                      .attrs = {{"value", tensor({1.f, 2.f})}, {"dtype", kInt32}},
                      .text = "value: expected dtype int32, got float32"}},
          .types = {kFloat32}}},
    });

// ---- Shapes as values; passing on -------------------------------------------------------------------------------

std::vector<Array> shape_of(const Given& g) {
  Array y;
  for (const int64_t d : g.in[0].dims) y.values.push_back(static_cast<double>(d));
  y.dims = {static_cast<int64_t>(y.values.size())};
  return {y};
}

const std::vector<Sample> kAnything = {{.in = {draw({2, 3})}}, {.in = {draw({})}}, {.in = {draw({0, 4})}}};

void placeholder_saved() {
  for (const Graph& graph : saved_and_loaded([] { placeholder(kFloat32, {-1, 2}, "x"); })) {
    Session session(graph);
    const Tensor x = tensor({{1.f, 2.f}});
    BOOST_TEST(difference(x, session.run("x", {{"x", x}})) == "");
    expect_error_begins([&] { session.run({"x"}, {{"x", tensor({1.f, 2.f})}}); }, "InvalidArgument: ");
    expect_error_begins([&] { session.run({"x"}); }, "InvalidArgument: ");
  }
}

// y = x, of which the rule says that the gradient is 3 dy.
class ThreeTimes final : public GradientRule {
 public:
  std::vector<Tensor> gradient(std::span<const Tensor>, std::span<const Tensor>, std::span<const Tensor> dys,
                               std::span<const uint8_t>) const override {
    return {dys[0] * 3};
  }
  std::shared_ptr<const GradientRule> batched(std::vector<uint8_t>, int64_t) const override {
    return std::make_shared<const ThreeTimes>();
  }
};

void custom_gradient_row() {
  const Tensor x = tensor({1.F, 2.F});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = with_gradient({&x, 1}, {&x, 1}, std::make_shared<const ThreeTimes>())[0];
  BOOST_TEST(difference(x, y) == "");
  BOOST_TEST(difference(tensor({3.F, 3.F}), tape.gradient(y, x)) == "");
  // A file holds the values only.
  const auto f = trace(
      [](const Tensor& a) { return with_gradient({&a, 1}, {&a, 1}, std::make_shared<const ThreeTimes>())[0] + 1.F; });
  BOOST_TEST(difference(f(x), x + 1.F) == "");
  const TestFolder folder;
  f.save(folder / "f.pb");
  BOOST_TEST(difference(load(folder / "f.pb")(x), x + 1.F) == "");
}

const Family questions_of_shape(
    "array",
    {
        {"Shape", {.samples = kAnything, .reference = shape_of}},
        {"Rank",
         {.samples = kAnything,
          .reference =
              [](const Given& g) { return std::vector<Array>{scalar(static_cast<double>(g.in[0].dims.size()))}; }}},
        {"Size",
         {.samples = kAnything,
          .reference =
              [](const Given& g) { return std::vector<Array>{scalar(static_cast<double>(g.in[0].numel()))}; }}},
        {"BroadcastGradientArgs",
         {.samples = {{.in = {list({2, 3}), list({3})}, .out = {list({}), list({0})}},
                      {.in = {list({2, 1}), list({1, 3})}, .out = {list({1}), list({0})}},
                      {.in = {list({2, 3}), list({2, 3})}, .out = {list({}), list({})}},
                      {.in = {list({}), list({2, 3})}, .out = {list({0, 1}), list({})}}},
          .errors = {{.in = {list({2}), list({3})},
                      .text = "dimension 0 of shapes that broadcast: expected 2 or 1, got 3"}},
          .data_dependent_shape = true}},
        {"Identity", {.samples = kAnything, .reference = same}},
        {"EnsureShape",
         {.samples = {{.in = {draw({2, 3})}, .attrs = {{"shape", PartialShape{-1, 3}}}},
                      {.in = {draw({2})}, .attrs = {{"shape", PartialShape()}}},
                      {.in = {draw({})}, .attrs = {{"shape", PartialShape(Shape())}}}},
          .reference = same,
          .errors = {{.in = {draw({2, 3})},
                      .attrs = {{"shape", PartialShape{2, 2}}},
                      .text = "input: expected shape [2,2], got [2,3]"}}}},
        {"StopGradient", {.samples = kAnything, .reference = same}},
        {"IdentityN",
         {.samples = {{.in = {draw({2, 3}).as(kFloat64), draw({}).as(kInt32)}}, {.in = {draw({0}).as(kFloat64)}}},
          .reference = [](const Given& g) { return g.in; },
          .errors = {{.in = {}, .text = "T: expected at least 1 elements, got 0"}}}},
        {"_OptimizationBarrier",
         {.samples = {{.in = {draw({2, 3}).as(kFloat64), draw({4}).as(kInt32)},
                       .attrs = {{"Tv", std::vector<DType>{kFloat64}}, {"Tx", std::vector<DType>{kInt32}}}}},
          .reference = [](const Given& g) { return std::vector<Array>{g.in[0]}; }}},
        {"_CustomGradient", {.own = {{"saved", custom_gradient_row}}}},
        {"PlaceholderWithDefault",
         {.samples = {{.in = {draw({2, 3})}, .attrs = {{"shape", PartialShape{2, 3}}}}},
          .reference = same,
          .errors = {{.in = {draw({2, 3})},
                      .attrs = {{"shape", PartialShape{3, 3}}},
                      .text = "input: expected a shape compatible with [3,3], got [2,3]"}}}},
        {"Placeholder",
         {.errors = {{.in = {},
                      .attrs = {{"dtype", kFloat32}, {"shape", PartialShape{-1, 2}}},
                      .text = "placeholder: expected to be fed a float32 of shape [?,2], got nothing"}},
          .own = {{"saved", placeholder_saved}}}},
        {"NoOp", {.samples = {{.in = {}}}}},
    });

}  // namespace
}  // namespace panto::test::array_make_rows
