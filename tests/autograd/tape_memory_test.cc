// What a tape keeps, and that it lets go of it.
#include <memory>

#include "panto/autograd/tape.h"
#include "panto/device/cpu/device.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

constexpr int64_t kElements = 100'000;
constexpr int64_t kBytes = kElements * 8;

int64_t bytes_in_use() { return cpu_device().memory_stats().bytes_in_use; }

// Tensors of kBytes that came into being since `begin` and are still there.
int64_t big_ones(int64_t begin) { return (bytes_in_use() - begin + kBytes / 2) / kBytes; }

BOOST_AUTO_TEST_SUITE(tape)
BOOST_AUTO_TEST_SUITE(memory)

BOOST_AUTO_TEST_CASE(is_released_by_the_gradient) {
  const Tensor x = fill({kElements}, 0.5);
  const int64_t begin = bytes_in_use();
  GradientTape tape;
  tape.watch(x);
  // Tanh keeps its output, Square its input, Sin its input: one tensor between each.
  const Tensor y = sum(sin(square(tanh(x))));
  BOOST_TEST(big_ones(begin) == 2);
  const Tensor g = tape.gradient(y, x);
  BOOST_TEST(tape.size() == 0U);
  BOOST_TEST(big_ones(begin) == 1);  // g itself
}

BOOST_AUTO_TEST_CASE(of_a_persistent_tape_lives_as_long_as_the_tape) {
  const Tensor x = fill({kElements}, 0.5);
  const int64_t begin = bytes_in_use();
  {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = sum(sin(square(tanh(x))));
    (void)tape.gradient(y, x);
    BOOST_TEST(big_ones(begin) >= 2);
  }
  BOOST_TEST(big_ones(begin) == 0);
}

BOOST_AUTO_TEST_CASE(of_a_tape_that_is_never_asked) {
  const Tensor x = fill({kElements}, 0.5);
  const int64_t begin = bytes_in_use();
  {
    GradientTape tape;
    tape.watch(x);
    (void)sin(square(x));
    BOOST_TEST(big_ones(begin) == 1);
  }
  BOOST_TEST(big_ones(begin) == 0);
}

// Addition needs no values, only shapes; multiplication needs both inputs.
BOOST_AUTO_TEST_CASE(holds_only_what_gradients_need) {
  const Tensor x = fill({kElements}, 0.5), one = fill({kElements}, 1.0);
  const int64_t begin = bytes_in_use();
  GradientTape tape;
  tape.watch(x);
  Tensor y = x;
  for (int i = 0; i < 10; ++i) y = y + one;
  BOOST_TEST(big_ones(begin) == 1);
  Tensor z = y;
  for (int i = 0; i < 10; ++i) z = z * one;
  BOOST_TEST(big_ones(begin) == 1 + 10);
}

// The least that the process may have beyond what it has: the peak that the device counts is the whole process's, which
// earlier tests have made high.
class RoomFor {
 public:
  explicit RoomFor(int64_t bytes) { cpu::set_memory_limit(bytes_in_use() + bytes); }
  ~RoomFor() { cpu::set_memory_limit(0); }
  RoomFor(const RoomFor&) = delete;
  RoomFor& operator=(const RoomFor&) = delete;
};

// Hands the gradient on, and writes down how many big tensors there are when it is asked.
class Probe final : public CustomBackward {
 public:
  Probe(int64_t begin, std::vector<int64_t>* counts) : begin_(begin), counts_(counts) {}
  std::vector<Tensor> gradient(std::span<const Tensor> dys, std::span<const uint8_t>) override {
    counts_->push_back(big_ones(begin_));
    return {dys[0]};
  }

 private:
  int64_t begin_;
  std::vector<int64_t>* counts_;
};

// While the gradient is computed, what was used is let go of: the backward pass of a long chain does not add to the
// forward pass's memory.
BOOST_AUTO_TEST_CASE(goes_down_while_the_gradient_is_computed) {
  constexpr int kLength = 50, kStep = 10;
  const Tensor x = fill({kElements}, 0.5);
  const int64_t begin = bytes_in_use();
  std::vector<int64_t> counts;
  GradientTape tape;
  tape.watch(x);
  Tensor y = x;
  for (int i = 1; i <= kLength; ++i) {
    y = sin(y);
    if (i % kStep != 0) continue;
    const Tensor inputs[] = {y}, outputs[] = {identity(y)};
    for (Recorder* r : recorders()) r->record_custom(inputs, outputs, std::make_shared<Probe>(begin, &counts));
    y = outputs[0];
  }
  // Identity shares its input's memory.
  BOOST_TEST(big_ones(begin) == kLength);
  // What the process needs at most grows by a few tensors.
  const RoomFor room(5 * kBytes);
  const Tensor g = tape.gradient(y, x);
  // At each probe: what the ops before it keep, y, and few that are being worked on.
  BOOST_REQUIRE_EQUAL(counts.size(), static_cast<size_t>(kLength / kStep));
  for (size_t i = 0; i < counts.size(); ++i) {
    const int64_t kept = kLength - kStep * static_cast<int64_t>(i);
    BOOST_TEST(counts[i] >= kept);
    BOOST_TEST(counts[i] <= kept + 3);
  }
  BOOST_TEST(big_ones(begin) == 2);  // y and g
}

// A temporary whose memory could become the output's is left alone while the tape needs it.
BOOST_AUTO_TEST_CASE(of_kept_inputs_is_not_written_over) {
  const Tensor x = fill({kElements}, 3.0);
  GradientTape outer;
  outer.watch(x);
  {
    const GradientTape unrelated;
    const Tensor y = square(exp(x * 0.0) * x);  // temporaries all the way
    const Tensor g = outer.gradient(sum(y), x);
    const std::span<const double> values = g.data<double>();
    BOOST_TEST(values.front() == 6.0);
    BOOST_TEST(values.back() == 6.0);
  }
}

BOOST_AUTO_TEST_CASE(of_an_output_that_is_moved_on_is_not_written_over) {
  const Tensor x = fill({kElements}, 0.5);
  GradientTape tape;
  tape.watch(x);
  Tensor t = tanh(x);
  const Tensor y = neg(std::move(t));
  const double expected = -(1 - std::tanh(0.5) * std::tanh(0.5));
  const Tensor g = tape.gradient(y, x);
  BOOST_TEST(std::fabs(g.data<double>()[kElements - 1] - expected) < 1e-12);
}

// A seed that several inputs get is not the place where their gradients are added up.
BOOST_AUTO_TEST_CASE(of_seeds_and_values_does_not_change) {
  const Tensor x = fill({kElements}, 0.5), seed = fill({kElements}, 1.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x + x + square(x);
  const Tensor g = tape.gradient(y, x, seed);
  BOOST_TEST(g.data<double>()[7] == 3.0);
  BOOST_TEST(seed.data<double>()[7] == 1.0);
  BOOST_TEST(x.data<double>()[7] == 0.5);
}

BOOST_AUTO_TEST_CASE(is_released_when_a_gradient_fails) {
  const Tensor x = fill({kElements}, 0.5);
  const int64_t begin = bytes_in_use();
  GradientTape tape;
  tape.watch(x);
  class Failing final : public CustomBackward {
    std::vector<Tensor> gradient(std::span<const Tensor>, std::span<const uint8_t>) override {
      fail(Code::kAborted, "enough");
    }
  };
  {
    const Tensor u = square(sin(x));
    const Tensor inputs[] = {u}, outputs[] = {tensor(1.0)};
    for (Recorder* r : recorders()) r->record_custom(inputs, outputs, std::make_shared<Failing>());
    BOOST_TEST(error_text([&] { tape.gradient(outputs[0], x); }).starts_with("Aborted: enough"));
  }
  BOOST_TEST(tape.size() == 0U);
  BOOST_TEST(big_ones(begin) == 0);
  BOOST_TEST(recorders().empty());
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
