// GradientTape: what gradients flow through, and how much of it.
#include <cmath>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(tape)
BOOST_AUTO_TEST_SUITE(flow)

BOOST_AUTO_TEST_CASE(no_gradient_flows_through_integers_and_bools) {
  const Tensor x = tensor({3.5, -1.5});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor truncated = cast(cast(x, kInt32), kFloat64);
  BOOST_TEST(!tape.gradient(truncated, x).defined());
  const Tensor y = truncated * x;
  expect_near(tape.gradient(y, x), {2}, {3, -1});
  const Tensor positive = x > 0.0;
  const Tensor z = select(positive, x, x * 0.1);
  expect_near(tape.gradient(z, x), {2}, {1, 0.1});
}

BOOST_AUTO_TEST_CASE(integer_inputs_of_differentiable_ops) {
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}});
  const Tensor rows = tensor({2, 0, 2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = gather(x, rows, 0);
  const auto grads = tape.gradient(y, {x, rows});
  expect_near(grads[0], {3, 2}, {1, 1, 0, 0, 2, 2});
  BOOST_TEST(!grads[1].defined());
}

BOOST_AUTO_TEST_CASE(stop_gradient_stops_it) {
  const Tensor x = tensor(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = stop_gradient(square(x)) * x;
  expect_near(tape.gradient(y, x), 9);
}

BOOST_AUTO_TEST_CASE(mixed_types_give_gradients_in_the_sources_types) {
  const Tensor x = tensor(3.F), w = tensor(2.0);
  GradientTape tape;
  tape.watch(x);
  tape.watch(w);
  const Tensor y = x * w * x;  // x is promoted to float64
  BOOST_TEST(dtype_name(y.dtype()) == "float64");
  const auto grads = tape.gradient(y, {x, w});
  BOOST_TEST(dtype_name(grads[0].dtype()) == "float32");
  BOOST_TEST(dtype_name(grads[1].dtype()) == "float64");
  expect_near(grads[0], 12);
  expect_near(grads[1], 9);
}

BOOST_AUTO_TEST_CASE(indexing) {
  const Tensor x = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x(1, -1) * x[0];
  expect_near(tape.gradient(y, x), {2, 3}, {6, 6, 6, 0, 0, 6});
}

BOOST_AUTO_TEST_CASE(empty_tensors) {
  const Tensor x = tensor(std::vector<double>{}, Shape{0, 3});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = square(x);
  expect_near(tape.gradient(sum(y), x), {0, 3}, {});
  expect_near(tape.gradient(y, x), {0, 3}, {});
}

// A persistent tape hears the sum of two seeds that it tracks: a call after those that are gone back through.
BOOST_AUTO_TEST_CASE(seeds_that_the_tape_tracks) {
  const Tensor x = tensor(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = square(x);
  std::vector<Tensor> seeds;
  for (int i = 0; i < 50; ++i) seeds.push_back(x * static_cast<double>(i));
  const std::vector<Tensor> targets(seeds.size(), y);
  const std::vector<GradSource> sources = {x};
  const Tensor dx = tape.gradients(targets, sources, seeds)[0];
  expect_near(dx, {}, {2 * 3 * 3 * 49.0 * 50 / 2});                // 2 x (x sum i)
  expect_near(tape.gradient(dx, x), {}, {4 * 3 * 49.0 * 50 / 2});  // of 2 x^2 sum i
}

BOOST_AUTO_TEST_CASE(an_op_with_more_inputs_than_16_bits_count) {
  constexpr size_t kCount = 70'000;
  const Tensor x = tensor(2.0);
  GradientTape tape;
  tape.watch(x);
  std::vector<Tensor> parts(kCount, tensor(1.0));
  parts.front() = square(x);
  parts.back() = x * 3.0;
  const Tensor y = sum(pack(parts));
  expect_near(tape.gradient(y, x), 4 + 3);
}

BOOST_AUTO_TEST_CASE(a_tape_of_100000_entries) {
  constexpr int kCount = 100'000;
  const Tensor x = tensor(1.0);
  GradientTape tape;
  tape.watch(x);
  Tensor y = x;
  for (int i = 0; i < kCount; ++i) y = y * 1.00001;
  BOOST_TEST(tape.size() == static_cast<size_t>(kCount));
  expect_near(tape.gradient(y, x), std::pow(1.00001, kCount), 1e-9);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
