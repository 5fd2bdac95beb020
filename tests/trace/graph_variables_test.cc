// Variables of graphs: what initializes them, by TensorFlow's names, and those without a shape.
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/trace/graph_scope.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(graph_variables)

// By TensorFlow's old names, and one variable at a time.
BOOST_AUTO_TEST_CASE(initializers_of_variables) {
  Graph g;
  Variable v, w, counter;
  Operation all, some, local;
  {
    const GraphScope in(g);
    v = Variable(tensor({1.f, 2.f}), "v");
    w = Variable(v.initialized_value() * 2.f, "w");
    const VariableUseScope kept(VariableUse::kLocal);
    counter = Variable(tensor(0.f), "counter");
    BOOST_TEST((global_variables()[1].initializer() == w.initializer()));
    BOOST_TEST((find_variable("v")->initializer() == v.initializer()));
    BOOST_TEST((local_variables()[0].initializer() == counter.initializer()));
    BOOST_TEST(!find_variable("none").has_value());
    all = initialize_all_variables();
    some = initialize_variables({w});
    local = initialize_local_variables();
  }
  BOOST_TEST(v.initializer().name() == "v/Assign");
  Session one(g);
  one.run(w.initializer());  // of v's first value, whether v has it or not
  expect_near(one.run(w), {2}, {2, 4});
  BOOST_TEST(error_text([&] { one.run(v); }).starts_with("FailedPrecondition: "));
  one.run(v.initializer());
  expect_near(one.run(v), {2}, {1, 2});
  Session other(g);
  other.run(some);
  BOOST_TEST(error_text([&] { other.run(v); }).starts_with("FailedPrecondition: "));
  other.run(all);
  expect_near(other.run(v), {2}, {1, 2});
  BOOST_TEST(error_text([&] { other.run(counter); }).starts_with("FailedPrecondition: "));
  other.run(local);
  expect_near(other.run(counter), {}, {0});
  // One that has its value has nothing to be run.
  BOOST_TEST(!Variable(tensor(1.f), "eager").initializer().defined());
}

BOOST_AUTO_TEST_CASE(variables_without_a_shape_of_their_own) {
  Graph g;
  Variable v;
  Operation longer;
  {
    const GraphScope in(g);
    v = Variable(tensor({1.f, 2.f}), "v", {.validate_shape = false});
    longer = v.assign(tensor({1.f, 2.f, 3.f}));
    BOOST_TEST(!v.value().partial_shape().known_rank());
  }
  Session s(g);
  s.run(v.initializer());
  expect_near(s.run(v), {2}, {1, 2});
  s.run(longer);
  expect_near(s.run(v), {3}, {1, 2, 3});
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
