// Ops that read and write files and checkpoints: what is in them, and who may not. With TensorFlow: tests/interop.
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>
#include <vector>

#include "panto/lib/base/file.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/io/graph_files.h"
#include "panto/lib/core/io/matching_paths.h"
#include "panto/lib/graph/checkpoints/checkpoint_file.h"
#include "panto/lib/graph/checkpoints/tensor_part.h"
#include "panto/lib/ops/ops.h"
#include "panto/ops/files.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"

namespace panto::test::files_rows {
namespace {

void reads_and_writes() {
  const TestFolder folder;
  const std::string path = folder / "a/b/c.txt", bytes("x\0y", 3);
  write_file_op(tensor(path), tensor(bytes));
  BOOST_TEST(read_file_op(tensor(path)).item<std::string>() == bytes);
  expect_error_begins([&] { read_file_op(tensor(folder / "none")); }, "NotFound: cannot open file '");
  expect_error_begins([&] { read_file_op(tensor(folder / "a")); }, "InvalidArgument: ");
  const std::string pipe = folder / "pipe";
  mkfifo(pipe.c_str(), 0600);
  expect_error_begins([&] { read_file_op(tensor(pipe)); }, "InvalidArgument: cannot read file '");
  expect_error_begins([&] { read_file_op(tensor({path})); }, "InvalidArgument: filename: expected");
}

void matches() {
  const TestFolder folder;
  for (const char* name : {"a1.txt", "b2.txt", ".h.txt", "d/a3.txt", "d/e/a4.txt"}) {
    write_file_op(tensor(folder / name), tensor(""));
  }
  const auto found = [&](const std::string& pattern) {
    std::string all;
    for (std::string path : matching_files(tensor(folder / pattern)).to_vector<std::string>()) {
      all += path.substr(std::string(folder / "").size()) + " ";
    }
    return all;
  };
  BOOST_TEST(found("*.txt") == ".h.txt a1.txt b2.txt ");
  BOOST_TEST(found("[ac]?.txt") == "a1.txt ");
  BOOST_TEST(found("*/a?.txt") == "d/a3.txt ");
  BOOST_TEST(found("*/*") == "d/a3.txt d/e ");
  BOOST_TEST(found("d/*/a4.*") == "d/e/a4.txt ");
  BOOST_TEST(found("a1.txt") == "a1.txt ");
  BOOST_TEST(found("a\\1.txt") == "a1.txt ");
  BOOST_TEST(found("none*") == "");
  BOOST_TEST(found("a1.txt/*") == "");
  BOOST_TEST(matching_files(tensor({folder / "b*", folder / "a*"})).numel() == 2);
  BOOST_TEST(matching_paths("").empty());
  BOOST_TEST(matching_paths(std::string("a\0*", 3)).empty());
}

void saves(const Tensor& prefix, bool first_version) {
  const Tensor names = tensor({"w", "t", "t"}), parts = tensor({"", "4 2 0,1:-", "4 2 1,3:-"});
  const Tensor w = tensor(std::vector<float>{1, 2}), top = tensor({{1, 2}}), rest = tensor({{3, 4}, {5, 6}, {7, 8}});
  first_version ? save_slices_v1(prefix, names, parts, {w, top, rest}) : save_v2(prefix, names, parts, {w, top, rest});
  const auto back = restore_v2(prefix, names, tensor({"", "4 2 1,3:-", "4 2 0,3:1,1"}), {kFloat32, kInt32, kInt32});
  BOOST_TEST(back[0].to_string() == "[1. 2.]");
  BOOST_TEST(back[1].to_string() == rest.to_string());
  BOOST_TEST(back[2].to_string() == tensor({{2}, {4}, {6}}).to_string());
  BOOST_TEST(restore_v1(prefix, tensor("t"), kInt32).shape().to_string() == "[4,2]");
  BOOST_TEST(restore_slice_v1(prefix, tensor("t"), tensor("4 2 3,1:-"), kInt32).to_string() == "[[7 8]]");
  const auto refused = [&](const char* name, const char* part, DType type, const char* text) {
    expect_error_begins([&] { restore_v2(prefix, tensor({name}), tensor({part}), {type}); }, text);
  };
  refused("none", "", kInt32, "NotFound: checkpoint '");
  refused("w", "", kInt32, "InvalidArgument: tensor 'w' of checkpoint '");
  refused("t", "5 2 0,1:-", kInt32, "InvalidArgument: part: expected one of shape [4,2], got one of [5,2]");
  refused("t", "4 2 3,2:-", kInt32, "InvalidArgument: part '4 2 3,2:-': expected a range in dimension 0 of 4");
  refused("t", "4 2 -", kInt32, "InvalidArgument: part '4 2 -': expected a range for each of 2 dimensions, got 1");
  refused("t", "4 x -:-", kInt32, "InvalidArgument: part '4 x -:-': expected a number, got 'x'");
  refused("t", "4 2 1:-", kInt32, "InvalidArgument: part '4 2 1:-': expected start,length or -, got '1'");
}

void checkpoints() {
  const TestFolder folder;
  saves(tensor(folder / "new/model.ckpt-1"), false);
  saves(tensor(folder / "old/model.ckpt"), true);
  save_v1(tensor(folder / "old/b.ckpt"), tensor({"s"}), {tensor({"a", ""})});
  BOOST_TEST(restore_v1(tensor(folder / "old/b.*"), tensor("s"), kString).to_string() == "[b'a' b'']");
  const Tensor prefix = tensor(folder / "x");
  const Tensor one = tensor(std::vector<float>{1});
  expect_error_begins([&] { save_v2(prefix, tensor({"a", "a"}), tensor({"", ""}), {one, one}); },
                      "InvalidArgument: checkpoint: expected each name once, got 'a' twice");
  expect_error_begins([&] { save_v2(prefix, tensor({"a", "a"}), tensor({"2 0,1", "2 0,1"}), {one, one}); },
                      "InvalidArgument: checkpoint: expected each part once, got one twice");
  expect_error_begins([&] { save_v2(prefix, tensor({"a", "a"}), tensor({"2 0,1", "3 1,1"}), {one, one}); },
                      "InvalidArgument: parts of 'a': expected those of one tensor, float32[2], got one of float32[3]");
  expect_error_begins([&] { save_v2(prefix, tensor({"a"}), tensor({"2 0,2"}), {one}); },
                      "InvalidArgument: part '2 0,2' of 'a': expected shape [2], got [1]");
  expect_error_begins([&] { save_v2(prefix, tensor({"a"}), tensor({"", ""}), {one}); },
                      "InvalidArgument: number of parts: expected 1, got 2");
  expect_error_begins([&] { save_v1(prefix, tensor({"a"}), {cast(one, kUint64)}); },
                      "Unimplemented: checkpoint: expected a dtype of the first version, got uint64");
  BOOST_TEST(!checkpoint_exists(folder / "x"));
  // Not all parts are there.
  save_v2(prefix, tensor({"a"}), tensor({"2 0,1"}), {one});
  BOOST_TEST(restore_v2(prefix, tensor({"a"}), tensor({"2 0,1"}), {kFloat32})[0].to_string() == "[1.]");
  expect_error_begins([&] { restore_v2(prefix, tensor({"a"}), tensor({""}), {kFloat32}); }, "DataLoss: ");
}

void merges() {
  const TestFolder folder;
  const std::string parts[] = {folder / "temp/part-0", folder / "temp/part-1"}, whole = folder / "model.ckpt";
  const Tensor one = tensor(std::vector<float>{1}), two = tensor(std::vector<float>{2});
  for (int round = 0; round < 2; ++round) {  // the second time over the first
    save_v2(tensor(parts[0]), tensor({"a", "t"}), tensor({"", "2 0,1"}), {one, one});
    save_v2(tensor(parts[1]), tensor({"b", "t"}), tensor({"", "2 1,1"}), {two, two});
    merge_v2_checkpoints(tensor({parts[0], parts[1]}), tensor(whole));
    BOOST_TEST(!is_folder(folder / "temp"));
    const auto back =
        restore_v2(tensor(whole), tensor({"a", "b", "t"}), tensor({"", "", ""}), {kFloat32, kFloat32, kFloat32});
    BOOST_TEST(back[0].to_string() == "[1.]");
    BOOST_TEST(back[1].to_string() == "[2.]");
    BOOST_TEST(back[2].to_string() == "[1. 2.]");
  }
  save_v2(tensor(parts[0]), tensor({"a"}), tensor({""}), {one});
  expect_error_begins([&] { merge_v2_checkpoints(tensor({parts[0], whole}), tensor(folder / "x")); },
                      "InvalidArgument: checkpoints: expected each tensor in one of them, got 'a' in two");
  expect_error_begins([&] { merge_v2_checkpoints(tensor({parts[0], parts[1]}), tensor(folder / "x")); }, "NotFound: ");
  expect_error_begins(
      [&] { merge_v2_checkpoints(tensor({parts[1]}), tensor(folder / "x"), {.allow_missing_files = true}); },
      "InvalidArgument: checkpoints: expected at least one of 1 to be there, got none");
  BOOST_TEST(checkpoint_exists(parts[0]));
  merge_v2_checkpoints(tensor({parts[0], parts[1]}), tensor(folder / "x"), {.allow_missing_files = true});
  BOOST_TEST(list_variables(folder / "x").size() == 1U);
}

// Who runs graphs of strangers may keep them from files.
void refused() {
  const TestFolder folder;
  const struct Allowed {
    Allowed() { allow_graph_files(false); }
    ~Allowed() { allow_graph_files(true); }
  } nothing;
  const Tensor path = tensor(folder / "a"), name = tensor({"w"}), none = tensor({""}), w = tensor(1.0f);
  const std::vector<std::function<void()>> all = {
      [&] { read_file_op(path); },
      [&] { write_file_op(path, tensor("")); },
      [&] { matching_files(path); },
      [&] { save_v2(path, name, none, {w}); },
      [&] { save_v1(path, name, {w}); },
      [&] { restore_v2(path, name, none, {kFloat32}); },
      [&] { restore_v1(path, tensor("w"), kFloat32); },
      [&] { merge_v2_checkpoints(tensor({folder / "a"}), path); },
  };
  for (const auto& call : all) expect_error_begins(call, "PermissionDenied: file '");
  BOOST_TEST(!is_file(folder / "a"));
}

// A Saver's part of a graph, of both versions.
void in_saved_graphs() {
  const TestFolder folder;
  const auto build = [&] {
    const auto operation = [](const std::string& name, const auto& add) {
      const CollectEffects effects;
      add();
      group(effects.operations(), name);
    };
    const Tensor w = tensor(std::vector<float>{1, 2}), prefix = tensor(folder / "model.ckpt");
    const Tensor part = sharded_filename(tensor(folder / "temp/part"), 0, 1);
    operation("write", [&] { write_file_op(tensor(folder / "a.txt"), tensor("abc")); });
    named("bytes", read_file_op(tensor(folder / "a.txt")));
    named("names", matching_files(tensor(folder / "*.txt")));
    operation("save", [&] { save_v2(part, tensor({"w"}), tensor({""}), {w}); });
    operation("merge", [&] { merge_v2_checkpoints(pack({part}), prefix); });
    named("w", identity(restore_v2(prefix, tensor({"w"}), tensor({""}), {kFloat32})[0]));
    operation("save_first", [&] { save_v1(tensor(folder / "first"), tensor({"w"}), {w}); });
    operation("save_slices",
              [&] { save_slices_v1(tensor(folder / "part"), tensor({"w"}), tensor({"2 2 0,1:-"}), {pack({w})}); });
    named("w_first", restore_v1(tensor(folder / "first"), tensor("w"), kFloat32));
    named("w_part", restore_slice_v1(tensor(folder / "first"), tensor("w"), tensor("2 1,1"), kFloat32));
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    for (const char* name : {"write", "save", "merge", "save_first", "save_slices"}) session.run(name);
    BOOST_TEST(session.run("bytes").item<std::string>() == "abc");
    BOOST_TEST(session.run("names").numel() == 1);
    BOOST_TEST(session.run("w").to_string() == "[1. 2.]");
    BOOST_TEST(session.run("w_first").to_string() == "[1. 2.]");
    BOOST_TEST(session.run("w_part").to_string() == "[2.]");
    BOOST_TEST(list_variables(folder / "part")[0].slices == 1);
  }
}

const OwnTest kSaved{"saved", in_saved_graphs};
const OwnTest kCheckpoints{"checkpoints", checkpoints}, kRefused{"refused", refused};

const Family files(
    "files",
    {
        {"ReadFile", {.own = {{"files", reads_and_writes}, kRefused, kSaved}}},
        {"WriteFile", {.own = {{"files", reads_and_writes}, kSaved}}},
        {"MatchingFiles", {.own = {{"patterns", matches}, kSaved}}},
        {"ShardedFilename",
         {.samples = {{.in = {texts({}, {"a/b"}), scalar(1), scalar(12)}, .out = {texts({}, {"a/b-00001-of-00012"})}}},
          .errors = {{.in = {texts({1}, {"a"}), scalar(1), scalar(12)}, .text = "basename"}}}},
        {"ShardedFilespec",
         {.samples = {{.in = {texts({}, {"a/b"}), scalar(12)}, .out = {texts({}, {"a/b-?\?\?\?\?-of-00012"})}}}}},
        {"SaveV2", {.own = {kCheckpoints, kSaved}}},
        {"Save", {.own = {kCheckpoints, kSaved}}},
        {"SaveSlices", {.own = {kCheckpoints, kSaved}}},
        {"RestoreV2", {.own = {kCheckpoints, kSaved}}},
        {"Restore", {.own = {kCheckpoints, kSaved}}},
        {"RestoreSlice", {.own = {kCheckpoints, kSaved}}},
        {"MergeV2Checkpoints", {.own = {{"merges", merges}, kSaved}}},
    });

}  // namespace
}  // namespace panto::test::files_rows
