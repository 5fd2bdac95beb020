// Session.run as in TensorFlow 1: fetches of every kind, numbers as feeds, graphs that grow, variables that begin with
// other variables' values.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "panto/lib/core/call/scopes.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/runtime/session.h"
#include "panto/lib/runtime/session/nested_fetches.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/expect.h"
#include "panto/trace/graph_scope.h"

namespace panto::test {
namespace {

// y = x * w, w begins with 3 and grows by 1 at each `step`.
struct Model {
  Graph graph;
  Tensor x, y;
  Variable w;
  Operation init, step;

  Model() {
    const GraphScope in(graph);
    x = placeholder(kFloat32, {}, "x");
    w = Variable(tensor(3.f), "w");
    y = named("y", x * w);
    init = global_variables_initializer();
    step = w.assign_add(tensor(1.f));
  }
};

float number(const Tensor& t) { return t.item<float>(); }

BOOST_AUTO_TEST_SUITE(fetches)

BOOST_AUTO_TEST_CASE(one_fetch_gives_a_tensor_and_a_list_gives_a_list) {
  Model m;
  Session s(m.graph);
  BOOST_TEST(!s.run(m.init).defined());
  BOOST_TEST(number(s.run(m.y, {{m.x, tensor(2.f)}})) == 6);
  BOOST_TEST(number(s.run("y", {{"x", tensor(2.f)}})) == 6);
  BOOST_TEST(number(s.run({m.y}, {{m.x, tensor(2.f)}})[0]) == 6);
  const std::vector<Tensor> mixed = s.run({m.y, "x:0", m.w, m.step, "^y"}, {{m.x, tensor(2.f)}});
  BOOST_REQUIRE(mixed.size() == 5U);
  BOOST_TEST(number(mixed[1]) == 2);
  BOOST_TEST(number(mixed[2]) == 4);  // a variable is read when everything has run
  BOOST_TEST(!mixed[3].defined());
  BOOST_TEST(!mixed[4].defined());
  const auto [y, w] = s.run<2>({m.y, m.w}, {{m.x, tensor(10.f)}});
  BOOST_TEST(number(y) == 40);
  BOOST_TEST(number(w) == 4);
  expect_error([&] { s.run<3>({m.y, m.w}); }, "InvalidArgument: run: expected 3 fetches, got 2");
  const std::vector<std::string> names = {"y", "x"};
  BOOST_TEST(s.run(Fetches(names.begin(), names.end()), {{"x", 1.f}}).size() == 2U);
}

BOOST_AUTO_TEST_CASE(numbers_are_fed_as_the_type_that_is_wanted) {
  Graph graph;
  {
    const GraphScope in(graph);
    named("sum", placeholder(kFloat32, {}, "f") + placeholder(kFloat32, PartialShape(), "any"));
    identity(placeholder(kInt64, {}, "i"));
    named("not", logical_not(placeholder(kBool, {}, "b")));
    placeholder(kUint8, {}, "small");
    placeholder(kFloat32, {2}, "pair");
  }
  Session s(graph);
  BOOST_TEST(number(s.run("sum", {{"f", 0.5}, {"any", 2}})) == 2.5f);
  BOOST_TEST(s.run("i", {{"i", int64_t{1} << 40}}).item<int64_t>() == int64_t{1} << 40);
  BOOST_TEST(s.run("not", {{"b", true}}).item<bool>() == false);
  const Variable held(tensor(7.f));
  BOOST_TEST(number(s.run("sum", {{"f", held}, {"any", 1}})) == 8);
  expect_error([&] { s.run("i", {{"i", 0.5}}); },
               "InvalidArgument: feed 'i': expected a value of type int64, got the number 0.5");
  expect_error([&] { s.run("small", {{"small", 256}}); },
               "InvalidArgument: feed 'small': expected a value that fits uint8, got 256");
  expect_error([&] { s.run("pair", {{"pair", 1}}); },
               "InvalidArgument: feed 'pair': expected float32[2], got float32[]");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_fetched_or_fed) {
  Model m, other;
  Session s(m.graph);
  s.run(m.init);
  expect_error([&] { s.run(other.step); },
               "InvalidArgument: operation: expected one of this graph, got 'AssignAddVariableOp' [fetch "
               "'AssignAddVariableOp']");
  expect_error_begins([&] { s.run(other.w); }, "InvalidArgument: variable: expected one of this graph, got ");
  expect_error([&] { s.run(Operation()); },
               "InvalidArgument: operation: expected one of this graph, got an undefined one (it has run already) "
               "[fetch nothing]");
  expect_error_begins([&] { s.run(Tensor()); }, "InvalidArgument: symbolic tensor: expected one of this graph, got ");
  expect_error([&] { s.run(m.y, {{m.step, 1.f}}); },
               "InvalidArgument: feed: expected a tensor, got 'AssignAddVariableOp' [feed 'AssignAddVariableOp']");
  Session fresh(m.graph);
  expect_error_begins([&] { fresh.run(m.w); }, "FailedPrecondition: variable \"w\": expected an initialized one");
}

BOOST_AUTO_TEST_CASE(a_variable_from_outside_is_read_too) {
  const Variable outside(tensor(5.f), "outside");
  Graph graph;
  Operation step;
  {
    const GraphScope in(graph);
    step = outside.assign_add(tensor(2.f));
  }
  Session s(graph);
  const std::vector<Tensor> got = s.run({step, outside});
  BOOST_TEST(number(got[1]) == 7);
  BOOST_TEST(number(outside.value()) == 7);
}

BOOST_AUTO_TEST_CASE(nodes_that_are_added_later_are_known) {
  Model m;
  Session s(m.graph);
  s.run(m.init);
  s.run(m.step);
  Tensor z;
  Variable v;
  {
    const GraphScope in(m.graph);
    z = m.y + 1.f;
    v = Variable(tensor(20.f), "v");
    global_variables_initializer("init_v");
  }
  BOOST_TEST(number(s.run(z, {{m.x, 2}})) == 9);  // the session's w is still 4
  s.run("^v/Assign");
  BOOST_TEST(number(s.run(v)) == 20);
  Graph moved = std::move(m.graph);
  {
    const GraphScope in(moved);
    named("late", m.y * 2.f);
  }
  BOOST_TEST(number(s.run("late", {{m.x, 2}})) == 16);
  BOOST_TEST(number(s.run(m.y, {{m.x, 2}})) == 8);
}

BOOST_AUTO_TEST_CASE(a_session_outlives_the_graph) {
  auto m = std::make_unique<Model>();
  Session s(m->graph);
  const Operation init = m->init;
  const Tensor x = m->x, y = m->y;
  const Variable w = m->w;
  m.reset();
  s.run(init);
  BOOST_TEST(number(s.run(y, {{x, 2}})) == 6);
  BOOST_TEST(number(s.run(w)) == 3);
  Session moved = std::move(s);
  BOOST_TEST(number(moved.run(w)) == 3);

  Model other;
  Session owner(std::move(other.graph));
  owner.run(other.init);
  BOOST_TEST(number(owner.run(other.y, {{other.x, 1}})) == 3);
}

BOOST_AUTO_TEST_CASE(variables_that_begin_with_another_ones_value) {
  Graph graph;
  Variable a, twice, copy;
  Operation init;
  {
    const GraphScope in(graph);
    a = Variable(tensor(4.f), "a");
    twice = Variable(a.initialized_value() * 2.f, "twice");
    init = global_variables_initializer();
  }
  Session s(graph);
  s.run(init);
  BOOST_TEST(number(s.run(twice)) == 8);
  const Variable eager(tensor(1.f));
  eager.assign(tensor(2.f));
  BOOST_TEST(number(eager.initialized_value()) == 2);
}

BOOST_AUTO_TEST_CASE(variables_that_begin_with_random_numbers) {
  Graph graph;
  Variable w, b;
  {
    const GraphScope in(graph);
    w = Variable(random_normal({100, 50}, {.stddev = 0.5}), "w");
    b = Variable(random_uniform({1000}, {.min = 2, .max = 3}), "b");
    global_variables_initializer();
  }
  // It can be written, and what was read back runs.
  const Graph copy = parse_graph(to_graph_def(graph));
  Session s(copy);
  s.run("init");
  Session one(graph), two(graph);
  set_seed(7);
  one.run("init");
  const Tensor first = one.run(w), low = one.run(b);
  BOOST_TEST(std::abs(mean(first).item<float>()) < 0.05f);
  BOOST_TEST(std::abs(mean(square(first)).item<float>() - 0.25f) < 0.02f);
  BOOST_TEST(reduce_min(low).item<float>() >= 2.f);
  BOOST_TEST(reduce_max(low).item<float>() < 3.f);
  set_seed(7);
  two.run("init");
  BOOST_TEST(reduce_all(equal(two.run(w), first)).item<bool>());
  two.run("init");
  BOOST_TEST(!reduce_all(equal(two.run(w), first)).item<bool>());
}

BOOST_AUTO_TEST_CASE(assignments_give_nothing_to_run_where_they_are_done) {
  const Variable v(tensor(1.f));
  BOOST_TEST(!v.assign(tensor(2.f)).defined());
  BOOST_TEST(!v.assign_add(tensor(2.f)).defined());
  BOOST_TEST(v.assign_sub(tensor(1.f)).name() == "");
  BOOST_TEST(number(v.value()) == 3);
}

BOOST_AUTO_TEST_CASE(groups_of_any_mix) {
  Graph graph;
  Variable a, b;
  Operation all;
  {
    const GraphScope in(graph);
    a = Variable(tensor(1.f), "a");
    b = Variable(tensor(2.f), "b");
    const Operation first = a.assign_add(tensor(10.f));
    const Tensor seen = named("seen", b.value());
    all = group({first, "b/Assign", seen});
    const std::vector<Operation> list = {first};
    group(list, "alone");
    expect_error_begins([&] { group({"c"}); }, "NotFound: node: expected a name of the graph, got 'c'");
    {
      const ControlDependencies after({all, "alone"});
      named("last", tensor(5.f) + 0.f);
    }
    global_variables_initializer();
  }
  BOOST_TEST(graph.at("last").control_inputs().size() == 2U);
  Session s(graph);
  s.run("init");
  s.run(all);
  BOOST_TEST(number(s.run(a)) == 11);
  BOOST_TEST(number(s.run("last")) == 5);
  BOOST_TEST(number(s.run(a)) == 21);
}

BOOST_AUTO_TEST_CASE(a_structure_gives_a_structure) {
  Model m;
  Session s(m.graph);
  s.run(m.init);
  const Fetched r = run_nested(s, {m.y, {"x", {m.w}}, {}, m.step}, {{"x", 2}});
  BOOST_TEST(r.size() == 4U);
  BOOST_TEST(number(r[0].value()) == 6);
  BOOST_TEST(number(r[1][0].value()) == 2);
  BOOST_TEST(number(r[1][1][0].value()) == 4);  // one run: the variable is read after the step
  BOOST_TEST(r[2].size() == 0U);
  BOOST_TEST(!r[3].value().defined());
  BOOST_TEST(number(run_nested(s, m.y, {{"x", 2}}).value()) == 8);
  const Fetched n = run_nested(s, FetchTree::named({{"product", m.y}, {"both", {"x", "y"}}}), {{"x", 3}});
  BOOST_TEST(number(n["product"].value()) == 12);
  BOOST_TEST(number(n["both"][1].value()) == 12);
  expect_error([&] { n["other"]; }, "NotFound: fetched: expected a name that was fetched, got 'other'");
  expect_error([&] { n["both"][2]; }, "OutOfRange: fetched: expected an item below 2, got 2");
  expect_error([&] { n["both"].value(); }, "InvalidArgument: fetched: expected a value, got a list of 2");
  expect_error([&] { FetchTree::named({{"a", "x"}, {"a", "y"}}); },
               "InvalidArgument: fetches: expected each name once, got 'a' twice");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
