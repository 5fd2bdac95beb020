// Gradients of TensorFlow 1's loops and conditionals, raised to While and If: compared with closed forms and with
// finite differences.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "panto/lib/core/step/step.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/flow/raise.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/runtime/session.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/tests/near.h"
#include "panto/tests/runtime/loops.h"
#include "panto/tests/runtime/raised_graphs.h"
#include "panto/trace/graph_gradients.h"

namespace panto::test {
namespace {

BOOST_AUTO_TEST_SUITE(raise)

// Of the sum of f(x), by central differences.
std::vector<double> differences(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  std::vector<double> result;
  std::vector<float> values = x.to_vector<float>();
  const float step = 1e-2f;
  for (float& value : values) {
    const float keep = value;
    value = keep + step;
    const double above = sum(f(tensor(values))).item<float>();
    value = keep - step;
    const double below = sum(f(tensor(values))).item<float>();
    value = keep;
    result.push_back((above - below) / (2 * step));
  }
  return result;
}

BOOST_AUTO_TEST_CASE(gradients_of_loaded_functions) {
  const TestFolder folder;
  struct Case {
    const char* lines;
    const char* other;  // the input beside x
    Tensor value;
    std::string x = "x0";
  };
  const std::vector<Case> cases = {
      {kBranchesInLoop, "n", tensor(4.f)},
      {kBranchesInLoop, "n", tensor(0.f)},
      {kLoopInBranch, "p", tensor(true)},
      {kLoopInBranch, "p", tensor(false)},
      {kCond, "p", tensor(true), "x"},
      {kCond, "p", tensor(false), "x"},
      {kNestedConditionals, "p", tensor(true), "x"},
  };
  for (const Case& c : cases) {
    BOOST_TEST_CONTEXT(c.lines << c.value.to_string()) {
      write_graph(text_graph(c.lines), folder / "f.pb");
      const bool nested = c.lines == kNestedConditionals;
      std::vector<std::string> inputs{c.x, c.other};
      if (nested) inputs.push_back("q");
      const Function loaded = load(folder / "f.pb", inputs, {"y"});
      const auto f = [&](const Tensor& x) { return nested ? loaded(x, c.value, tensor(true)) : loaded(x, c.value); };
      const Tensor x = tensor({0.5f, -0.75f, 1.25f});
      GradientTape tape({.persistent = true});
      tape.watch(x);
      const Tensor dx = tape.gradient(sum(f(x)), {x})[0];
      const std::vector<double> expected = differences(f, x);
      for (size_t i = 0; i < expected.size(); ++i) BOOST_TEST(std::abs(dx.to_vector<float>()[i] - expected[i]) < 2e-3);
      // Inside of transforms and traces, as other functions.
      const Tensor batched = vmap([&](const Tensor& row) { return f(row); })(stack({x, x * 2.f}));
      BOOST_TEST(batched.to_vector<float>() == (concat({f(x), f(x * 2.f)}, 0).to_vector<float>()),
                 boost::test_tools::per_element());
      const auto traced = trace([&](const Tensor& t) { return f(t); }, {TensorSpec(kFloat32, {-1})});
      BOOST_TEST(traced(x).to_vector<float>() == f(x).to_vector<float>(), boost::test_tools::per_element());
    }
  }
}

// y = x^8 of three squarings: orders one to three by closed forms.
BOOST_AUTO_TEST_CASE(gradients_of_higher_orders) {
  const TestFolder folder;
  write_graph(text_graph(R"(
    x0 = Placeholder(; dtype=float32, shape=[])
    n = Const(; value=int32{3})
    zero = Const(; value=int32{0})
    i_enter = Enter(zero; frame_name="loop")
    x_enter = Enter(x0; frame_name="loop")
    n_in = Enter(n; frame_name="loop", is_constant=true)
    i = Merge(i_enter, i_next)
    x = Merge(x_enter, x_next)
    less = Less(i, n_in)
    go = LoopCond(less)
    i_s = Switch(i, go)
    x_s = Switch(x, go)
    pivot = Identity(i_s:1)
    one = Const(^pivot; value=int32{1})
    new_i = AddV2(i_s:1, one)
    new_x = Square(x_s:1)
    i_next = NextIteration(new_i)
    x_next = NextIteration(new_x)
    y = Exit(x_s)
  )"),
              folder / "f.pb");
  const Function f = load(folder / "f.pb", {"x0"}, {"y"});
  const Tensor x = tensor(1.5f);
  GradientTape third;
  third.watch(x);
  Tensor d1, d2;
  {
    GradientTape second;
    second.watch(x);
    {
      GradientTape first;
      first.watch(x);
      const Tensor y = f(x);
      d1 = first.gradient(y, {x})[0];
    }
    d2 = second.gradient(d1, {x})[0];
  }
  const Tensor d3 = third.gradient(d2, {x})[0];
  BOOST_TEST(d1.item<float>() == 8 * std::pow(1.5f, 7), boost::test_tools::tolerance(1e-5f));
  BOOST_TEST(d2.item<float>() == 56 * std::pow(1.5f, 6), boost::test_tools::tolerance(1e-5f));
  BOOST_TEST(d3.item<float>() == 336 * std::pow(1.5f, 5), boost::test_tools::tolerance(1e-5f));
}

// y = (2 x)^2 by way of an array, which becomes a list; what has a gradient array already stays as it is.
BOOST_AUTO_TEST_CASE(arrays_have_gradients) {
  const std::string lines = R"(
    x = Placeholder(; dtype=float32, shape=[?])
    size = Const(; value=int32{1})
    at = Const(; value=int32{0})
    array = TensorArrayV3(size; dtype=float32)
    twice = AddV2(x, x)
    written = TensorArrayWriteV3(array, at, twice, array:1)
    read = TensorArrayReadV3(array, at, written; dtype=float32)
    y = Mul(read, read)
  )";
  const TestFolder folder;
  write_graph(text_graph(lines), folder / "array.pb");
  const Function f = load(folder / "array.pb", {"x"}, {"y"});
  BOOST_TEST(f.graph().to_string().find("TensorListSetItem") != std::string::npos);
  const Tensor x = tensor({1.f, -3.f});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  BOOST_TEST(y.to_vector<float>() == (std::vector<float>{4, 36}));
  BOOST_TEST(tape.gradient(y, x).to_vector<float>() == (std::vector<float>{8, -24}));

  write_graph(text_graph(lines + "g = TensorArrayGradV3(array, written; source=\"gradients\")"), folder / "grad.pb");
  const Function stays = load(folder / "grad.pb", {"x"}, {"y", "g:1"});
  BOOST_TEST(stays.graph().to_string().find("TensorList") == std::string::npos);
  BOOST_TEST(stays.call(std::vector<Tensor>{x})[0].to_vector<float>() == (std::vector<float>{4, 36}));
}

BOOST_AUTO_TEST_CASE(gradients_in_a_graph) {
  Graph graph = text_graph(kBranchesInLoop);
  const NodeOutput x = graph.output("x0"), y = graph.output("y");
  const std::vector<NodeOutput> dx = gradients(graph, {&y, 1}, {&x, 1});
  BOOST_REQUIRE(dx[0].valid());
  Session session(graph);
  // Four rounds: y = 2 ((x^2 + 1)^2 + 3).
  const float at = 0.5f;
  const Tensor got = session.run(graph.output_name(dx[0]), {{"x0", tensor({at})}, {"n", 4.f}});
  BOOST_TEST(got.to_vector<float>()[0] == 8 * at * (at * at + 1), boost::test_tools::tolerance(1e-5f));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
