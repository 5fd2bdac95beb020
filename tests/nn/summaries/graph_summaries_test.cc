// Summaries of graphs: what nodes give, a writer writes, and what writers that are resources write by themselves. The
// bytes beside TensorFlow's: tests/device/media/media_test.cc.
#include "panto/nn/summaries/graph_summaries.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/io/graph_files.h"
#include "panto/lib/graph/events/event_file.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/summaries/summary_writer.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/ops/saved.h"
#include "panto/trace/graph_scope.h"

namespace panto {
namespace {

std::string only_file(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) return entry.path().string();
  return {};
}

// "step tag plugin value" of each, but for the first event, which says the version.
std::vector<std::string> written(const std::string& folder) {
  std::vector<std::string> lines;
  for (const SummaryEvent& event : read_events(folder)) {
    for (const SummaryValue& v : event.values) {
      const bool numbers = v.plugin == "scalars" || v.plugin == "histograms";
      lines.push_back(std::to_string(event.step) + ' ' + v.tag + ' ' + v.plugin +
                      (numbers ? ' ' + v.value.to_string() : v.value.partial_shape().to_string()));
    }
  }
  return lines;
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(graph_summaries)

BOOST_AUTO_TEST_CASE(merged_and_written) {
  Graph graph;
  Tensor x, merged;
  {
    const GraphScope in(graph);
    x = placeholder(kFloat32, {-1});
    scalar_summary("loss", sum(x));
    histogram_summary("x", x);
    image_summary("picture", reshape(x, {1, 1, -1, 1}), {.max_images = 1});
    audio_summary("sound", reshape(x, {1, -1}), 8000.0F, {.max_outputs = 1});
    text_summary("words", "some");
    merged = merge_all_summaries();
  }
  const TestFolder folder;
  {
    SummaryWriter writer(folder / "run");
    Session session(graph);
    for (int step = 0; step < 2; ++step) {
      writer.add_summary(session.run(merged, {{x, tensor({1.F, static_cast<float>(step)})}}), step);
    }
    writer.add_summary(scalar_summary("eager", 3).item<std::string>(), 7);
    expect_error([&] { writer.add_summary("no summary", 1); },
                 "InvalidArgument: summary: expected the bytes of a Summary, got others");
    expect_error([&] { writer.add_summary(tensor({1}), 1); }, "InvalidArgument: summary: expected strings, got int32");
  }
  const std::vector<std::string> lines = written(folder / "run");
  BOOST_REQUIRE(lines.size() == 11U);
  BOOST_TEST(lines[0] == "0 loss scalars 1.0");
  BOOST_TEST(lines[1].starts_with("0 x histograms "), lines[1]);
  BOOST_TEST(lines[2] == "0 picture/image images[3]");
  BOOST_TEST(lines[3] == "0 sound/audio audio[1,2]");
  BOOST_TEST(lines[4] == "0 words text[]");
  BOOST_TEST(lines[5] == "1 loss scalars 2.0");
  BOOST_TEST(lines[10] == "7 eager scalars 3.0");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_summarized) {
  expect_error_begins([] { (void)merge_all_summaries(); }, "FailedPrecondition: ");
  expect_error([] { (void)merge_summary({}); }, "InvalidArgument: summaries: expected some to merge, got none");
  const Tensor one = scalar_summary("a", 1);
  expect_error_begins([&] { (void)merge_summary({one, one}); },
                      "InvalidArgument: summaries: expected each tag once, got 'a' twice");
  expect_error_begins([] { (void)histogram_summary("a", tensor({1.F, std::nanf("")})); },
                      "InvalidArgument: summary 'a': expected finite values, got nan");
  expect_error_begins([] { (void)scalar_summary("a", tensor({1.F, 2.F})); },
                      "InvalidArgument: tags: expected the shape [2] of values, got []");
  expect_error_begins([] { (void)image_summary("a", zeros({1, 2, 2, 2})); },
                      "InvalidArgument: images: expected [images, height, width, channels] with 1, 3 or 4 channels");
  expect_error_begins([] { (void)audio_summary("a", zeros({1, 2}), 0.F); },
                      "InvalidArgument: sample_rate: expected at least 1 and less than 2^32, got 0");
  expect_error_begins([&] { (void)tensor_summary_bytes("t", 1, "\xff"); },
                      "InvalidArgument: summary_metadata: expected the bytes of a SummaryMetadata, got others");
}

BOOST_AUTO_TEST_CASE(writers_in_graphs) {
  const TestFolder folder;
  const auto build = [&] {
    const auto operation = [](const std::string& name, const auto& add) {
      const CollectEffects effects;
      add();
      group(effects.operations(), name);
    };
    const Tensor writer = named("writer", summary_writer_resource());
    operation("open", [&] { create_summary_file_writer(writer, folder / "run", 10, 60000, ".end"); });
    const Tensor step = placeholder(kInt64, {}, "step");
    operation("write", [&] {
      write_scalar_summary(writer, step, "loss", 0.5F);
      write_histogram_summary(writer, step, "h", tensor({true, false, true}));
      write_image_summary(writer, step, "i", zeros({1, 2, 2, 1}), tensor(std::vector<uint8_t>{9}, Shape{1}));
      write_audio_summary(writer, step, "a", zeros({1, 4}), 8000.F, {.max_outputs = 1});
      write_summary(writer, step, tensor({1, 2}), "t", "\x0a\x06\x0a\x04mine");
      write_raw_proto_summary(writer, step, scalar_summary_bytes("raw", 4));
      write_graph_summary(writer, step, "");
    });
    operation("flush", [&] { flush_summary_writer(writer); });
    operation("close", [&] { close_summary_writer(writer); });
  };
  int runs = 0;
  for (const Graph& graph : test::saved_and_loaded(build)) {
    ++runs;
    std::filesystem::remove_all(folder / "run");
    Session session(graph);
    const auto write = [&](int64_t step) { session.run("write", {{"step", tensor(step)}}); };
    expect_error_begins(
        [&] { write(1); },
        "FailedPrecondition: summary writer: expected one to which CreateSummaryFileWriter gave a file");
    session.run("open");
    session.run("open");  // goes on with the same file
    write(5);
    session.run("flush");
    BOOST_TEST(only_file(folder / "run").ends_with(".end"));
    std::vector<std::string> lines = written(folder / "run");
    std::ranges::sort(lines);
    BOOST_REQUIRE(lines.size() == 6U);
    BOOST_TEST(lines[0] == "5 a/audio audio[1,2]");
    BOOST_TEST(lines[1].starts_with("5 h histograms "), lines[1]);
    BOOST_TEST(lines[2] == "5 i/image/0 images[3]");
    BOOST_TEST(lines[3] == "5 loss scalars 0.5");
    BOOST_TEST(lines[4] == "5 raw scalars 4.0");
    BOOST_TEST(lines[5] == "5 t mine[2]");
    session.run("close");
    expect_error_begins([&] { write(6); }, "FailedPrecondition: summary writer: ");
  }
  BOOST_TEST(runs == 2);
}

BOOST_AUTO_TEST_CASE(graphs_of_strangers_write_no_files) {
  const TestFolder folder;
  const struct Allowed {
    Allowed() { allow_graph_files(false); }
    ~Allowed() { allow_graph_files(true); }
  } refused;
  const Tensor writer = summary_writer_resource();
  expect_error_begins([&] { create_summary_file_writer(writer, folder / "run", 1, 1, ""); },
                      "PermissionDenied: file '");
}

BOOST_AUTO_TEST_CASE(events_that_are_imported) {
  const TestFolder folder;
  const Tensor writer = summary_writer_resource();
  create_summary_file_writer(writer, folder / "run", 10, 60000, "");
  SummaryEvent event;
  event.step = 12;
  event.wall_time = 3.5;
  event.values.push_back({"x", "scalars", tensor(2.F)});
  import_event(writer, event_bytes(event));
  expect_error_begins([&] { import_event(writer, "\xff"); },
                      "InvalidArgument: event: expected the bytes of an Event, got others");
  close_summary_writer(writer);
  BOOST_TEST(written(folder / "run") == std::vector<std::string>{"12 x scalars 2.0"});
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
