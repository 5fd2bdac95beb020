// Hyper-parameters and precision-recall curves, as TensorBoard's plugins write them: numbers and bytes are TensorBoard
// 2.21's (tests/interop/files/test_summaries.py asks its reader).
#include "panto/nn/summaries/plugins.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "panto/lib/graph/events/event_file.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(summary_plugins)

BOOST_AUTO_TEST_CASE(precision_and_recall_are_those_of_tensorboard) {
  const TestFolder folder;
  const Tensor labels = tensor({1, 0, 1, 1, 0, 0}), predictions = tensor({0.9f, 0.8f, 0.29f, 1.0f, 0.0f, 0.5f});
  {
    SummaryWriter writer(folder.path().string());
    writer.pr_curve("x", labels, predictions, 7,
                    {.num_thresholds = 5, .weights = tensor({1.f, 2.f, 0.5f, 1.f, 1.f, 3.f})});
    writer.pr_curve("y", cast(labels, kBool), predictions, 8);
    expect_error([&] { writer.pr_curve("z", labels, predictions, 0, {.num_thresholds = 1}); },
                 "InvalidArgument: pr_curve summary: expected 2 to 1000000 thresholds, got 1");
    expect_error([&] { writer.pr_curve("z", labels, tensor({0.5f}), 0); },
                 "InvalidArgument: pr_curve summary: expected labels and predictions of one shape, got [6] and [1]");
    expect_error([&] { writer.pr_curve("z", tensor({1}), tensor({std::nanf("")}), 0); },
                 "InvalidArgument: pr_curve summary: expected numbers, got nan");
  }
  const std::vector<SummaryEvent> events = read_events(folder.path().string());
  BOOST_REQUIRE_EQUAL(events.size(), 3u);
  const SummaryValue& x = events[1].values[0];
  BOOST_TEST(x.plugin == "pr_curves");
  BOOST_TEST(x.content == "\x10\x05");
  expect_near(x.value, {6, 5},
              {2.5,
               2.5,
               2.0,
               2.0,
               1.0,  //
               6.0,
               5.0,
               5.0,
               2.0,
               0.0,  //
               0.0,
               1.0,
               1.0,
               4.0,
               6.0,  //
               0.0,
               0.0,
               0.5,
               0.5,
               1.5,  //
               0.29411765933036804,
               0.3333333432674408,
               0.2857142984867096,
               0.5,
               1.0,  //
               1.0,
               1.0,
               0.800000011920929,
               0.800000011920929,
               0.4000000059604645});
  BOOST_TEST(events[2].values[0].value.shape().to_string() == "[6,201]");
}

BOOST_AUTO_TEST_CASE(hyper_parameters_are_written_and_read) {
  const TestFolder folder;
  {
    SummaryWriter writer(folder.path().string(), {.clock = [] { return 12.0; }});
    writer.hparams({{"rate", 0.1}, {"layers", 3}, {"optimizer", "adam"}, {"bias", true}}, {.metrics = {"epoch_loss"}});
    writer.hparams_end();
    expect_error([&] { writer.hparams({{"a", 1}, {"a", 2}}); },
                 "InvalidArgument: hyper-parameter: expected each name once, got 'a' again");
  }
  const std::vector<SummaryEvent> events = read_events(folder.path().string());
  BOOST_REQUIRE_EQUAL(events.size(), 4u);
  BOOST_TEST(events[1].values[0].tag == "_hparams_/experiment");
  BOOST_TEST(events[2].values[0].tag == "_hparams_/session_start_info");
  BOOST_TEST(events[2].values[0].plugin == "hparams");
  BOOST_TEST(events[2].values[0].value.shape().to_string() == "[0]");
  const auto found = summaries::hparams_in(events[2].values[0].content);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"bias", "true"}, {"layers", "3"}, {"optimizer", "adam"}, {"rate", "0.1"}};
  BOOST_TEST((found == expected));
  BOOST_TEST(summaries::hparams_in(events[1].values[0].content).empty());
  // The name of the trial is the values': the same in each process, whatever their order.
  BOOST_TEST(summaries::session_start_bytes({{"a", 1}, {"b", "x"}}, "", 5) ==
             summaries::session_start_bytes({{"b", "x"}, {"a", 1}}, "", 5));
  BOOST_TEST(summaries::session_start_bytes({{"a", 1}}, "", 5) != summaries::session_start_bytes({{"a", 2}}, "", 5));
}

BOOST_AUTO_TEST_CASE(damaged_hyper_parameters_end_in_values_or_an_error) {
  const std::string whole = summaries::session_start_bytes({{"rate", 0.1}, {"optimizer", "adam"}}, "t", 5);
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = whole.substr(0, i % 2 == 0 ? whole.size() : random() % whole.size());
    for (size_t k = 0; k < 1 + random() % 3 && !damaged.empty(); ++k) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    const std::string text = error_text([&] { summaries::hparams_in(damaged); });
    BOOST_TEST((text == "nothing was thrown" || text.starts_with("DataLoss: ")), text);
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
