// Passes that see functions: what moves before loops and conditionals, loops of constants, and whole graphs with the
// functions that their nodes call.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "panto/lib/core/step/step.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/lib/runtime/session.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/tests/near.h"

namespace panto::test {
namespace {

BOOST_AUTO_TEST_SUITE(function_passes)

// The graph, then its functions, as they print.
std::string text_of(const Graph& graph) {
  std::string text = graph.to_string();
  for (const auto& function : functions_of(graph)) text += function->to_string();
  return text;
}

int changes(const Graph& graph, const std::string& pass) {
  std::vector<PassRun> runs;
  optimize(graph, {}, {}, pass, &runs);
  BOOST_TEST(runs.at(0).error == "");
  return runs.at(0).changes;
}

// x = x @ (w @ w) + n, as long as i < n
Function powers() {
  return trace(
      [](const Tensor& x, const Tensor& w, const Tensor& n) {
        return std::get<1>(while_loop([&](const Tensor& i, const Tensor&) { return i < n * n; },
                                      [&](const Tensor& i, const Tensor& y) {
                                        // Not in the tuple: compilers choose the order of arguments.
                                        Tensor next = matmul(y, matmul(w, w)) + n;
                                        return std::tuple(i + 1.f, next);
                                      },
                                      std::tuple(tensor(0.f), x)));
      },
      {TensorSpec(kFloat32, {2, 2}, "x"), TensorSpec(kFloat32, {2, 2}, "w"), TensorSpec(kFloat32, {}, "n")});
}

BOOST_AUTO_TEST_CASE(what_is_the_same_in_every_round_moves_before_the_loop) {
  const Function f = powers();
  BOOST_TEST(text_of(optimize(f.graph(), {}, {}, "loop_invariants")) ==
             "Const = Const(; value=0.0, dtype=float32) -> float32\n"
             "n = Placeholder(; dtype=float32, shape=[]) -> float32\n"
             "StatelessWhile/Mul = Mul(n, n) -> float32\n"
             "w = Placeholder(; dtype=float32, shape=[2,2]) -> float32[2,2]\n"
             "StatelessWhile/MatMul = MatMul(w, w) -> float32[2,2]\n"
             "x = Placeholder(; dtype=float32, shape=[2,2]) -> float32[2,2]\n"
             "StatelessWhile = StatelessWhile(Const, x, n, w, StatelessWhile/Mul, "
             "StatelessWhile/MatMul; cond=cond, body=body) -> float32, float32[2,2], float32, "
             "float32[2,2], float32, float32[2,2]\n"
             "cond(arg_0: float32[], arg_1: float32[2,2], captured: float32[], unused: float32[2,2], "
             "Mul/before: float32[], StatelessWhile/MatMul: float32[2,2]) -> (bool[]) = Less\n"
             "Mul/before = Placeholder(; dtype=float32, shape=[]) -> float32\n"
             "StatelessWhile/MatMul = Placeholder(; dtype=float32, shape=[2,2]) -> float32[2,2]\n"
             "arg_0 = Placeholder(; dtype=float32, shape=[]) -> float32\n"
             "Less = Less(arg_0, Mul/before) -> bool\n"
             "arg_1 = Placeholder(; dtype=float32, shape=[2,2]) -> float32[2,2]\n"
             "captured = Placeholder(; dtype=float32, shape=[]) -> float32\n"
             "unused = Placeholder(; dtype=float32, shape=[2,2]) -> float32[2,2]\n"
             "body(arg_0: float32[], arg_1: float32[2,2], captured_1: float32[], captured: "
             "float32[2,2], StatelessWhile/Mul: float32[], MatMul/before: float32[2,2]) -> (float32[], "
             "float32[2,2], float32[], float32[2,2], float32[], float32[2,2]) = AddV2_1, AddV2, "
             "captured_1, captured, StatelessWhile/Mul, MatMul/before\n"
             "Const = Const(; value=1.0, dtype=float32) -> float32\n"
             "MatMul/before = Placeholder(; dtype=float32, shape=[2,2]) -> float32[2,2]\n"
             "StatelessWhile/Mul = Placeholder(; dtype=float32, shape=[]) -> float32\n"
             "arg_0 = Placeholder(; dtype=float32, shape=[]) -> float32\n"
             "AddV2_1 = AddV2(arg_0, Const) -> float32\n"
             "arg_1 = Placeholder(; dtype=float32, shape=[2,2]) -> float32[2,2]\n"
             "MatMul_1 = MatMul(arg_1, MatMul/before) -> float32[2,2]\n"
             "captured = Placeholder(; dtype=float32, shape=[2,2]) -> float32[2,2]\n"
             "captured_1 = Placeholder(; dtype=float32, shape=[]) -> float32\n"
             "AddV2 = AddV2(MatMul_1, captured_1) -> float32[2,2]\n");
  const Tensor x = tensor({{1.f, 2.f}, {3.f, 4.f}}), w = tensor({{0.5f, -1.f}, {0.25f, 2.f}});
  for (const float n : {0.f, 1.f, 2.f}) {
    Tensor expected = x;
    for (int i = 0; static_cast<float>(i) < n * n; ++i) expected = matmul(expected, matmul(w, w)) + n;
    for (const char* passes : {"off", "loop_invariants", "", "-matmul"}) {
      const Function g = powers();
      g.set_optimizer(passes);
      BOOST_TEST((g(x, w, tensor(n)).to_vector<float>() == expected.to_vector<float>()), passes);
    }
  }
}

// What could fail, what is large and what changes stays; so does what reads a variable or draws.
BOOST_AUTO_TEST_CASE(not_everything_moves) {
  const TensorSpec row(kFloat32, {3}, "x"), count(kInt32, {}, "n");
  const auto rounds = [](auto body) {
    return [body](const Tensor& x, const Tensor& n) {
      return std::get<1>(
          while_loop([&](const Tensor& i, const Tensor&) { return i < n; },
                     [&](const Tensor& i, const Tensor& y) { return std::tuple(i + 1, body(i, y, x, n)); },
                     std::tuple(tensor(0), x)));
    };
  };
  const auto moved = [&](auto body) { return changes(trace(rounds(body), {row, count}).graph(), "loop_invariants"); };
  using In = const Tensor&;
  BOOST_TEST(moved([](In, In y, In x, In) { return y + exp(x); }) == 1);
  BOOST_TEST(moved([](In, In y, In x, In) { return y + exp(x) * tanh(x); }) == 3);
  BOOST_TEST(moved([](In, In y, In, In) { return y + exp(y); }) == 0);
  // An integer division by 0 must not happen where the loop never goes round.
  BOOST_TEST(moved([](In, In y, In, In n) { return y + cast(floor_div(n, n), kFloat32); }) == 0);
  const Function divides =
      trace(rounds([](In, In y, In, In n) { return y + cast(floor_div(tensor(1), n), kFloat32); }), {row, count});
  expect_near(divides(tensor({1.f, 2.f, 3.f}), tensor(0)), {3}, {1, 2, 3});
  // Shapes that are not known.
  BOOST_TEST(
      changes(trace(rounds([](In, In y, In x, In) { return y + exp(x); }), {TensorSpec(kFloat32, {-1}, "x"), count})
                  .graph(),
              "loop_invariants") == 0);
  // Larger than what it is made of.
  BOOST_TEST(moved([](In, In y, In x, In) { return y + sum(broadcast_to(x, tensor({100, 3})) * tensor(2.f), {0}); }) ==
             0);
  const Variable v(tensor({1.f, 1.f, 1.f}));
  BOOST_TEST(moved([&](In, In y, In x, In) { return y + v.value() + exp(x); }) == 0);  // a While with effects
}

BOOST_AUTO_TEST_CASE(what_all_branches_compute_moves_before_them) {
  const auto make = [] {
    return trace(
        [](const Tensor& p, const Tensor& x, const Tensor& w) {
          return cond(p, [&] { return relu(matmul(x + 1.f, w)); }, [&] { return -matmul(x + 1.f, w) * 2.f; });
        },
        {TensorSpec(kBool, {}, "p"), TensorSpec(kFloat32, {2, 2}, "x"), TensorSpec(kFloat32, {2, 2}, "w")});
  };
  BOOST_TEST(text_of(optimize(make().graph(), {}, {}, "common_branches")) ==
             "StatelessIf/Const = Const(; value=1.0, dtype=float32) -> float32\n"
             "p = Placeholder(; dtype=bool, shape=[]) -> bool\n"
             "w = Placeholder(; dtype=float32, shape=[2,2]) -> float32[2,2]\n"
             "x = Placeholder(; dtype=float32, shape=[2,2]) -> float32[2,2]\n"
             "StatelessIf/AddV2 = AddV2(x, StatelessIf/Const) -> float32[2,2]\n"
             "StatelessIf/MatMul = MatMul(StatelessIf/AddV2, w) -> float32[2,2]\n"
             "StatelessIf = StatelessIf(p, x, w, StatelessIf/MatMul; Tout=[float32], then_branch=then, "
             "else_branch=else) -> float32[2,2]\n"
             "then(captured: float32[2,2], captured_1: float32[2,2], MatMul/before: float32[2,2]) -> "
             "(float32[2,2]) = Relu\n"
             "MatMul/before = Placeholder(; dtype=float32, shape=[2,2]) -> float32[2,2]\n"
             "Relu = Relu(MatMul/before) -> float32[2,2]\n"
             "captured = Placeholder(; dtype=float32, shape=[2,2]) -> float32[2,2]\n"
             "captured_1 = Placeholder(; dtype=float32, shape=[2,2]) -> float32[2,2]\n"
             "else(captured: float32[2,2], captured_1: float32[2,2], MatMul/before: float32[2,2]) -> "
             "(float32[2,2]) = Mul\n"
             "Const_1 = Const(; value=2.0, dtype=float32) -> float32\n"
             "MatMul/before = Placeholder(; dtype=float32, shape=[2,2]) -> float32[2,2]\n"
             "Neg = Neg(MatMul/before) -> float32[2,2]\n"
             "Mul = Mul(Neg, Const_1) -> float32[2,2]\n"
             "captured = Placeholder(; dtype=float32, shape=[2,2]) -> float32[2,2]\n"
             "captured_1 = Placeholder(; dtype=float32, shape=[2,2]) -> float32[2,2]\n");
  const Tensor x = tensor({{1.f, -2.f}, {3.f, 4.f}}), w = tensor({{0.5f, -1.f}, {0.25f, 2.f}});
  for (const char* passes : {"off", "common_branches", ""}) {
    const Function f = make();
    f.set_optimizer(passes);
    const Tensor product = matmul(x + 1.f, w);
    BOOST_TEST((f(tensor(true), x, w).to_vector<float>() == relu(product).to_vector<float>()));
    BOOST_TEST((f(tensor(false), x, w).to_vector<float>() == (-product * 2.f).to_vector<float>()));
  }
}

// A composite without a kernel is the ops of its body when a graph is placed: it stays in the branches.
BOOST_AUTO_TEST_CASE(composites_stay_in_branches) {
  const auto make = [] {
    return trace(
        [](const Tensor& p, const Tensor& x, const Tensor& y) {
          return cond(p, [&] { return einsum({x, y}, "ij,jk->ik"); }, [&] { return einsum({x, y}, "ij,jk->ik") + 1; });
        },
        {TensorSpec(kBool, {}, "p"), TensorSpec(kInt32, {2, 2}, "x"), TensorSpec(kInt32, {2, 2}, "y")});
  };
  const Tensor x = tensor({{1, 2}, {3, 4}});
  for (const char* passes : {"off", "common_branches", ""}) {
    const Function f = make();
    f.set_optimizer(passes);
    BOOST_TEST((f(tensor(true), x, x).to_vector<int>() == std::vector<int>{7, 10, 15, 22}));
    BOOST_TEST((f(tensor(false), x, x).to_vector<int>() == std::vector<int>{8, 11, 16, 23}));
  }
}

BOOST_AUTO_TEST_CASE(what_branches_share_in_part_stays) {
  const auto shared = [](auto then, auto otherwise) {
    return changes(
        trace([&](const Tensor& p, const Tensor& x,
                  const Tensor& w) { return cond(p, [&] { return then(x, w); }, [&] { return otherwise(x, w); }); },
              {TensorSpec(kBool, {}, "p"), TensorSpec(kFloat32, {2, 2}, "x"), TensorSpec(kFloat32, {2, 2}, "w")})
            .graph(),
        "common_branches");
  };
  using In = const Tensor&;
  BOOST_TEST(shared([](In x, In w) { return matmul(x, w); }, [](In x, In w) { return matmul(w, x); }) == 0);
  BOOST_TEST(shared([](In x, In w) { return matmul(x, w); }, [](In x, In) { return x; }) == 0);
  BOOST_TEST(shared([](In x, In) { return exp(x) * 2.f; }, [](In x, In) { return exp(x) * 3.f; }) == 0);
  BOOST_TEST(shared([](In x, In w) { return matmul(x, w, {.transpose_a = true}); },
                    [](In x, In w) { return matmul(x, w); }) == 0);
  BOOST_TEST(shared([](In x, In w) { return matmul(exp(x), w); }, [](In x, In w) { return matmul(exp(x), w) + 1.f; }) ==
             2);
}

// ---- Loops of constants ---------------------------------------------------------------------------------------------

// -1.5f, so often.
Function counts_to(int32_t limit) {
  return trace(
      [=] {
        const auto [i, x] = while_loop([&](const Tensor& n, const Tensor&) { return n < limit; },
                                       [&](const Tensor& n, const Tensor& y) { return std::tuple(n + 1, y + 1.5f); },
                                       std::tuple(tensor(0), tensor(0.f)));
        return neg(x);
      },
      {});
}

BOOST_AUTO_TEST_CASE(loops_of_constants_are_folded_within_limits) {
  const auto nodes = [](const Function& f) {
    const NodeOutput result[] = {f.graph().output("Neg")};
    return optimize(f.graph(), result, {}, "constant_folding").num_nodes();
  };
  BOOST_TEST(nodes(counts_to(10)) == 1);
  BOOST_TEST(nodes(counts_to(256)) == 1);
  BOOST_TEST(nodes(counts_to(257)) > 1);
  for (const int32_t limit : {0, 10, 257}) {
    for (const char* passes : {"off", ""}) {
      const Function f = counts_to(limit);
      f.set_optimizer(passes);
      BOOST_TEST(f().item<float>() == -1.5f * static_cast<float>(limit));
    }
  }
  // Too many operations: two million a round.
  const auto products = [](int32_t limit) {
    return trace(
        [=] {
          const auto [i, x] =
              while_loop([&](const Tensor& n, const Tensor&) { return n < limit; },
                         [&](const Tensor& n, const Tensor& y) { return std::tuple(n + 1, matmul(y, y)); },
                         std::tuple(tensor(0), zeros({100, 100})));
          return neg(x);
        },
        {});
  };
  BOOST_TEST(nodes(products(1)) == 1);
  BOOST_TEST(nodes(products(100)) > 1);
}

// Neither where it is hidden in a branch.
BOOST_AUTO_TEST_CASE(endless_loops_are_not_folded) {
  const Function f = trace(
      [] {
        const auto endless = [] {
          return while_loop([](const Tensor& x) { return x < 2.f; }, [](const Tensor& x) { return sin(x); },
                            tensor(0.f));
        };
        return cond(tensor(1.f) > tensor(0.f), endless, [] { return tensor(1.f); });
      },
      {});
  Step step;
  step.deadline = Step::deadline_in(0.05);
  const StepScope scope(step);
  expect_error_begins([&] { f(); }, "DeadlineExceeded: ");
}

// ---- Whole graphs ---------------------------------------------------------------------------------------------------

// Loops and branches inside one another, with work for passes in all of them.
Function nested() {
  return trace(
      [](const Tensor& x, const Tensor& n) {
        const auto [i, y] =
            while_loop([&](const Tensor& k, const Tensor&) { return k < n; },
                       [&](const Tensor& k, const Tensor& t) {
                         const Tensor next = cond(
                             k < tensor(2) + tensor(1), [&] { return neg(neg(t)) * 1.f + exp(x) * exp(x); },
                             [&] { return transpose(transpose(t)); });
                         return std::tuple(k + 1, next);
                       },
                       std::tuple(tensor(0), x));
        return y;
      },
      {TensorSpec(kFloat32, {2, 2}, "x"), TensorSpec(kInt32, {}, "n")});
}

int nodes_in_functions(const Graph& graph) {
  int count = 0;
  for (const auto& function : functions_of(graph)) count += static_cast<int>(function->needed().size());
  return count;
}

BOOST_AUTO_TEST_CASE(functions_are_optimized_too) {
  const Graph before = nested().frozen_graph();
  std::vector<PassRun> runs;
  const Graph after = optimize_with_functions(before, {}, {}, portable_passes("-matmul"), &runs);
  for (const PassRun& run : runs) BOOST_TEST(run.error == "", run.name);
  BOOST_TEST(nodes_in_functions(after) < nodes_in_functions(before));
  BOOST_TEST(nodes_in_functions(optimize(before, {}, {}, "-loop_invariants,-common_branches")) ==
             nodes_in_functions(before));
  // Written as others read it.
  const Function again = function_of(parse_graph(to_graph_def(after)));
  const Tensor x = tensor({{0.5f, -1.f}, {2.f, 0.f}});
  const Function f = nested();
  f.set_optimizer("off");
  for (const int n : {0, 1, 5}) {
    BOOST_TEST((again(x, tensor(n)).to_vector<float>() == f(x, tensor(n)).to_vector<float>()));
  }
  // Once more there is nothing left to do.
  BOOST_TEST(text_of(optimize_with_functions(after, {}, {}, portable_passes("-matmul"))) == text_of(after));
}

// What may be fed is not known by its default; who was near a node that is gone is near nobody.
BOOST_AUTO_TEST_CASE(what_a_file_says_stays_true) {
  const Graph before = text_graph(R"(
    two = Const(; value=float32[2]{1, 2})
    x = PlaceholderWithDefault(two; shape=[?])
    n = Neg(x)
    m = Neg(n)
    y = Relu(m)
    s = Shape(x)
  )");
  Graph marked = before;
  marked.set_internal_attr(marked.at("y").id(), "_class", AttrValue(std::vector<std::string>{"loc:@n", "loc:@x"}));
  const Graph after = optimize_with_functions(marked, {}, {}, portable_passes(""));
  BOOST_TEST(after.find("n") == nullptr);
  BOOST_TEST(
      (after.at("y").internal_attr("_class")->as<std::vector<std::string>>() == std::vector<std::string>{"loc:@x"}));
  Session session(after);
  const std::vector<Tensor> fed = session.run({"y", "s"}, {{"x", tensor({-1.f, 2.f, 3.f})}});
  expect_near(fed[0], {3}, {0, 2, 3});
  expect_near(fed[1], {1}, {3});
  expect_near(session.run("y"), {2}, {1, 2});
}

BOOST_AUTO_TEST_CASE(portable_passes_make_no_ops_of_their_own) {
  BOOST_TEST(portable_passes("off") == "off");
  BOOST_TEST(portable_passes("cse") == "cse");
  BOOST_TEST(portable_passes("prune,cse") == "prune,cse");
  for (const char* passes : {"", "-cse"}) {
    const std::string portable = portable_passes(passes);
    BOOST_TEST(portable.find("fusion") == std::string::npos);
    BOOST_TEST(portable.find("elementwise") == std::string::npos);
    BOOST_TEST(portable.find("constant_folding") != std::string::npos);
    BOOST_TEST((portable.find("cse") != std::string::npos) == (std::string(passes).empty()));
  }
  expect_error([] { portable_passes("cse,fusion"); },
               "InvalidArgument: passes: expected some that leave ops that others have, too, got 'fusion'");
  expect_error_begins([] { portable_passes("csx"); }, "InvalidArgument: passes: expected 'off' or names of ");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
