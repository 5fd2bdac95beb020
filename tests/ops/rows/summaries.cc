// Samples of summaries, with the bytes that TensorFlow gives; more of them are in tests/device/media. Writers are asked
// what they write.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "panto/lib/core/call/scopes.h"
#include "panto/lib/graph/events/event_file.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/device/media/media_reference.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"

namespace panto::test::summaries_rows {
namespace {

// Input i of a stored call.
Array in(const std::string& call, int i) {
  const auto number = std::to_string(i);
  const auto found = media_arrays().find(call + "/s" + number);
  if (found != media_arrays().end()) return texts({}, {text_of(found->second)});
  return to_array(media_arrays().at(call + "/i" + number));
}
Sample stored(const std::string& call, int inputs, Attrs attrs = {}) {
  Sample sample;
  sample.attrs = std::move(attrs);
  for (int i = 0; i < inputs; ++i) sample.in.push_back(in(call, i));
  sample.out = {texts({}, {text_of(media_arrays().at(call + "/t0"))})};
  return sample;
}

// TensorFlow's own default.
const Attr kRed = {"bad_color", tensor(std::vector<uint8_t>{255, 0, 0, 255}, Shape{4})};
const Array kTag = texts({}, {"t"}), kTags = texts({2}, {"a", "b"});

void writers_write() {
  const TestFolder folder;
  const Tensor writer = summary_writer_resource(), step = tensor(int64_t{3});
  expect_error_begins([&] { write_scalar_summary(writer, step, "s", 1.F); },
                      "FailedPrecondition: summary writer: expected one to which CreateSummaryFileWriter gave a file");
  expect_error_begins([&] { create_summary_file_writer(writer, folder / "run", -1, 1, ""); },
                      "InvalidArgument: max_queue: expected at least 0, got -1");
  expect_error_begins([&] { create_summary_file_writer(fifo_queue({kFloat32}), folder / "run", 1, 1, ""); },
                      "InvalidArgument: summary writer: expected a handle of a summary writer, got a FIFOQueue");
  create_summary_file_writer(writer, folder / "run", 0, 0, "");
  write_scalar_summary(writer, step, "s", 1.5F);
  write_histogram_summary(writer, step, "h", tensor({1.F, 2.F}));
  write_image_summary(writer, step, "i", fill({1, 1, 1, 1}, 0.F), tensor(std::vector<uint8_t>{0}, Shape{1}));
  write_audio_summary(writer, step, "a", fill({1, 1}, 0.F), 8000.F);
  write_summary(writer, step, 7, "t", "");
  write_raw_proto_summary(writer, step, scalar_summary_bytes("r", 2));
  write_graph_summary(writer, step, "graph");
  SummaryEvent event;
  event.step = 9;
  import_event(writer, event_bytes(event));
  flush_summary_writer(writer);
  std::string tags;
  int64_t steps = 0;
  for (const SummaryEvent& e : read_events(folder / "run")) {
    steps += e.step;
    if (!e.graph_def.empty()) tags += "graph ";
    for (const SummaryValue& v : e.values) tags += v.tag + ' ';
  }
  BOOST_TEST(tags == "s h i/image/0 a/audio/0 t r graph ");
  BOOST_TEST(steps == 7 * 3 + 9);
  close_summary_writer(writer);
  close_summary_writer(writer);
  flush_summary_writer(writer);
}

const OwnTest kWrites{"writes", writers_write};

// The node's name, which eager calls have none of.
void named_by_nodes() {
  const std::string summary = tensor_summary_bytes_v1(tensor({1, 2})).item<std::string>();
  const SummaryEvent event = parse_event(std::string("\x2a") + static_cast<char>(summary.size()) + summary);
  BOOST_REQUIRE(event.values.size() == 1U);
  BOOST_TEST(event.values[0].value.to_string() == "[1 2]");
  expect_error_begins([] { (void)tensor_summary_bytes_v1(fifo_queue({kFloat32})); },
                      "InvalidArgument: summary: expected a dtype with values, got resource");
}

// A node has a name, under which its value is shown.
void in_saved_graphs() {
  const auto build = [] { named("summary", tensor_summary_bytes_v1(tensor({1, 2}))); };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    const std::string summary = session.run("summary").item<std::string>();
    const SummaryEvent event = parse_event(std::string("\x2a") + static_cast<char>(summary.size()) + summary);
    BOOST_REQUIRE(event.values.size() == 1U);
    BOOST_TEST(event.values[0].tag.starts_with("summary"), event.values[0].tag);
    BOOST_TEST(event.values[0].value.to_string() == "[1 2]");
  }
}

const Family summaries(
    "summaries",
    {
        {"ScalarSummary",
         {.samples = {stored("ScalarSummary#scalar", 2)},
          .errors = {{.in = {kTag, list({1, 2})}, .text = "tags: expected the shape [2] of values, got []"}},
          .types = {kFloat32},
          .gradient = false}},
        {"HistogramSummary",
         {.samples = {stored("HistogramSummary#normal", 2), stored("HistogramSummary#none", 2)},
          .errors = {{.in = {kTags, list({1, 2})}, .text = "tag: expected a scalar, got shape [2]"},
                     {.in = {kTag, list({NAN})}, .text = "summary 't': expected finite values, got nan"}},
          .types = {kFloat64},
          .gradient = false}},
        {"ImageSummary",
         {.samples = {stored("ImageSummary#bytes", 2, {kRed}),
                      stored("ImageSummary;max_images=1#bytes", 2, {{"max_images", 1}, kRed})},
          .errors = {{.in = {kTag, filled({1, 2, 2, 2}, 0)},
                      .attrs = {kRed},
                      .text = "images: expected [images, height, width, channels] with 1, 3 or 4 channels, got "},
                     {.in = {kTag, filled({2, 2, 1}, 0)},
                      .attrs = {kRed},
                      .text = "tensor: expected rank 4, got shape [2,2,1]"}},
          .types = {kUint8},
          .gradient = false}},
        {"AudioSummaryV2",
         {.samples = {stored("AudioSummaryV2#stereo", 3),
                      stored("AudioSummaryV2;max_outputs=1#mono", 3, {{"max_outputs", 1}})},
          .errors = {{.in = {kTag, filled({2}, 0).as(kFloat32), scalar(1).as(kFloat32)},
                      .text = "tensor: expected a rank of at least 2, got shape [2]"}},
          .gradient = false}},
        {"TensorSummary", {.own = {{"named", named_by_nodes}, {"saved", in_saved_graphs}}}},
        {"TensorSummaryV2",
         {.samples = {stored("TensorSummaryV2#matrix", 3)},
          .errors = {{.in = {kTag, scalar(1), texts({}, {"\xff"})},
                      .text = "summary_metadata: expected the bytes of a SummaryMetadata, got others"}},
          .types = {kFloat64},
          .gradient = false}},
        {"MergeSummary",
         {.samples = {stored("MergeSummary#two", 2)},
          .errors = {{.in = {texts({}, {"none"})}, .text = "summary: expected the bytes of a Summary, got others"}}}},
        {"SummaryWriter", {.own = {kWrites}}},
        {"CreateSummaryFileWriter", {.own = {kWrites}}},
        {"FlushSummaryWriter", {.own = {kWrites}}},
        {"CloseSummaryWriter", {.own = {kWrites}}},
        {"WriteSummary", {.own = {kWrites}}},
        {"WriteScalarSummary", {.own = {kWrites}}},
        {"WriteHistogramSummary", {.own = {kWrites}}},
        {"WriteImageSummary", {.own = {kWrites}}},
        {"WriteAudioSummary", {.own = {kWrites}}},
        {"WriteRawProtoSummary", {.own = {kWrites}}},
        {"WriteGraphSummary", {.own = {kWrites}}},
        {"ImportEvent", {.own = {kWrites}}},
    });

}  // namespace
}  // namespace panto::test::summaries_rows
