// Samples of ops that call functions.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "panto/autograd/tape.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"
#include "panto/tests/trace/control/functions.h"
#include "panto/trace/trace.h"

namespace panto::test::functions_rows {
namespace {

using Tensors = std::vector<Tensor>;

const OutputInfo kVector{kFloat64, PartialShape{-1}};
const OutputInfo kCount{kInt32, PartialShape(Shape())};

FunctionRef squares() {
  return function_ref("squares", {kVector}, [](std::span<const Tensor> in) { return Tensors{in[0] * in[0]}; });
}
FunctionRef sines() {
  return function_ref("sines", {kVector}, [](std::span<const Tensor> in) { return Tensors{sin(in[0]) + 1.0}; });
}
FunctionRef halves() {
  return function_ref("halves", {kVector}, [](std::span<const Tensor> in) { return Tensors{in[0] * 0.5}; });
}
FunctionRef rounds_left() {
  return function_ref("rounds_left", {kCount, kVector}, [](std::span<const Tensor> in) { return Tensors{in[0] > 0}; });
}
FunctionRef round() {
  return function_ref("round", {kCount, kVector},
                      [](std::span<const Tensor> in) { return Tensors{in[0] - 1, in[1] * in[1] * 0.5 + in[1]}; });
}

const std::vector<DType> kOut = {kFloat64};

Array mapped(const Array& x, double (*f)(double)) {
  Array y = x;
  for (double& v : y.values) v = f(v);
  return y;
}
double square_of(double x) { return x * x; }
double sine_of(double x) { return std::sin(x) + 1; }
double half_of(double x) { return x * 0.5; }

std::vector<Array> chosen_by_truth(const Given& g) {
  return {mapped(g.in[1], g.in[0].values[0] != 0 ? square_of : sine_of)};
}

std::vector<Array> chosen_by_number(const Given& g) {
  const double i = g.in[0].values[0];
  return {mapped(g.in[1], i == 0 ? square_of : i == 1 ? sine_of : half_of)};
}

std::vector<Array> looped(const Given& g) {
  Array y = g.in[1];
  const int count = std::max(0, static_cast<int>(g.in[0].values[0]));
  for (double& v : y.values) {
    for (int i = 0; i < count; ++i) v = v * v * 0.5 + v;
  }
  return {scalar(std::min(g.in[0].values[0], 0.0)), y};
}

Sample branch_sample(double condition, Array x) {
  return {.in = {scalar(condition), std::move(x).as(kFloat64)},
          .attrs = {{"Tout", kOut}, {"then_branch", squares()}, {"else_branch", sines()}}};
}
Sample case_sample(double index, Array x) {
  return {.in = {scalar(index).as(kInt32), std::move(x).as(kFloat64)},
          .attrs = {{"Tout", kOut}, {"branches", std::vector<FunctionRef>{squares(), sines(), halves()}}}};
}
Sample loop_sample(double count, Array x) {
  return {.in = {scalar(count).as(kInt32), std::move(x).as(kFloat64)},
          .attrs = {{"cond", rounds_left()}, {"body", round()}}};
}
Sample call_sample(Array x) { return {.in = {std::move(x).as(kFloat64)}, .attrs = {{"Tout", kOut}, {"f", squares()}}}; }

Details branches() {
  return {.samples = {branch_sample(1, draw({3})), branch_sample(0, draw({3})), branch_sample(1, draw({0}))},
          .reference = chosen_by_truth,
          .errors = {{.in = {scalar(1), draw({3}).as(kFloat32)},
                      .attrs = {{"Tout", kOut}, {"then_branch", squares()}, {"else_branch", sines()}},
                      .text = "input 0 of function 'squares': expected float64[?], got float32[3]"}},
          // Differences of a floating condition would choose the other branch.
          .types = dtypes::kInteger | DTypeSet{kBool}};
}
Details cases() {
  return {.samples = {case_sample(0, draw({3})), case_sample(1, draw({2})), case_sample(7, draw({2})),
                      case_sample(-1, draw({2}))},
          .reference = chosen_by_number};
}
Details loops() {
  return {.samples = {loop_sample(3, draw({3}, -1, 1)), loop_sample(0, draw({2}, -1, 1)), loop_sample(1, draw({0}))},
          .reference = looped};
}
Details calls() {
  return {.samples = {call_sample(draw({3})), call_sample(draw({0}))},
          .reference = [](const Given& g) { return std::vector<Array>{mapped(g.in[0], square_of)}; },
          .errors = {{.in = {draw({3}).as(kFloat64), draw({3}).as(kFloat64)},
                      .attrs = {{"Tout", kOut}, {"f", squares()}},
                      .text = "inputs of function 'squares': expected 1, got 2"}}};
}

Details symbolic_gradients() {
  const auto sample = [](Array x, Array dy) {
    return Sample{.in = {std::move(x).as(kFloat64), std::move(dy).as(kFloat64)},
                  .attrs = {{"Tout", kOut}, {"f", squares()}}};
  };
  return {.samples = {sample(draw({3}), draw({3})), sample(draw({0}), draw({0}))},
          .reference =
              [](const Given& g) {
                Array dx = g.in[0];
                for (size_t i = 0; i < dx.values.size(); ++i) dx.values[i] *= 2 * g.in[1].values[i];
                return std::vector<Array>{dx};
              },
          .errors = {{.in = {draw({3}).as(kFloat64)},
                      .attrs = {{"Tout", kOut}, {"f", squares()}},
                      .text = "function 'squares': expected 1 inputs and 1 gradients of outputs, got 1 and 0"}}};
}

// Through a file, and with a gradient.
void optional_kept() {
  const auto f = trace(
      [](const Tensor& x) {
        const Tensor some = optional_from_value({x * x});
        const Tensor none = optional_none();
        const Tensor got = optional_get_value(some, {kFloat64}, {PartialShape{2}})[0];
        return std::vector<Tensor>{got * 3.0, optional_has_value(some), optional_has_value(none)};
      },
      {TensorSpec(kFloat64, {2}, "x")});
  const Tensor x = tensor({1.0, 2.0});
  const Function again = function_of(parse_graph(to_graph_def(f.frozen_graph())));
  for (const Function& g : {Function(f), again}) {
    const std::vector<Tensor> y = g.call(std::vector<Tensor>{x});
    BOOST_TEST(difference(tensor({3.0, 12.0}), y[0]) == "");
    BOOST_TEST(y[1].item<bool>());
    BOOST_TEST(!y[2].item<bool>());
  }
  GradientTape tape;
  tape.watch(x);
  const std::vector<Tensor> y = again.call(std::vector<Tensor>{x});
  BOOST_TEST(difference(tensor({6.0, 12.0}), tape.gradient(y[0], x)) == "");
  expect_error_begins([] { optional_get_value(optional_none(), {kFloat64}, {PartialShape{}}); },
                      "InvalidArgument: optional: expected one with a value, got none");
  expect_error_begins([&] { optional_get_value(optional_from_value({x}), {kFloat32}, {PartialShape{}}); },
                      "InvalidArgument: component 0: expected float32?, got float64[2]");
}

// As many within each other as a program likes: optionals, lists of them, queues of these.
void optionals_within_optionals() {
  constexpr int kLevels = 1'000'000;
  Tensor t = tensor(1.0);
  for (int i = 0; i < kLevels; ++i) t = optional_from_value({t});
  t = Tensor();
  Tensor held = optional_none();
  for (int i = 0; i < kLevels / 10; ++i) {
    Tensor list = empty_tensor_list(tensor(std::vector<int32_t>{}), tensor(-1), kVariant);
    list = tensor_list_push_back(list, held);
    held = optional_from_value({list, tensor(2.0)});
  }
  // As deep as it was made, from the outside.
  const Tensor list = optional_get_value(held, {kVariant, kFloat64}, {PartialShape{}, PartialShape{}})[0];
  BOOST_TEST(tensor_list_length(list).item<int32_t>() == 1);
}

const Family functions("functions", {
                                        {"If", branches()},
                                        {"StatelessIf", branches()},
                                        {"Case", cases()},
                                        {"StatelessCase", cases()},
                                        {"While", loops()},
                                        {"StatelessWhile", loops()},
                                        {"PartitionedCall", calls()},
                                        {"StatefulPartitionedCall", calls()},
                                        {"SymbolicGradient", symbolic_gradients()},
                                        {"OptionalFromValue",
                                         {.own = {{"saved", optional_kept}, {"nested", optionals_within_optionals}}}},
                                        {"OptionalNone", {.own = {{"saved", optional_kept}}}},
                                        {"OptionalHasValue", {.own = {{"saved", optional_kept}}}},
                                        {"OptionalGetValue", {.own = {{"saved", optional_kept}}}},
                                        {"FakeParam",
                                         {.samples = {{.in = {},
                                                       .attrs = {{"dtype", kFloat32}, {"shape", PartialShape{0, 3}}},
                                                       .out = {array({0, 3}, {}).as(kFloat32)}}}}},
                                    });

}  // namespace
}  // namespace panto::test::functions_rows
