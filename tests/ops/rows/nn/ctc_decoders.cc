// Samples of decoders of class scores, beside all readings one by one.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::ctc_decoders_rows {
namespace {

using Labels = std::vector<int64_t>;

// The sparse matrix of labels by sequence.
std::vector<Array> sparse(const std::vector<Labels>& rows) {
  std::vector<double> places, values;
  size_t longest = 0;
  for (size_t b = 0; b < rows.size(); ++b) {
    longest = std::max(longest, rows[b].size());
    for (size_t k = 0; k < rows[b].size(); ++k) {
      places.insert(places.end(), {static_cast<double>(b), static_cast<double>(k)});
      values.push_back(static_cast<double>(rows[b][k]));
    }
  }
  const auto count = static_cast<int64_t>(values.size());
  return {array({count, 2}, places), list(values),
          list({static_cast<double>(rows.size()), static_cast<double>(longest)})};
}

std::vector<Array> greedy(const Given& g) {
  const Array& x = g.in[0];
  const int64_t batch = x.dims[1], classes = x.dims[2];
  const int64_t blank = (g.integer("blank_index") + classes) % classes;
  std::vector<Labels> rows(static_cast<size_t>(batch));
  Array score = filled({batch, 1}, 0);
  for (int64_t b = 0; b < batch; ++b) {
    Labels steps;
    for (int64_t t = 0; t < integer(g.in[1], static_cast<size_t>(b)); ++t) {
      std::vector<double> scores;
      for (int64_t k = 0; k < classes; ++k) scores.push_back(at(x, {t, b, k}));
      const auto best = std::ranges::max_element(scores);
      score.values[static_cast<size_t>(b)] -= *best;
      steps.push_back(best - scores.begin());
    }
    if (g.flag("merge_repeated")) steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    std::erase(steps, blank);
    rows[static_cast<size_t>(b)] = steps;
  }
  std::vector<Array> out = sparse(rows);
  out.push_back(score);
  return out;
}

// Of a search that drops nothing.
std::vector<Array> most_probable(const Given& g) {
  const Array& x = g.in[0];
  const int64_t batch = x.dims[1], classes = x.dims[2], paths = g.integer("top_paths");
  std::vector<std::vector<Labels>> rows(static_cast<size_t>(paths));
  Array logs = filled({batch, paths}, 0);
  for (int64_t b = 0; b < batch; ++b) {
    std::map<Labels, double> probabilities;
    for_each_index(Index(static_cast<size_t>(integer(g.in[1], static_cast<size_t>(b))), classes), [&](Index steps) {
      double p = 1;
      for (size_t t = 0; t < steps.size(); ++t) {
        double sum = 0;
        for (int64_t k = 0; k < classes; ++k) sum += std::exp(at(x, {static_cast<int64_t>(t), b, k}));
        p *= std::exp(at(x, {static_cast<int64_t>(t), b, steps[t]})) / sum;
      }
      steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
      std::erase(steps, classes - 1);
      probabilities[steps] += p;
    });
    std::vector<std::pair<double, Labels>> sorted;
    for (const auto& [labels, p] : probabilities) sorted.emplace_back(-p, labels);
    std::ranges::sort(sorted);
    for (int64_t k = 0; k < paths; ++k) {
      auto& [p, labels] = sorted.at(static_cast<size_t>(k));
      logs.values[static_cast<size_t>(b * paths + k)] = std::log(-p);
      if (g.flag("merge_repeated")) labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
      rows[static_cast<size_t>(k)].push_back(labels);
    }
  }
  std::vector<Array> out(static_cast<size_t>(3 * paths));
  for (int64_t k = 0; k < paths; ++k) {
    const std::vector<Array> matrix = sparse(rows[static_cast<size_t>(k)]);
    for (int64_t part = 0; part < 3; ++part) {
      out[static_cast<size_t>(part * paths + k)] = matrix[static_cast<size_t>(part)];
    }
  }
  out.push_back(logs);
  return out;
}

// A class that cannot be, and a step without a blank.
void impossible_classes() {
  const float never = -std::numeric_limits<float>::infinity();
  const Tensor x = reshape(tensor({0.f, 1.f, never, 2.f, never, 0.f}), {2, 1, 3});
  const auto found = ctc_beam_search_decoder(x, tensor({2}), 10, 3, {.merge_repeated = false});
  const double a = 1 / (1 + std::exp(1.)), c = 1 / (1 + std::exp(2.));
  // Readings: a a (as a), a blank (as a), b a, b blank.
  const double expected[] = {(1 - a) * (1 - c), a, (1 - a) * c};
  const std::vector<double> logs = to_array(found.log_probability).values;
  for (size_t k = 0; k < 3; ++k) BOOST_CHECK_CLOSE(std::exp(logs[k]), expected[k], 1e-4);
  BOOST_TEST(to_array(found.decoded_values[0]).values == (std::vector<double>{1, 0}));
  BOOST_TEST(to_array(found.decoded_values[1]).values == (std::vector<double>{0}));
  BOOST_TEST(to_array(found.decoded_values[2]).values == (std::vector<double>{1}));
  const Tensor nan = reshape(tensor({0.f, std::nanf(""), 0.f}), {1, 1, 3});
  expect_error_begins([&] { ctc_beam_search_decoder(nan, tensor({1}), 1, 1); },
                      "InvalidArgument: inputs: expected numbers below infinity, got nan");
  expect_error_begins([&] { ctc_beam_search_decoder(reshape(tensor({never, never}), {1, 1, 2}), tensor({1}), 1, 1); },
                      "InvalidArgument: inputs: expected a class that is possible at step 0 of sequence 0, got none");
}

ErrorSample wrong(Array x, std::vector<double> lengths, const char* text, Attrs attrs = {}) {
  return {.in = {std::move(x), list(std::move(lengths))}, .attrs = std::move(attrs), .text = text};
}
Attrs beam(int64_t width, int64_t paths, bool merge) {
  Attrs attrs = {{"merge_repeated", merge}};
  attrs.emplace_back("beam_width", static_cast<int>(width));
  attrs.emplace_back("top_paths", static_cast<int>(paths));
  return attrs;
}

const Family decoders(
    "nn",
    {{"CTCGreedyDecoder",
      {.samples = {{.in = {draw({6, 3, 3}), list({6, 2, 0})}},
                   {.in = {draw({9, 2, 3}), list({9, 8})}, .attrs = {{"merge_repeated", true}}},
                   {.in = {draw({9, 2, 3}), list({9, 8})}, .attrs = {{"merge_repeated", true}, {"blank_index", 0}}},
                   {.in = {draw({9, 2, 4}), list({9, 8})}, .attrs = {{"blank_index", -3}}},
                   {.in = {filled({3, 1, 2}, 1), list({3})}},
                   {.in = {filled({1, 1, 1}, 2), list({1})}}},
       .reference = greedy,
       .errors = {wrong(draw({2, 3}), {2, 2}, "inputs: expected rank 3"),
                  wrong(draw({2, 3, 0}), {2, 2, 2}, "inputs: expected at least one element, got shape [2,3,0]"),
                  wrong(draw({2, 3, 2}), {2, 2}, "the number of sequences: expected 3, got 2"),
                  wrong(draw({2, 2, 2}), {2, 3}, "sequence_length: expected at most 2, got 3"),
                  wrong(draw({2, 1, 2}), {2}, "blank_index: expected -2 to 1, got 2", {{"blank_index", 2}}),
                  wrong(draw({2, 1, 2}), {2}, "blank_index: expected -2 to 1, got -3", {{"blank_index", -3}})},
       .units = 16,
       .data_dependent_shape = true}},
     {"CTCBeamSearchDecoder",
      {.samples = {{.in = {draw({4, 3, 3}, -2, 2, 4), list({4, 2, 3})}, .attrs = beam(100, 3, false)},
                   {.in = {draw({5, 2, 3}), list({5, 5})}, .attrs = beam(100, 5, true)},
                   {.in = {draw({5, 1, 3}), list({0})}, .attrs = beam(4, 1, true)},
                   {.in = {draw({3, 1, 1}), list({3})}, .attrs = beam(1, 1, true)}},
       .reference = most_probable,
       .errors =
           {wrong(draw({2, 1, 3}), {2}, "top_paths: expected at most beam_width, which is 2, got 3", beam(2, 3, true)),
            wrong(draw({2, 1, 3}), {0}, "top_paths: expected at most 1 for sequence 0, got 2", beam(2, 2, true)),
            wrong(draw({0, 1, 3}), {0}, "inputs: expected at least one element, got shape [0,1,3]", beam(2, 2, true)),
            wrong(draw({2, 1, 3}), {3}, "sequence_length: expected at most 2, got 3", beam(2, 2, true))},
       .own = {{"impossible_classes", impossible_classes}},
       .units = 32,
       .data_dependent_shape = true}}});

}  // namespace
}  // namespace panto::test::ctc_decoders_rows
