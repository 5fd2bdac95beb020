// Functions in functions, many levels deep: what is to be run is so in time that grows with their number, and what
// calls itself too deep ends with one clear error.
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "panto/lib/graph/files/io.h"
#include "panto/lib/runtime/session.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/function_text.h"
#include "panto/tests/within_a_minute.h"

namespace panto::test {
namespace {

const std::string kN = placeholder("n", "DT_INT32", ""), kX = placeholder("x", "DT_FLOAT", "");

std::string name_of(int i) { return "f" + std::to_string(i); }
// `count` functions of one number: `body(i)` are the nodes of number i, of which "sum" gives what the function gives;
// the last one gives what it gets.
template <class Body>
std::string chain(int count, const std::string& signature, const std::string& argument, const Body& body) {
  std::string functions;
  for (int i = 0; i + 1 < count; ++i) functions += function(name_of(i), signature, body(i), "sum:z:0");
  return functions + function(name_of(count - 1), signature, "", argument);
}
// Each gives one more than the next one gives.
std::string chain_of_calls(int count) {
  return kN + node("y", "PartitionedCall", {"n"}, call_attrs("f0")) + library(chain(count, kIntToInt, "n", [](int i) {
           return kOne + inner("rest", "PartitionedCall", {"n"}, call_attrs(name_of(i + 1))) +
                  inner("sum", "AddV2", {"rest:output:0", "one:output:0"}, kIntT);
         }));
}

// r = n + (n - 1) + ... + 1.
const std::string kSum =
    kN + node("y", "PartitionedCall", {"n"}, call_attrs("sum")) +
    library(function("sum", kIntToInt,
                     kOne + inner("less", "Less", {"n", "one:output:0"}, kIntT) +
                         inner("choice", "StatelessIf", {"less:z:0", "n"}, if_attrs("end", "further")),
                     "choice:output:0") +
            function("end", kIntToInt, inner("zero", "Sub", {"n", "n"}, kIntT), "zero:z:0") +
            function("further", kIntToInt,
                     kOne + inner("less", "Sub", {"n", "one:output:0"}, kIntT) +
                         inner("rest", "PartitionedCall", {"less:z:0"}, call_attrs("sum")) +
                         inner("more", "AddV2", {"n", "rest:output:0"}, kIntT),
                     "more:z:0"));

template <class F>
double seconds_of(const F& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

BOOST_AUTO_TEST_SUITE(deep_functions)

BOOST_AUTO_TEST_CASE(calls_in_calls_take_time_by_their_number, *boost::unit_test::label("heavy")) {
  const auto run = [](int count) {
    Session session(parse_graph(chain_of_calls(count)));
    BOOST_TEST(session.run("y", {{"n", 5}}).item<int>() == 5 + count - 1);
  };
  within_a_minute([&] {
    run(100);
    const double few = seconds_of([&] { run(500); }), many = seconds_of([&] { run(5000); });
    BOOST_TEST_MESSAGE("calls in calls: 500 " << few << " s, 5000 " << many << " s");
    BOOST_TEST(many < 50 * few);  // ten times as many
  });
}

BOOST_AUTO_TEST_CASE(gradients_go_through_calls_in_calls) {
  const auto run = [](int count) {
    const std::string body = chain(count, kFloatToFloat, "x", [](int i) {
      return inner("rest", "PartitionedCall", {"x"}, call_attrs(name_of(i + 1), kFloat)) +
             inner("sum", "AddV2", {"rest:output:0", "x"}, kFloatT);
    });
    Graph graph = parse_graph(kX + node("y", "PartitionedCall", {"x"}, call_attrs("f0", kFloat)) + library(body));
    const NodeOutput x = graph.output("x"), y = graph.output("y");
    const std::string dx = graph.output_name(gradients(graph, {&y, 1}, {&x, 1})[0]);
    Session session(std::move(graph));
    const auto [value, gradient] = session.run<2>({"y", dx}, {{"x", 2}});
    BOOST_TEST(value.item<float>() == 2.F * static_cast<float>(count));
    BOOST_TEST(gradient.item<float>() == static_cast<float>(count));
  };
  within_a_minute([&] {
    run(100);
    const double few = seconds_of([&] { run(200); }), many = seconds_of([&] { run(2000); });
    BOOST_TEST_MESSAGE("gradients: 200 " << few << " s, 2000 " << many << " s");
    BOOST_TEST(many < 50 * few);
  });
}

// By a function's own name, as TensorFlow 1 calls.
BOOST_AUTO_TEST_CASE(old_calls_in_calls) {
  const std::string text = kN + node("y", "f0", {"n"}, "") + library(chain(300, kIntToInt, "n", [](int i) {
                             return kOne + inner("rest", name_of(i + 1), {"n"}, "") +
                                    inner("sum", "AddV2", {"rest:r:0", "one:output:0"}, kIntT);
                           }));
  within_a_minute([&] {
    Session session(parse_graph(text));
    BOOST_TEST(session.run("y", {{"n", 5}}).item<int>() == 5 + 299);
  });
}

BOOST_AUTO_TEST_CASE(recursion_ends_at_a_stated_depth) {
  within_a_minute([] {
    for (const char* passes : {"", "off"}) {
      Session session(parse_graph(kSum), {.passes = passes});
      BOOST_TEST(session.run("y", {{"n", 100}}).item<int>() == 5050);
      BOOST_TEST(session.run("y", {{"n", 199}}).item<int>() == 19900);
      for (const int n : {200, 30000}) {
        expect_error_begins([&] { session.run("y", {{"n", n}}); },
                            "ResourceExhausted: calls of functions: expected at most 200 inside one another");
      }
      BOOST_TEST(session.run("y", {{"n", 10}}).item<int>() == 55);  // nothing is left half-done
    }
  });
}

// Other branches than those that are taken are not reached, so that no depth is too much for them.
BOOST_AUTO_TEST_CASE(branches_in_branches, *boost::unit_test::label("heavy")) {
  const auto text = [](int count) {
    return kN + node("y", "PartitionedCall", {"n"}, call_attrs("f0")) +
           library(function("same", kIntToInt, "", "n") + chain(count, kIntToInt, "n", [](int i) {
                     return kOne + inner("less", "Less", {"n", "one:output:0"}, kIntT) +
                            inner("choice", "StatelessIf", {"less:z:0", "n"}, if_attrs("same", name_of(i + 1))) +
                            inner("sum", "AddV2", {"choice:output:0", "one:output:0"}, kIntT);
                   }));
  };
  within_a_minute([&] {
    Session deep(parse_graph(text(10000)));
    BOOST_TEST(deep.run("y", {{"n", 0}}).item<int>() == 1);
    expect_error_begins([&] { deep.run("y", {{"n", 3}}); },
                        "ResourceExhausted: calls of functions: expected at most 200 inside one another");
    Session shallow(parse_graph(text(150)));
    BOOST_TEST(shallow.run("y", {{"n", 3}}).item<int>() == 3 + 149);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
