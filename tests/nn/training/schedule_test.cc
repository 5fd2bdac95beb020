// Schedules: what they say at their edges, and what they refuse. (Values of Keras: training_reference_test.cc.)
#include "panto/nn/training/schedule.h"

#include <cmath>
#include <vector>

#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(schedules)

std::vector<double> rates(const Schedule& schedule, const std::vector<int64_t>& steps) {
  const Function traced = trace([&](const Tensor& step) { return schedule(step); }, {TensorSpec(kInt64, {})});
  std::vector<double> all;
  for (const int64_t step : steps) {
    const Tensor rate = schedule(tensor(step));
    BOOST_TEST(dtype_name(rate.dtype()) == "float64");
    all.push_back(rate.item<double>());
    expect_near(traced(tensor(step)), all.back());
  }
  return all;
}

BOOST_AUTO_TEST_CASE(constant) {
  const Schedule schedule = 0.25;
  BOOST_TEST(schedule.constant().value() == 0.25);
  BOOST_TEST(rates(schedule, {0, 100}) == (std::vector{0.25, 0.25}));
  BOOST_TEST(Schedule(1).constant().value() == 1);
  BOOST_TEST(piecewise_constant({}, {0.5}).constant().value() == 0.5);
  BOOST_TEST(!exponential_decay(1, 1, 0.5).constant().has_value());
}

BOOST_AUTO_TEST_CASE(piecewise) {
  const Schedule schedule = piecewise_constant({0, 2}, {4, 2, 1});
  BOOST_TEST(rates(schedule, {0, 1, 2, 3, 1000}) == (std::vector<double>{4, 2, 2, 1, 1}));
}

BOOST_AUTO_TEST_CASE(exponential) {
  BOOST_TEST(rates(exponential_decay(4, 2, 0.25), {0, 1, 2, 4}) == (std::vector<double>{4, 2, 1, 0.25}));
  BOOST_TEST(rates(exponential_decay(4, 2, 0.25, {.staircase = true}), {0, 1, 2, 3}) ==
             (std::vector<double>{4, 4, 1, 1}));
}

BOOST_AUTO_TEST_CASE(cosine) {
  const Schedule schedule = cosine_decay(2, 4, {.warmup_steps = 2, .warmup_from = 1, .alpha = 0.5});
  const std::vector<double> expected = {1, 1.5, 2, 1.5, 1, 1};
  const std::vector<double> got = rates(schedule, {0, 1, 2, 4, 6, 100});
  BOOST_TEST(got == expected, boost::test_tools::tolerance(1e-12) << boost::test_tools::per_element());
  BOOST_TEST(rates(cosine_decay(2, 4), {0})[0] == 2);
}

BOOST_AUTO_TEST_CASE(polynomial) {
  BOOST_TEST(rates(polynomial_decay(5, 4, {.end = 1}), {0, 1, 4, 100}) == (std::vector<double>{5, 4, 1, 1}));
  BOOST_TEST(rates(polynomial_decay(5, 4, {.end = 1, .power = 2}), {2}) == (std::vector<double>{2}));
  BOOST_TEST(rates(polynomial_decay(5, 4, {.end = 1, .cycle = true}), {0, 4, 6, 8}) ==
             (std::vector<double>{5, 1, 2, 1}));
}

BOOST_AUTO_TEST_CASE(inverse_time_and_natural_exp) {
  BOOST_TEST(rates(inverse_time_decay(4, 2, 1), {0, 1, 2, 6}) == (std::vector<double>{4, 4 / 1.5, 2, 1}));
  BOOST_TEST(rates(inverse_time_decay(4, 2, 1, {.staircase = true}), {1, 3}) == (std::vector<double>{4, 2}));
  const std::vector<double> expected = {4, 4 * std::exp(-1), 4 * std::exp(-2)};
  BOOST_TEST(rates(natural_exp_decay(4, 2, 2), {0, 1, 2}) == expected, boost::test_tools::tolerance(1e-12)
                                                                           << boost::test_tools::per_element());
  BOOST_TEST(rates(natural_exp_decay(4, 2, 2, {.staircase = true}), {1}) == (std::vector<double>{4}));
}

BOOST_AUTO_TEST_CASE(linear_cosine) {
  const std::vector<double> got = rates(linear_cosine_decay(8, 4, {.alpha = 0.5, .beta = 0.25}), {0, 2, 4, 100});
  const std::vector<double> expected = {8 * 1.75, 8 * 0.75, 2, 2};
  BOOST_TEST(got == expected, boost::test_tools::tolerance(1e-12) << boost::test_tools::per_element());
}

// Each period begins at its first step, whatever the logarithm is rounded to.
BOOST_AUTO_TEST_CASE(cosine_with_restarts) {
  for (const double t_mul : {1.0, 2.0, 3.0, 10.0}) {
    const Schedule schedule = cosine_decay_restarts(1, 5, {.t_mul = t_mul, .m_mul = 0.5, .alpha = 0});
    double begin = 0, length = 5, rate = 1;
    for (int period = 0; period < 6; ++period) {
      const auto first = static_cast<int64_t>(begin);
      const std::vector<double> got = rates(schedule, {first, first + static_cast<int64_t>(length) - 1});
      BOOST_TEST(got[0] == rate, boost::test_tools::tolerance(1e-9));
      BOOST_TEST(got[1] < rate / 2);
      begin += length;
      length *= t_mul;
      rate /= 2;
    }
  }
}

BOOST_AUTO_TEST_CASE(of_ones_own) {
  const Schedule schedule = [](const Tensor& step) { return sqrt(cast(step, kFloat64)); };
  BOOST_TEST(rates(schedule, {0, 4}) == (std::vector<double>{0, 2}));
}

BOOST_AUTO_TEST_CASE(misuse) {
  const auto expect_invalid = [](const auto& make, const std::string& text) {
    expect_error(make, "InvalidArgument: " + text);
  };
  expect_invalid([] { piecewise_constant({}, {}); },
                 "values of piecewise_constant: expected one more than 0 boundaries, got 0");
  expect_invalid([] { piecewise_constant({2, 2}, {1, 2, 3}); },
                 "boundaries of piecewise_constant: expected increasing ones, got 2 after 2");
  expect_invalid([] { piecewise_constant({2}, {1, -1}); },
                 "value of piecewise_constant: expected a finite number of at least 0, got -1");
  expect_invalid([] { exponential_decay(1, 0, 0.5); }, "steps of exponential_decay: expected a positive number, got 0");
  expect_invalid([] { exponential_decay(1, 1, 0); }, "factor of exponential_decay: expected a positive number, got 0");
  expect_invalid([] { cosine_decay(1, 0); }, "steps of cosine_decay: expected a positive number, got 0");
  expect_invalid([] { cosine_decay(1, 1, {.warmup_steps = -1}); },
                 "warmup_steps of cosine_decay: expected at least 0, got -1");
  expect_invalid([] { polynomial_decay(1, 0); }, "steps of polynomial_decay: expected a positive number, got 0");
  expect_invalid([] { polynomial_decay(1, 1, {.power = 0}); },
                 "power of polynomial_decay: expected a positive number, got 0");
  expect_invalid([] { inverse_time_decay(1, 1, -1); },
                 "factor of inverse_time_decay: expected a finite number of at least 0, got -1");
  expect_invalid([] { natural_exp_decay(1, -1, 1); }, "steps of natural_exp_decay: expected a positive number, got -1");
  expect_invalid([] { cosine_decay_restarts(1, 1, {.t_mul = 0.5}); },
                 "t_mul of cosine_decay_restarts: expected a finite number of at least 1, got 0.5");
  const Schedule schedule = cosine_decay(1, 1);
  expect_invalid([&] { schedule(tensor(1)); }, "step of a learning-rate schedule: expected int64[], got int32[]");
  expect_invalid([&] { schedule(Tensor()); }, "step of a learning-rate schedule: expected int64[], got none");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
