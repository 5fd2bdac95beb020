// Samples of connectionist temporal classification, beside all readings one by one.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "panto/autograd/gradcheck.h"
#include "panto/autograd/transforms/derivatives.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/reductions.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::ctc_rows {
namespace {

using Classes = std::vector<int64_t>;

Classes labels_of(const Given& g, int64_t row, int64_t blank) {
  Classes labels;
  for (size_t i = 0; i < g.in[2].values.size(); ++i) {
    const auto label = static_cast<int64_t>(g.in[2].values[i]);
    const bool ended = blank > 0 && label >= blank;
    if (static_cast<int64_t>(g.in[1].values[2 * i]) != row || ended) continue;
    if (g.flag("preprocess_collapse_repeated") && !labels.empty() && labels.back() == label) continue;
    labels.push_back(label);
  }
  return labels;
}

// What somebody reads in steps: equal neighbours are one, where they merge, and blanks are left out.
Classes read(const Classes& steps, int64_t blank, bool merge) {
  Classes labels;
  for (size_t t = 0; t < steps.size(); ++t) {
    const bool again = merge && t > 0 && steps[t] == steps[t - 1];
    if (steps[t] != blank && !again) labels.push_back(steps[t]);
  }
  return labels;
}

std::vector<Array> all_readings(const Given& g) {
  const Array& x = g.in[0];
  const int64_t batch = x.dims[1], classes = x.dims[2];
  const int64_t blank = g.op.name() == "CTCLossV2" ? 0 : classes - 1;
  Array loss = filled({batch}, 0), gradient = filled(x.dims, 0);
  const auto place = [&](int64_t t, int64_t b, int64_t k) {
    return static_cast<size_t>((t * batch + b) * classes + k);
  };
  for (int64_t b = 0; b < batch; ++b) {
    const auto steps = static_cast<int64_t>(g.in[3].values[static_cast<size_t>(b)]);
    const Classes labels = labels_of(g, b, blank);
    if (static_cast<int64_t>(labels.size()) > steps) continue;
    std::vector<double> p(static_cast<size_t>(steps * classes)), ways(p.size());
    for (int64_t t = 0; t < steps; ++t) {
      double sum = 0;
      for (int64_t k = 0; k < classes; ++k) sum += std::exp(x.values[place(t, b, k)]);
      for (int64_t k = 0; k < classes; ++k) {
        p[static_cast<size_t>(t * classes + k)] = std::exp(x.values[place(t, b, k)]) / sum;
      }
    }
    double all = 0;
    for_each_index(Index(static_cast<size_t>(steps), classes), [&](const Index& path) {
      if (read(path, blank, g.flag("ctc_merge_repeated")) != labels) return;
      double product = 1;
      for (size_t t = 0; t < path.size(); ++t)
        product *= p[t * static_cast<size_t>(classes) + static_cast<size_t>(path[t])];
      all += product;
      for (size_t t = 0; t < path.size(); ++t)
        ways[t * static_cast<size_t>(classes) + static_cast<size_t>(path[t])] += product;
    });
    loss.values[static_cast<size_t>(b)] = -std::log(all);
    for (int64_t t = 0; t < steps; ++t) {
      for (int64_t k = 0; k < classes; ++k) {
        const auto i = static_cast<size_t>(t * classes + k);
        gradient.values[place(t, b, k)] = p[i] - (all == 0 ? 0 : ways[i] / all);
      }
    }
  }
  return {loss, gradient};
}

const Array kPlaces = array({5, 2}, {0, 0, 0, 1, 1, 0, 2, 0, 2, 1}), kValues = list({0, 1, 1, 0, 0});

void derivatives() {
  const Tensor indices = to_tensor(kPlaces, kInt64), values = to_tensor(kValues, kInt32);
  const Tensor lengths = to_tensor(list({5, 3, 4}), kInt32), weights = to_tensor(list({1, -2, 0.5}), kFloat64);
  const auto loss = [&](const Tensor& x) { return sum(ctc_loss(x, indices, values, lengths).loss * weights); };
  const Tensor x = to_tensor(draw({5, 3, 3}), kFloat64);
  const GradcheckResult checked = gradcheck([&](std::span<const Tensor> in) { return loss(in[0]); }, {{x}});
  BOOST_TEST(checked.ok, checked.report);
  expect_error_begins([&] { grad([&](const Tensor& t) { return sum(grad(loss)(t) * x); })(x); },
                      "FailedPrecondition: gradient of PreventGradient");
  expect_error_begins(
      [&] { grad([&](const Tensor& t) { return sum(ctc_loss(t, indices, values, lengths).gradient); })(x); },
      "Unimplemented: gradient of CTCLoss: expected that of `loss` only");
}

// Those of CTCLoss, with classes moved by one.
void derivatives_v2() {
  const Tensor indices = to_tensor(kPlaces, kInt64), values = to_tensor(kValues, kInt32);
  const Tensor lengths = to_tensor(list({5, 3, 4}), kInt32), weights = to_tensor(list({1, -2, 0.5}), kFloat32);
  const auto loss = [&](const Tensor& x) { return sum(ctc_loss_v2(x, indices, values + 1, lengths).loss * weights); };
  const auto moved = [&](const Tensor& x) {
    const Tensor last = concat({slice(x, {0, 0, 1}, {5, 3, 2}), slice(x, {0, 0, 0}, {5, 3, 1})}, 2);
    return sum(ctc_loss(last, indices, values, lengths).loss * weights);
  };
  const Tensor x = to_tensor(draw({5, 3, 3}), kFloat32);
  BOOST_TEST(difference(to_array(grad(moved)(x)), grad(loss)(x), {.units = 8, .floor = 1}) == "");
}

Sample sample(const Array& x, std::vector<double> lengths, Attrs attrs = {}) {
  return {.in = {x, kPlaces, kValues, list(std::move(lengths))}, .attrs = std::move(attrs)};
}
Sample with_blank_first(const Array& x, std::vector<double> lengths, Attrs attrs = {}) {
  return {.in = {x, kPlaces, list({1, 2, 2, 1, 1}), list(std::move(lengths))}, .attrs = std::move(attrs)};
}
ErrorSample wrong(Array indices, Array values, std::vector<double> lengths, const char* text) {
  return {.in = {draw({4, 2, 3}), std::move(indices), std::move(values), list(std::move(lengths))}, .text = text};
}

const Family ctc(
    "nn",
    {{"CTCLoss",
      {.samples = {sample(draw({5, 3, 3}), {5, 3, 4}),
                   sample(draw({4, 3, 3}), {4, 1, 2}),
                   sample(draw({4, 3, 3}), {4, 3, 4}, {{"ctc_merge_repeated", false}}),
                   sample(draw({4, 3, 3}), {4, 3, 4}, {{"preprocess_collapse_repeated", true}}),
                   sample(draw({4, 3, 3}), {1, 0, 3}, {{"ignore_longer_outputs_than_inputs", true}}),
                   {.in = {draw({3, 1, 4}), array({3, 2}, {0, 0, 0, 1, 0, 2}), list({2, 3, 3}), list({3})}}},
       .reference = all_readings,
       .errors =
           {wrong(array({2, 2}, {0, 0, 2, 0}), list({0, 1}), {4, 4}, "labels_indices: expected rows from 0 to 1"),
            wrong(array({2, 2}, {1, 0, 0, 0}), list({0, 1}), {4, 4}, "labels_indices: expected them in order"),
            wrong(array({2, 2}, {0, 0, 0, 0}), list({0, 1}), {4, 4}, "labels_indices: expected them in order"),
            wrong(array({2, 2}, {0, 0, 1, -1}), list({0, 1}), {4, 4}, "labels_indices: expected rows from 0 to 1"),
            wrong(array({1, 2}, {0, 0}), list({0}), {4, 4}, "labels_values: expected at least one label in sequence 1"),
            wrong(array({2, 2}, {0, 0, 1, 0}), list({0, -1}), {4, 4}, "labels_values: expected at least 0, got -1"),
            wrong(array({3, 2}, {0, 0, 0, 1, 1, 0}), list({2, 1, 1}), {4, 4},
                  "labels_values: expected nothing but blanks"),
            wrong(array({2, 2}, {0, 0, 1, 0}), list({0, 1}), {5, 4}, "sequence_length: expected 0 to 4, got 5"),
            wrong(array({2, 2}, {0, 0, 1, 0}), list({0, 1}), {-1, 4}, "sequence_length: expected 0 to 4, got -1"),
            wrong(array({3, 2}, {0, 0, 0, 1, 1, 0}), list({0, 1, 1}), {1, 4}, "sequence_length: expected at least 2"),
            wrong(array({2, 2}, {0, 0, 1, 0}), list({0, 1}), {4}, "the number of sequences: expected 2, got 1"),
            wrong(array({2, 2}, {0, 0, 1, 0}), list({0}), {4, 4}, "the number of labels: expected 2, got 1")},
       .own = {{"derivatives", derivatives}},
       .gradient = false,
       .constant = {1},
       .fixed = {1, 2, 3}}},  // labels are in order, and there are steps enough for them
     {"CTCLossV2",
      {.samples = {with_blank_first(draw({5, 3, 3}), {5, 3, 4}),
                   with_blank_first(draw({4, 3, 3}), {4, 3, 4}, {{"ctc_merge_repeated", false}}),
                   with_blank_first(draw({4, 3, 3}), {4, 3, 4}, {{"preprocess_collapse_repeated", true}}),
                   with_blank_first(draw({4, 3, 3}), {1, 0, 3}, {{"ignore_longer_outputs_than_inputs", true}})},
       .reference = all_readings,
       .errors = {wrong(array({2, 2}, {0, 0, 1, 0}), list({1, 0}), {4, 4}, "labels_values: expected 1 to 2, got 0"),
                  wrong(array({2, 2}, {0, 0, 1, 0}), list({3, 1}), {4, 4}, "labels_values: expected 1 to 2, got 3"),
                  wrong(array({1, 2}, {0, 0}), list({1}), {4, 4},
                        "labels_values: expected at least one label in sequence 1")},
       .own = {{"derivatives", derivatives_v2}},
       .gradient = false,
       .constant = {1},
       .fixed = {1, 2, 3}}}});

}  // namespace
}  // namespace panto::test::ctc_rows
