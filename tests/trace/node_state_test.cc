// What nodes keep between runs, generators of random numbers and counts of prints, belongs to the function: it goes on
// for new shapes, under other passes and under a tape.
#include <string>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/tests/written.h"
#include "panto/trace/control/control_flow.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

const TensorSpec kVector(kFloat64, {-1}, "x");
using List = std::vector<Tensor>;

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(node_states)

// Draws of four numbers each, by a node that has seeds.
Tensor draw(int64_t seed = 3) { return stateful_random_uniform({4}, kFloat64, {.seed = seed, .seed2 = 5}); }

// The numbers of the first `count` calls of a function that is called in one way only.
std::vector<std::vector<double>> drawn(int count) {
  const Function f = trace([](const Tensor& a) { return draw() + 0.0 * sum(a); }, {kVector});
  std::vector<std::vector<double>> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(values_of(f(tensor({1.0}))));
  for (int i = 1; i < count; ++i) BOOST_TEST((numbers[static_cast<size_t>(i)] != numbers[0]));
  return numbers;
}

BOOST_AUTO_TEST_CASE(generators_go_on_whatever_the_call_is_compiled_for) {
  const auto numbers = drawn(8);
  const Function f = trace([](const Tensor& a) { return draw() + 0.0 * sum(a); }, {kVector});
  const Tensor one = tensor({1.0}), two = tensor({1.0, 2.0}), three = tensor({1.0, 2.0, 3.0});
  BOOST_TEST((values_of(f(one)) == numbers[0]));
  BOOST_TEST((values_of(f(two)) == numbers[1]));
  f.set_optimizer("off");
  BOOST_TEST((values_of(f(two)) == numbers[2]));
  f.set_optimizer("-cse,-elementwise");
  BOOST_TEST((values_of(f(one)) == numbers[3]));
  f.set_optimizer("");
  BOOST_TEST((values_of(f(three)) == numbers[4]));
  {
    GradientTape tape;
    tape.watch(three);
    BOOST_TEST((values_of(f(three)) == numbers[5]));
  }
  {
    GradientTape outer, inner({.persistent = true});
    inner.watch(two);
    outer.watch(two);
    BOOST_TEST((values_of(f(two)) == numbers[6]));
  }
  BOOST_TEST((values_of(f(one)) == numbers[7]));
}

// Traced anew for each shape, it is one function still.
BOOST_AUTO_TEST_CASE(generators_go_on_in_new_traces) {
  const auto numbers = drawn(4);
  const Function f = trace([](const Tensor& a) { return draw() + 0.0 * sum(a); });
  BOOST_TEST((values_of(f(tensor({1.0}))) == numbers[0]));
  BOOST_TEST((values_of(f(tensor({1.0, 2.0}))) == numbers[1]));
  BOOST_TEST((values_of(f(tensor({1.F, 2.F, 3.F}))) == numbers[2]));
  BOOST_TEST((values_of(f(tensor({1.0}))) == numbers[3]));
  BOOST_TEST(f.num_traces() == 3);
}

// Nodes that are others in another trace share nothing.
BOOST_AUTO_TEST_CASE(traces_with_other_nodes) {
  const auto numbers = drawn(2);
  const Function f = trace([](const Tensor& a) { return draw(a.dim(0) == 1 ? 3 : 4) + 0.0 * sum(a); });
  BOOST_TEST((values_of(f(tensor({1.0}))) == numbers[0]));
  const auto other = values_of(f(tensor({1.0, 2.0})));
  BOOST_TEST((other != numbers[0]));
  BOOST_TEST((other != numbers[1]));
  BOOST_TEST((values_of(f(tensor({1.0}))) == numbers[1]));
  // One name, two ops.
  const Function mixed = trace([](const Tensor& a) {
    return a.dim(0) == 1 ? named("node", draw()) + 0.0 * sum(a)
                         : named("node", print_data(a, {tensor(1)}, {.message = "p", .first_n = 1}));
  });
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST((values_of(mixed(tensor({1.0}))) == numbers[static_cast<size_t>(i)]));
    BOOST_TEST(test::written([&] { mixed(tensor({1.0, 2.0})); }) == (i == 0 ? "p[1]\n" : ""));
  }
}

BOOST_AUTO_TEST_CASE(functions_share_nothing) {
  const auto numbers = drawn(2);
  const auto fn = [](const Tensor& a) { return draw() + 0.0 * sum(a); };
  const Function f = trace(fn, {kVector}), g = trace(fn, {kVector});
  for (size_t i = 0; i < 2; ++i) {
    BOOST_TEST((values_of(f(tensor({1.0}))) == numbers[i]));
    BOOST_TEST((values_of(g(tensor({1.0}))) == numbers[i]));
  }
}

BOOST_AUTO_TEST_CASE(prints_are_counted_over_all_shapes) {
  const Function f =
      trace([](const Tensor& a) { return print_data(a, {tensor(1)}, {.message = "printed", .first_n = 3}) * 2.0; },
            {kVector});
  const auto text = [&](const Tensor& x) { return test::written([&] { f(x); }); };
  const Tensor one = tensor({1.0}), two = tensor({1.0, 2.0});
  BOOST_TEST(text(one) == "printed[1]\n");
  BOOST_TEST(text(two) == "printed[1]\n");
  {
    GradientTape tape;
    tape.watch(two);
    BOOST_TEST(text(two) == "printed[1]\n");
  }
  BOOST_TEST(text(one).empty());
  f.set_optimizer("off");
  BOOST_TEST(text(tensor({1.0, 2.0, 3.0})).empty());
}

// A forward run under a tape draws once, and its gradient belongs to what was drawn.
BOOST_AUTO_TEST_CASE(gradients_belong_to_what_was_drawn) {
  const auto numbers = drawn(3);
  const Function f = trace([](const Tensor& a) { return draw() * a; }, {kVector});
  const Tensor x = tensor({1.0, 1.0, 1.0, 1.0});
  for (size_t i = 0; i < 3; ++i) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    BOOST_TEST((values_of(y) == numbers[i]));
    BOOST_TEST((values_of(tape.gradient(y, x)) == numbers[i]));
  }
}

// Two copies of one function's body are two nodes, wherever they came from.
BOOST_AUTO_TEST_CASE(copies_of_a_body_have_states_of_their_own) {
  const auto numbers = drawn(3);
  const Function inner = trace([](const Tensor& a) { return draw() + 0.0 * sum(a); }, {kVector});
  const Function f = trace([&](const Tensor& a) { return pack({inner(a), inner(a)}); }, {kVector});
  const Function printing =
      trace([](const Tensor& a) { return print_data(a, {tensor(1)}, {.message = "once", .first_n = 1}); }, {kVector});
  const Function twice = trace([&](const Tensor& a) { return printing(printing(a)); }, {kVector});
  for (size_t i = 0; i < 3; ++i) {
    const Tensor both = f(tensor({1.0, 2.0}));
    BOOST_TEST((values_of(both[0]) == numbers[i]));
    BOOST_TEST((values_of(both[1]) == numbers[i]));
    BOOST_TEST(test::written([&] { twice(tensor({1.0})); }) == (i == 0 ? "once[1]\nonce[1]\n" : ""));
    BOOST_TEST(test::written([&] { printing(tensor({1.0})); }) == (i == 0 ? "once[1]\n" : ""));
  }
  BOOST_TEST((values_of(inner(tensor({1.0}))) == numbers[0]));
}

// Equal nodes are told apart by their order, not by names.
BOOST_AUTO_TEST_CASE(nodes_of_traces_are_matched_by_their_order) {
  const auto numbers = drawn(4);
  const Function f = trace([](const Tensor& a) {
    const bool one = a.dim(0) == 1;
    const Tensor first = named(one ? "x" : "y", draw()), second = named(one ? "y" : "x", draw());
    return pack({first, second + 0.0 * sum(a)});
  });
  for (size_t i = 0; i < 4; ++i) {
    const Tensor both = f(i % 2 == 0 ? tensor({1.0}) : tensor({1.0, 2.0}));
    BOOST_TEST((values_of(both[0]) == numbers[i]));
    BOOST_TEST((values_of(both[1]) == numbers[i]));
  }
}

// A session knows a node by its id, whatever it is called.
BOOST_AUTO_TEST_CASE(nodes_of_sessions_are_known_by_id) {
  const auto numbers = drawn(4);
  Graph graph;
  const auto add_draw = [&](const char* name) {
    const GraphScope building(graph);
    named(name, draw());
  };
  add_draw("a");
  Session session(graph);
  BOOST_TEST((values_of(session.run("a")) == numbers[0]));
  graph.rename(graph.at("a").id(), "b");
  BOOST_TEST((values_of(session.run("b")) == numbers[1]));
  add_draw("c");
  BOOST_TEST((values_of(session.run("c")) == numbers[0]));
  graph.rename(graph.at("b").id(), "d");
  BOOST_TEST((values_of(session.run("d")) == numbers[2]));
  // The first one's name is taken over, not what it kept.
  graph.remove(graph.at("d").id());
  graph.rename(graph.at("c").id(), "e");
  BOOST_TEST((values_of(session.run("e")) == numbers[1]));
}

// Another session of the graph goes on where one stood, whether its nodes are made by then or not; and those that did
// not run begin.
BOOST_AUTO_TEST_CASE(sessions_go_on_where_others_stood) {
  const auto numbers = drawn(4);
  Graph graph;
  {
    const GraphScope building(graph);
    named("seeded", draw());
    named("free", random_uniform({4}, {.dtype = kFloat64}));
    named("later", draw());
  }
  Session first(graph), second(graph);
  BOOST_TEST(first.node_positions().empty());
  for (int i = 0; i < 2; ++i) first.run({"seeded", "free"});
  const std::string position = first.node_positions();
  std::vector<std::vector<double>> free;
  for (int i = 0; i < 2; ++i) free.push_back(values_of(first.run("free")));
  second.run("later");
  second.go_to(position);
  BOOST_TEST((second.node_positions() == position));
  const std::vector<int64_t> before = random_generator().value().to_vector<int64_t>();
  for (size_t i = 0; i < 2; ++i) BOOST_TEST((values_of(second.run("free")) == free[i]));
  BOOST_TEST(random_generator().value().to_vector<int64_t>() == before);  // a node that goes on draws no seed
  BOOST_TEST((values_of(second.run("seeded")) == numbers[2]));
  BOOST_TEST((values_of(second.run("later")) == numbers[0]));
  second.go_to(position);  // of nodes that there are
  BOOST_TEST((values_of(second.run("free")) == free[0]));
  BOOST_TEST((values_of(second.run("later")) == numbers[0]));
  for (const char* bytes : {"\x7f", "\x01", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x01g"}) {
    expect_error_begins([&] { second.go_to(bytes); }, "DataLoss: ");
  }
  BOOST_TEST((values_of(second.run("free")) == free[1]));  // as before
}

// Their nodes are made when they run: nobody could tell them where to begin.
BOOST_AUTO_TEST_CASE(nodes_in_conditionals_have_no_position) {
  Graph graph;
  {
    const GraphScope building(graph);
    const Tensor yes = placeholder(kBool, {}, "yes");
    named("seldom", cond(yes, [] { return draw(); }, [] { return tensor({0.0, 0.0, 0.0, 0.0}); }));
  }
  Session session(graph);
  session.run("seldom", {{"yes", false}});
  BOOST_TEST(session.node_positions().empty());
  session.run("seldom", {{"yes", true}});
  expect_error_begins([&] { (void)session.node_positions(); },
                      "FailedPrecondition: place of random numbers: expected none in conditionals and loops");
}

// Passes give other names to other nodes, never to these.
BOOST_AUTO_TEST_CASE(names_that_passes_give_do_not_count) {
  const auto numbers = drawn(3);
  const Function f = trace(
      [](const Tensor& a) {
        const Tensor noise = named("noise", draw());
        return named("result", named("noise_1", noise + 0.0) * 1.0 + named("zero", a * 0.0));
      },
      {TensorSpec(kFloat64, {4})});
  const Tensor x = tensor({1.0, 1.0, 1.0, 1.0});
  size_t i = 0;
  for (const char* passes : {"", "off", "cse"}) {
    f.set_optimizer(passes);
    BOOST_TEST((values_of(f(x)) == numbers[i++]));
  }
}

BOOST_AUTO_TEST_CASE(an_optimizer_that_is_none) {
  const Function f = trace([](const Tensor& a) { return a * 2.0; }, {kVector});
  for (const char* text : {"nonsense", "cse,nonsense", "-nonsense", "cse,"}) {
    expect_error_begins([&] { f.set_optimizer(text); },
                        "InvalidArgument: passes: expected 'off' or names of prune, constant_folding, ");
  }
  expect_near(f(tensor({1.0})), {1}, {2});  // as before
  f.set_optimizer("-cse,-fusion");
  expect_near(f(tensor({1.0})), {1}, {2});
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
