// What surrounds runs: callables, the session of a thread, closing, resetting, extending, shared containers, options.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <memory>
#include <thread>

#include "panto/lib/base/file.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/runtime/session.h"
#include "panto/lib/runtime/session/run_metadata.h"
#include "panto/ops/files.h"
#include "panto/ops/queues.h"
#include "panto/ops/readers.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/tests/threads/waiting.h"
#include "panto/trace/graph_scope.h"

namespace panto::test {
namespace {

constexpr const char* kCounter = R"(
  v = VarHandleOp(; dtype=float32, shape=[], container="", shared_name="v")
  w = VarHandleOp(; dtype=float32, shape=[], container="kept", shared_name="w")
  one = Const(; value=float32{1})
  x = Placeholder(; dtype=float32, shape=[])
  init = AssignVariableOp(v, one)
  init_w = AssignVariableOp(w, one)
  add = AssignAddVariableOp(v, x)
  read = ReadVariableOp(v; dtype=float32)
  read_w = ReadVariableOp(w; dtype=float32)
  y = Mul(x, read)
  queue = FIFOQueueV2(; component_types=[float32])
  taken = QueueDequeueV2(queue; component_types=[float32])
)";

constexpr const char* kClosed = "FailedPrecondition: session: expected one that is open, got one that was closed";

float number(const Tensor& t) { return t.item<float>(); }

BOOST_AUTO_TEST_SUITE(session_life)

// ---- Callables -----------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_callable_gives_what_run_gives) {
  Session s(text_graph(kCounter));
  s.run("init");
  const SessionCallable call = s.make_callable({"y", "^add", "read"}, {"x"});
  // What reads is not ordered after what writes: y and read see 1 or what was added.
  const auto values = call(tensor(2.f));
  BOOST_REQUIRE(values.size() == 3U);
  BOOST_TEST(!values[1].defined());
  BOOST_TEST(number(s.run("read")) == 3.f);
  const SessionCallable y = s.make_callable({"y"}, {"x"});
  BOOST_TEST(number(y(tensor(2.f))[0]) == 6.f);
  BOOST_TEST(number(y(0.5)[0]) == 1.5f);  // a number
  s.run("add", {{"x", 1}});
  BOOST_TEST(number(y(2)[0]) == 8.f);
  const SessionCallable nothing = s.make_callable({"read"});
  BOOST_TEST(number(nothing()[0]) == 4.f);
}

BOOST_AUTO_TEST_CASE(a_callable_serves_shape_after_shape) {
  Graph graph;
  {
    const GraphScope in(graph);
    named("y", sum(placeholder(kFloat32, PartialShape(), "x")));
  }
  Session s(graph);
  const SessionCallable total = s.make_callable({"y"}, {"x"});
  for (int turn = 0; turn < 2; ++turn) {
    for (int n = 0; n < 40; ++n) BOOST_TEST(number(total(ones({n}))[0]) == static_cast<float>(n));
    BOOST_TEST(number(total(ones({3, 4}))[0]) == 12.f);
  }
}

BOOST_AUTO_TEST_CASE(what_is_wrong_with_a_callable) {
  Session s(text_graph(kCounter));
  s.run("init");
  const SessionCallable y = s.make_callable({"y"}, {"x"});
  expect_error([&] { y(); }, "InvalidArgument: callable: expected 1 values, got 0");
  expect_error([&] { y(1.f, 2.f); }, "InvalidArgument: callable: expected 1 values, got 2");
  expect_error([&] { y(tensor(1)); }, "InvalidArgument: feed 'x': expected float32[], got int32[]");
  expect_error([&] { y(zeros({2})); }, "InvalidArgument: feed 'x': expected float32[], got float32[2]");
  BOOST_TEST(number(y(tensor(2.f))[0]) == 2.f);
  expect_error([&] { y(zeros({2})); }, "InvalidArgument: feed 'x': expected float32[], got float32[2]");
  expect_error([&] { s.make_callable({"yy"}, {"x"}); },
               "NotFound: node: expected a name of the graph, got 'yy' (closest: 'y') [fetch 'yy']");
  expect_error([&] { s.make_callable({"y"}, {"x", "x:0"}); },
               "InvalidArgument: feeds: expected each tensor once, got 'x' twice");
  s.close();
  expect_error([&] { y(1.f); }, kClosed);
  expect_error([&] { s.make_callable({"y"}, {"x"}); }, kClosed);
}

BOOST_AUTO_TEST_CASE(a_callable_has_options_and_lives_longer) {
  auto s = std::make_unique<Session>(text_graph(kCounter), SessionOptions{.passes = "off"});
  s->run("init");
  const SessionCallable traced = s->make_callable({"y"}, {"x"}, {.trace = RunOptions::Trace::kFull});
  RunMetadata metadata;
  const FeedValue two(2.f);
  BOOST_TEST(number(traced.run(&two, 1, &metadata)[0]) == 2.f);
  BOOST_TEST(metadata.nodes.size() == 2U);  // ReadVariableOp and Mul
  const SessionCallable hurried = s->make_callable({"taken"}, {}, {.timeout = 0.02});
  expect_error_begins([&] { hurried(); }, "DeadlineExceeded: ");
  s.reset();
  BOOST_TEST(number(traced(3.f)[0]) == 3.f);
}

// ---- The session of a thread ---------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(eval_uses_the_innermost_session) {
  Graph graph;
  Tensor y, x;
  {
    const GraphScope in(graph);
    x = placeholder(kFloat32, {}, "x");
    y = x * 2.f;
  }
  expect_error([&] { eval(y); }, "FailedPrecondition: eval: expected a SessionScope around it, got none");
  Session outer(graph), inner(text_graph("y = Const(; value=float32{7})"));
  {
    const SessionScope in(outer);
    BOOST_TEST(number(eval(y, {{x, 3.f}})) == 6.f);
    {
      const SessionScope further(inner);
      BOOST_TEST(number(eval("y")) == 7.f);
      std::string elsewhere;
      std::thread([&] { elsewhere = error_text([&] { eval("y"); }); }).join();
      BOOST_TEST(elsewhere == "FailedPrecondition: eval: expected a SessionScope around it, got none");
    }
    Session moved = std::move(outer);
    BOOST_TEST(number(eval(y, {{"x", 4.f}})) == 8.f);
  }
  BOOST_CHECK_THROW(eval("y"), Error);
}

// ---- Its end -------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(closing_wakes_what_waits) {
  Session s(text_graph(kCounter));
  Session other(text_graph(kCounter));
  std::atomic<bool> waiting = false;
  std::string text;
  std::thread waits([&] {
    waiting = true;
    text = error_text([&] { s.run("taken"); });
  });
  while (!waiting) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  BOOST_TEST(!s.closed());
  s.close();
  waits.join();
  BOOST_TEST(text.substr(0, 10) == "Cancelled:");
  BOOST_TEST(s.closed());
  expect_error([&] { s.run("init"); }, kClosed);
  expect_error([&] { s.partial_run_setup({"y"}, {"x"}); }, kClosed);
  expect_error([&] { s.extend(text_graph("z = Const(; value=float32{1})")); }, kClosed);
  s.close();
  other.run("init");
}

BOOST_AUTO_TEST_CASE(a_request_of_the_caller_stops_a_run_too) {
  Session s(text_graph(kCounter));
  Step step;
  step.cancellation = std::make_shared<Cancellation>();
  std::string text;
  std::thread waits([&] {
    const StepScope of(step);
    text = error_text([&] { s.run("taken"); });
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  step.cancellation->request();
  waits.join();
  BOOST_TEST(text.substr(0, 10) == "Cancelled:");
  s.run("init");
}

BOOST_AUTO_TEST_CASE(resetting_closes_all_sessions) {
  const auto shared = std::make_shared<ResourceManager>();
  Session a(text_graph(kCounter), {.resources = shared}), b(text_graph(kCounter));
  a.run({"init", "init_w"});
  b.run("init");
  Session::reset({});
  expect_error([&] { a.run("read"); }, kClosed);
  expect_error([&] { b.run("read"); }, kClosed);
  BOOST_TEST(shared->find("", "v") == nullptr);
  BOOST_TEST(shared->find("kept", "w") != nullptr);
  Session again(text_graph(kCounter), {.resources = shared});
  BOOST_TEST(number(again.run("read_w")) == 1.f);
  BOOST_CHECK_THROW(again.run("read"), Error);
  Session::reset({"kept"});
  BOOST_TEST(shared->find("kept", "w") == nullptr);
}

// ---- Sharing and growing -------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(sessions_share_containers) {
  const auto shared = std::make_shared<ResourceManager>();
  Session a(text_graph(kCounter), {.resources = shared});
  Session b(text_graph(kCounter), {.resources = shared});
  Session alone(text_graph(kCounter));
  a.run("init");
  b.run("add", {{"x", 4}});
  BOOST_TEST(number(a.run("read")) == 5.f);
  BOOST_TEST(&a.resources() == shared.get());
  BOOST_CHECK_THROW(alone.run("read"), Error);
}

BOOST_AUTO_TEST_CASE(a_session_is_extended) {
  Session s(text_graph(kCounter));
  s.run("init");
  BOOST_TEST(number(s.run("y", {{"x", 2}})) == 2.f);
  s.extend(text_graph(R"(
    y = Placeholder(; dtype=float32, shape=[])
    two = Const(; value=float32{2})
    z = Mul(y, two)
    zero = Const(; value=float32{0})
    start = Enter(zero; frame_name="loop")
    limit = Enter(z; frame_name="loop", is_constant=true)
    by = Enter(two; frame_name="loop", is_constant=true)
    merge = Merge(start, next)
    less = Less(merge, limit)
    go = LoopCond(less)
    switch = Switch(merge, go)
    more = AddV2(switch:1, by)
    next = NextIteration(more)
    exit = Exit(switch)
  )"));
  BOOST_TEST(number(s.run("z", {{"x", 3}})) == 6.f);
  BOOST_TEST(number(s.run("exit", {{"x", 3}})) == 6.f);
  BOOST_TEST(number(s.run("y", {{"x", 2}})) == 2.f);  // the variable is the same
  expect_error_begins([&] { s.extend(text_graph("two = Const(; value=float32{3})")); }, "InvalidArgument: ");
  expect_error_begins([&] { s.extend(text_graph("y = Placeholder(; dtype=int32, shape=[])")); },
                      "InvalidArgument: placeholder 'y': expected the type of the node that it stands for, got int32");
  BOOST_TEST(number(s.run("z", {{"x", 3}})) == 6.f);  // nothing was changed

  Graph grows = text_graph("a = Const(; value=float32{1})");
  Session follows(grows);
  expect_error([&] { follows.extend(text_graph("b = Const(; value=float32{1})")); },
               "FailedPrecondition: extend: expected a session of a graph of its own, got one of a graph that grows "
               "elsewhere");
}

// ---- Options -------------------------------------------------------------------------------------------------------

// Each session for itself, wherever the file is opened: by a node, in a function, by a reader that got its name later
// on another session's thread, by a dataset's threads.
BOOST_AUTO_TEST_CASE(a_session_may_open_no_files) {
  const TestFolder folder;
  write_file(folder / "a", "x\n");
  const std::vector<DType> texts = {kString};
  Graph graph;
  {
    const GraphScope building(graph);
    const Tensor path = placeholder(kString, {}, "path");
    named("bytes", read_file_op(path));
    named("in_branch", cond(path == tensor(folder / "a"), [&] { return read_file_op(path); }, [&] { return path; }));
    const Tensor queue = named("queue", fifo_queue(texts, {.shapes = {Shape{}}}));
    named("line", reader_read(text_line_reader(), queue).value);
    const CollectEffects effects;
    queue_enqueue(queue, {path});
    group(effects.operations(), "put");
  }
  const Feeds feeds{{"path", tensor(folder / "a")}};
  const char* const refused = "PermissionDenied: file '";
  Session open(graph), closed(graph, {.allow_files = false});
  for (const char* fetch : {"bytes", "in_branch"}) {
    BOOST_TEST(open.run(fetch, feeds).item<std::string>() == "x\n");
    expect_error_begins([&] { closed.run(fetch, feeds); }, refused);
  }
  for (Session* session : {&open, &closed}) {
    Waiting reads([&] { session->run("line"); });
    BOOST_TEST(reads.waits());
    session->run("put", feeds);  // opens the file for the other run
    const std::string text = reads.join();
    BOOST_TEST((session == &open ? text == "fine" : text.starts_with(refused)), text);
  }
  // Nobody allows what is forbidden around it.
  const Function inner = trace([&](const Tensor&) {
    return host_call([&](const std::vector<Tensor>&) { return std::vector{open.run("bytes", feeds)}; }, {},
                     {{kString, {}}})[0];
  });
  Graph around;
  {
    const GraphScope building(around);
    named("y", inner(tensor(1.f)));
  }
  Session strict(around, {.allow_files = false});
  expect_error_begins([&] { strict.run("y"); }, refused);
  BOOST_TEST(Session(around).run("y").item<std::string>() == "x\n");
}

BOOST_AUTO_TEST_CASE(options_that_cannot_be) {
  const auto made = [](SessionOptions options) {
    return error_text([&] { Session(text_graph(kCounter), std::move(options)); });
  };
  BOOST_TEST(made({.intra_op_threads = -1}) == "InvalidArgument: intra_op_threads: expected 0 to 1024, got -1");
  BOOST_TEST(made({.inter_op_threads = 65}) == "InvalidArgument: inter_op_threads: expected 0 to 64, got 65");
  BOOST_TEST(made({.max_plans = 0}) == "InvalidArgument: max_plans: expected at least 1, got 0");
  BOOST_TEST(made({.cpu_devices = -1}) == "InvalidArgument: cpu_devices: expected at least 0, got -1");
  BOOST_TEST(made({.intra_op_threads = 1, .inter_op_threads = 1, .cpu_devices = 3, .max_plans = 1}) ==
             "nothing was thrown");
  BOOST_TEST(find_device("/cpu:2").name() != "");
}

BOOST_AUTO_TEST_CASE(no_more_plans_than_allowed) {
  Graph graph;
  {
    const GraphScope in(graph);
    named("y", sum(placeholder(kFloat32, {-1}, "x")));
  }
  Session s(graph, {.max_plans = 2});
  for (int n = 1; n <= 2; ++n) {
    s.run("y", {{"x", ones({n})}});
    BOOST_TEST((s.optimized_graph().at("x").output(0).shape == PartialShape{n}));
  }
  // From the third shape on, one plan leaves the length open.
  for (int n = 3; n <= 5; ++n) {
    BOOST_TEST(number(s.run("y", {{"x", ones({n})}})) == static_cast<float>(n));
    BOOST_TEST((s.optimized_graph().at("x").output(0).shape == PartialShape{-1}));
  }
  BOOST_TEST(number(s.run("y", {{"x", ones({2})}})) == 2.f);
  BOOST_TEST((s.optimized_graph().at("x").output(0).shape == PartialShape{2}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
