// Calls on readers, accumulators, barriers, staging areas and mutexes that wait, on several threads, and what ends
// their waiting.
#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "panto/lib/base/file.h"
#include "panto/lib/core/collections/handle.h"
#include "panto/lib/core/collections/queue.h"
#include "panto/lib/core/collections/reader.h"
#include "panto/lib/core/collections/waiting_line.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/runtime/coordinator.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/data/input_queues.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/threads/waiting.h"

namespace panto {
namespace {

const std::vector<DType> kFloats = {kFloat32};

// Stops what it calls from outside.
class Stopped {
 public:
  template <class Body>
  explicit Stopped(Body body)
      : waiting_([this, body] {
          Step step;
          step.cancellation = cancellation_;
          const StepScope scope(step);
          body();
        }) {}
  bool waits() const { return waiting_.waits(); }
  void expect_stops() {
    BOOST_TEST(waits());
    cancellation_->request();
    const std::string text = waiting_.join();
    BOOST_TEST(text.starts_with("Cancelled: "), text);
  }

 private:
  std::shared_ptr<Cancellation> cancellation_ = std::make_shared<Cancellation>();
  Waiting waiting_;
};

BOOST_AUTO_TEST_SUITE(waiting)

BOOST_AUTO_TEST_CASE(a_line_serves_in_order_or_whoever_can_go_on) {
  for (const auto order : {WaitingLine::Order::kFirstComeFirstServed, WaitingLine::Order::kAnyThatCan}) {
    WaitingLine line(order);
    int there = 0;
    std::string served;
    const auto take = [&](const char* name, int count) {
      return line.wait(
          [&there, count] {
            if (there < count) return false;
            there -= count;
            return true;
          },
          [&served, name](const std::exception_ptr&) { served += name; });
    };
    take("a", 3);
    const uint64_t b = take("b", 1);
    take("c", 1);
    line.change([&] { there = 1; });
    BOOST_TEST(served == (order == WaitingLine::Order::kAnyThatCan ? "b" : ""));
    line.forget(b);
    line.change([&] { there += 3; });
    BOOST_TEST(served == (order == WaitingLine::Order::kAnyThatCan ? "ba" : "ac"));
  }
}

BOOST_AUTO_TEST_CASE(errors_end_waiting) {
  WaitingLine line(WaitingLine::Order::kAnyThatCan);
  bool broken = false;
  std::string text;
  line.wait(
      [&]() -> bool {
        if (broken) throw Error(Code::kAborted, "broken");
        return false;
      },
      [&](const std::exception_ptr& error) {
        try {
          std::rethrow_exception(error);
        } catch (const Error& e) {
          text = e.what();
        }
      });
  expect_error_begins(
      [&] {
        line.change([&] {
          broken = true;
          throw Error(Code::kInternal, "change");
        });
      },
      "Internal: change");
  BOOST_TEST(text == "Aborted: broken");
}

BOOST_AUTO_TEST_CASE(reading_waits_for_names) {
  const Tensor reader = identity_reader();
  const Tensor names = fifo_queue({kString});
  const auto read = [&] { return reader_read(reader, names).value.item<std::string>(); };
  std::string got;
  Waiting first([&] { got = read(); });
  BOOST_TEST(first.waits());
  BOOST_TEST(reader_num_records_produced(reader).item<int64_t>() == 0);  // asks without waiting
  queue_enqueue(names, {tensor("a")});
  BOOST_TEST(first.join() == "fine");
  BOOST_TEST(got == "a");
  Stopped stopped(read);
  stopped.expect_stops();
  queue_enqueue(names, {tensor("b")});
  BOOST_TEST(read() == "b");  // the call that was stopped has taken nothing, and holds nobody up
  Waiting last([&] { read(); });
  BOOST_TEST(last.waits());
  queue_close(names);
  const std::string text = last.join();
  BOOST_TEST(text.starts_with("OutOfRange: queue: "), text);
}

// Who waits for its turn behind a call that waits for a name.
BOOST_AUTO_TEST_CASE(reads_take_turns) {
  const Tensor reader = identity_reader();
  const Tensor empty = fifo_queue({kString}), full = fifo_queue({kString});
  queue_enqueue(full, {tensor("a")});
  {
    Stopped first([&] { reader_read(reader, empty); });
    BOOST_TEST(first.waits());
    Stopped second([&] { reader_read(reader, full); });
    second.expect_stops();
    std::string got;
    Waiting third([&] { got = reader_read(reader, full).value.item<std::string>(); });
    BOOST_TEST(third.waits());
    first.expect_stops();
    BOOST_TEST(third.join() == "fine");
    BOOST_TEST(got == "a");
  }
}

// Neither a call that is done nor one that was stopped keeps what it used.
BOOST_AUTO_TEST_CASE(calls_keep_nothing) {
  std::weak_ptr<Queue> names;
  std::weak_ptr<Reader> reader;
  {
    const Tensor queue = fifo_queue({kString}), of_names = identity_reader();
    names = queue_of(queue);
    reader = reader_of(of_names);
    queue_enqueue(queue, {tensor("a")});
    reader_read(of_names, queue);
    Waiting waits([&] { reader_read(of_names, queue); });
    BOOST_TEST(waits.waits());
    queue_enqueue(queue, {tensor("b")});
    BOOST_TEST(waits.join() == "fine");
    Stopped stopped([&] { reader_read(of_names, queue); });
    stopped.expect_stops();
  }
  BOOST_TEST(names.expired());
  BOOST_TEST(reader.expired());
  std::weak_ptr<const ResourceHandle::element_type> resource;
  for (const bool stops : {false, true}) {
    const auto wait_for = [&](const Tensor& handle, const auto& wait, const auto& let_go) {
      resource = resource_in(handle, "resource");
      if (stops) {
        Stopped stopped([&] { wait(handle); });
        stopped.expect_stops();
      } else {
        Waiting waits([&] { wait(handle); });
        BOOST_TEST(waits.waits());
        let_go(handle);
        BOOST_TEST(waits.join() == "fine");
      }
    };
    wait_for(
        conditional_accumulator(kFloat32, PartialShape{}),
        [](const Tensor& a) { accumulator_take_gradient(a, 1, kFloat32); },
        [](const Tensor& a) { accumulator_apply_gradient(a, tensor(int64_t{0}), tensor(1.f)); });
    BOOST_TEST(resource.expired());
    wait_for(
        barrier(kFloats, {.shapes = {Shape{}}}), [](const Tensor& b) { barrier_take_many(b, 1, kFloats); },
        [](const Tensor& b) { barrier_insert_many(b, tensor({"k"}), tensor({1.f}), 0); });
    BOOST_TEST(resource.expired());
  }
}

// Empty files, one after the other, are no deeper and deeper call.
BOOST_AUTO_TEST_CASE(many_empty_files) {
  const TestFolder folder;
  write_file(folder / "empty", "");
  write_file(folder / "one", "x\n");
  const Tensor names = fifo_queue({kString}, {.shapes = {Shape{}}});
  std::vector<std::string> all(20000, folder / "empty");
  all.push_back(folder / "one");
  queue_enqueue_many(names, {tensor_from_strings(Shape{static_cast<int64_t>(all.size())}, all)});
  BOOST_TEST(reader_read(text_line_reader(), names).value.item<std::string>() == "x");
}

BOOST_AUTO_TEST_CASE(threads_share_a_reader) {
  const TestFolder folder;
  const Tensor names = fifo_queue({kString});
  std::multiset<std::string> expected;
  for (int f = 0; f < 20; ++f) {
    std::string text;
    for (int i = 0; i < 50; ++i) {
      const std::string line = std::to_string(f) + "/" + std::to_string(i);
      expected.insert(line);
      text += line + "\n";
    }
    const std::string path = folder / ("file" + std::to_string(f));
    write_file(path, text);
    queue_enqueue(names, {tensor(path)});
  }
  queue_close(names);
  const Tensor reader = text_line_reader();
  std::mutex mutex;
  std::multiset<std::string> got;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        try {
          for (;;) {
            const std::string value = reader_read(reader, names).value.item<std::string>();
            const std::lock_guard lock(mutex);
            got.insert(value);
          }
        } catch (const Error&) {
        }
      });
    }
  }
  BOOST_TEST((got == expected));
  BOOST_TEST(reader_num_work_units_completed(reader).item<int64_t>() == 20);
}

BOOST_AUTO_TEST_CASE(taking_waits_for_gradients) {
  const Tensor accumulator = conditional_accumulator(kFloat32, PartialShape{});
  const auto apply = [&](float value) { accumulator_apply_gradient(accumulator, tensor(int64_t{9}), tensor(value)); };
  const auto take = [&](int count) { return accumulator_take_gradient(accumulator, count, kFloat32).item<float>(); };
  float got = 0;
  Waiting taking([&] { got = take(2); });
  apply(1);
  BOOST_TEST(taking.waits());
  apply(3);
  BOOST_TEST(taking.join() == "fine");
  BOOST_TEST(got == 2.f);
  Stopped stopped([&] { take(1); });
  stopped.expect_stops();
  apply(5);
  BOOST_TEST(take(1) == 5.f);
}

BOOST_AUTO_TEST_CASE(workers_accumulate_every_gradient) {
  const Tensor accumulator = conditional_accumulator(kFloat32, PartialShape{}, {.reduction_type = "SUM"});
  float sum = 0;
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < 4; ++t) {
      workers.emplace_back([&] {
        for (int i = 0; i < 100; ++i) accumulator_apply_gradient(accumulator, tensor(int64_t{1000}), tensor(1.f));
      });
    }
    while (sum < 400) sum += accumulator_take_gradient(accumulator, 1, kFloat32).item<float>();
  }
  BOOST_TEST(accumulator_num_accumulated(accumulator).item<int32_t>() == 0);
  BOOST_TEST(sum == 400.f);
}

BOOST_AUTO_TEST_CASE(taking_waits_for_whole_elements) {
  const Tensor b = barrier(kFloats, {.shapes = {Shape{}}});
  const auto put = [&](const char* key, float value) { barrier_insert_many(b, tensor({key}), tensor({value}), 0); };
  std::string got;
  Waiting taking([&] { got = barrier_take_many(b, 2, kFloats).keys.to_string(); });
  put("x", 1);
  BOOST_TEST(taking.waits());
  put("y", 2);
  BOOST_TEST(taking.join() == "fine");
  BOOST_TEST(got == "[b'x' b'y']");
  Stopped stopped([&] { barrier_take_many(b, 1, kFloats); });
  stopped.expect_stops();
  Waiting closed([&] { barrier_take_many(b, 1, kFloats); });
  BOOST_TEST(closed.waits());
  barrier_close(b);
  const std::string text = closed.join();
  BOOST_TEST(text.starts_with("OutOfRange: "), text);
}

BOOST_AUTO_TEST_CASE(staging_waits_for_room_and_for_elements) {
  const auto put = [](float value) { stage({tensor(value)}, {.capacity = 1, .shared_name = "waiting_stage"}); };
  const auto take = [] { return unstage(kFloats, {.capacity = 1, .shared_name = "waiting_stage"})[0].item<float>(); };
  put(1);
  Waiting second([&] { put(2); });
  BOOST_TEST(second.waits());
  BOOST_TEST(take() == 1.f);
  BOOST_TEST(second.join() == "fine");
  Stopped stopped([&] { put(3); });
  stopped.expect_stops();
  BOOST_TEST(take() == 2.f);
  Stopped taking(take);
  taking.expect_stops();
  float peeked = 0;
  Waiting peeking(
      [&] { peeked = stage_peek(0, kFloats, {.capacity = 1, .shared_name = "waiting_stage"})[0].item<float>(); });
  BOOST_TEST(peeking.waits());
  put(4);
  BOOST_TEST(peeking.join() == "fine");
  BOOST_TEST(peeked == 4.f);
}

BOOST_AUTO_TEST_CASE(staging_by_keys_waits_for_the_key) {
  const auto put = [](int64_t key, float value) {
    map_stage(tensor(key), tensor({0}), {tensor(value)}, kFloats, {.shared_name = "waiting_map"});
  };
  float got = 0;
  Waiting taking([&] {
    got = map_unstage(tensor(int64_t{2}), tensor({0}), kFloats, {.shared_name = "waiting_map"})[0].item<float>();
  });
  put(1, 1);
  BOOST_TEST(taking.waits());
  put(2, 2);
  BOOST_TEST(taking.join() == "fine");
  BOOST_TEST(got == 2.f);
}

// One at a time, in eager calls and in runs of a graph.
BOOST_AUTO_TEST_CASE(mutexes_exclude) {
  Graph graph;
  const Variable counter(tensor(0), "guarded");
  std::atomic<int> inside{0}, most{0}, calls{0};
  {
    const GraphScope building(graph);
    const Tensor m = mutex({.shared_name = "waiting_mutex"});
    const CollectEffects effects;
    const Tensor lock = mutex_lock(m);
    {
      const ControlDependencies locked(effects.operations());
      host_call(
          [&](const std::vector<Tensor>&) {
            const int now = ++inside;
            most = std::max(most.load(), now);
            ++calls;
            std::this_thread::sleep_for(std::chrono::microseconds(50));
            --inside;
            return std::vector<Tensor>();
          },
          {}, {});
    }
    const ControlDependencies done(effects.operations());
    consume_mutex_lock(lock);
    group(effects.operations(), "step");
  }
  Session session(graph);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) session.run("step");
      });
    }
  }
  BOOST_TEST(calls == 200);
  BOOST_TEST(most == 1);
}

// Names of files, two threads that read them, batches.
BOOST_AUTO_TEST_CASE(pipelines) {
  const TestFolder folder;
  std::multiset<std::string> expected;
  std::vector<std::string> paths;
  for (const char* name : {"a", "b", "c"}) {
    std::string text;
    for (int i = 0; i < 9; ++i) {
      expected.insert(std::string(name) + std::to_string(i));
      expected.insert(std::string(name) + std::to_string(i));  // two epochs
      text += std::string(name) + std::to_string(i) + "\n";
    }
    paths.push_back(folder / name);
    write_file(paths.back(), text);
  }
  for (const bool shuffled : {false, true}) {
    Graph graph;
    std::vector<InputQueue> queues;
    {
      const GraphScope building(graph);
      queues.push_back(string_input_producer(tensor_from_strings(Shape{3}, paths), {.epochs = 2}));
      const Tensor line = reader_read(text_line_reader(), queues[0].queue).value;
      queues.push_back(
          shuffled ? shuffle_batch({line}, 4, {.threads = 2, .min_after_dequeue = 5, .allow_smaller_final_batch = true})
                   : batch({line}, 4, {.threads = 2, .allow_smaller_final_batch = true}));
      named("lines", identity(queues[1].outputs[0]));
      BOOST_TEST(queues[1].outputs[0].partial_shape().to_string() == "[?]");
    }
    Session session(graph);
    Coordinator coordinator;
    for (const InputQueue& queue : queues) queue.runner.start(session, coordinator);
    std::multiset<std::string> got;
    const auto read = [&] {
      for (;;) {
        const Tensor lines = session.run("lines");
        for (const std::string& line : lines.data<std::string>()) got.insert(line);
      }
    };
    expect_error_begins(read, "OutOfRange: queue \"");
    coordinator.request_stop();
    coordinator.join();
    BOOST_TEST((got == expected));
  }
}

BOOST_AUTO_TEST_CASE(pipelines_that_cannot_be) {
  Graph graph;
  const GraphScope building(graph);
  expect_error_begins([] { string_input_producer(tensor({1.f})); },
                      "InvalidArgument: strings: expected a vector of strings, got float32[1]");
  expect_error_begins([] { batch({placeholder(kFloat32, {-1}, "x")}, 4); },
                      "InvalidArgument: tensors: expected ones whose elements have known shapes, got shape [?]");
  expect_error_begins([] { batch({}, 4); }, "InvalidArgument: tensors: expected at least one, got none");
  expect_error_begins([] { batch({tensor(1.f)}, 0); }, "InvalidArgument: size: expected at least 1, got 0");
  expect_error_begins([] { batch({tensor(1.f)}, 1, {.threads = 0}); },
                      "InvalidArgument: threads: expected at least 1, got 0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
