// Functions that call themselves and each other while they are traced.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "panto/lib/core/call/recorder.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/tests/within_a_minute.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(recursion)

// Halves are added up until one element is left: each call has another shape.
BOOST_AUTO_TEST_CASE(a_recursion_whose_shapes_shrink) {
  within_a_minute([] {
    Function total;
    total = trace([&total](const Tensor& a) -> Tensor {
      const int64_t n = a.dim(0);
      if (n == 1) return reshape(a, Shape());
      return total(slice(a, {0}, {n / 2})) + total(slice(a, {n / 2}, {n - n / 2}));
    });
    expect_near(total(tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0})), 28);
    BOOST_TEST(total.num_traces() == 5);  // of 7, 3, 4, 2 and 1
    expect_near(total(tensor({1.0, 2.0, 3.0})), 6);
    BOOST_TEST(total.num_traces() == 5);
    BOOST_TEST(recorders().empty());
  });
}

BOOST_AUTO_TEST_CASE(a_recursion_that_never_ends) {
  within_a_minute([] {
    Function f;
    f = trace([&f](const Tensor& a) { return f(a) * 2.0; });
    for (int i = 0; i < 2; ++i) {
      expect_error_begins([&] { f(tensor({1.0, 2.0})); },
                          "FailedPrecondition: function: expected a call that does not need itself, got one with the "
                          "arguments (float64[2]) that it is being traced with");
      BOOST_TEST(f.num_traces() == 0);
      BOOST_TEST(recorders().empty());
    }
    // Through another function.
    Function g;
    const Function h = trace([&g](const Tensor& a) { return g(a) + 1.0; });
    g = trace([&h](const Tensor& a) { return h(a) * 2.0; });
    expect_error_begins([&] { g(tensor({1.0, 2.0})); }, "FailedPrecondition: function: expected a call that does not");
    expect_error_begins([&] { h(tensor({1.0, 2.0})); }, "FailedPrecondition: function: expected a call that does not");
  });
}

// Arguments of ever new shapes: as many signatures as there may be, then an error.
BOOST_AUTO_TEST_CASE(a_recursion_that_grows) {
  within_a_minute([] {
    Function f;
    f = trace([&f](const Tensor& a) { return sum(f(concat({a, tensor({1.0})}, 0))); });
    expect_error_begins([&] { f(tensor({1.0})); }, "FailedPrecondition: function: expected at most 64 signatures");
    BOOST_TEST(recorders().empty());
  });
}

BOOST_AUTO_TEST_CASE(a_failed_trace_may_be_tried_again) {
  within_a_minute([] {
    bool fails = true;
    const Function f = trace([&](const Tensor& a) {
      if (fails) fail(Code::kUnavailable, "value: expected one, got none yet");
      return a * 2.0;
    });
    expect_error_begins([&] { f(tensor(1.0)); }, "Unavailable: ");
    fails = false;
    expect_near(f(tensor(1.0)), 2);
  });
}

// Two functions that call each other, each traced first by another thread. What one thread waits for, the other holds.
BOOST_AUTO_TEST_CASE(two_functions_that_call_each_other_on_two_threads) {
  within_a_minute([] {
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> started{0};
      const auto meet = [&started] {  // both threads are inside a trace before either calls the other's function
        started.fetch_add(1);
        for (int i = 0; i < 1000 && started.load() < 2; ++i)
          std::this_thread::sleep_for(std::chrono::microseconds(100));
      };
      Function even, odd;  // of a's length: the sum of every second element, from the first or the second on
      even = trace([&](const Tensor& a) -> Tensor {
        if (a.dim(0) == 0) return zeros_like(sum(a));
        meet();
        return slice(a, {0}, {1}) + odd(slice(a, {1}, {-1}));
      });
      odd = trace([&](const Tensor& a) -> Tensor {
        if (a.dim(0) == 0) return zeros_like(sum(a));
        meet();
        return even(slice(a, {1}, {-1})) * 1.0;
      });
      Tensor first, second;
      std::thread other([&] { second = odd(tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0})); });
      first = even(tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}));
      other.join();
      expect_near(sum(first), 1 + 3 + 5);
      expect_near(sum(second), 2 + 4 + 6);
    }
  });
}

BOOST_AUTO_TEST_CASE(endless_on_two_threads) {
  within_a_minute([] {
    for (int round = 0; round < 50; ++round) {
      Function f, g;
      f = trace([&](const Tensor& a) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return g(a) + 1.0;
      });
      g = trace([&](const Tensor& a) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return f(a) * 2.0;
      });
      std::string texts[2];
      std::thread other([&] { texts[1] = error_text([&] { g(tensor({1.0})); }); });
      texts[0] = error_text([&] { f(tensor({1.0})); });
      other.join();
      for (const std::string& text : texts) {
        BOOST_TEST(text.starts_with("FailedPrecondition: function: expected a call that does not need itself"), text);
      }
    }
  });
}

// A user's function need not be ready for several threads: one at a time is inside.
BOOST_AUTO_TEST_CASE(one_thread_at_a_time_traces_a_function) {
  std::atomic<int> inside{0}, most{0};
  const Function f = trace([&](const Tensor& a) {
    const int now = inside.fetch_add(1) + 1;
    int before = most.load();
    while (before < now && !most.compare_exchange_weak(before, now)) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    inside.fetch_sub(1);
    return a * 2.0;
  });
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] { f(zeros_like(range(0.0, static_cast<double>(1 + t % 3), 1.0))); });
  }
  for (auto& t : threads) t.join();
  BOOST_TEST(most == 1);
  BOOST_TEST(f.num_traces() == 3);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
