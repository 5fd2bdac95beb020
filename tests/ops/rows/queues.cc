// Queues: what comes out, in which order, and what is refused. Calls that wait are in tests/threads/queue_test.cc.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/collections/queue.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"

namespace panto::test::queues_rows {
namespace {

const std::vector<DType> kFloats = {kFloat32};

void put(const Tensor& queue, const std::vector<float>& values) {
  for (const float v : values) queue_enqueue(queue, {tensor(v)});
}

// Everything that is in the queue.
std::vector<float> drain(const Tensor& queue) {
  std::vector<float> all;
  while (queue_size(queue).item<int32_t>() > 0) all.push_back(queue_dequeue(queue, kFloats)[0].item<float>());
  return all;
}

void first_in_first_out() {
  const Tensor queue = fifo_queue(kFloats);
  put(queue, {3, 1, 2});
  BOOST_TEST(queue_size(queue).item<int32_t>() == 3);
  BOOST_TEST(drain(queue) == std::vector<float>({3, 1, 2}), boost::test_tools::per_element());
}

// Elements of several components, some of them strings, several at a time.
void several_at_a_time() {
  const std::vector<DType> types = {kFloat32, kString};
  const Tensor queue = fifo_queue(types, {.shapes = {PartialShape{2}, Shape{}}});
  queue_enqueue_many(queue, {tensor({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}}), tensor({"a", "b", "c"})});
  queue_enqueue(queue, {tensor({7.f, 8.f}), tensor("d")});
  const auto two = queue_dequeue_many(queue, 2, types);
  BOOST_TEST(two[0].to_string() == "[[1. 2.]\n [3. 4.]]");
  BOOST_TEST(two[1].to_string() == "[b'a' b'b']");
  const auto none = queue_dequeue_many(queue, 0, types);
  BOOST_TEST(none[0].shape().to_string() == "[0,2]");
  BOOST_TEST(none[1].shape().to_string() == "[0]");
  queue_close(queue);
  const auto rest = queue_dequeue_up_to(queue, 5, types);
  BOOST_TEST(rest[0].to_string() == "[[5. 6.]\n [7. 8.]]");
  BOOST_TEST(rest[1].to_string() == "[b'c' b'd']");
}

void what_does_not_fit() {
  const Tensor queue = fifo_queue({kFloat32, kInt32}, {.shapes = {PartialShape{2}, Shape{}}});
  const Tensor two = tensor({1.f, 2.f}), one = tensor(1);
  expect_error_begins([&] { queue_enqueue(queue, {two}); },
                      "InvalidArgument: components: expected the queue's 2, got 1 [in QueueEnqueueV2(");
  expect_error_begins([&] { queue_enqueue(queue, {one, one}); },
                      "InvalidArgument: component 0: expected the queue's float32, got int32");
  expect_error_begins([&] { queue_enqueue(queue, {tensor(1.f), one}); },
                      "InvalidArgument: component 0: expected the queue's shape [2], got []");
  expect_error_begins([&] { queue_enqueue_many(queue, {tensor({{1.f, 2.f}}), tensor({1, 2})}); },
                      "InvalidArgument: component 1: expected as many elements as in component 0, 1, got 2");
  expect_error_begins([&] { queue_enqueue_many(queue, {tensor({{1.f, 2.f}}), one}); },
                      "InvalidArgument: component 1: expected a rank of at least 1, got shape []");
  expect_error_begins([&] { queue_enqueue(queue, {two, one}, {.timeout_ms = 5}); },
                      "InvalidArgument: timeout_ms: expected -1, since a step has a deadline, got 5");
  expect_error_begins([&] { queue_dequeue(queue, {kFloat32}); },
                      "InvalidArgument: component_types: expected the queue's, got others");
  expect_error_begins([&] { queue_dequeue_many(queue, -1, {kFloat32, kInt32}); },
                      "InvalidArgument: n: expected at least 0, got -1");
  expect_error_begins([&] { queue_dequeue_many(fifo_queue(kFloats), 1, kFloats); },
                      "InvalidArgument: queue: expected one with shapes, since its elements are to be stacked");
  expect_error_begins([&] { queue_size(Variable(tensor(1.f)).handle()); },
                      "InvalidArgument: queue: expected a handle of a queue, got a Variable named ");
  expect_error_begins([] { fifo_queue(kFloats, {.shapes = {PartialShape{-1}}}); },
                      "InvalidArgument: shapes: expected every dimension to be known, got [?]");
  expect_error_begins([] { fifo_queue(kFloats, {.shapes = {PartialShape{}, Shape{}}}); },
                      "InvalidArgument: shapes: expected one for each of 1 components, got 2");
}

void closed_ones() {
  const Tensor queue = fifo_queue(kFloats, {.shapes = {Shape{}}});
  put(queue, {1, 2});
  BOOST_TEST(!queue_is_closed(queue).item<bool>());
  queue_close(queue);
  BOOST_TEST(queue_is_closed(queue).item<bool>());
  expect_error_begins([&] { put(queue, {1}); }, "Cancelled: queue: expected it to be open, got one that was closed");
  expect_error_begins([&] { queue_dequeue_many(queue, 3, kFloats); },
                      "OutOfRange: queue: expected 3 elements, got 2 in one that is closed");
  BOOST_TEST(drain(queue) == std::vector<float>({1, 2}), boost::test_tools::per_element());  // they stayed
  expect_error_begins([&] { queue_dequeue(queue, kFloats); },
                      "OutOfRange: queue: expected 1 elements, got 0 in one that is closed");
  expect_error_begins([&] { queue_dequeue_up_to(queue, 3, kFloats); }, "OutOfRange: ");
  expect_error_begins([&] { queue_close(queue); }, "Cancelled: ");
  queue_close(queue, {.cancel_pending_enqueues = true});
}

void shared_by_name() {
  const auto queue = [](int64_t capacity) {
    return fifo_queue(kFloats, {.capacity = capacity, .container = "queue_rows", .shared_name = "shared"});
  };
  put(queue(5), {1});
  BOOST_TEST(queue_size(queue(5)).item<int32_t>() == 1);
  expect_error_begins([&] { queue(6); },
                      "InvalidArgument: queue \"shared\": expected one as it was declared before, a FIFOQueue, got "
                      "another FIFOQueue");
  expect_error_begins(
      [] { random_shuffle_queue(kFloats, {.capacity = 5, .container = "queue_rows", .shared_name = "shared"}); },
      "InvalidArgument: queue \"shared\": expected one as it was declared before, a FIFOQueue, got "
      "another RandomShuffleQueue");
  BOOST_TEST(queue_size(fifo_queue(kFloats)).item<int32_t>() == 0);  // without a name: another
}

void in_random_order() {
  const auto order = [](int64_t seed, int64_t seed2) {
    const Tensor queue = random_shuffle_queue(kFloats, {.shapes = {Shape{}}, .seed = seed, .seed2 = seed2});
    std::vector<float> numbers(50);
    std::iota(numbers.begin(), numbers.end(), 0.f);
    queue_enqueue_many(queue, {tensor(numbers)});
    return drain(queue);
  };
  const std::vector<float> once = order(1, 2);
  BOOST_TEST(order(1, 2) == once, boost::test_tools::per_element());
  BOOST_TEST((order(1, 3) != once));
  BOOST_TEST((order(0, 0) != order(0, 0)));
  std::vector<float> sorted = once;
  std::ranges::sort(sorted);
  BOOST_TEST((sorted != once));
  for (size_t i = 0; i < sorted.size(); ++i) BOOST_TEST(sorted[i] == static_cast<float>(i));
}

void some_stay() {
  const Tensor queue = random_shuffle_queue(kFloats, {.shapes = {Shape{}}, .min_after_dequeue = 2, .seed = 5});
  put(queue, {1, 2, 3, 4});
  queue_dequeue_many(queue, 2, kFloats);
  queue_close(queue);
  queue_dequeue_many(queue, 2, kFloats);
  expect_error_begins([] { random_shuffle_queue(kFloats, {.capacity = 2, .min_after_dequeue = 2}); },
                      "InvalidArgument: min_after_dequeue: expected less than the capacity 2, got 2");
  expect_error_begins([] { random_shuffle_queue(kFloats, {.min_after_dequeue = -1}); },
                      "InvalidArgument: min_after_dequeue: expected at least 0, got -1");
}

void with_zeros_behind() {
  const Tensor queue = padding_fifo_queue(kFloats, {.shapes = {PartialShape{-1, 2}}});
  queue_enqueue(queue, {tensor({{1.f, 2.f}})});
  queue_enqueue(queue, {tensor({{3.f, 4.f}, {5.f, 6.f}})});
  queue_enqueue(queue, {zeros({0, 2})});
  BOOST_TEST(queue_dequeue_many(queue, 3, kFloats)[0].to_string() ==
             "[[[1. 2.]\n  [0. 0.]]\n\n [[3. 4.]\n  [5. 6.]]\n\n [[0. 0.]\n  [0. 0.]]]");
  const Tensor inner = padding_fifo_queue({kString}, {.shapes = {PartialShape{1, -1}}});
  queue_enqueue(inner, {tensor_from_strings({1, 1}, {"a"})});
  queue_enqueue(inner, {tensor_from_strings({1, 3}, {"b", "c", "d"})});
  BOOST_TEST(queue_dequeue_many(inner, 2, {kString})[0].to_string() == "[[[b'a' b'' b'']]\n\n [[b'b' b'c' b'd']]]");
  expect_error_begins([&] { queue_enqueue(queue, {tensor({{1.f}})}); },
                      "InvalidArgument: component 0: expected the queue's shape [?,2], got [1,1]");
  expect_error_begins([] { padding_fifo_queue(kFloats); },
                      "InvalidArgument: shapes: expected one for each component, got none");
  expect_error_begins([] { padding_fifo_queue(kFloats, {.shapes = {PartialShape()}}); },
                      "InvalidArgument: shapes: expected every rank to be known, got ?");
}

void least_first() {
  const std::vector<DType> types = {kInt64, kString};
  const Tensor queue = priority_queue({Shape{}}, {.component_types = {kString}});
  const auto put_with = [&](int64_t priority, const char* text) {
    queue_enqueue(queue, {tensor(priority), tensor(text)});
  };
  put_with(5, "a");
  put_with(-1, "b");
  put_with(5, "c");
  put_with(2, "d");
  const auto all = queue_dequeue_many(queue, 4, types);
  BOOST_TEST(all[0].to_string() == "[-1  2  5  5]");
  BOOST_TEST(all[1].to_string() == "[b'b' b'd' b'a' b'c']");
  expect_error_begins([&] { queue_enqueue(queue, {tensor("a"), tensor("b")}); },
                      "InvalidArgument: component 0: expected the queue's int64, got string");
}

// What was put in is what comes out, whatever happens to its memory afterwards.
void elements_are_values() {
  const Tensor queue = fifo_queue(kFloats);
  std::vector<float> memory = {1, 2, 3};
  queue_enqueue(queue, {adopt_tensor(cpu_device(), kFloat32, Shape{3}, memory.data(), nullptr)});
  memory[1] = 9;
  BOOST_TEST(queue_dequeue(queue, kFloats)[0].to_string() == "[1. 2. 3.]");
  const Variable v(tensor({1.f, 2.f}));
  queue_enqueue(queue, {v.value()});
  v.assign_add(tensor({1.f, 1.f}));
  BOOST_TEST(queue_dequeue(queue, kFloats)[0].to_string() == "[1. 2.]");
}

// A graph knows the shapes of what comes out.
void in_saved_graphs() {
  const auto build = [] {
    const Tensor queue = named("queue", fifo_queue({kFloat32, kInt64}, {.shapes = {PartialShape{2}, Shape{}}}));
    const CollectEffects effects;
    queue_enqueue(queue, {tensor({1.f, 2.f}), tensor(int64_t{7})});
    group(effects.operations(), "put");
    const auto out = queue_dequeue_many(queue, 2, {kFloat32, kInt64});
    BOOST_TEST(out[0].partial_shape().to_string() == "[2,2]");
    BOOST_TEST(queue_dequeue_up_to(queue, 2, {kFloat32, kInt64})[1].partial_shape().to_string() == "[?]");
    named("floats", out[0] * 2.f);
    named("size", queue_size(queue));
    expect_error_begins([&] { queue_enqueue(queue, {tensor({1.f, 2.f}), tensor({int64_t{7}})}); },
                        "InvalidArgument: component 1: expected the queue's shape [], got [1]");
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph), other(graph);
    for (int i = 0; i < 3; ++i) session.run("put");
    BOOST_TEST(session.run("size").item<int32_t>() == 3);
    BOOST_TEST(session.run("floats").to_string() == "[[2. 4.]\n [2. 4.]]");
    BOOST_TEST(session.run("size").item<int32_t>() == 1);
    BOOST_TEST(other.run("size").item<int32_t>() == 0);  // a session has queues of its own
  }
}

// The other kinds, several elements at a time, and the end.
void other_kinds_saved() {
  const auto build = [] {
    const std::vector<Tensor> queues = {
        random_shuffle_queue({kInt64, kString}, {.shapes = {Shape{}, Shape{}}, .seed = 3}),
        padding_fifo_queue({kInt64, kString}, {.shapes = {Shape{}, Shape{}}}),
        priority_queue({Shape{}}, {.component_types = {kString}}),
    };
    for (size_t i = 0; i < queues.size(); ++i) {
      const std::string number = std::to_string(i);
      const auto operation = [&](const char* name, const auto& add) {
        const CollectEffects effects;
        add();
        group(effects.operations(), name + number);
      };
      operation("put", [&] { queue_enqueue(queues[i], {tensor(int64_t{2}), tensor("b")}); });
      operation("more", [&] { queue_enqueue_many(queues[i], {tensor({int64_t{1}}), tensor({"a"})}); });
      operation("close", [&] { queue_close(queues[i]); });
      const auto one = queue_dequeue(queues[i], {kInt64, kString});
      named("one" + number, one[0]);
      named("rest" + number, queue_dequeue_up_to(queues[i], 5, {kInt64, kString})[1]);
      named("closed" + number, queue_is_closed(queues[i]));
    }
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    for (const std::string number : {"0", "1", "2"}) {
      session.run("put" + number);
      session.run("more" + number);
      const auto first = session.run("one" + number).item<int64_t>();
      if (number != "0") BOOST_TEST(first == (number == "1" ? 2 : 1));
      BOOST_TEST(!session.run("closed" + number).item<bool>());
      session.run("close" + number);
      BOOST_TEST(session.run("closed" + number).item<bool>());
      BOOST_TEST(session.run("rest" + number + ":1").to_string() == (first == 2 ? "[b'a']" : "[b'b']"));
    }
  }
}

const Family queues("queues",
                    {
                        {"FIFOQueueV2",
                         {.own = {{"order", first_in_first_out},
                                  {"refused", what_does_not_fit},
                                  {"shared", shared_by_name},
                                  {"values", elements_are_values},
                                  {"saved", in_saved_graphs}}}},
                        {"RandomShuffleQueueV2",
                         {.own = {{"order", in_random_order}, {"stay", some_stay}, {"saved", other_kinds_saved}}}},
                        {"PaddingFIFOQueueV2", {.own = {{"padding", with_zeros_behind}, {"saved", other_kinds_saved}}}},
                        {"PriorityQueueV2", {.own = {{"order", least_first}, {"saved", other_kinds_saved}}}},
                        {"QueueEnqueueV2", {.own = {{"order", first_in_first_out}, {"saved", other_kinds_saved}}}},
                        {"QueueEnqueueManyV2", {.own = {{"several", several_at_a_time}, {"saved", other_kinds_saved}}}},
                        {"QueueDequeueV2", {.own = {{"closed", closed_ones}, {"saved", other_kinds_saved}}}},
                        {"QueueDequeueManyV2", {.own = {{"several", several_at_a_time}, {"saved", in_saved_graphs}}}},
                        {"QueueDequeueUpToV2", {.own = {{"several", several_at_a_time}, {"saved", other_kinds_saved}}}},
                        {"QueueCloseV2", {.own = {{"closed", closed_ones}, {"saved", other_kinds_saved}}}},
                        {"QueueIsClosedV2", {.own = {{"closed", closed_ones}, {"saved", other_kinds_saved}}}},
                        {"QueueSizeV2", {.own = {{"order", first_in_first_out}, {"saved", in_saved_graphs}}}},
                    });

}  // namespace
}  // namespace panto::test::queues_rows
