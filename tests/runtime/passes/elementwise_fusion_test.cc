// The pass "elementwise": which ops become one loop, with the bits of the separate ops.
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <random>

#include "panto/lib/runtime/optimizer.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/text_graph.h"

namespace panto::test {
namespace {

std::string fused(const std::string& text) { return optimize(text_graph(text), {}, {}, "elementwise").to_string(); }

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.impl()->data, b.impl()->data, a.nbytes()) == 0;
}

// Runs the graph with and without the pass; all fetches must have the same bits.
void check_same(const std::string& text, const Feeds& feeds, const std::vector<std::string>& names) {
  BOOST_TEST_CONTEXT(text) {
    const Graph g = text_graph(text);
    const Fetches fetches(names.begin(), names.end());
    Session plain(g, {.passes = "off"}), loops(g, {.passes = "elementwise"});
    const std::vector<Tensor> expected = plain.run(fetches, feeds), got = loops.run(fetches, feeds);
    BOOST_TEST(loops.plan_stats().steps < plain.plan_stats().steps);
    for (size_t i = 0; i < fetches.size(); ++i) BOOST_TEST(same_bits(got[i], expected[i]), names[i]);
    // Again: a frame is used twice.
    const std::vector<Tensor> again = loops.run(fetches, feeds);
    for (size_t i = 0; i < fetches.size(); ++i) BOOST_TEST(same_bits(again[i], expected[i]), names[i]);
  }
}

Tensor numbers(const Shape& shape, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<float> values(static_cast<size_t>(shape.numel()));
  for (float& v : values) v = std::uniform_real_distribution<float>(-2.f, 2.f)(rng);
  return tensor(values, shape);
}

BOOST_AUTO_TEST_SUITE(elementwise_fusion)

BOOST_AUTO_TEST_CASE(a_chain_is_one_loop) {
  BOOST_TEST(fused(R"(
               x = Placeholder(; dtype=float32, shape=[2,3])
               a = Tanh(x)
               b = AddV2(a, x)
               y = Neg(b)
             )") ==
             "x = Placeholder(; dtype=float32, shape=[2,3]) -> float32[2,3]\n"
             "y = _FusedElementwise(x; Tout=[float32], ops=[\"Tanh\", \"AddV2\", \"Neg\"], types=[float32, float32, "
             "float32], operands=[0, 1, 0, 2], outputs=[3]) -> float32[2,3]\n");
}

BOOST_AUTO_TEST_CASE(one_op_stays) {
  const Graph g = text_graph("x = Placeholder(; dtype=float32, shape=[2])\n y = Neg(x)");
  BOOST_TEST(optimize(g).to_string() == g.to_string());
}

// The product waits for `a` and `y` for the product: a group of `a` and `y` would wait for itself.
BOOST_AUTO_TEST_CASE(no_loop_waits_for_itself) {
  const std::string text = R"(
    x = Placeholder(; dtype=float32, shape=[2,2])
    a = Exp(x)
    b = Neg(a)
    p = MatMul(b, x)
    c = Tanh(p)
    y = AddV2(c, a)
  )";
  BOOST_TEST(fused(text) ==
             "x = Placeholder(; dtype=float32, shape=[2,2]) -> float32[2,2]\n"
             "b_1 = _FusedElementwise(x; Tout=[float32, float32], ops=[\"Exp\", \"Neg\"], types=[float32, float32], "
             "operands=[0, 1], outputs=[1, 2]) -> float32[2,2], float32[2,2]\n"
             "p = MatMul(b_1:1, x) -> float32[2,2]\n"
             "y = _FusedElementwise(p, b_1; Tout=[float32], ops=[\"Tanh\", \"AddV2\"], types=[float32, float32], "
             "operands=[0, 2, 1], outputs=[3]) -> float32[2,2]\n");
  check_same(text, {{"x", numbers({2, 2}, 1)}}, {"y", "b", "a"});
}

// The difference is at hand long before it is wanted; computed where it is wanted, it is not kept.
BOOST_AUTO_TEST_CASE(what_one_loop_reads_is_computed_in_it) {
  const std::string text = R"(
    x = Placeholder(; dtype=float32, shape=[3,4])
    axis = Const(; value=int32{1})
    mean = Mean(x, axis; keep_dims=true)
    difference = Sub(x, mean)
    squares = SquaredDifference(x, mean)
    variance = Mean(squares, axis; keep_dims=true)
    factor = Rsqrt(variance)
    y = Mul(difference, factor)
  )";
  BOOST_TEST(fused(text) ==
             "axis = Const(; value=1, dtype=int32) -> int32\n"
             "x = Placeholder(; dtype=float32, shape=[3,4]) -> float32[3,4]\n"
             "mean = Mean(x, axis; keep_dims=true) -> float32[3,1]\n"
             "variance = _FusedReduction(x, mean; T=float32, ops=[\"SquaredDifference\"], types=[float32], "
             "operands=[0, 1], outputs=[2], reduction=\"mean\", dims=1, keep_dims=true) -> float32[3,1]\n"
             "factor = Rsqrt(variance) -> float32[3,1]\n"
             "y = _FusedElementwise(x, mean, factor; Tout=[float32], ops=[\"Sub\", \"Mul\"], types=[float32, float32], "
             "operands=[0, 1, 3, 2], outputs=[4]) -> float32[3,4]\n");
  check_same(text, {{"x", numbers({3, 4}, 1)}}, {"y"});
}

BOOST_AUTO_TEST_CASE(other_shapes_types_and_attributes) {
  const std::string text = R"(
    x = Placeholder(; dtype=float32, shape=[3,5])
    row = Placeholder(; dtype=float32, shape=[5])
    column = Placeholder(; dtype=float32, shape=[3,1])
    one = Placeholder(; dtype=float32, shape=[])
    i = Cast(x; DstT=int32)
    j = Mul(i, i)
    k = Cast(j; DstT=float64)
    shifted = AddV2(x, row)
    scaled = Mul(shifted, column)
    twice = Mul(one, scaled)
    mask = Greater(twice, column)
    other = Less(x, row)
    both = LogicalAnd(mask, other)
    not = LogicalNot(both)
    y = SelectV2(not, twice, one)
  )";
  check_same(
      text,
      {{"x", numbers({3, 5}, 1)}, {"row", numbers({5}, 2)}, {"column", numbers({3, 1}, 3)}, {"one", tensor(0.75f)}},
      {"k", "y", "mask", "shifted"});
}

// Steps that the loop does in one pass (tests/device/cpu/fused_join_test.cc), and neighbours that it must not.
BOOST_AUTO_TEST_CASE(factors_and_offsets) {
  const std::string head = R"(
    x = Placeholder(; dtype=float32, shape=[?,700])
    z = Placeholder(; dtype=float32, shape=[700])
    any = Placeholder(; dtype=float32, shape=[?])
    half = Const(; value=float32{0.5})
    one = Const(; value=float32{1})
    root = Const(; value=float32{0.70710678})
  )";
  const std::vector<std::string> programs = {
      "a = Mul(x, root)\n b = Erf(a)\n c = AddV2(one, b)\n d = Mul(half, x)\n y = Mul(d, c)",  // GELU
      "a = Mul(x, root)\n b = Erf(a)\n c = AddV2(b, one)\n d = Mul(z, half)\n y = Mul(c, d)",  // of another
      "a = Mul(root, x)\n b = Tanh(a)\n c = Mul(b, half)\n y = Sub(c, z)",
      "a = Sub(root, x)\n y = Mul(a, z)",                                      // a number first, which is not joined
      "a = Mul(x, any)\n y = AddV2(a, z)",                                     // a number at run time only, or not
      "a = Mul(x, half)\n b = AddV2(a, z)\n c = Sub(a, one)\n y = Mul(b, c)",  // read twice
      "a = Mul(x, half)\n y = Mul(a, a)",                                      // by one step
      "a = Mul(half, root)\n b = Exp(a)\n c = Mul(x, b)\n y = Sub(z, c)",      // numbers made of numbers
      "a = Mul(z, half)\n b = AddV2(a, x)\n c = Sub(b, one)\n d = Sub(x, c)\n y = Mul(d, half)",
  };
  for (int64_t rows : {1, 3, 400}) {
    for (const std::string& program : programs) {
      const Feeds feeds = {{"x", numbers({rows, 700}, 1)}, {"z", numbers({700}, 2)}, {"any", numbers({700}, 3)}};
      check_same(head + program, feeds, {"y"});
      check_same(head + program, feeds, {"y", "a"});
    }
    check_same(head + programs[4], {{"x", numbers({rows, 700}, 1)}, {"z", numbers({700}, 2)}, {"any", tensor({2.5f})}},
               {"y"});
  }
}

// Rows shorter and longer than what is read in place, tiles that end within rows, several threads.
BOOST_AUTO_TEST_CASE(every_way_to_repeat_an_input) {
  const std::vector<std::pair<Shape, std::vector<Shape>>> cases = {
      {{7, 10}, {{10}, {7, 1}, {1, 1}}},
      {{1000, 3}, {{3}, {1000, 1}, {1, 3}}},
      {{300, 700}, {{700}, {300, 1}, {1}}},
      {{5, 40, 30}, {{30}, {40, 1}, {5, 1, 30}}},
      {{3, 2, 5000}, {{2, 1}, {3, 1, 5000}, {3, 1, 1}}},
      {{4, 1, 257, 2}, {{257, 1}, {4, 1, 1, 2}, {2}}},
      {{1 << 18}, {{1}, {1 << 18}, {}}},
      {{0, 4}, {{4}, {1, 4}, {0, 1}}},
  };
  for (const auto& [full, others] : cases) {
    std::string text = "x = Placeholder(; dtype=float32, shape=" + full.to_string() + ")\n";
    Feeds feeds = {{"x", numbers(full, 1)}};
    for (size_t i = 0; i < others.size(); ++i) {
      const std::string name = "r" + std::to_string(i);
      text += name + " = Placeholder(; dtype=float32, shape=" + others[i].to_string() + ")\n";
      feeds.emplace_back(name, numbers(others[i], static_cast<unsigned>(i) + 2));
    }
    text += "a = AddV2(x, r0)\n b = Mul(r1, a)\n c = Sub(b, r2)\n d = Maximum(c, r0)\n y = Mul(d, r1)\n";
    check_same(text, feeds, {"y", "b"});
  }
}

// Two inputs that are repeated in different directions make a step of full size between them.
BOOST_AUTO_TEST_CASE(an_outer_sum) {
  const std::string text = R"(
    row = Placeholder(; dtype=float32, shape=[4])
    column = Placeholder(; dtype=float32, shape=[3,1])
    sum = AddV2(row, column)
    y = Exp(sum)
  )";
  check_same(text, {{"row", numbers({4}, 1)}, {"column", numbers({3, 1}, 2)}}, {"y"});
}

// Runs of less than a block, of several parts, and of several dimensions.
BOOST_AUTO_TEST_CASE(a_reduction_ends_a_loop) {
  struct Case {
    Shape shape;
    const char* axes;
    std::vector<Shape> others = {};
  };
  const Case cases[] = {
      {{5}, "int32[1]{0}"},
      {{7, 10}, "int32[1]{1}", {{10}, {7, 1}}},
      {{7, 10}, "int32[2]{1, 0}", {{10}, {7, 1}}},
      {{3, 1500}, "int32{-1}", {{1500}, {3, 1}}},
      {{3, 1500}, "int32[2]{-1, -2}", {{1500}, {1}}},
      {{2, 70, 900}, "int32[2]{1, 2}", {{70, 1}, {900}}},
      {{2, 300, 300}, "int32[2]{1, 2}", {{300, 1}, {2, 1, 300}}},
      {{400, 700}, "int32[2]{0, 1}", {{700}, {400, 1}}},
  };
  for (const char* op : {"Sum", "Mean", "Max", "Min"}) {
    for (const Case& c : cases) {
      for (const char* keep : {"true", "false"}) {
        std::string text = "x = Placeholder(; dtype=float32, shape=" + c.shape.to_string() + ")\n a = Square(x)\n";
        Feeds feeds = {{"x", numbers(c.shape, 1)}};
        std::string last = "a";
        for (size_t i = 0; i < c.others.size(); ++i) {
          const std::string name = "r" + std::to_string(i);
          text += name + " = Placeholder(; dtype=float32, shape=" + c.others[i].to_string() + ")\n";
          feeds.emplace_back(name, numbers(c.others[i], static_cast<unsigned>(i) + 2));
          text.append("b").append(name).append(" = Sub(").append(last).append(", ").append(name).append(")\n");
          last = "b" + name;
        }
        text.append("axes = Const(; value=").append(c.axes).append(")\n y = ").append(op).append("(").append(last);
        text.append(", axes; keep_dims=").append(keep).append(")\n");
        check_same(text, feeds, {"y"});
      }
    }
  }
}

// What others read too, other axes, other types: two steps.
BOOST_AUTO_TEST_CASE(reductions_that_stay) {
  const std::string start = "x = Placeholder(; dtype=float32, shape=[3,4])\n s = Square(x)\n";
  const auto stays = [&](const std::string& rest) {
    const Graph g = text_graph(start + rest);
    BOOST_TEST(optimize(g, {}, {}, "elementwise").to_string() == g.to_string());
  };
  stays("axes = Const(; value=int32{0})\n y = Sum(s, axes)");
  stays("axes = Const(; value=int32{1})\n y = Prod(s, axes)");
  stays("axes = Const(; value=int32{1})\n y = Sum(s, axes)\n z = MatMul(s, s; transpose_b=true)");
  stays("axes = Placeholder(; dtype=int32, shape=[])\n y = Sum(s, axes)");
}

// Loops on either side of products: which ops, and how many inputs and outputs each loop has.
std::string loops(const std::string& text, const std::vector<std::string>& names) {
  const Graph graph = text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[5,5])
    w = Placeholder(; dtype=float32, shape=[5,5])
    b = Placeholder(; dtype=float32, shape=[5])
    one = Const(; value=float32{1})
  )" + text);
  std::vector<NodeOutput> fetches;
  for (const std::string& name : names) fetches.push_back(graph.output(name));
  std::vector<PassRun> runs;
  const Graph optimized = optimize(graph, fetches, {}, "elementwise", &runs);
  for (const PassRun& run : runs) BOOST_TEST(run.error == "");
  Session plain(graph, {.passes = "off"}), fused(graph, {.passes = "elementwise"});
  const Feeds feeds = {{"x", numbers({5, 5}, 1)}, {"w", numbers({5, 5}, 2)}, {"b", numbers({5}, 3)}};
  const Fetches wanted(names.begin(), names.end());
  const std::vector<Tensor> expected = plain.run(wanted, feeds), got = fused.run(wanted, feeds);
  for (size_t i = 0; i < names.size(); ++i) BOOST_TEST(same_bits(got[i], expected[i]), names[i]);
  std::string found;
  for (int id : optimized.topological_order()) {
    const Node& node = optimized.at(id);
    if (node.op().name() != "_FusedElementwise") continue;
    for (const auto& op : node.attr("ops").as<std::vector<std::string>>()) found += op + " ";
    found += std::to_string(node.num_inputs()) + ">" + std::to_string(node.num_outputs()) + "  ";
  }
  return found;
}

// Neither can wait for the other.
BOOST_AUTO_TEST_CASE(loops_of_one_level_that_read_the_same_are_one) {
  const std::string product = "p = MatMul(x, w)\n";
  const std::string two = "a = Neg(p)\n c = Tanh(a)\n y = MatMul(c, w)\n d = Exp(p)\n e = Abs(d)\n z = MatMul(e, w)\n";
  BOOST_TEST(loops(product + two, {"y", "z"}) == "Neg Tanh Exp Abs 1>2  ");
  // Of other levels, of other shapes, and where only a number is the same.
  BOOST_TEST(loops(product + "a = Neg(p)\n c = Tanh(a)\n q = MatMul(c, p)\n d = Exp(q)\n e = AddV2(d, p)\n"
                             "y = MatMul(e, w)",
                   {"y"}) == "Neg Tanh 1>1  Exp AddV2 2>1  ");
  BOOST_TEST(loops("a = Neg(b)\n c = Tanh(a)\n y = Reshape(c, five)\n five = Const(; value=int32[1]{5})\n"
                   "d = Exp(x)\n e = AddV2(d, b)\n z = MatMul(e, w)",
                   {"y", "z"}) == "Neg Tanh 1>1  Exp AddV2 2>1  ");
  BOOST_TEST(
      loops("a = Neg(x)\n c = AddV2(a, one)\n y = MatMul(c, w)\n d = Exp(w)\n e = AddV2(d, one)\n z = MatMul(e, w)",
            {"y", "z"}) == "Neg AddV2 2>1  Exp AddV2 2>1  ");
}

// What a gradient takes from the forward half.
BOOST_AUTO_TEST_CASE(what_one_other_loop_reads_is_computed_there) {
  // 1 - y * y beside y.
  const std::string layer = "p = AddV2(x, b)\n y = Tanh(p)\n q = MatMul(y, w)\n";
  BOOST_TEST(loops(layer + "s = Square(y)\n d = Sub(one, s)\n z = Mul(q, d)", {"z"}) ==
             "AddV2 Tanh 2>1  Square Sub Mul 3>1  ");
  // What is cheap is computed twice: of x * b, which both read, only x and b are kept.
  BOOST_TEST(loops("p = Mul(x, b)\n y = Erf(p)\n q = MatMul(y, w)\n s = Neg(p)\n z = Mul(q, s)", {"z"}) ==
             "Mul Erf 2>1  Mul Neg Mul 3>1  ");
  // What costs more is not, nor what takes more to read.
  BOOST_TEST(loops("p = Exp(x)\n y = Erf(p)\n q = MatMul(y, w)\n s = Neg(p)\n z = Mul(q, s)", {"z"}) ==
             "Exp Erf Neg 1>2  ");
  BOOST_TEST(loops("p = Mul(x, w)\n y = Erf(p)\n q = MatMul(y, w)\n z = Mul(q, p)", {"z"}) == "Mul Erf 2>2  ");
  // Nor what somebody else reads.
  BOOST_TEST(loops(layer + "s = Square(y)\n d = Sub(one, s)\n z = Mul(q, d)\n u = MatMul(d, w)", {"z", "u"}) ==
             "AddV2 Tanh Square Sub 3>2  ");
}

// Bits are the same whatever reads what, at whatever distance.
BOOST_AUTO_TEST_CASE(random_graphs_with_products) {
  std::mt19937 rng(11);
  const char* const unary[] = {"Neg", "Tanh", "Square", "Sigmoid", "Erf"};
  const char* const binary[] = {"AddV2", "Sub", "Mul", "Maximum"};
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<std::string> values = {"x", "w", "b"}, fetches;
    std::string text;
    const auto any = [&](size_t from) { return values[from + rng() % (values.size() - from)]; };
    for (size_t s = 0, steps = 4 + rng() % 40; s < steps; ++s) {
      const std::string name = "v" + std::to_string(s),
                        recent = any(values.size() - std::min<size_t>(values.size(), 6));
      if (rng() % 7 == 0) {
        text += "t" + name + " = Tanh(" + recent + ")\n" + name + " = MatMul(";
        text += (recent == "b" ? std::string("x") : "t" + name) + ", w)\n";
      } else if (rng() % 2 == 0) {
        text += name + " = " + unary[rng() % std::size(unary)] + "(" + recent + ")\n";
        if (recent == "b") text += name + "_ = AddV2(x, " + name + ")\n";
      } else {
        text += name + " = " + binary[rng() % std::size(binary)] + "(x, " + recent + ")\n";
        text += name + "_ = " + binary[rng() % std::size(binary)] + "(" + name + ", " + any(0) + ")\n";
      }
      values.push_back(text.find(name + "_ =") == std::string::npos ? name : name + "_");
      if (rng() % 5 == 0) fetches.push_back(values.back());
    }
    fetches.push_back(values.back());
    BOOST_TEST_CONTEXT(text) { loops(text, fetches); }
  }
}

// With shapes known at run time only, steps may turn out to be of different sizes.
BOOST_AUTO_TEST_CASE(shapes_known_when_it_runs) {
  const std::string text = R"(
    x = Placeholder(; dtype=float32, shape=[?])
    y = Placeholder(; dtype=float32, shape=[?])
    a = Neg(x)
    b = Exp(a)
    z = AddV2(b, y)
    w = Mul(z, a)
  )";
  for (const auto& [m, n] : {std::pair(5, 5), {1, 7}, {7, 1}, {0, 1}, {3000, 3000}}) {
    check_same(text, {{"x", numbers({m}, 1)}, {"y", numbers({n}, 2)}}, {"w"});
    check_same(text, {{"x", numbers({m}, 1)}, {"y", numbers({n}, 2)}}, {"b", "w"});
  }
}

// Random programs: values of several types are used several times, given out, written over one another.
BOOST_AUTO_TEST_CASE(random_programs) {
  std::mt19937 rng(7);
  const char* const unary[] = {"Neg", "Tanh", "Square", "Sigmoid", "Abs", "Erf", "Erfc", "Softplus", "Sin", "Cos"};
  const char* const binary[] = {"AddV2", "Sub", "Mul", "Maximum", "SquaredDifference", "FloorMod", "Pow"};
  struct Value {
    std::string name;
    char type;  // f, d, b
  };
  for (int trial = 0; trial < 80; ++trial) {
    const Shape full = trial % 3 == 0 ? Shape{50, 77} : trial % 3 == 1 ? Shape{9} : Shape{4, 300};
    std::string text;
    Feeds feeds;
    std::vector<Value> values;
    std::vector<std::string> fetches;
    for (int i = 0; i < 3; ++i) {
      const Shape shape = i == 0 ? full : i == 1 ? Shape{full[-1]} : Shape{};
      values.push_back({"x" + std::to_string(i), 'f'});
      text += values.back().name + " = Placeholder(; dtype=float32, shape=" + shape.to_string() + ")\n";
      feeds.emplace_back(values.back().name, numbers(shape, static_cast<unsigned>(rng())));
    }
    const auto any = [&](char type) {
      std::vector<std::string> of_type;
      for (const Value& v : values) {
        if (v.type == type) of_type.push_back(v.name);
      }
      return of_type.empty() ? std::string() : of_type[rng() % of_type.size()];
    };
    const size_t steps = 2 + rng() % 40;
    for (size_t s = 0; s < steps; ++s) {
      const std::string name = "v" + std::to_string(s);
      const char type = !any('d').empty() && rng() % 3 == 0 ? 'd' : 'f';
      char result = type;
      std::string call;
      switch (rng() % 8) {
        case 0: call = "Cast(" + any(type) + "; DstT=float32)", result = 'f'; break;
        case 1: call = "Cast(" + any(type) + "; DstT=float64)", result = 'd'; break;
        case 2: call = "Greater(" + any(type) + ", " + any(type) + ")", result = 'b'; break;
        case 3:
          if (!any('b').empty()) call = "SelectV2(" + any('b') + ", " + any(type) + ", " + any(type) + ")";
          break;
        case 4: call = std::string(unary[rng() % std::size(unary)]) + "(" + any(type) + ")"; break;
        default: break;
      }
      if (call.empty()) {
        call = std::string(binary[rng() % std::size(binary)]) + "(" + any(type) + ", " + any(type) + ")";
      }
      text.append(name).append(" = ").append(call).append("\n");
      values.push_back({name, result});
      if (rng() % 6 == 0) fetches.push_back(name);
    }
    text += "end = AddV2(x0, " + any('f') + ")\n y = Neg(end)\n";
    fetches.emplace_back("y");
    check_same(text, feeds, fetches);
  }
}

// What is written over an input that a later step reads is copied there at the end.
BOOST_AUTO_TEST_CASE(outputs_over_inputs) {
  const std::string text = R"(
    x = Placeholder(; dtype=float32, shape=[100,100])
    p = MatMul(x, x)
    q = MatMul(x, p)
    a = Neg(p)
    b = Mul(a, q)
    c = AddV2(b, p)
    d = Sub(c, q)
    s = MatMul(a, d)
    t = MatMul(b, c)
    y = AddV2(s, t)
    z = Neg(y)
  )";
  const Tensor x = numbers({100, 100}, 3);
  check_same(text, {{"x", x}}, {"z"});
  Session s(text_graph(text), {.passes = "elementwise"});
  s.run({"z"}, {{"x", x}});
  // a, b, c, d: two of them in place of p and q.
  BOOST_TEST(s.plan_stats().planned_bytes <= 5 * 40064);
}

BOOST_AUTO_TEST_CASE(faults_name_the_op) {
  const Graph g = text_graph(R"(
    x = Placeholder(; dtype=int32, shape=[2])
    zero = Sub(x, x)
    q = FloorDiv(x, zero)
    y = Neg(q)
  )");
  Session s(g, {.passes = "elementwise"});
  const std::string text = error_text([&] { s.run({"y"}, {{"x", tensor({1, 2})}}); });
  BOOST_TEST(text.find("integer division by zero [in FloorDiv]") != std::string::npos, text);
}

// Loops that count are such. Their steps run without tiles, also where outputs lie over inputs.
BOOST_AUTO_TEST_CASE(single_elements) {
  const std::string text = R"(
    i = Placeholder(; dtype=int32, shape=[])
    x = Placeholder(; dtype=float64, shape=[1,1])
    n = AddV2(i, i)
    more = Less(i, n)
    both = LogicalAnd(more, more)
    f = Cast(n; SrcT=int32, DstT=float64)
    y = Mul(x, f)
    z = Sub(y, x)
    w = Tanh(z)
  )";
  for (const int i : {3, -3}) check_same(text, {{"i", tensor(i)}, {"x", tensor({{0.25}})}}, {"n", "both", "w", "y"});
  Session s(text_graph("a = Placeholder(; dtype=int32, shape=[])\n b = Sub(a, a)\n c = FloorDiv(a, b)\n d = Neg(c)"),
            {.passes = "elementwise"});
  const std::string error = error_text([&] { s.run({"d"}, {{"a", tensor(7)}}); });
  BOOST_TEST(error.find("integer division by zero [in FloorDiv]") != std::string::npos, error);
}

BOOST_AUTO_TEST_CASE(programs_of_others_are_checked) {
  const auto text = [](const char* attrs) {
    return std::string("x = Placeholder(; dtype=float32, shape=[2])\n y = _FusedElementwise(x; Tout=[float32], ") +
           attrs + ")";
  };
  // A program that cannot be is refused when it is read; one with an op that is not here, when it is run.
  const auto message = [&](const char* attrs) {
    return error_text([&] { Session(text_graph(text(attrs))).run("y", {{"x", tensor({1.f, 2.f})}}); });
  };
  const auto says = [&](const char* attrs, const char* part) {
    const std::string got = message(attrs);
    BOOST_TEST(got.find(part) != std::string::npos, got);
  };
  says(R"(ops=["MatMul"], types=[float32], operands=[0, 0], outputs=[1])",
       "ops[0]: expected an elementwise op of one to three tensors, got MatMul");
  says(R"(ops=["Nonsense"], types=[float32], operands=[0], outputs=[1])", "got 'Nonsense'");
  says(R"(ops=["Neg"], types=[], operands=[0], outputs=[1])", "types: expected 1, one for each of `ops`, got 0");
  says(R"(ops=["Neg"], types=[float32], operands=[1], outputs=[1])", "operands: expected values in [0, 1)");
  says(R"(ops=["Neg"], types=[float32], operands=[-1], outputs=[1])", "operands: expected values in [0, 1)");
  says(R"(ops=["AddV2"], types=[float32], operands=[0], outputs=[1])", "operands: expected 2 more for ops[0], got 1");
  says(R"(ops=["Neg"], types=[float32], operands=[0, 0], outputs=[1])", "got 1 more");
  says(R"(ops=["Neg"], types=[int32], operands=[0], outputs=[1])", "ops[0]: expected operands that Neg of int32 takes");
  says(R"(ops=["Neg"], types=[float32], operands=[0], outputs=[0])", "outputs[0]: expected the value of a step");
  says(R"(ops=["Neg"], types=[float32], operands=[0], outputs=[])", "outputs: expected 1, got 0");
  says(R"(ops=["Neg", "Less"], types=[float32, float32], operands=[0, 0, 1], outputs=[2])",
       "type of output 0: expected bool, got float32");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
