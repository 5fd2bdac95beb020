// GradientTape: what it watches, what it gives, and what it refuses.
#include "panto/autograd/tape.h"

#include <cmath>
#include <memory>
#include <source_location>
#include <thread>

#include "panto/lib/core/call/recorder.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/autograd/orders.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

// "[at <this file>:<line>]", as errors end that name the user's line.
std::string at_line(uint32_t line) {
  return std::string("[at ") + std::source_location::current().file_name() + ":" + std::to_string(line) + "]";
}

BOOST_AUTO_TEST_SUITE(tape)

BOOST_AUTO_TEST_CASE(a_watched_tensor) {
  const Tensor x = tensor({1.0, 2.0, 3.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(square(x) * x);
  expect_near(tape.gradient(y, x), {3}, {3, 12, 27});
}

BOOST_AUTO_TEST_CASE(what_is_not_watched_has_no_gradient) {
  const Tensor x = tensor(3.0);
  GradientTape tape;
  BOOST_TEST(!tape.gradient(square(x), x).defined());
  BOOST_TEST(tape.size() == 0U);
}

BOOST_AUTO_TEST_CASE(only_what_leads_from_watched_tensors_is_recorded) {
  const Tensor x = tensor(3.0), other = tensor(4.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor unrelated = square(other);
  BOOST_TEST(tape.size() == 0U);
  const Tensor y = x * unrelated;
  BOOST_TEST(tape.size() == 1U);
  expect_near(tape.gradient(y, x), 16);
}

BOOST_AUTO_TEST_CASE(ops_before_watching_are_not_recorded) {
  const Tensor x = tensor(3.0);
  GradientTape tape;
  const Tensor early = square(x);
  tape.watch(x);
  const Tensor late = exp(x);
  const Tensor y = early * late;
  expect_near(tape.gradient(y, x), 9 * std::exp(3.0));
}

BOOST_AUTO_TEST_CASE(the_gradient_of_a_tensor_by_itself_is_one) {
  const Tensor x = tensor({3.0, 4.0});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  expect_near(tape.gradient(x, x), {2}, {1, 1});
  expect_near(tape.gradient(x, x, tensor({5.0, 6.0})), {2}, {5, 6});
}

BOOST_AUTO_TEST_CASE(inner_values_are_sources_too) {
  const Tensor x = tensor(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor u = square(x);  // 4
  const Tensor v = exp(u);     // e^4
  const Tensor y = u * v;      // u e^u
  const auto grads = tape.gradient(y, {x, u, v, y});
  const double e4 = std::exp(4.0);
  expect_near(grads[0], 4 * 5 * e4);
  expect_near(grads[1], 5 * e4);  // by u: through v as well
  expect_near(grads[2], 4);
  expect_near(grads[3], 1);
}

BOOST_AUTO_TEST_CASE(an_input_used_several_times_collects_all) {
  const Tensor x = tensor(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x * x + x + x;
  expect_near(tape.gradient(y, x), 3 * 9 + 2);
}

BOOST_AUTO_TEST_CASE(a_source_named_twice_gets_its_gradient_twice) {
  const Tensor x = tensor(3.0);
  GradientTape tape;
  tape.watch(x);
  tape.watch(x);
  const auto grads = tape.gradient(square(x), {x, x});
  expect_near(grads[0], 6);
  expect_near(grads[1], 6);
}

BOOST_AUTO_TEST_CASE(copies_of_a_handle_are_the_same_tensor) {
  const Tensor x = tensor(3.0);
  const Tensor copy = x;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = square(copy);
  expect_near(tape.gradient(y, copy), 6);
}

BOOST_AUTO_TEST_CASE(seeds_weigh_the_target) {
  const Tensor x = tensor({1.0, 2.0, 3.0});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = square(x);
  expect_near(tape.gradient(y, x), {3}, {2, 4, 6});
  expect_near(tape.gradient(y, x, tensor({1.0, 0.0, -1.0})), {3}, {2, 0, -6});
}

BOOST_AUTO_TEST_CASE(several_targets_add_up) {
  const Tensor x = tensor({1.0, 2.0});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = square(x), z = exp(x);
  const Tensor targets[] = {y, z, y};
  const GradSource sources[] = {x};
  const double e = std::exp(1.0);
  expect_near(tape.gradients(targets, sources)[0], {2}, {4 + e, 8 + e * e});
  const Tensor seeds[] = {tensor({10.0, 0.0}), Tensor(), tensor({0.0, 1.0})};
  expect_near(tape.gradients(targets, sources, seeds)[0], {2}, {20 + e, 4 + e * e});
}

// A target that another target is made from.
BOOST_AUTO_TEST_CASE(nested_targets) {
  const Tensor x = tensor(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = square(x);
  const Tensor z = square(y);
  const Tensor targets[] = {y, z};
  const GradSource sources[] = {x, y};
  const auto grads = tape.gradients(targets, sources);
  expect_near(grads[0], 4 + 32);
  expect_near(grads[1], 1 + 8);
}

BOOST_AUTO_TEST_CASE(unconnected_sources) {
  const Tensor x = tensor({1.F, 2.F}), other = tensor({{1.F}, {2.F}});
  const Variable v(tensor({7.F, 8.F, 9.F}), "unconnected");
  for (bool zero : {false, true}) {
    GradientTape tape({.persistent = true, .unconnected_zero = zero});
    tape.watch(x);
    tape.watch(other);
    const Tensor y = sum(x);
    const auto grads = tape.gradient(y, {x, other, v});
    expect_near(grads[0], {2}, {1, 1});
    if (zero) {
      expect_near(grads[1], {2, 1}, {0, 0});
      expect_near(grads[2], {3}, {0, 0, 0});
    } else {
      BOOST_TEST(!grads[1].defined());
      BOOST_TEST(!grads[2].defined());
    }
    // A target that nothing watched leads to.
    BOOST_TEST(tape.gradient(tensor(1.F), x).defined() == zero);
  }
}

BOOST_AUTO_TEST_CASE(a_second_gradient_needs_a_persistent_tape) {
  const Tensor x = tensor(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = square(x);
  expect_near(tape.gradient(y, x), 6);
  const uint32_t line = std::source_location::current().line() + 1;
  expect_error([&] { tape.gradient(y, x); },
               "FailedPrecondition: tape: expected one call of gradient, got a second (make the tape with "
               "{.persistent = true}) " +
                   at_line(line));
}

BOOST_AUTO_TEST_CASE(a_persistent_tape_gives_gradients_again) {
  const Tensor x = tensor(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = square(x), z = y * x;
  for (int i = 0; i < 3; ++i) {
    expect_near(tape.gradient(y, x), 6);
    expect_near(tape.gradient(z, x), 27);
    expect_near(tape.gradient(z, y), 3);
  }
}

// It hears its own gradients' ops.
BOOST_AUTO_TEST_CASE(a_persistent_tape_gives_higher_orders) {
  const Tensor x = tensor(2.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = square(square(x));
  const Tensor first = tape.gradient(y, x);
  const Tensor second = tape.gradient(first, x);
  const Tensor third = tape.gradient(second, x);
  const Tensor fourth = tape.gradient(third, x);
  expect_near(first, 32);
  expect_near(second, 48);
  expect_near(third, 48);
  expect_near(fourth, 24);
}

BOOST_AUTO_TEST_CASE(nested_tapes_give_higher_orders) {
  const Tensor x = tensor({0.5, 2.0});
  const auto [first, second, third] = three_orders([](const Tensor& a) { return sin(a) * exp(a); }, x);
  // (sin x e^x)' = (sin x + cos x) e^x; '' = 2 cos x e^x; ''' = 2 (cos x - sin x) e^x.
  const auto expect = [](const Tensor& t, double (*f)(double)) { expect_near(t, {2}, {f(0.5), f(2.0)}); };
  expect(first, [](double v) { return (std::sin(v) + std::cos(v)) * std::exp(v); });
  expect(second, [](double v) { return 2 * std::cos(v) * std::exp(v); });
  expect(third, [](double v) { return 2 * (std::cos(v) - std::sin(v)) * std::exp(v); });
}

// d/dx (x * dy/dx), with the inner gradient used in further ops.
BOOST_AUTO_TEST_CASE(inner_gradients_are_values_like_others) {
  const Tensor x = tensor(3.0);
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor z = x * inner.gradient(x * x * x, x);  // 3 x^3
  expect_near(outer.gradient(z, x), 81);
}

// Both hear the forward pass; each gives its own gradient.
BOOST_AUTO_TEST_CASE(several_tapes_watch_one_tensor) {
  const Tensor x = tensor(3.0), w = tensor(5.0);
  GradientTape a;
  a.watch(x);
  GradientTape b;
  b.watch(x);
  b.watch(w);
  const Tensor y = x * x * w;
  expect_near(b.gradient(y, w), 9);
  expect_near(a.gradient(y, x), 30);
}

BOOST_AUTO_TEST_CASE(tapes_may_end_in_any_order) {
  const Tensor x = tensor(3.0);
  auto first = std::make_unique<GradientTape>();
  auto second = std::make_unique<GradientTape>();
  first->watch(x);
  second->watch(x);
  const Tensor y = square(x);
  first.reset();
  const Tensor z = y * x;
  expect_near(second->gradient(z, x), 27);
  second.reset();
  BOOST_TEST(recorders().empty());
}

BOOST_AUTO_TEST_CASE(stop_ends_recording_and_keeps_what_was_recorded) {
  const Tensor x = tensor(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = square(x);
  tape.stop();
  const Tensor z = y * x;
  expect_near(tape.gradient(y, x), 6);
  BOOST_TEST(!tape.gradient(z, x).defined());
  tape.stop();
  BOOST_TEST(recorders().empty());
}

BOOST_AUTO_TEST_CASE(a_pause_hides_ops_from_the_tape) {
  const Tensor x = tensor(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  Tensor hidden;
  {
    const RecorderPause pause;
    hidden = square(x);
  }
  const Tensor y = square(x);
  BOOST_TEST(!tape.gradient(hidden, x).defined());
  expect_near(tape.gradient(y, x), 6);
}

BOOST_AUTO_TEST_CASE(a_tape_belongs_to_its_thread) {
  const Tensor x = tensor(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = square(x);
  std::string watching, asking;
  Tensor elsewhere;
  std::thread([&] {
    elsewhere = square(x);  // this thread's recorders hear it, and there are none
    watching = error_text([&] { tape.watch(x); });
    asking = error_text([&] { tape.gradient(y, x); });
  }).join();
  const std::string text = "FailedPrecondition: tape: expected a call from the thread that made it, got another thread";
  BOOST_TEST(watching == text);
  BOOST_TEST(asking.substr(0, text.size()) == text);
  BOOST_TEST(tape.size() == 1U);
  expect_near(tape.gradient(y, x), 6);  // the failed call did not use it up
}

// Tensors older than the tape, and of other threads, whose ids come from other blocks.
BOOST_AUTO_TEST_CASE(tensors_from_other_threads) {
  std::vector<Tensor> xs{tensor(1.0)};
  for (int i = 0; i < 4; ++i) {
    std::thread([&] { xs.push_back(tensor(2.0 + i)); }).join();
  }
  GradientTape tape;
  for (int i = 0; i < 4; ++i) {
    std::thread([&] { xs.push_back(tensor(6.0 + i)); }).join();
  }
  std::vector<GradSource> sources;
  for (const Tensor& x : xs) {
    tape.watch(x);
    sources.emplace_back(x);
  }
  Tensor y = tensor(0.0);
  for (const Tensor& x : xs) y = y + x * x;
  const auto grads = tape.gradient(y, sources);
  for (size_t i = 0; i < xs.size(); ++i) expect_near(grads[i], 2 * xs[i].item<double>());
}

BOOST_AUTO_TEST_CASE(an_op_that_fails_is_not_recorded) {
  const Tensor x = tensor({1.0, 2.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = square(x);
  BOOST_CHECK_THROW(y + tensor({1.0, 2.0, 3.0}), Error);
  BOOST_TEST(tape.size() == 1U);
  expect_near(tape.gradient(sum(y), x), {2}, {2, 4});
}

// ---- Misuse -----------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(only_floating_tensors_are_watched) {
  GradientTape tape;
  expect_error([&] { tape.watch(tensor({1, 2})); },
               "InvalidArgument: watched: expected a floating or complex tensor, got int32");
  expect_error([&] { tape.watch(tensor("text")); },
               "InvalidArgument: watched: expected a floating or complex tensor, got string");
  const Variable v(tensor({1, 2}), "integers");
  expect_error([&] { tape.watch(v); }, "InvalidArgument: watched: expected a floating or complex tensor, got int32");
  BOOST_CHECK_THROW(tape.watch(Tensor()), Error);
  BOOST_CHECK_THROW(tape.watch(Variable()), Error);
}

BOOST_AUTO_TEST_CASE(targets_are_floating) {
  const Tensor x = tensor(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = cast(x, kInt32);
  const uint32_t line = std::source_location::current().line() + 1;
  expect_error([&] { tape.gradient(y, x); },
               "InvalidArgument: target: expected a floating or complex tensor, got int32 " + at_line(line));
  BOOST_CHECK_THROW(tape.gradient(Tensor(), x), Error);
  BOOST_CHECK_THROW(tape.gradient(x, Tensor()), Error);
  BOOST_CHECK_THROW(tape.gradient(x, Variable()), Error);
}

BOOST_AUTO_TEST_CASE(seeds_have_the_targets_type_and_shape) {
  const Tensor x = tensor({1.0, 2.0});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = square(x);
  uint32_t line = std::source_location::current().line() + 1;
  expect_error([&] { tape.gradient(y, x, tensor({1.0, 2.0, 3.0})); },
               "InvalidArgument: seed: expected float64[2], got float64[3] " + at_line(line));
  line = std::source_location::current().line() + 1;
  expect_error([&] { tape.gradient(y, x, tensor({1.F, 2.F})); },
               "InvalidArgument: seed: expected float64[2], got float32[2] " + at_line(line));
}

// ---- Operations that are no ops ---------------------------------------------------------------------------------

class Doubling final : public CustomBackward {
 public:
  std::vector<Tensor> gradient(std::span<const Tensor> dys, std::span<const uint8_t> which) override {
    ++calls;
    needed.assign(which.begin(), which.end());
    return {dys[0].defined() ? dys[0] * 2.0 : Tensor(), Tensor()};
  }
  int calls = 0;
  std::vector<int> needed;
};

void tell(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
          const std::shared_ptr<CustomBackward>& backward) {
  for (Recorder* r : recorders()) r->record_custom(inputs, outputs, backward);
}

BOOST_AUTO_TEST_CASE(custom_backward_functions) {
  const Tensor x = tensor(3.0), other = tensor(1.0);
  const auto backward = std::make_shared<Doubling>();
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor u = square(x);
  const Tensor outputs[] = {tensor(18.0), tensor(7)};
  const Tensor inputs[] = {u, other};
  tell(inputs, outputs, backward);
  const Tensor y = outputs[0] * x;
  expect_near(tape.gradient(y, x), 18 + 3 * 2 * 6);
  BOOST_TEST(backward->calls == 1);
  BOOST_TEST(backward->needed == (std::vector<int>{1, 0}), boost::test_tools::per_element());
  // Not asked where nothing flows through it.
  expect_near(tape.gradient(u, x), 6);
  BOOST_TEST(backward->calls == 1);
  BOOST_TEST(tape.size() > 0U);
  const size_t before = tape.size();
  const Tensor untracked[] = {other, other};
  tell(untracked, outputs, backward);
  BOOST_TEST(tape.size() == before);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
