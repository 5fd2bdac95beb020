// SummaryWriter: what it writes is read again; bytes that TensorBoard's readers ask for; nothing is lost at the end.
// tests/interop/files/test_summaries.py compares with TensorFlow.
#include "panto/nn/summaries/summary_writer.h"

#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <thread>

#include "panto/lib/base/file.h"
#include "panto/lib/core/io/record_file.h"
#include "panto/lib/graph/events/event_file.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/proto/event.pb.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/nn/data/image.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

struct Run {
  SummaryWriterOptions options(double flush_seconds = 120) {
    return {.flush_seconds = flush_seconds, .clock = [this] { return time += 1; }};
  }
  // What the events after the first have.
  std::vector<SummaryEvent> events() const {
    std::vector<SummaryEvent> all = read_events(folder.path().string());
    BOOST_REQUIRE(!all.empty());
    BOOST_TEST(all[0].file_version == "brain.Event:2");
    all.erase(all.begin());
    return all;
  }
  const TestFolder folder;
  const std::string path = folder.path().string();
  double time = 1000;
};

Tensor only(const Run& run) {
  const auto events = run.events();
  BOOST_REQUIRE(events.size() == 1U);
  BOOST_REQUIRE(events[0].values.size() == 1U);
  return events[0].values[0].value;
}

Tensor filled(const Shape& shape, float value, DType dtype) {
  return cast(tensor(std::vector<float>(static_cast<size_t>(shape.numel()), value), shape), dtype);
}

std::string little(uint64_t number, int bytes) {
  return {reinterpret_cast<const char*>(&number), static_cast<size_t>(bytes)};
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(summary_writer)

BOOST_AUTO_TEST_CASE(scalars) {
  Run run;
  {
    SummaryWriter writer(run.path, run.options());
    writer.scalar("loss", 0.5, 1);
    writer.scalar("loss", tensor(std::vector<double>{0.25}), int64_t{1} << 40);
    writer.scalar("accuracy", 0, 3U);
    writer.scalar("nan", std::nan(""), 4);
    writer.scalar("count", tensor(7), 5);
  }
  const auto events = run.events();
  BOOST_REQUIRE(events.size() == 5U);
  const float expected[] = {0.5f, 0.25f, 0.f, std::nanf(""), 7.f};
  for (size_t i = 0; i < 5; ++i) {
    BOOST_REQUIRE(events[i].values.size() == 1U);
    BOOST_TEST(events[i].values[0].plugin == "scalars");
    const Tensor& t = events[i].values[0].value;
    BOOST_TEST((t.dtype() == kFloat32 && t.shape() == Shape{}));
    BOOST_TEST((t.item<float>() == expected[i] || (std::isnan(expected[i]) && std::isnan(t.item<float>()))));
    BOOST_TEST(events[i].wall_time == 1002 + static_cast<double>(i));
  }
  BOOST_TEST(events[1].step == int64_t{1} << 40);
  BOOST_TEST(events[2].values[0].tag == "accuracy");
}

BOOST_AUTO_TEST_CASE(histograms) {
  {
    Run run;
    SummaryWriter(run.path, run.options()).histogram("h", tensor({0.f, 1.f, 1.5f, 2.f, 4.f}), 1, {.buckets = 4});
    BOOST_TEST((only(run).to_vector<double>() == std::vector<double>{0, 1, 1, 1, 2, 2, 2, 3, 1, 3, 4, 1}));
    BOOST_TEST(run.events()[0].values[0].plugin == "histograms");
  }
  {
    Run run;
    SummaryWriter(run.path, run.options()).histogram("h", filled({2, 3}, 7, kInt32), 1);
    BOOST_TEST((only(run).to_vector<double>() == std::vector<double>{6.5, 7.5, 6}));
  }
  {
    Run run;
    SummaryWriter(run.path, run.options()).histogram("h", tensor(std::vector<float>{}), 1);
    BOOST_TEST((only(run).shape() == Shape{0, 3}));
  }
  // Ends whose difference is no double, and ones that are next to each other.
  const double most = std::numeric_limits<double>::max();
  for (const auto& [least, largest] : {std::pair(-most, most), std::pair(1.0, std::nextafter(1.0, 2.0)),
                                       std::pair(0.0, std::numeric_limits<double>::denorm_min())}) {
    Run run;
    SummaryWriter(run.path, run.options()).histogram("h", tensor(std::vector<double>{least, largest, largest}), 1);
    const std::vector<double> rows = only(run).to_vector<double>();
    BOOST_REQUIRE(rows.size() == 90U);
    BOOST_TEST(rows[0] == least);
    BOOST_TEST(rows[88] == largest);
    double count = 0;
    for (size_t i = 2; i < rows.size(); i += 3) count += rows[i];
    BOOST_TEST(count == 3);
  }
}

BOOST_AUTO_TEST_CASE(images) {
  Run run;
  const Tensor grey = tensor(std::vector<uint8_t>{0, 50, 100, 150, 200, 250}, Shape{2, 3, 1});
  {
    SummaryWriter writer(run.path, run.options());
    writer.image("bytes", grey, 1);
    writer.image("floats", tensor({0.f, 0.5f, 1.f, -1.f, 2.f, 0.1f}).reshape({1, 1, 2, 3}), 2);
    writer.image("many", filled({5, 2, 2, 4}, 1, kUint8), 3, {.max_outputs = 4});
  }
  const auto events = run.events();
  BOOST_REQUIRE(events.size() == 3U);
  const auto texts = [&](size_t i) { return events[i].values[0].value.to_vector<std::string>(); };
  BOOST_REQUIRE(texts(0).size() == 3U);
  BOOST_TEST(texts(0)[0] == "3");
  BOOST_TEST(texts(0)[1] == "2");
  BOOST_TEST((decode_image(texts(0)[2]).to_vector<uint8_t>() == grey.to_vector<uint8_t>()));
  BOOST_TEST((decode_image(texts(1)[2]).to_vector<uint8_t>() == std::vector<uint8_t>{0, 127, 255, 0, 255, 25}));
  BOOST_TEST(texts(2).size() == 6U);
  BOOST_TEST(events[0].values[0].plugin == "images");
}

BOOST_AUTO_TEST_CASE(texts) {
  Run run;
  {
    SummaryWriter writer(run.path, run.options());
    writer.text("t", "one *two*", 1);
    writer.text("t", tensor({"a", "b"}), 2);
  }
  const auto events = run.events();
  BOOST_REQUIRE(events.size() == 2U);
  BOOST_TEST(events[0].values[0].value.item<std::string>() == "one *two*");
  BOOST_TEST((events[1].values[0].value.to_vector<std::string>() == std::vector<std::string>{"a", "b"}));
}

// As tf.audio.encode_wav(samples, 8000).
BOOST_AUTO_TEST_CASE(audio) {
  Run run;
  SummaryWriter(run.path, run.options())
      .audio("a", tensor({{0.f, 1.f}, {-1.f, 0.5f}, {2.f, -2.f}}), 1, {.sample_rate = 8000});
  const auto texts = only(run).to_vector<std::string>();
  BOOST_REQUIRE(texts.size() == 2U);
  const std::string expected = "RIFF" + little(48, 4) + "WAVEfmt " + little(16, 4) + little(1, 2) + little(2, 2) +
                               little(8000, 4) + little(32000, 4) + little(4, 2) + little(16, 2) + "data" +
                               little(12, 4) + little(0, 2) + little(0x7fff, 2) + little(0x8000, 2) +
                               little(0x4000, 2) + little(0x7fff, 2) + little(0x8000, 2);
  BOOST_TEST((texts[0] == expected));
  BOOST_TEST(texts[1].empty());
}

BOOST_AUTO_TEST_CASE(graphs) {
  Run run;
  const auto f = trace([](const Tensor& x) { return x * 2.f + 1.f; });
  (void)f(tensor({1.f}));
  SummaryWriter(run.path, run.options()).graph(f.graph());
  const auto events = run.events();
  BOOST_REQUIRE(events.size() == 1U);
  BOOST_TEST(parse_graph(events[0].graph_def).num_nodes() == f.graph().num_nodes());
}

BOOST_AUTO_TEST_CASE(values_are_seen_when_they_were_flushed) {
  Run run;
  SummaryWriter writer(run.path, run.options());
  BOOST_TEST(run.events().empty());
  writer.scalar("x", 1, 1);
  writer.flush();
  BOOST_TEST(run.events().size() == 1U);
  for (int i = 0; i < 10; ++i) writer.scalar("x", 1, i);  // as many as may wait
  for (int i = 0; i < 500 && run.events().size() < 11; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  BOOST_TEST(run.events().size() == 11U);
  writer.close();
  writer.close();
  writer.flush();
  expect_error([&] { writer.scalar("x", 1, 1); },
               "FailedPrecondition: summary writer: expected an open one, got one that was closed");
}

BOOST_AUTO_TEST_CASE(values_are_seen_after_a_time) {
  Run run;
  SummaryWriter writer(run.path, run.options(0.01));
  writer.scalar("x", 1, 1);
  for (int i = 0; i < 500 && run.events().empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  BOOST_TEST(run.events().size() == 1U);
}

BOOST_AUTO_TEST_CASE(several_threads) {
  Run run;
  {
    SummaryWriter writer(run.path);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&writer, t] {
        for (int i = 0; i < 100; ++i) writer.scalar("x" + std::to_string(t), i, i);
        writer.flush();
      });
    }
    for (std::thread& t : threads) t.join();
  }
  int64_t next[4] = {};
  for (const SummaryEvent& event : run.events()) {
    const auto t = static_cast<size_t>(event.values[0].tag.back() - '0');
    BOOST_TEST(event.step == next[t]++);
  }
  for (const int64_t n : next) BOOST_TEST(n == 100);
}

// `exit` destroys nothing on the stack. The process that exits is a new one, of this test alone: a child that `fork`
// made would take down the tests' other state, without their threads.
BOOST_AUTO_TEST_CASE(what_waits_is_written_at_exit, *boost::unit_test::label("native")) {
  constexpr const char* kFolderOfChild = "PANTO_TEST_WRITES_AND_EXITS";
  if (const char* const folder = std::getenv(kFolderOfChild)) {
    static auto* const writer = new SummaryWriter(folder);
    writer->scalar("x", 1, 1);
    std::exit(0);
  }
  Run run;
  const pid_t child = fork();
  if (child == 0) {
    setenv(kFolderOfChild, run.path.c_str(), 1);
    execl("/proc/self/exe", "panto_tests", "--run_test=nn/summary_writer/what_waits_is_written_at_exit", nullptr);
    _exit(1);
  }
  int status = 0;
  BOOST_REQUIRE(waitpid(child, &status, 0) == child);
  BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  BOOST_TEST(run.events().size() == 1U);
}

BOOST_AUTO_TEST_CASE(misuse) {
  Run run;
  SummaryWriter writer(run.path);
  expect_error([&] { writer.scalar("", 1, 1); }, "InvalidArgument: summary: expected a tag, got none");
  expect_error([&] { writer.scalar("x", tensor({1.f, 2.f}), 1); },
               "InvalidArgument: scalar summary: expected one element, got 2");
  expect_error([&] { writer.scalar("x", tensor("a"), 1); },
               "InvalidArgument: scalar summary: expected real numbers, got string[]");
  expect_error([&] { writer.histogram("x", tensor({std::nanf("")}), 1); },
               "InvalidArgument: histogram summary: expected finite values, got nan");
  expect_error([&] { writer.histogram("x", tensor({1.f}), 1, {.buckets = 0}); },
               "InvalidArgument: histogram summary: expected 1 to 1000000 buckets, got 0");
  expect_error([&] { writer.image("x", tensor({1.f}), 1); },
               "InvalidArgument: image summary: expected [height, width, channels] or [images, height, width, "
               "channels] with 1 to 4 channels, got [1]");
  expect_error([&] { writer.image("x", filled({1, 1, 5}, 1, kUint8), 1); },
               "InvalidArgument: image summary: expected [height, width, channels] or [images, height, width, "
               "channels] with 1 to 4 channels, got [1,1,5]");
  expect_error([&] { writer.image("x", filled({1, 1, 1}, 1, kInt32), 1); },
               "InvalidArgument: image summary: expected uint8 or a floating-point dtype, got int32");
  expect_error([&] { writer.audio("x", filled({1}, 1, kInt32), 1); },
               "InvalidArgument: audio summary: expected floating-point [frames], [frames, channels] or [clips, "
               "frames, channels], got int32[1]");
  expect_error([&] { writer.audio("x", tensor({1.f}), 1, {.sample_rate = 0}); },
               "InvalidArgument: audio summary: expected sample_rate >= 1, got 0");
  expect_error([&] { writer.text("x", tensor({1.f}), 1); },
               "InvalidArgument: text summary: expected strings, got float32");
  expect_error_begins(
      [&] {
        (void)trace([&](const Tensor& x) {
          writer.scalar("x", x, 1);
          return x;
        })(tensor(1.f));
      },
      "FailedPrecondition: ");
  expect_error([&] { const SummaryWriter bad(run.path, {.max_queue = 0}); },
               "InvalidArgument: summary writer: expected max_queue >= 1, got 0");
  expect_error([&] { const SummaryWriter bad(run.path, {.flush_seconds = 0}); },
               "InvalidArgument: summary writer: expected flush_seconds > 0 and at most 1000000, got 0");
  write_file(run.folder / "file", "");
  expect_error_begins([&] { const SummaryWriter bad(run.folder / "file"); }, "NotFound: cannot make file");
  writer.close();
  BOOST_TEST(run.events().empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(event_files)

// What TensorFlow 1 and PyTorch write has the form of today.
BOOST_AUTO_TEST_CASE(old_values) {
  graphdef::Event event;
  event.set_step(3);
  auto* scalar = event.mutable_summary()->add_value();
  scalar->set_tag("s");
  scalar->set_simple_value(1.5f);
  auto* histogram = event.mutable_summary()->add_value();
  histogram->set_tag("h");
  histogram->mutable_histo()->set_min(-1);
  histogram->mutable_histo()->set_max(5);
  for (const double limit : {0.0, 2.0, 1e308}) histogram->mutable_histo()->add_bucket_limit(limit);
  for (const double count : {1.0, 2.0, 3.0}) histogram->mutable_histo()->add_bucket(count);
  auto* image = event.mutable_summary()->add_value();
  image->set_tag("i");
  image->mutable_image()->set_width(4);
  image->mutable_image()->set_height(2);
  image->mutable_image()->set_encoded_image_string("png");
  auto* audio = event.mutable_summary()->add_value();
  audio->set_tag("a");
  audio->mutable_audio()->set_encoded_audio_string("wav");
  const SummaryEvent read = parse_event(event.SerializeAsString());
  BOOST_REQUIRE(read.values.size() == 4U);
  BOOST_TEST(read.step == 3);
  BOOST_TEST(read.values[0].value.item<float>() == 1.5f);
  BOOST_TEST((read.values[1].value.to_vector<double>() == std::vector<double>{-1, 0, 1, 0, 2, 2, 2, 5, 3}));
  BOOST_TEST((read.values[2].value.to_vector<std::string>() == std::vector<std::string>{"4", "2", "png"}));
  BOOST_TEST((read.values[3].value.to_vector<std::string>() == std::vector<std::string>{"wav", ""}));
  BOOST_TEST(read.values[3].plugin == "audio");
  histogram->mutable_histo()->add_bucket(1);
  expect_error([&] { (void)parse_event(event.SerializeAsString()); },
               "DataLoss: histogram: expected 4 limits of buckets, got 3 [in summary 'h' of step 3]");
}

BOOST_AUTO_TEST_CASE(faulty_files) {
  const TestFolder folder;
  expect_error([&] { (void)read_events(folder.path().string()); },
               "NotFound: folder '" + folder.path().string() + "': expected event files (*tfevents*), got none");
  std::string bytes;
  append_record("no event", bytes);
  write_file(folder / "e", bytes);
  expect_error(
      [&] { (void)read_events(folder / "e"); },
      "DataLoss: event: expected an Event, got other bytes [in file '" + (folder / "e") + "', the record at byte 0]");
}

BOOST_AUTO_TEST_CASE(changed_events_are_survived) {
  SummaryEvent event;
  event.step = 5;
  event.values = {
      {"a", "scalars", tensor(1.f)}, {"b", "histograms", tensor({{1.0, 2.0, 3.0}})}, {"c", "text", tensor({"x", "y"})}};
  const std::string bytes = event_bytes(event);
  std::mt19937 random(2);
  int errors = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string changed = bytes;
    for (size_t k = 0; k <= random() % 3; ++k) changed[random() % changed.size()] = static_cast<char>(random());
    if (i % 10 == 0) changed.resize(random() % changed.size());
    try {
      (void)parse_event(changed);
    } catch (const Error& error) {
      ++errors;
      BOOST_TEST((error.code() == Code::kDataLoss || error.code() == Code::kInvalidArgument ||
                  error.code() == Code::kUnimplemented || error.code() == Code::kResourceExhausted),
                 error.what());
    }
  }
  BOOST_TEST(errors > 2000);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
