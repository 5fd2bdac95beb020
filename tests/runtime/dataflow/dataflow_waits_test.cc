// The dataflow executor's kernels that wait, and those that keep something or are seen from outside.
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "panto/lib/core/step/rendezvous.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/runtime/session.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/tests/runtime/loops.h"

namespace panto::test {
namespace {

BOOST_AUTO_TEST_SUITE(dataflow)

// ---- Kernels that wait ----------------------------------------------------------------------------------------------

std::string receives(int count) {
  std::string text = "first = Const(; value=float32{0})\n";
  std::string sum = "y = AddN(first";
  for (int i = 0; i < count; ++i) {
    text += "r" + std::to_string(i) + " = _Recv(; tensor_type=float32, tensor_name=\"t" + std::to_string(i) +
            "\", send_device=\"/cpu:0\", send_device_incarnation=1, recv_device=\"/cpu:0\")\n";
    sum += ", r" + std::to_string(i);
  }
  return text + sum + ")\n";
}

void send(const std::string& name, float value) { send_tensor(tensor(value), name, "/cpu:0", 1, "/cpu:0"); }

// Nobody waits for one after the other: none of the values is sent before all are waited for.
BOOST_AUTO_TEST_CASE(a_hundred_waits_are_one) {
  constexpr int kMany = 100;
  Session session(text_graph(receives(kMany)));
  for (int run = 0; run < 2; ++run) {
    Step step;
    step.rendezvous = std::make_shared<Rendezvous>();
    std::future<float> sum = std::async(std::launch::async, [&] {
      const StepScope scope(step);
      return session.run("y").item<float>();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const StepScope scope(step);
    for (int i = kMany; i-- > 0;) send("t" + std::to_string(i), static_cast<float>(i));
    BOOST_TEST(sum.get() == kMany * (kMany - 1) / 2);
  }
}

BOOST_AUTO_TEST_CASE(waits_end_with_the_step) {
  Session session(text_graph(receives(5)));
  Step step;
  step.rendezvous = std::make_shared<Rendezvous>();
  step.deadline = Step::deadline_in(0.02);
  {
    const StepScope scope(step);
    expect_error_begins([&] { session.run("y"); }, "DeadlineExceeded: ");
  }
  step.deadline = Step::kNoDeadline;
  step.cancellation = std::make_shared<Cancellation>();
  std::future<std::string> running = std::async(std::launch::async, [&] {
    const StepScope scope(step);
    return error_text([&] { session.run("y"); });
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  step.cancellation->request();
  BOOST_TEST(running.get().starts_with("Cancelled: "));
}

// The first error ends the run, and the others need not come.
BOOST_AUTO_TEST_CASE(an_error_ends_all_waits) {
  Session session(text_graph(receives(3)));
  Step step;
  step.rendezvous = std::make_shared<Rendezvous>();
  std::future<std::string> running = std::async(std::launch::async, [&] {
    const StepScope scope(step);
    return error_text([&] { session.run("y"); });
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  {
    const StepScope scope(step);
    send_tensor(tensor(1), "t1", "/cpu:0", 1, "/cpu:0");  // an int32
  }
  const std::string text = running.get();
  BOOST_TEST(text.starts_with("InvalidArgument: tensor '/cpu:0;0000000000000001;/cpu:0;t1;0:0': expected float32, got "
                              "int32 sent [in _Recv("),
             text);
  BOOST_TEST(text.ends_with("[node 'r1']"), text);
}

// Rounds of a loop that run at once do not take one another's values.
BOOST_AUTO_TEST_CASE(rounds_meet_by_themselves) {
  Session session(text_graph(R"(
    zero = Const(; value=float32{0})
    n = Placeholder(; dtype=float32, shape=[])
    i_enter = Enter(zero; frame_name="loop", parallel_iterations=5)
    x_enter = Enter(zero; frame_name="loop", parallel_iterations=5)
    n_in = Enter(n; frame_name="loop", is_constant=true)
    i = Merge(i_enter, i_next)
    x = Merge(x_enter, x_next)
    less = Less(i, n_in)
    go = LoopCond(less)
    i_s = Switch(i, go)
    x_s = Switch(x, go)
    pivot = Identity(i_s:1)
    one = Const(^pivot; value=float32{1})
    new_i = AddV2(i_s:1, one)
    sent = _Send(new_i; tensor_name="t", send_device="a", send_device_incarnation=1, recv_device="b")
  got = _Recv(^pivot; tensor_type=float32, tensor_name="t", send_device="a", send_device_incarnation=1, recv_device="b")
    new_x = AddV2(x_s:1, got)
    kept_x = Identity(new_x, ^sent)
    i_next = NextIteration(new_i)
    x_next = NextIteration(kept_x)
    x_out = Exit(x_s)
  )"));
  BOOST_TEST(number(session, "x_out", {{"n", 10.f}}) == 55);
  BOOST_TEST(number(session, "x_out", {{"n", 3.f}}) == 6);
}

// ---- State and effects ----------------------------------------------------------------------------------------------

// A generator of a node in a loop goes on from round to round and from run to run, with any number of rounds at once.
BOOST_AUTO_TEST_CASE(generators_go_on_from_round_to_round) {
  std::vector<std::vector<float>> all;
  for (const int parallel : {1, 10}) {
    Session session(text_graph(random_loop(parallel)));
    std::vector<float> sums;
    for (int run = 0; run < 3; ++run) sums.push_back(number(session, "x_out", {{"n", 4.f}}));
    BOOST_TEST(sums[0] != sums[1]);
    all.push_back(sums);
  }
  BOOST_TEST(all[0] == all[1], boost::test_tools::per_element());
  Session straight(text_graph(R"(
    shape = Const(; value=int32[0]{})
    r = RandomUniform(shape; dtype=float32, seed=3, seed2=4)
  )"));
  for (const float sum : all[0]) {
    float expected = 0;
    for (int i = 0; i < 4; ++i) expected += number(straight, "r");
    BOOST_TEST(sum == expected);
  }
}

BOOST_AUTO_TEST_CASE(variables_change_in_loops) {
  Session session(text_graph(R"(
    v = VarHandleOp(; dtype=float32, shape=[], shared_name="v")
    start = Const(; value=float32{1})
    set = AssignVariableOp(v, start; dtype=float32)
    zero = Const(; value=float32{0})
    n = Const(; value=float32{5})
    i_enter = Enter(zero, ^set; frame_name="loop", parallel_iterations=1)
    v_in = Enter(v; frame_name="loop", is_constant=true)
    n_in = Enter(n; frame_name="loop", is_constant=true)
    i = Merge(i_enter, i_next)
    less = Less(i, n_in)
    go = LoopCond(less)
    i_s = Switch(i, go)
    pivot = Identity(i_s:1)
    one = Const(^pivot; value=float32{1})
    two = Const(^pivot; value=float32{2})
    now = ReadVariableOp(v_in, ^pivot; dtype=float32)
    more = Mul(now, two)
    put = AssignVariableOp(v_in, more; dtype=float32)
    new_i = AddV2(i_s:1, one, ^put)
    i_next = NextIteration(new_i)
    i_out = Exit(i_s)
    result = ReadVariableOp(v, ^i_out; dtype=float32)
  )"));
  BOOST_TEST(number(session, "result") == 32);
  BOOST_TEST(number(session, "result") == 32);
}

BOOST_AUTO_TEST_CASE(an_abort_is_an_error) {
  Session session(text_graph(R"(
    p = Placeholder(; dtype=bool, shape=[])
    s = Switch(p, p)
    bad = Identity(s:1)
    stop = Abort(^bad; error_msg="too late")
  )"));
  session.run(Fetches{"^stop"}, {{"p", tensor(false)}});
  expect_error_begins([&] { session.run(Fetches{"^stop"}, {{"p", tensor(true)}}); },
                      "Aborted: abort: expected not to be reached, got there: too late [in Abort(");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
