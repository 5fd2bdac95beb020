// Mutexes: who holds a lock, and until when. Calls that wait are in tests/threads/waiting_test.cc.
#include <boost/test/unit_test.hpp>

#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"

namespace panto::test::mutexes_rows {
namespace {

// A lock that cannot be had at once.
void expect_locked(const Tensor& mutex) {
  Step step;
  step.deadline = Step::deadline_in(0.02);
  const StepScope scope(step);
  expect_error_begins([&] { mutex_lock(mutex); }, "DeadlineExceeded: ");
}

void held_until_given_back() {
  const Tensor m = mutex();
  const Tensor lock = mutex_lock(m);
  expect_locked(m);
  consume_mutex_lock(lock);
  expect_error_begins([&] { consume_mutex_lock(lock); },
                      "FailedPrecondition: mutex_lock: expected one that is held, got one that was given back");
  const Tensor again = mutex_lock(m);  // nobody waits in vain for the call that was stopped
  consume_mutex_lock(again);
  {
    const Tensor dropped = mutex_lock(m);
    expect_locked(m);
  }
  consume_mutex_lock(mutex_lock(m));
  expect_error_begins([] { mutex_lock(fifo_queue({kFloat32})); },
                      "InvalidArgument: mutex: expected a handle of a mutex, got a FIFOQueue named \"\"");
  expect_error_begins([] { consume_mutex_lock(empty_tensor_list(Shape{}, -1, kFloat32)); },
                      "InvalidArgument: mutex_lock: expected a lock of a mutex, got list of 0");
}

// Two parts of one graph, each between taking the lock and giving it back.
void in_saved_graphs() {
  const auto build = [] {
    const Tensor m = named("mutex", mutex({.shared_name = "m"}));
    for (const char* name : {"one", "two"}) {
      const CollectEffects effects;
      const Tensor lock = mutex_lock(m);
      consume_mutex_lock(lock);
      group(effects.operations(), name);
    }
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    for (int i = 0; i < 3; ++i) {
      session.run("one");
      session.run("two");
    }
  }
}

const OwnTest kSaved{"saved", in_saved_graphs};

const Family mutexes("mutexes", {
                                    {"MutexV2", {.own = {{"held", held_until_given_back}, kSaved}}},
                                    {"MutexLock", {.own = {{"held", held_until_given_back}, kSaved}}},
                                    {"ConsumeMutexLock", {.own = {{"held", held_until_given_back}, kSaved}}},
                                });

}  // namespace
}  // namespace panto::test::mutexes_rows
