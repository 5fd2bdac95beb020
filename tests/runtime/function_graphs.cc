#include "panto/tests/runtime/function_graphs.h"

#include <tuple>
#include <utility>

#include "panto/lib/graph/files/io.h"
#include "panto/panto.h"
#include "panto/tests/graph/function_text.h"

namespace panto::test {

namespace {

using Feed = std::pair<std::string, Tensor>;

ReferenceRun run_of(std::vector<Feed> feeds, const std::vector<Feed>& gives) {
  ReferenceRun run;
  run.feeds = std::move(feeds);
  for (const auto& [fetch, value] : gives) {
    run.fetches.push_back(fetch);
    run.expected.push_back(value);
  }
  return run;
}

FunctionGraph written(const char* name, std::string text, std::vector<ReferenceRun> runs) {
  return {.reference = {.name = name, .path = {}, .runs = std::move(runs)}, .text = std::move(text)};
}

// `build` makes the nodes; functions get into the library as the graph is written.
template <class Build>
FunctionGraph built(const char* name, const Build& build, std::vector<ReferenceRun> runs) {
  Graph graph;
  {
    const GraphScope building(graph);
    build();
  }
  return written(name, to_graph_def_text(graph), std::move(runs));
}

// y is x to the n-th power.
Tensor power(const Tensor& x, const Tensor& n) {
  const auto [i, y] = while_loop([&](const Tensor& i, const Tensor&) { return i < n; },
                                 [&](const Tensor& i, const Tensor& y) { return std::tuple(i + 1, y * x); },
                                 std::tuple(tensor(0), ones_like(x)));
  return y;
}
Tensor vector_x() { return panto::placeholder(kFloat32, {-1}, "x"); }
Tensor scalar_n() { return panto::placeholder(kInt32, {}, "n"); }

// r = the first whole number that is not below `limit`, by a loop of TensorFlow 1 in a function.
std::string old_loop() {
  const std::string frame = kFloatT + attr("frame_name", "s: 'loop'");
  const auto number = [](const char* name, const std::vector<std::string>& inputs, const char* value) {
    return inner(name, "Const", inputs,
                 type_attr("dtype", "DT_FLOAT") + attr("value", std::string("tensor { dtype: DT_FLOAT tensor_shape { } "
                                                                            "float_val: ") +
                                                                    value + " }"));
  };
  return placeholder("x", "DT_FLOAT", "") + node("y", "PartitionedCall", {"x"}, call_attrs("count", kFloat)) +
         library(function("count", kFloatToFloat,
                          number("zero", {}, "0") + inner("enter", "Enter", {"zero:output:0"}, frame) +
                              inner("limit", "Enter", {"x"}, frame + attr("is_constant", "b: true")) +
                              inner("i", "Merge", {"enter:output:0", "next:output:0"}, kFloatT + attr("N", "i: 2")) +
                              inner("less", "Less", {"i:output:0", "limit:output:0"}, kFloatT) +
                              inner("go", "LoopCond", {"less:z:0"}, "") +
                              inner("switch", "Switch", {"i:output:0", "go:output:0"}, kFloatT) +
                              inner("body", "Identity", {"switch:output_true:0"}, kFloatT) +
                              number("one", {"^body"}, "1") +
                              inner("more", "AddV2", {"body:output:0", "one:output:0"}, kFloatT) +
                              inner("next", "NextIteration", {"more:z:0"}, kFloatT) +
                              inner("out", "Exit", {"switch:output_false:0"}, kFloatT),
                          "out:output:0"));
}

// y = 4 x, of any type: "twice" calls "sum" by its own name, y is twice of twice.
std::string calls_in_calls() {
  const std::string type = attr("T", "type: DT_FLOAT"), any = attr("T", "placeholder: 'T'");
  const std::string signature =
      input_arg("x", "type_attr: 'T'") + output_arg("r", "type_attr: 'T'") + "attr { name: 'T' type: 'type' } ";
  const std::string call = types_attr("Tin", kFloat) + types_attr("Tout", kFloat) + function_attr("f", "twice", type);
  return placeholder("x", "DT_FLOAT", kUnknownRank) + node("a", "PartitionedCall", {"x"}, call) +
         node("y", "StatefulPartitionedCall", {"a"}, call) +
         library(function("sum", signature, inner("s", "AddV2", {"x", "x"}, any), "s:z:0") +
                 function("twice", signature, inner("called", "sum", {"x"}, any), "called:r:0"));
}

std::vector<FunctionGraph> make_all() {
  const Tensor x = tensor({2.f, -3.f});
  std::vector<FunctionGraph> all;
  all.push_back(
      written("factorial", factorial(),
              {run_of({{"n", tensor(5)}}, {{"y", tensor(120)}}), run_of({{"n", tensor(0)}}, {{"y", tensor(1)}})}));
  all.push_back(written("calls", calls_in_calls(), {run_of({{"x", x}}, {{"y", tensor({8.f, -12.f})}})}));
  all.push_back(written(
      "old loop", old_loop(),
      {run_of({{"x", tensor(6.5f)}}, {{"y", tensor(7.f)}}), run_of({{"x", tensor(-1.f)}}, {{"y", tensor(0.f)}})}));
  all.push_back(written("own gradient",
                        with_own_gradient(node("y", "SymbolicGradient", {"x", "dy"},
                                               types_attr("Tin", kFloat + kFloat) + types_attr("Tout", kFloat) +
                                                   function_attr("f", "square"))),
                        {run_of({{"x", x}, {"dy", tensor({1.f, 2.f})}}, {{"y", tensor({10.f, 20.f})}})}));
  all.push_back(built("loop", [] { named("y", power(vector_x(), scalar_n()) * 1.f); },
                      {run_of({{"x", x}, {"n", tensor(3)}}, {{"y", tensor({8.f, -27.f})}}),
                       run_of({{"x", x}, {"n", tensor(0)}}, {{"y", tensor({1.f, 1.f})}})}));
  all.push_back(built("gradient of a loop",
                      [] {
                        const Tensor x = vector_x();
                        named("dy", gradients(power(x, scalar_n()), {{x}})[0] * 1.f);
                      },
                      {run_of({{"x", x}, {"n", tensor(3)}}, {{"dy", tensor({12.f, 27.f})}})}));
  all.push_back(
      built("branches",
            [] {
              const Tensor x = vector_x(), n = scalar_n();
              const auto inside = [&] { return cond(n > 5, [&] { return x + 1.f; }, [&] { return square(x); }); };
              const Tensor y = cond(n > 2, inside, [&] { return -x; });
              named("y", y * 1.f);
              named("dy", gradients(y, {{x}})[0] * 1.f);
              named("c", switch_case(n, {[&] { return x; }, [&] { return x * 2.f; }, [&] { return x * 3.f; }}) * 1.f);
            },
            {run_of({{"x", x}, {"n", tensor(7)}},
                    {{"y", tensor({3.f, -2.f})}, {"dy", tensor({1.f, 1.f})}, {"c", tensor({6.f, -9.f})}}),
             run_of({{"x", x}, {"n", tensor(3)}}, {{"y", tensor({4.f, 9.f})}, {"dy", tensor({4.f, -6.f})}}),
             run_of({{"x", x}, {"n", tensor(1)}},
                    {{"y", tensor({-2.f, 3.f})}, {"dy", tensor({-1.f, -1.f})}, {"c", tensor({4.f, -6.f})}})}));
  all.push_back(built("slices",
                      [] {
                        const Tensor x = vector_x();
                        const Tensor sums =
                            scan([](const Tensor& sum, const Tensor& each) { return sum + each; }, x, tensor(0.f));
                        named("y", map_fn([](const Tensor& each) { return each * 10.f; }, sums) * 1.f);
                      },
                      {run_of({{"x", tensor({1.f, 2.f, 3.f})}}, {{"y", tensor({10.f, 30.f, 60.f})}})}));
  ReferenceRun init;
  init.targets = {"init"};
  all.push_back(built("a variable in a loop",
                      [] {
                        const Variable v(tensor(1.f), "v");
                        const Tensor n = scalar_n();
                        const Tensor rounds = named("rounds", while_loop([&](const Tensor& i) { return i < n; },
                                                                         [&](const Tensor& i) {
                                                                           v.assign(v * 2.f);
                                                                           return i + 1;
                                                                         },
                                                                         tensor(0)) *
                                                                  1);
                        const ControlDependencies after({rounds});
                        named("y", v.value() * 1.f);
                        global_variables_initializer();
                      },
                      {init, run_of({{"n", tensor(5)}}, {{"rounds", tensor(5)}, {"y", tensor(32.f)}})}));
  return all;
}

}  // namespace

const std::vector<FunctionGraph>& function_graphs() {
  static const std::vector<FunctionGraph> graphs = make_all();
  return graphs;
}

}  // namespace panto::test
