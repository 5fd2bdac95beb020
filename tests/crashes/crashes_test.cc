// Checkpoints when the power fails, and when single calls of the file system do: the newest step that was acknowledged
// is there, whole, or a later one.
#include <fcntl.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "panto/lib/base/error.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/graph/checkpoints/checkpoint_file.h"
#include "panto/lib/graph/checkpoints/checkpoint_state.h"
#include "panto/nn/training/checkpoints/checkpoint_manager.h"
#include "panto/nn/training/saver.h"
#include "panto/ops/array.h"
#include "panto/tests/crashes/model_files.h"
#include "panto/tests/folder.h"

namespace panto {
namespace {

using namespace model_files;

// Of more than two blocks of a disk; every element says which step it is of.
constexpr int64_t kElements = 400;
Tensor value_of(int64_t step) { return fill({kElements}, static_cast<float>(step)); }

// The step in a checkpoint; -2 where it is not whole.
int64_t step_in(const std::string& prefix, const std::string& name) {
  const std::vector<float> values = CheckpointReader(prefix).read(name).to_vector<float>();
  for (const float v : values) {
    if (v != values[0]) return -2;
  }
  return std::ssize(values) == kElements ? static_cast<int64_t>(values[0]) : -2;
}

// What the newest checkpoint of a folder has; -1: there is none.
int64_t newest(const std::string& folder, const std::string& name) {
  const auto latest = latest_checkpoint(folder);
  if (!latest) return -1;
  const int64_t step = step_in(*latest, name);
  return step == checkpoint_step(*latest) ? step : -2;
}

void build(const Crash& crash, const std::filesystem::path& folder) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  for (const auto& [name, bytes] : crash.files) std::ofstream(folder / name, std::ios::binary) << bytes;
}

// Every state that a crash may leave of what was recorded has the step that was acknowledged, or a later one.
template <class Find>
void expect_all_loadable(const std::vector<Change>& changes, int64_t last, const Find& find) {
  const std::vector<Crash> all = crashes(changes);
  const TestFolder folder;
  int bad = 0;
  for (const Crash& crash : all) {
    build(crash, folder / "state");
    int64_t found = -3;
    std::string fault;
    try {
      found = find(folder / "state");
    } catch (const Error& error) {
      fault = error.what();
    }
    if (found >= crash.acknowledged && found <= last) continue;
    std::string names;
    for (const auto& [name, bytes] : crash.files) names += " " + name + ":" + std::to_string(bytes.size());
    if (++bad <= 3) {
      BOOST_TEST(false, "acknowledged " << crash.acknowledged << ", found " << found << " " << fault << ";" << names);
    }
  }
  BOOST_TEST(bad == 0);
  BOOST_TEST_MESSAGE(all.size() << " states");
  BOOST_TEST(all.size() > 100U);
}

BOOST_AUTO_TEST_SUITE(crashes_suite)

// That the model loses what it should: a file that gets its name before its bytes are on the disk.
BOOST_AUTO_TEST_CASE(what_is_not_synchronized_may_be_lost) {
  const TestFolder folder;
  const std::string run = folder / "run", bytes(3000, 'x');
  std::filesystem::create_directory(run);
  Recording recording(run);
  const int file = open((run + "/a.tmp").c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  BOOST_REQUIRE(write(file, bytes.data(), bytes.size()) == std::ssize(bytes));
  close(file);
  BOOST_REQUIRE(std::rename((run + "/a.tmp").c_str(), (run + "/a").c_str()) == 0);
  recording.acknowledge(0);
  int missing = 0, torn = 0, whole = 0;
  for (const Crash& crash : crashes(recording.changes())) {
    if (crash.acknowledged < 0) continue;
    const auto found = crash.files.find("a");
    ++(found == crash.files.end() ? missing : found->second == bytes ? whole : torn);
  }
  BOOST_TEST(missing > 0);
  BOOST_TEST(torn > 2);
  BOOST_TEST(whole > 0);
}

BOOST_AUTO_TEST_CASE(savers) {
  const TestFolder folder;
  const std::string run = folder / "run";
  std::filesystem::create_directory(run);
  const Variable v(value_of(0), "v");
  Recording recording(run);
  Saver saver(run + "/m.ckpt", {{"v", v}}, {.max_to_keep = 2});
  for (int64_t step = 0; step < 4; ++step) {
    v.assign(value_of(step));
    step % 2 == 0 ? saver.save(step) : saver.save_async(step).get();
    recording.acknowledge(step);
  }
  expect_all_loadable(recording.changes(), 3, [](const std::string& at) { return newest(at, "v"); });
}

BOOST_AUTO_TEST_CASE(managers) {
  const TestFolder folder;
  const std::string run = folder / "run";
  std::filesystem::create_directory(run);
  const Variable v(value_of(0), "v");
  Checkpoint checkpoint({{"v", v}});
  Recording recording(run);
  CheckpointManager manager(checkpoint, run, {.max_to_keep = 1});
  for (int64_t step = 0; step < 3; ++step) {
    v.assign(value_of(step));
    (void)manager.save(step);
    recording.acknowledge(step);
  }
  expect_all_loadable(recording.changes(), 2,
                      [](const std::string& at) { return newest(at, "v/.ATTRIBUTES/VARIABLE_VALUE"); });
}

BOOST_AUTO_TEST_CASE(one_name_over_and_over) {
  const TestFolder folder;
  const std::string run = folder / "run";
  std::filesystem::create_directory(run);
  Recording recording(run);
  for (int64_t step = 0; step < 4; ++step) {
    write_checkpoint(run + "/one.ckpt", {{"v", value_of(step)}});
    recording.acknowledge(step);
  }
  expect_all_loadable(recording.changes(), 3, [](const std::string& at) {
    return checkpoint_exists(at + "/one.ckpt") ? step_in(at + "/one.ckpt", "v") : -1;
  });
}

// The n-th call fails, for every n; once, or all calls from then on until the disk has room again.
BOOST_AUTO_TEST_CASE(calls_that_fail) {
  for (const int error : {ENOSPC, EIO}) {
    for (const bool on : {false, true}) {
      bool more = true;
      int number = 0;
      for (; more; ++number) {
        BOOST_REQUIRE(number < 1000);
        const TestFolder folder;
        const Variable v(value_of(0), "v");
        Saver saver(folder / "m.ckpt", {{"v", v}}, {.max_to_keep = 2});
        saver.save(0);
        int64_t saved = 0;
        {
          const Failing failing(folder.path().string(), number, on, error);
          for (int64_t step = 1; step < 4; ++step) {
            v.assign(value_of(step));
            try {
              saver.save(step);
              saved = step;
            } catch (const Error&) {
              const int64_t there = newest(folder.path().string(), "v");
              BOOST_TEST((there == saved || there == step),
                         "call " << number << ": saved " << saved << ", found " << there);
            }
          }
          more = failing.happened();
        }
        BOOST_TEST(newest(folder.path().string(), "v") >= saved);
        v.assign(value_of(9));
        saver.save(9);
        BOOST_TEST(newest(folder.path().string(), "v") == 9);
        for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
          BOOST_TEST(!entry.path().filename().string().starts_with(".panto-"), "left behind: " << entry.path());
        }
      }
      BOOST_TEST(number > 20);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
