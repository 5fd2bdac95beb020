// Runs in parts: each node once, feeds and fetches once each.
#include <boost/test/unit_test.hpp>

#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/text_graph.h"

namespace panto::test {
namespace {

constexpr const char* kGraph = R"(
  a = Placeholder(; dtype=float32, shape=[])
  b = Placeholder(; dtype=float32, shape=[])
  c = Placeholder(; dtype=float32, shape=[])
  r1 = AddV2(a, b)
  r2 = Mul(r1, c)
  unused = Identity(c)
  v = VarHandleOp(; dtype=float32, shape=[], shared_name="v")
  one = Const(; value=float32{1})
  init = AssignVariableOp(v, one)
  grow = AssignAddVariableOp(v, a)
  read = ReadVariableOp(v; dtype=float32)
  after = ReadVariableOp(v, ^grow; dtype=float32)
  after_b = AddV2(after, b)
  dims = Const(; value=int32[0]{})
  random = RandomUniform(dims; dtype=float32)
  random_a = Mul(random, a)
  random_b = Mul(random, b)
  axis = Const(; value=int32{0})
  pair = Pack(a, b)
  parts = Split(axis, pair; num_split=2)
  left = Identity(parts)
  right = Mul(parts:1, c)
  i = Placeholder(; dtype=int32, shape=[])
  ten = Const(; value=int32{10})
  quotient = FloorDiv(ten, i)
)";

constexpr const char* kUsedUp =
    "InvalidArgument: partial_run: expected a handle of partial_run_setup that is not used up, got another";

float number(const Tensor& t) { return t.item<float>(); }
float number(const std::vector<Tensor>& values) { return values.at(0).item<float>(); }

BOOST_AUTO_TEST_SUITE(partial_runs)

BOOST_AUTO_TEST_CASE(a_part_uses_what_an_earlier_one_made) {
  Session s(text_graph(kGraph));
  for (int turn = 0; turn < 3; ++turn) {  // the second time with plans that are there
    const auto k = static_cast<float>(turn);
    const std::string handle = s.partial_run_setup({"r1", "r2:0"}, {"a", "b:0", "c"});
    BOOST_TEST(s.partial_run(handle, {}, {{"a", k}}).empty());
    const float r1 = number(s.partial_run(handle, {"r1:0"}, {{"b", 2.f}}));
    BOOST_TEST(r1 == k + 2.f);
    BOOST_TEST(number(s.partial_run(handle, {"r2"}, {{"c", r1 * 17.f}})) == r1 * r1 * 17.f);
    expect_error([&] { s.partial_run(handle, {"r2"}); }, kUsedUp);
  }
}

BOOST_AUTO_TEST_CASE(runs_do_not_see_each_other) {
  Session s(text_graph(kGraph));
  const std::string one = s.partial_run_setup({"r1", "r2"}, {"a", "b", "c"});
  const std::string two = s.partial_run_setup({"r1", "r2"}, {"a", "b", "c"});
  BOOST_TEST(one != two);
  BOOST_TEST(number(s.partial_run(one, {"r1"}, {{"a", 1.f}, {"b", 1.f}})) == 2.f);
  BOOST_TEST(number(s.partial_run(two, {"r1"}, {{"a", 2.f}, {"b", 3.f}})) == 5.f);
  BOOST_TEST(number(s.partial_run(one, {"r2"}, {{"c", 10.f}})) == 20.f);
  BOOST_TEST(number(s.partial_run(two, {"r2"}, {{"c", 10.f}})) == 50.f);
}

BOOST_AUTO_TEST_CASE(random_nodes_draw_once) {
  Session s(text_graph(kGraph));
  const std::string handle = s.partial_run_setup({"random_a", "random", "random_b"}, {"a", "b"});
  const float first = number(s.partial_run(handle, {"random_a"}, {{"a", 2.f}}));
  BOOST_TEST(number(s.partial_run(handle, {"random"})) == first / 2.f);
  BOOST_TEST(number(s.partial_run(handle, {"random_b"}, {{"b", 4.f}})) == first * 2.f);
}

BOOST_AUTO_TEST_CASE(effects_happen_once_and_as_soon_as_they_can) {
  Session s(text_graph(kGraph));
  s.run("init");
  const std::string handle = s.partial_run_setup({"r1", "grow", "after", "after_b"}, {"a", "b"});
  s.partial_run(handle, {}, {{"a", 4.f}});
  BOOST_TEST(number(s.run("read")) == 5.f);  // nobody asked for `grow` yet
  BOOST_TEST(number(s.partial_run(handle, {"after"})) == 5.f);
  BOOST_TEST(number(s.partial_run(handle, {"after_b"}, {{"b", 1.f}})) == 6.f);
  BOOST_TEST(!s.partial_run(handle, {"grow"})[0].defined());  // ran long ago
  BOOST_TEST(number(s.partial_run(handle, {"r1"})) == 5.f);
  BOOST_TEST(number(s.run("read")) == 5.f);
}

BOOST_AUTO_TEST_CASE(each_output_of_a_node_by_itself) {
  Session s(text_graph(kGraph));
  const std::string handle = s.partial_run_setup({"left", "right", "parts:1", "a"}, {"a", "b", "c"});
  const auto first = s.partial_run(handle, {"left", "a"}, {{"a", 3.f}, {"b", 5.f}});
  BOOST_TEST(number(first[0]) == 3.f);
  BOOST_TEST(number(first[1]) == 3.f);
  BOOST_TEST(number(s.partial_run(handle, {"right"}, {{"c", 2.f}})) == 10.f);
  BOOST_TEST(number(s.partial_run(handle, {"parts:1"})) == 5.f);
}

BOOST_AUTO_TEST_CASE(any_tensor_may_be_fed) {
  Session s(text_graph(kGraph));
  const std::string handle = s.partial_run_setup({"r1", "r2"}, {"a", "b", "r1", "c"});
  BOOST_TEST(number(s.partial_run(handle, {"r2"}, {{"r1", 6.f}, {"c", 2.f}})) == 12.f);
  BOOST_TEST(number(s.partial_run(handle, {"r1"})) == 6.f);
}

BOOST_AUTO_TEST_CASE(variables_and_tensors_that_are_fetched) {
  Session s(text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[?])
    t = Tanh(x)
    z = Placeholder(; dtype=float32, shape=[?])
    y = Mul(t, z)
  )"));
  for (const int64_t n : {2, 3, 2}) {
    const std::string handle = s.partial_run_setup({"t", "y"}, {"x", "z"});
    const Tensor t = s.partial_run(handle, {"t"}, {{"x", ones({n})}})[0];
    BOOST_TEST(t.numel() == n);
    const Tensor y = s.partial_run(handle, {"y"}, {{"z", fill({n}, 2.f)}})[0];
    for (int64_t k = 0; k < n; ++k) BOOST_TEST(y(k).item<float>() == 2 * t(k).item<float>());
  }
}

BOOST_AUTO_TEST_CASE(a_loop_is_in_one_part) {
  Session s(text_graph(R"(
    n = Placeholder(; dtype=int32, shape=[])
    m = Placeholder(; dtype=int32, shape=[])
    zero = Const(; value=int32{0})
    one = Const(; value=int32{1})
    start = Enter(zero; frame_name="loop")
    start2 = Enter(one; frame_name="loop")
    limit = Enter(n; frame_name="loop", is_constant=true)
    by = Enter(one; frame_name="loop", is_constant=true)
    merge = Merge(start, next)
    merge2 = Merge(start2, next2)
    less = Less(merge, limit)
    go = LoopCond(less)
    switch = Switch(merge, go)
    switch2 = Switch(merge2, go)
    add = AddV2(switch:1, by)
    twice = AddV2(switch2:1, switch2:1)
    next = NextIteration(add)
    next2 = NextIteration(twice)
    exit = Exit(switch)
    exit2 = Exit(switch2)
    sum = AddV2(exit2, m)
  )"));
  const std::string handle = s.partial_run_setup({"exit", "exit2", "sum"}, {"n", "m"});
  BOOST_TEST(s.partial_run(handle, {"exit"}, {{"n", 5}})[0].item<int32_t>() == 5);
  BOOST_TEST(s.partial_run(handle, {"exit2"})[0].item<int32_t>() == 32);
  BOOST_TEST(s.partial_run(handle, {"sum"}, {{"m", 1}})[0].item<int32_t>() == 33);
}

BOOST_AUTO_TEST_CASE(what_is_refused_and_changes_nothing) {
  Session s(text_graph(kGraph));
  expect_error([&] { s.partial_run_setup({}, {"a"}); },
               "InvalidArgument: partial_run_setup: expected something to fetch or run, got nothing");
  expect_error([&] { s.partial_run_setup({"r1"}, {"a", "a:0"}); },
               "InvalidArgument: feeds: expected each tensor once, got 'a' twice");
  expect_error([&] { s.partial_run("a handle", {"r1"}); }, kUsedUp);
  const std::string handle = s.partial_run_setup({"r1", "r2"}, {"a", "b", "c"});
  expect_error([&] { s.partial_run(handle, {"r2"}, {{"a", 1.f}}); },
               "InvalidArgument: partial_run: expected feeds for all that is fetched, got none yet for 'c', 'b'");
  s.partial_run(handle, {}, {{"a", 1.f}});
  expect_error([&] { s.partial_run(handle, {}, {{"a", 2.f}}); },
               "InvalidArgument: feed 'a': expected to be fed once, got it again");
  expect_error([&] { s.partial_run(handle, {}, {{"unused", 2.f}}); },
               "InvalidArgument: feed 'unused': expected one that partial_run_setup was told, got another");
  expect_error([&] { s.partial_run(handle, {"unused"}); },
               "InvalidArgument: fetch 'unused': expected one that partial_run_setup was told, got another");
  expect_error([&] { s.partial_run(handle, {"init"}); },
               "InvalidArgument: fetch 'init': expected one that partial_run_setup was told, got another");
  expect_error([&] { s.partial_run(handle, {"r1"}, {{"b", zeros({2})}}); },
               "InvalidArgument: feed 'b': expected float32[], got float32[2]");
  BOOST_TEST(number(s.partial_run(handle, {"r1"}, {{"b", 2.f}})) == 3.f);
  expect_error([&] { s.partial_run(handle, {"r1"}); },
               "InvalidArgument: fetch 'r1': expected to be fetched once, got it again");
  BOOST_TEST(number(s.partial_run(handle, {"r2"}, {{"c", 2.f}})) == 6.f);
}

BOOST_AUTO_TEST_CASE(an_error_of_a_node_ends_the_run) {
  Session s(text_graph(kGraph));
  const std::string handle = s.partial_run_setup({"quotient", "r1"}, {"i", "a", "b"});
  expect_error_begins([&] { s.partial_run(handle, {"quotient"}, {{"i", 0}}); },
                      "InvalidArgument: integer division by zero");
  expect_error([&] { s.partial_run(handle, {"r1"}, {{"a", 1.f}, {"b", 1.f}}); }, kUsedUp);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
