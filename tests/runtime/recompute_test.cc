// Values are computed again where memory is short: the limit is kept, or it is said that it cannot be.
#include "panto/lib/runtime/recompute.h"

#include <boost/test/unit_test.hpp>

#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/runtime/placement/graph_costs.h"
#include "panto/lib/runtime/session.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/text_graph.h"

namespace panto::test {
namespace {

BOOST_AUTO_TEST_SUITE(recompute)

// k values of x, each needed twice: at once, and at the end.
std::string early_and_late(int count, const std::string& dims) {
  std::string text = "x = Placeholder(; dtype=float32, shape=[" + dims + "])\n s0 = Neg(x)\n";
  std::string last = "s0";
  for (int i = 0; i < count; ++i) {
    text += fmt::format("c{} = Const(; value=float32{{{}}})\n v{} = Mul(x, c{})\n", i, i + 2, i, i);
    text += fmt::format("m{} = MatMul({}, v{})\n", i, last, i);
    last = fmt::format("m{}", i);
  }
  for (int i = 0; i < count; ++i) {
    text += fmt::format("z{} = MatMul({}, v{})\n", i, last, i);
    last = fmt::format("z{}", i);
  }
  return text;
}

constexpr int64_t kBytes = 16 * 16 * 4;

BOOST_AUTO_TEST_CASE(a_limit_is_kept) {
  const Graph graph = text_graph(early_and_late(6, "16,16"));
  const int64_t before = graph_costs(graph).peak_bytes.value_or(0);
  BOOST_TEST(before >= 7 * kBytes);
  const Tensor x = random_normal({16, 16}, {.stddev = 0.05});
  const Tensor expected = Session(graph, {.passes = "off"}).run("z5", {{"x", x}});
  for (const int64_t values : {6, 5, 4}) {
    int64_t peak = 0;
    const Graph less = recompute_within(graph, values * kBytes, {}, &peak);
    BOOST_TEST(peak <= values * kBytes);
    BOOST_TEST(peak == graph_costs(less).peak_bytes.value_or(0));
    BOOST_TEST(less.num_nodes() > graph.num_nodes());
    // In a file, too; and no pass brings back what was not kept.
    const Graph again = parse_graph(to_graph_def(less));
    BOOST_TEST(graph_costs(again).peak_bytes.value_or(0) == peak);
    for (const char* passes : {"off", "cse,dependencies,prune"}) {
      Session session(again, {.passes = passes});
      BOOST_TEST((session.run("z5", {{"x", x}}).to_vector<float>() == expected.to_vector<float>()));
      BOOST_TEST(session.plan_stats().planned_bytes <= values * kBytes, passes);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_fits_stays_as_it_is) {
  const Graph graph = text_graph(early_and_late(3, "16,16"));
  BOOST_TEST(recompute_within(graph, 100 * kBytes).to_string() == graph.to_string());
}

BOOST_AUTO_TEST_CASE(a_limit_that_cannot_be_kept) {
  const Graph graph = text_graph(early_and_late(3, "16,16"));
  expect_error_begins(
      [&] { recompute_within(graph, kBytes); },
      "ResourceExhausted: memory limit: expected values that can be computed again so that a plan needs "
      "at most 1024 bytes, got ");
  const Graph unknown = text_graph(early_and_late(3, "?,16"));
  expect_error(
      [&] { recompute_within(unknown, kBytes); },
      "InvalidArgument: memory limit: expected a graph of which all shapes are known, got one of which some are "
      "not");
  const std::pair<NodeOutput, PartialShape> shapes[] = {{unknown.output("x"), PartialShape({16, 16})}};
  int64_t peak = 0;
  recompute_within(unknown, 4 * kBytes, shapes, &peak);
  BOOST_TEST(peak <= 4 * kBytes);
}

// What a session holds behind a run is what its plan made room for, by the allocator's count.
BOOST_AUTO_TEST_CASE(a_session_keeps_a_limit) {
  constexpr int64_t kLarge = 256 * 256 * 4;
  const Graph graph = text_graph(early_and_late(6, "?,256"));
  const Tensor x = random_normal({256, 256}, {.stddev = 0.05});
  struct Measured {
    Tensor result;
    int64_t planned, held;
  };
  const auto measure = [&](SessionOptions options) {
    const int64_t before = cpu_device().memory_stats().bytes_in_use;
    Session session(graph, std::move(options));
    session.run("z5", {{"x", x}});
    const int64_t held = cpu_device().memory_stats().bytes_in_use - before;
    return Measured{session.run("z5", {{"x", x}}), session.plan_stats().planned_bytes, held};
  };
  const Measured all = measure({});
  BOOST_TEST(all.planned > 6 * kLarge);
  BOOST_TEST(all.held > 6 * kLarge);
  for (const int64_t values : {6, 5, 4}) {
    const Measured some = measure({.memory_limit = values * kLarge});
    BOOST_TEST(some.planned <= values * kLarge);
    BOOST_TEST(some.held < values * kLarge + kLarge / 2);
    BOOST_TEST((some.result.to_vector<float>() == all.result.to_vector<float>()));
  }
}

BOOST_AUTO_TEST_CASE(a_session_refuses_what_does_not_fit) {
  const Graph graph = text_graph(early_and_late(3, "?,16"));
  const Tensor x = ones({16, 16});
  Session session(graph, {.memory_limit = kBytes});
  expect_error_begins(
      [&] { session.run("z2", {{"x", x}}); },
      "ResourceExhausted: memory limit: expected values that can be computed again so that a plan needs "
      "at most 1024 bytes, got ");
  BOOST_TEST(session.run("s0", {{"x", x}}).numel() == 256);  // is given out: nothing is kept
  // Every shape is planned for by itself.
  Session shapes(text_graph("x = Placeholder(; dtype=float32, shape=[?])\n y = Neg(x)\n z = Exp(y)\n"),
                 {.memory_limit = 1 << 20, .max_plans = 1});
  for (const int n : {3, 4, 5}) BOOST_TEST(shapes.run("z", {{"x", ones({n})}}).numel() == n);
  Session open(text_graph("x = Placeholder(; dtype=bool, shape=[?])\n w = Where(x)\n y = Neg(w)\n"),
               {.memory_limit = 1 << 20});
  expect_error_begins([&] { open.run("y", {{"x", tensor({true, false})}}); },
                      "InvalidArgument: memory limit: expected a graph of which all shapes are known, got one ");
  expect_error([&] { Session(graph, {.memory_limit = -2}); },
               "InvalidArgument: memory_limit: expected bytes, or -1 for none, got -2");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
