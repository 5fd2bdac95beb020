// Samples of ops that call functions.
#include <cmath>

#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/table.h"
#include "panto/trace/control/traced_body.h"

namespace panto::test {
namespace {

using Tensors = std::vector<Tensor>;

// A function of tensors of these types and shapes.
FunctionRef function(const char* name, const std::vector<OutputInfo>& arguments, const TensorFunction& fn) {
  Tensors likes;
  for (const OutputInfo& info : arguments) likes.push_back(meta_tensor(info.dtype, info.shape));
  const std::shared_ptr<const GraphFunction> made = function_of(trace_body(name, likes, fn));
  return {.name = name, .body = made};
}

const OutputInfo kVector{kFloat64, PartialShape{-1}};
const OutputInfo kCount{kInt32, PartialShape(Shape())};

FunctionRef squares() {
  return function("squares", {kVector}, [](std::span<const Tensor> in) { return Tensors{in[0] * in[0]}; });
}
FunctionRef sines() {
  return function("sines", {kVector}, [](std::span<const Tensor> in) { return Tensors{sin(in[0]) + 1.0}; });
}
FunctionRef halves() {
  return function("halves", {kVector}, [](std::span<const Tensor> in) { return Tensors{in[0] * 0.5}; });
}
FunctionRef rounds_left() {
  return function("rounds_left", {kCount, kVector}, [](std::span<const Tensor> in) { return Tensors{in[0] > 0}; });
}
FunctionRef round() {
  return function("round", {kCount, kVector},
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
  return {Array(g.in[0]), y};
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
  Sample sample{.in = {scalar(count).as(kInt32), std::move(x).as(kFloat64)},
                .attrs = {{"cond", rounds_left()}, {"body", round()}}};
  sample.out = {scalar(0).as(kInt32), looped({.op = get_op("While"), .in = sample.in, .attrs = sample.attrs})[1]};
  return sample;
}
Sample call_sample(Array x) { return {.in = {std::move(x).as(kFloat64)}, .attrs = {{"Tout", kOut}, {"f", squares()}}}; }

Details branches() {
  return {.samples = {branch_sample(1, draw({3})), branch_sample(0, draw({3})), branch_sample(1, draw({0}))},
          .reference = chosen_by_truth,
          .errors = {{.in = {scalar(1), draw({3}).as(kFloat32)},
                      .attrs = {{"Tout", kOut}, {"then_branch", squares()}, {"else_branch", sines()}},
                      .text = "input 0 of function 'squares': expected float64, got float32"}},
          .types = dtypes::kAny - dtypes::kComplex - DTypeSet{kString, kResource, kVariant, kFloat16, kBFloat16}};
}
Details cases() {
  return {.samples = {case_sample(0, draw({3})), case_sample(1, draw({2})), case_sample(7, draw({2})),
                      case_sample(-1, draw({2}))},
          .reference = chosen_by_number};
}
Details loops() {
  return {.samples = {loop_sample(3, draw({3}, -1, 1)), loop_sample(0, draw({2}, -1, 1)), loop_sample(1, draw({0}))}};
}
Details calls() {
  return {.samples = {call_sample(draw({3})), call_sample(draw({0}))},
          .reference = [](const Given& g) { return std::vector<Array>{mapped(g.in[0], square_of)}; },
          .errors = {{.in = {draw({3}).as(kFloat64), draw({3}).as(kFloat64)},
                      .attrs = {{"Tout", kOut}, {"f", squares()}},
                      .text = "inputs of function 'squares': expected 1, got 2"}}};
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
                                    {"FakeParam",
                                     {.samples = {{.in = {},
                                                   .attrs = {{"dtype", kFloat32}, {"shape", PartialShape{0, 3}}},
                                                   .out = {array({0, 3}, {}).as(kFloat32)}}}}},
                                });

}  // namespace
}  // namespace panto::test
