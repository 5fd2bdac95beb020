// Long ops stop where that is requested while they run.
#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <functional>
#include <thread>

#include "panto/device/cpu/gemm/tile_gemm.h"
#include "panto/device/cpu/parallel.h"
#include "panto/lib/base/error.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/random/random.h"
#include "panto/tests/device/support.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

using test::ThreadCount;

constexpr int64_t kLong = int64_t{1} << 30;  // work, in bytes moved: many milliseconds

struct Cleared {
  ~Cleared() { clear_cancel(); }
};

// Whether `compute` was stopped.
bool stopped(const std::function<void()>& compute) {
  try {
    compute();
    return false;
  } catch (const Error& error) {
    BOOST_REQUIRE_MESSAGE(error.code() == Code::kCancelled, error.what());
    return true;
  }
}

// Who is asked to stop.
enum class Asked : uint8_t { kProcess, kStep };

// Requests that `compute` stops, from another thread, when a quarter of the time that it takes has passed since it
// began. That thread may be late, on a busy machine often: then it is tried again, some times with less to wait for.
bool stops_in_its_middle(const std::function<void()>& compute, Asked asked = Asked::kProcess) {
  using Clock = std::chrono::steady_clock;
  // The shortest of a few times: the first has memory's pages to ask for, and a quarter of it may be all of another.
  Clock::duration whole = Clock::duration::max();
  for (int i = 0; i < 3; ++i) {
    const Clock::time_point start = Clock::now();
    compute();
    whole = std::min(whole, Clock::now() - start);
  }
  for (int i = 0; i < 30; ++i) {
    const Cleared cleared;
    Step step = current_step();
    step.cancellation = std::make_shared<Cancellation>();
    const StepScope scope(step);
    std::atomic<bool> begins{false};
    std::thread other([&] {
      begins.wait(false);
      std::this_thread::sleep_for(whole / (4 << (i % 3)));
      asked == Asked::kStep ? step.cancellation->request() : request_cancel();
    });
    const bool was_stopped = stopped([&] {
      begins = true;
      begins.notify_one();
      compute();
    });
    other.join();
    if (was_stopped) return true;
  }
  return false;
}

BOOST_AUTO_TEST_SUITE(stop)

BOOST_AUTO_TEST_CASE(ranges_are_cut_into_pieces_that_cover_the_loop_once) {
  for (const int threads : {1, 2, 3}) {
    for (const int64_t multiple : {int64_t{1}, int64_t{64}}) {
      const ThreadCount scope(threads);
      constexpr int64_t kSize = 1000;
      std::vector<int> seen(kSize);
      std::atomic<int> pieces{0};
      std::atomic<bool> aligned{true};
      cpu::parallel_ranges(
          kSize, kLong,
          [&](int64_t begin, int64_t end) {
            ++pieces;
            if (begin % multiple != 0 || begin >= end) aligned = false;
            for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
          },
          multiple);
      BOOST_TEST(aligned);
      BOOST_TEST(pieces >= (multiple == 1 ? 100 : 16));
      BOOST_TEST(seen == std::vector<int>(kSize, 1), boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(no_piece_begins_after_a_request) {
  for (const int threads : {1, 2}) {
    const ThreadCount scope(threads);
    const Cleared cleared;
    std::atomic<int> pieces{0};
    BOOST_TEST(stopped([&] {
      cpu::parallel_ranges(
          1000, kLong,
          [&](int64_t, int64_t) {
            ++pieces;
            request_cancel();
          },
          1);
    }));
    BOOST_TEST(pieces <= threads);
  }
}

// A loop's threads work for the step of the one that began it.
BOOST_AUTO_TEST_CASE(no_piece_begins_after_a_request_to_the_step) {
  for (const int threads : {1, 2, 4}) {
    Step step = current_step();
    step.cancellation = std::make_shared<Cancellation>();
    step.threads = threads;
    const StepScope scope(step);
    std::atomic<int> pieces{0};
    BOOST_TEST(stopped([&] {
      cpu::parallel_ranges(
          1000, kLong,
          [&](int64_t, int64_t) {
            // As somebody else would who has a copy: all threads have begun, or there is one.
            if (++pieces == threads) step.cancellation->request();
            while (!step.cancellation->requested()) std::this_thread::yield();
          },
          1);
    }));
    BOOST_TEST(pieces == threads);
    BOOST_TEST(!cancel_requested());
    // What belongs to another step goes on.
    std::atomic<int64_t> seen{0};
    std::thread([&] {
      cpu::parallel_ranges(1000, kLong, [&](int64_t begin, int64_t end) { seen += end - begin; }, 1);
    }).join();
    BOOST_TEST(seen == 1000);
  }
}

BOOST_AUTO_TEST_CASE(shares_are_whole) {
  const ThreadCount scope(2);
  const Cleared cleared;
  std::atomic<int> shares{0};
  BOOST_CHECK_NO_THROW(cpu::parallel_for(
      1000, kLong,
      [&](int64_t, int64_t) {
        ++shares;
        request_cancel();
      },
      1));
  BOOST_TEST(shares == 2);
}

// A variable has all of an update, or nothing.
BOOST_AUTO_TEST_CASE(a_variable_is_never_left_half_changed) {
  const Cleared cleared;
  Variable v(zeros({30'000'000}), "v");
  const Tensor one = ones({30'000'000});
  for (int i = 0; i < 5; ++i) {
    std::thread other([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      request_cancel();
    });
    stopped([&] { v.assign_add(one); });
    other.join();
    clear_cancel();
    BOOST_TEST(reduce_min(v.value()).item<float>() == reduce_max(v.value()).item<float>());
  }
}

// As long as oneDNN's code runs, whose frames cannot be told from an input's.
BOOST_AUTO_TEST_CASE(generated_code_is_told_apart) {
  BOOST_TEST(!in_generated_code());
  {
    const GeneratedCodeScope outer;
    const GeneratedCodeScope inner;
    BOOST_TEST(in_generated_code());
    std::thread([] { BOOST_TEST(!in_generated_code()); }).join();
  }
  BOOST_TEST(!in_generated_code());
}

struct Long {
  const char* name;
  std::function<void()> compute;
};

BOOST_AUTO_TEST_CASE(long_ops_stop_in_their_middle, *boost::unit_test::label("heavy")) {
  const ThreadCount scope(2);  // many more would be done before anybody asks them to stop
  const Tensor x = random_normal({20'000'000}, {.seed = 1});
  const Tensor row = reshape(x, {1, -1}), square = reshape(x, {-1, 4000});
  const Tensor numbers = random_normal({60'000'000}, {.seed = 7});  // this many, as threads take a while to hear
  const Tensor tall = reshape(numbers, {-1, 4});
  // Each thread has several tiles of these, and of the images below.
  const Tensor floats = random_normal({2600, 2600}, {.seed = 2}), doubles = cast(floats, kFloat64);
  const Tensor integers = cast(slice(floats, {0, 0}, {1500, 1500}) * 100.0f, kInt32);
  const Tensor deep = cast(slice(square, {0, 0}, {4000, 4000}) * 100.0f, kInt32), few = slice(deep, {0, 0}, {40, 4000});
  const Tensor batch = random_normal({40, 400, 400}, {.seed = 3});
  const Tensor images = random_normal({32, 96, 96, 64}, {.seed = 4}),
               image = slice(images, {0, 0, 0, 0}, {8, 96, 96, 64});
  const Tensor filter = random_normal({3, 3, 64, 64}, {.seed = 5});
  const Tensor some = slice(image, {0, 0, 0, 0}, {2, 48, 48, 64});
  const Tensor image64 = cast(some, kFloat64), filter64 = cast(filter, kFloat64);
  const Tensor ids = cast(random_uniform({5'000'000}, {.seed = 6}) * 100.0f, kInt32);
  const Function fused =
      trace([](const Tensor& a) { return tanh(exp(a * 0.5f) + 1.0f) * sin(a); }, {TensorSpec(kFloat32, {-1})});
  const Function reduced =
      trace([](const Tensor& a) { return sum(tanh(exp(a * 0.5f) + 1.0f) * sin(a)); }, {TensorSpec(kFloat32, {-1})});
  const Long ops[] = {
      {"elementwise", [&] { pow(x, x); }},
      {"broadcast", [&] { pow(square, slice(square, {0, 0}, {1, 4000})); }},
      {"fused", [&] { fused(x); }},
      {"fused reduction", [&] { reduced(x); }},
      {"sum", [&] { sum(numbers); }},
      {"sum of columns", [&] { sum(tall, {0}); }},
      {"transpose", [&] { transpose(square, {1, 0}); }},
      {"random", [&] { random_normal({20'000'000}, {.seed = 1}); }},
      {"softmax of a row", [&] { softmax(row); }},
      {"argmax of a row", [&] { argmax(row, 1); }},
      {"running sum", [&] { cumsum(x, 0); }},
      {"gather", [&] { gather(x, ids, 0); }},
      {"segments", [&] { unsorted_segment_sum(slice(x, {0}, {5'000'000}), ids, 100); }},
      {"product of floats", [&] { matmul(floats, floats); }},
      {"product of doubles", [&] { matmul(doubles, doubles); }},
      {"product of integers", [&] { matmul(integers, integers); }},
      {"product of few rows", [&] { matmul(few, deep); }},
      {"batch of products", [&] { batch_matmul(batch, batch); }},
      {"pooling", [&] { max_pool(image, {1, 9, 9, 1}, {1, 1, 1, 1}, "SAME"); }},
      {"convolution", [&] { conv2d(images, filter, {1, 1, 1, 1}, "SAME"); }},
      {"convolution of doubles", [&] { conv2d(image64, filter64, {1, 1, 1, 1}, "SAME"); }},
  };
  for (const Long& op : ops) BOOST_TEST(stops_in_its_middle(op.compute), op.name);
}

// An op and a traced function stop in their middle, on all threads that share the loop, with the step that they are of.
BOOST_AUTO_TEST_CASE(long_ops_stop_with_their_step, *boost::unit_test::label("heavy")) {
  const Tensor x = random_normal({20'000'000}, {.seed = 1});
  const Function fused =
      trace([](const Tensor& a) { return tanh(exp(a * 0.5f) + 1.0f) * sin(a); }, {TensorSpec(kFloat32, {-1})});
  const ThreadCount scope(2);
  BOOST_TEST(stops_in_its_middle([&] { pow(x, x); }, Asked::kStep));
  BOOST_TEST(stops_in_its_middle([&] { fused(x); }, Asked::kStep));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
