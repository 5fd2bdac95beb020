// Saver: which checkpoints are there and which are not, what a new process finds, and that a process which is killed at
// any moment leaves the last checkpoint that it said was saved.
#include "panto/nn/training/saver.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <random>
#include <thread>

#include "panto/lib/base/file.h"
#include "panto/lib/graph/checkpoints/checkpoint_file.h"
#include "panto/lib/graph/checkpoints/checkpoint_state.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/training/checkpoint.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

std::vector<std::string> names(const Saver& saver) {
  std::vector<std::string> found;
  for (const std::string& prefix : saver.checkpoints()) found.push_back(std::filesystem::path(prefix).filename());
  return found;
}

using Names = std::vector<std::string>;

// A value of which every element says which step it is of.
constexpr int64_t kElements = 20000;
Tensor value_of(int64_t step) { return fill({kElements}, static_cast<float>(step)); }

// ---- Processes that are killed -------------------------------------------------------------------------------------

// Runs `save(step)` for steps from `first` on in a child, kills it after so many microseconds, and returns the last
// step for which the call had returned; -1: none.
template <class Save>
int64_t killed(int64_t first, int64_t microseconds, Save save) {
  int ends[2];
  BOOST_REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    try {
      for (int64_t step = first;; ++step) {
        save(step);
        if (write(ends[1], &step, sizeof(step)) != sizeof(step)) _exit(1);
      }
    } catch (...) {
      _exit(2);
    }
  }
  close(ends[1]);
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  BOOST_TEST((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL), "the child ended by itself");
  int64_t last = -1, step = 0;
  while (read(ends[0], &step, sizeof(step)) == sizeof(step)) last = step;
  close(ends[0]);
  return last;
}

// The step of which the checkpoint is; a failure where it is of two.
int64_t step_in(const std::string& prefix) {
  const std::vector<float> values = CheckpointReader(prefix).read("v").to_vector<float>();
  BOOST_TEST(values.size() == static_cast<size_t>(kElements));
  BOOST_TEST(std::ranges::count(values, values[0]) == kElements);
  return static_cast<int64_t>(values[0]);
}

// How long a checkpoint takes here: what else the disk has to do makes it a millisecond or a hundred.
int64_t microseconds_of_one() {
  const TestFolder folder;
  constexpr int kCount = 3;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCount; ++i) write_checkpoint(folder / "m", {{"v", value_of(i)}});
  const auto time = std::chrono::steady_clock::now() - begin;
  return std::max<int64_t>(std::chrono::duration_cast<std::chrono::microseconds>(time).count() / kCount, 1000);
}

// New names, with those removed that are no longer kept; and one name over and over.
void kill_many(int rounds) {
  std::mt19937 random(11);
  const uint64_t longest = 6 * static_cast<uint64_t>(microseconds_of_one());
  const auto a_while = [&] { return static_cast<int64_t>(500 + random() % longest); };
  const TestFolder folder;
  int64_t saved = -1, first = 0, acknowledgements = 0;
  for (int round = 0; round < rounds; ++round) {
    const int64_t acknowledged = killed(first, a_while(), [&](int64_t step) {
      static const Variable v(value_of(0), "v");
      static Saver saver(folder / "run/m.ckpt", {{"v", v}}, {.max_to_keep = 2});
      v.assign(value_of(step));
      step % 2 == 0 ? saver.save(step) : saver.save_async(step).get();
    });
    acknowledgements += acknowledged >= 0 ? 1 : 0;
    saved = std::max(saved, acknowledged);
    const auto latest = latest_checkpoint(folder / "run");
    BOOST_REQUIRE((latest.has_value() || saved < 0));
    if (!latest) continue;
    const int64_t found = checkpoint_step(*latest);
    BOOST_TEST(found >= saved, "saved " << saved << ", found " << found);
    BOOST_TEST(step_in(*latest) == found);
    saved = found;
    first = found + 1;
  }
  saved = -1;
  first = 0;
  const std::string prefix = folder / "one.ckpt";
  for (int round = 0; round < rounds; ++round) {
    const int64_t acknowledged =
        killed(first, a_while(), [&](int64_t step) { write_checkpoint(prefix, {{"v", value_of(step)}}); });
    acknowledgements += acknowledged >= 0 ? 1 : 0;
    saved = std::max(saved, acknowledged);
    BOOST_REQUIRE((checkpoint_exists(prefix) || saved < 0));
    if (!checkpoint_exists(prefix)) continue;
    const int64_t found = step_in(prefix);
    BOOST_TEST(found >= saved, "saved " << saved << ", found " << found);
    saved = found;
    first = found + 1;
  }
  BOOST_TEST(acknowledgements > 0, "no process had the time to save anything");
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(saver)

BOOST_AUTO_TEST_CASE(the_last_ones_are_kept) {
  const TestFolder folder;
  const Variable v(tensor({1.f, 2.f}), "v");
  Saver saver(folder / "run/m.ckpt", {{"v", v}}, {.max_to_keep = 2});
  BOOST_TEST(!saver.restore_latest().has_value());
  for (const int64_t step : {0, 10, 20}) {
    v.assign(tensor({static_cast<float>(step), 1.f}));
    BOOST_TEST(saver.save(step) == folder / ("run/m.ckpt-" + std::to_string(step)));
  }
  BOOST_TEST((names(saver) == Names{"m.ckpt-10", "m.ckpt-20"}));
  BOOST_TEST(!checkpoint_exists(folder / "run/m.ckpt-0"));
  BOOST_TEST(latest_checkpoint(folder / "run").value() == folder / "run/m.ckpt-20");
  v.assign(tensor({-1.f, -1.f}));
  BOOST_TEST(saver.restore_latest().value() == 20);
  BOOST_TEST(v.value().to_vector<float>()[0] == 20.f);
  saver.restore(folder / "run/m.ckpt-10");
  BOOST_TEST(v.value().to_vector<float>()[0] == 10.f);
  // The same step once more is the newest then.
  saver.save(10);
  BOOST_TEST((names(saver) == Names{"m.ckpt-20", "m.ckpt-10"}));
  BOOST_TEST(saver.restore_latest().value() == 10);
  // A new one goes on with what is there, and knows nothing of others' files.
  write_checkpoint(folder / "run/other.ckpt-1", {{"v", tensor({5.f, 5.f})}});
  Saver next(folder / "run/m.ckpt", {{"v", v}}, {.max_to_keep = 2});
  BOOST_TEST((names(next) == Names{"m.ckpt-20", "m.ckpt-10"}));
  next.save(30);
  BOOST_TEST((names(next) == Names{"m.ckpt-10", "m.ckpt-30"}));
  BOOST_TEST(checkpoint_exists(folder / "run/other.ckpt-1"));
}

BOOST_AUTO_TEST_CASE(all_are_kept) {
  const TestFolder folder;
  const Variable v(tensor(1.f), "v");
  Saver saver(folder / "m", {{"v", v}}, {.max_to_keep = 0});
  for (int64_t step = 0; step < 9; ++step) saver.save(step);
  BOOST_TEST(saver.checkpoints().size() == 9U);
}

// Of saves every quarter of an hour one an hour stays, beside the last two.
BOOST_AUTO_TEST_CASE(one_an_hour_is_kept) {
  const TestFolder folder;
  const Variable v(tensor(1.f), "v");
  double time = 1e9;
  const SaverOptions options{.max_to_keep = 2, .keep_every_n_hours = 1, .clock = [&time] { return time; }};
  {
    Saver saver(folder / "m", {{"v", v}}, options);
    for (int64_t step = 0; step < 8; ++step, time += 900) saver.save(step);
  }
  Saver saver(folder / "m", {{"v", v}}, options);  // which goes on
  for (int64_t step = 8; step < 12; ++step, time += 900) saver.save(step);
  std::vector<int64_t> there;
  for (int64_t step = 0; step < 12; ++step) {
    if (checkpoint_exists(folder / ("m-" + std::to_string(step)))) there.push_back(step);
  }
  BOOST_TEST((there == std::vector<int64_t>{4, 8, 10, 11}));
  BOOST_TEST((names(saver) == Names{"m-10", "m-11"}));
}

BOOST_AUTO_TEST_CASE(values_are_those_of_the_call) {
  const TestFolder folder;
  const Variable v(value_of(0), "v");
  Saver saver(folder / "m.ckpt", {{"v", v}}, {.max_to_keep = 0});
  std::vector<PendingSave> saves;
  for (int64_t step = 0; step < 10; ++step) {
    v.assign(value_of(step));
    saves.push_back(saver.save_async(step));
    v.assign(value_of(1000 + step));
  }
  for (int64_t step = 0; step < 10; ++step) {
    const std::string prefix = saves[static_cast<size_t>(step)].get();
    BOOST_TEST(saves[static_cast<size_t>(step)].ready());
    BOOST_TEST(prefix == folder / ("m.ckpt-" + std::to_string(step)));
    BOOST_TEST(step_in(prefix) == step);
  }
  BOOST_TEST((saver.checkpoints().back() == folder / "m.ckpt-9"));
}

BOOST_AUTO_TEST_CASE(all_is_written_at_the_end) {
  const TestFolder folder;
  const Variable v(value_of(3), "v");
  {
    Saver saver(folder / "m.ckpt", {{"v", v}});
    saver.save_async(1);
    saver.save_async(2);
  }
  BOOST_TEST(latest_checkpoint(folder.path().string()).value() == folder / "m.ckpt-2");
}

BOOST_AUTO_TEST_CASE(several_threads) {
  const TestFolder folder;
  const Variable v(value_of(3), "v");
  Saver saver(folder / "m.ckpt", {{"v", v}}, {.max_to_keep = 3});
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&saver, t] {
      for (int64_t i = 0; i < 5; ++i) i % 2 == 0 ? saver.save(10 * t + i) : saver.save_async(10 * t + i).get();
    });
  }
  for (std::thread& t : threads) t.join();
  BOOST_TEST(saver.checkpoints().size() == 3U);
  for (const std::string& prefix : saver.checkpoints()) BOOST_TEST(step_in(prefix) == 3);
}

BOOST_AUTO_TEST_CASE(misuse) {
  const TestFolder folder;
  const Variable v(tensor(1.f), "v");
  const auto make = [&](const std::string& prefix, const SaverOptions& options) {
    return [=] { const Saver saver(prefix, {{"v", v}}, options); };
  };
  expect_error(make(folder / "", {}),
               "InvalidArgument: saver: expected a prefix with a name, got '" + (folder / "") + "'");
  expect_error(make(folder / "m", {.max_to_keep = -1}), "InvalidArgument: saver: expected max_to_keep >= 0, got -1");
  expect_error(make(folder / "m", {.keep_every_n_hours = -1}),
               "InvalidArgument: saver: expected keep_every_n_hours >= 0, got -1");
  expect_error([&] { const Saver saver(folder / "m", {{"v", v}, {"v", v}}); },
               "InvalidArgument: saver: expected each name once, got 'v' twice");
  Saver saver(folder / "m", {{"v", v}});
  expect_error([&] { saver.save(-1); }, "InvalidArgument: saver: expected a step >= 0, got -1");
  expect_error_begins(
      [&] {
        (void)trace([&](const Tensor& x) {
          saver.save(1);
          return x;
        })(tensor(1.f));
      },
      "FailedPrecondition: save: expected to be called outside a trace");
  std::filesystem::create_directory(folder / "m-7.index");
  expect_error_begins([&] { saver.save(7); }, "InvalidArgument: cannot write file");
  const PendingSave failed = saver.save_async(7);
  for (int i = 0; i < 2; ++i) expect_error_begins([&] { (void)failed.get(); }, "InvalidArgument: cannot write file");
  BOOST_TEST(failed.ready());
  saver.save(8);
  BOOST_TEST((names(saver) == Names{"m-8"}));
}

// Names are those of save_variables: what one writes the other loads.
BOOST_AUTO_TEST_CASE(a_checkpoint_of_more) {
  const TestFolder folder;
  const Variable a(tensor({1.f}), "a"), b(tensor({2.f}), "b");
  save_variables(folder / "m.ckpt", {{"a", a}, {"b", b}});
  a.assign(tensor({0.f}));
  b.assign(tensor({0.f}));
  load_variables(folder / "m.ckpt", {{"b", b}});
  BOOST_TEST(a.value().item<float>() == 0.f);
  BOOST_TEST(b.value().item<float>() == 2.f);
  const Variable wide(tensor({0.f, 0.f}), "wide");
  expect_error([&] { load_variables(folder / "m.ckpt", {{"b", b}, {"a", wide}}); },
               "InvalidArgument: load: expected float32[2] for variable 'a', got float32[1] [in file '" +
                   (folder / "m.ckpt") + "']");
  expect_error(
      [&] { load_variables(folder / "m.ckpt", {{"c", b}}); },
      "InvalidArgument: load: expected a value of variable 'c' (float32[1]), got none of that name [in file '" +
          (folder / "m.ckpt") + "']");
}

// As in TensorFlow 1: a session's values.
BOOST_AUTO_TEST_CASE(variables_of_a_graph) {
  const TestFolder folder;
  Graph graph;
  std::optional<GraphScope> building(std::in_place, graph);
  const Variable w(tensor({1.f, 2.f}), "w"), n(tensor(int64_t{0}), "n");
  const Operation init = global_variables_initializer();
  const Operation step = group({w.assign_add(tensor({1.f, 1.f})), n.assign_add(tensor(int64_t{1}))});
  Saver saver(folder / "m.ckpt", {w, n}, {.max_to_keep = 2});
  const Variable other(tensor(1.f), "other");
  building.reset();
  Session session(graph);
  expect_error_begins([&] { saver.save(session, 1); }, "FailedPrecondition: ");  // without values
  BOOST_TEST(!saver.restore_latest(session).has_value());
  session.run(init);
  for (int64_t i = 1; i <= 3; ++i) {
    session.run(step);
    BOOST_TEST((i == 2 ? saver.save_async(session, i).get() : saver.save(session, i)) ==
               folder / ("m.ckpt-" + std::to_string(i)));
  }
  BOOST_TEST((names(saver) == Names{"m.ckpt-2", "m.ckpt-3"}));
  BOOST_TEST(CheckpointReader(folder / "m.ckpt-2").read("w").to_vector<float>()[1] == 4.f);
  Session fresh(graph);  // without its initializer
  BOOST_TEST(saver.restore_latest(fresh).value() == 3);
  BOOST_TEST(fresh.run(w).to_vector<float>()[0] == 4.f);
  BOOST_TEST(fresh.run(n).item<int64_t>() == 3);
  saver.restore(fresh, folder / "m.ckpt-2");
  fresh.run(step);
  BOOST_TEST(fresh.run(n).item<int64_t>() == 3);
  expect_error([&] { saver.save(4); },
               "FailedPrecondition: saver: expected a session, since the variables are of a graph, got none");
  expect_error([&] { saver.restore(folder / "m.ckpt-2"); },
               "FailedPrecondition: saver: expected a session, since the variables are of a graph, got none");
  const Variable eager(tensor({0.f, 0.f}), "w");
  Saver of_none(folder / "m.ckpt", {{"w", eager}});
  expect_error([&] { of_none.save(session, 1); },
               "FailedPrecondition: saver: expected variables of a graph, since there is a session, got others");
  of_none.restore(folder / "m.ckpt-2");
  BOOST_TEST(eager.value().to_vector<float>()[1] == 4.f);
  expect_error([&] { const Saver mixed(folder / "x", {{"a", eager}, {"b", w}}); },
               "InvalidArgument: saver: expected variables of a graph only, or none, got 1 of a graph and 1 others");
  expect_error_begins([&] { const Saver late(folder / "x", {w}); }, "FailedPrecondition: ");
  write_checkpoint(folder / "m.ckpt-9", {{"w", tensor({1.f, 2.f, 3.f})}, {"n", tensor(int64_t{1})}});
  expect_error([&] { saver.restore(fresh, folder / "m.ckpt-9"); },
               "InvalidArgument: load: expected float32[2] for variable 'w', got float32[3] [in file '" +
                   (folder / "m.ckpt-9") + "']");
}

BOOST_AUTO_TEST_CASE(processes_that_are_killed, *boost::unit_test::label("native")) { kill_many(20); }

BOOST_AUTO_TEST_CASE(many_processes_that_are_killed, *boost::unit_test::label("slow")) { kill_many(1000); }

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
