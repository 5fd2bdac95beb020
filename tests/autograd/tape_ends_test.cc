// Tapes (and tracers) that end elsewhere than where they began: on another thread, or under a pause.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <thread>

#include "panto/autograd/tape.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/near.h"
#include "panto/trace/graph_scope.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(autograd)
BOOST_AUTO_TEST_SUITE(tape_ends)

// The outer tape goes on as if nothing had been.
void check_other_tapes(const Tensor& x, GradientTape& outer) {
  const Tensor y = x * x * x;
  expect_near(outer.gradient(y, x), 27);
}

BOOST_AUTO_TEST_CASE(on_another_thread) {
  const Tensor x = tensor(3.0);
  GradientTape outer({.persistent = true});
  outer.watch(x);
  auto tape = std::make_unique<GradientTape>();
  tape->watch(x);
  const Tensor y = square(x);
  std::thread([&] { tape.reset(); }).join();
  check_other_tapes(x, outer);
  BOOST_TEST(recorders().size() == 1u);
  outer.stop();
  BOOST_TEST(recorders().empty());
}

BOOST_AUTO_TEST_CASE(on_another_thread_while_this_one_computes) {
  const Tensor x = tensor(3.0);
  for (int round = 0; round < 20; ++round) {
    auto tape = std::make_unique<GradientTape>();
    tape->watch(x);
    std::atomic<bool> running{false}, ended{false};
    std::thread other([&] {
      while (!running) std::this_thread::yield();
      tape.reset();
      ended = true;
    });
    Tensor y = square(x);
    while (!ended) {
      y = tanh(y);
      running = true;
    }
    other.join();
    BOOST_TEST(recorders().empty());
  }
}

BOOST_AUTO_TEST_CASE(after_its_thread) {
  std::unique_ptr<GradientTape> tape;
  std::thread([&] {
    tape = std::make_unique<GradientTape>();
    tape->watch(tensor(1.0));
  }).join();
  tape.reset();
  BOOST_TEST(recorders().empty());
}

BOOST_AUTO_TEST_CASE(before_its_thread) {
  // Nobody looks at the recorders again: what the tape kept goes with the thread.
  const Tensor kept = ones({100});
  std::unique_ptr<GradientTape> tape;
  std::atomic<int> step{0};
  std::thread owner([&] {
    tape = std::make_unique<GradientTape>();
    tape->watch(kept);
    const Tensor y = square(kept);
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  BOOST_TEST(kept.impl()->refs.load() > 1);
  tape.reset();
  step = 2;
  owner.join();
  BOOST_TEST(kept.impl()->refs.load() == 1);
}

// Its destructor runs when the thread's own state is gone.
BOOST_AUTO_TEST_CASE(with_its_thread) {
  std::thread([] {
    static thread_local std::unique_ptr<GradientTape> tape;
    static_cast<void>(tape.get());  // made before the state, destroyed after it
    tape = std::make_unique<GradientTape>();
    tape->watch(tensor(1.0));
  }).join();
  BOOST_TEST(recorders().empty());
}

BOOST_AUTO_TEST_CASE(stopped_before_it_ends_elsewhere) {
  const Tensor x = tensor(3.0);
  auto tape = std::make_unique<GradientTape>();
  tape->watch(x);
  tape->stop();
  std::thread([&] { tape.reset(); }).join();
  BOOST_TEST(recorders().empty());
  expect_near(square(x), 9);
}

BOOST_AUTO_TEST_CASE(stopped_elsewhere) {
  const Tensor x = tensor(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = square(x);
  std::thread([&] { tape.stop(); }).join();
  BOOST_TEST(recorders().empty());
  const Tensor z = y * x;
  expect_near(tape.gradient(y, x), 6);
  BOOST_TEST(!tape.gradient(z, x).defined());
}

BOOST_AUTO_TEST_CASE(under_a_pause_that_began_later) {
  const Tensor x = tensor(3.0);
  GradientTape outer({.persistent = true});
  outer.watch(x);
  auto tape = std::make_unique<GradientTape>();
  tape->watch(x);
  {
    const RecorderPause pause;
    tape.reset();
    BOOST_TEST(recorders().empty());
  }
  check_other_tapes(x, outer);
  BOOST_TEST(recorders().size() == 1u);
}

BOOST_AUTO_TEST_CASE(under_a_pause_of_its_own) {
  const Tensor x = tensor(3.0);
  GradientTape outer({.persistent = true});
  outer.watch(x);
  auto tape = std::make_unique<GradientTape>();
  tape->watch(x);
  {
    const auto other = std::make_unique<GradientTape>();
    const RecorderPause first;
    const RecorderPause second;
    tape.reset();
  }
  check_other_tapes(x, outer);
}

BOOST_AUTO_TEST_CASE(after_the_pause_in_which_it_began) {
  const Tensor x = tensor(3.0);
  GradientTape outer({.persistent = true});
  outer.watch(x);
  std::unique_ptr<GradientTape> tape;
  {
    const RecorderPause pause;
    tape = std::make_unique<GradientTape>();
    tape->watch(x);
  }
  const Tensor y = square(x);
  expect_near(tape->gradient(y, x), 6);  // it hears what comes after the pause too
  tape.reset();
  check_other_tapes(x, outer);
  BOOST_TEST(recorders().size() == 1u);
}

BOOST_AUTO_TEST_CASE(elsewhere_under_a_pause) {
  const Tensor x = tensor(3.0);
  GradientTape outer({.persistent = true});
  outer.watch(x);
  auto tape = std::make_unique<GradientTape>();
  tape->watch(x);
  {
    const RecorderPause pause;
    std::thread([&] { tape.reset(); }).join();
    expect_near(square(x), 9);
  }
  check_other_tapes(x, outer);
  BOOST_TEST(recorders().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_graph_scope_too) {
  Graph graph;
  auto scope = std::make_unique<GraphScope>(graph);
  std::thread([&] { scope.reset(); }).join();
  expect_near(tensor(3.0) * 2.0, 6);  // a number, not a symbolic tensor
  BOOST_TEST(recorders().empty());
}

BOOST_AUTO_TEST_CASE(a_mark_does_not_bring_it_back) {
  const Tensor x = tensor(3.0);
  auto tape = std::make_unique<GradientTape>();
  tape->watch(x);
  const ScopeMark mark;
  std::thread([&] { tape.reset(); }).join();
  mark.restore();
  expect_near(square(x), 9);
  BOOST_TEST(recorders().empty());
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
