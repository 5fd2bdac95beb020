// Samples of sums of segments of rows that indices choose. References go through the indices one after the other, in
// float64.
#include <algorithm>
#include <cmath>
#include <string>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::segments_rows {
namespace {

// What a sum of so many rows is divided by.
using Divisor = double (*)(double count);
double sum(double) { return 1; }
double mean(double count) { return std::max(count, 1.0); }
double root(double count) { return std::sqrt(std::max(count, 1.0)); }

size_t row_length(const Array& data) {
  size_t length = 1;
  for (size_t k = 1; k < data.dims.size(); ++k) length *= static_cast<size_t>(data.dims[k]);
  return length;
}

Array with_rows(const Array& data, int64_t rows) {
  Array y;
  y.dims = data.dims;
  y.dims[0] = rows;
  y.values.assign(static_cast<size_t>(y.numel()), 0);
  return y;
}

// How many of the ids are `id`.
double count_of(const Array& ids, int64_t id) {
  return static_cast<double>(std::ranges::count(ids.values, static_cast<double>(id)));
}

Reference joined(Divisor divisor) {
  return [divisor](const Given& g) {
    const Array &data = g.in[0], &indices = g.in[1], &ids = g.in[2];
    const int64_t segments = g.in.size() > 3      ? integer(g.in[3])
                             : ids.values.empty() ? 0
                                                  : integer(ids, ids.values.size() - 1) + 1;
    const size_t length = row_length(data);
    Array y = with_rows(data, segments);
    for (size_t i = 0; i < ids.values.size(); ++i) {
      const auto from = static_cast<size_t>(integer(indices, i)), to = static_cast<size_t>(integer(ids, i));
      for (size_t j = 0; j < length; ++j) y.values[to * length + j] += data.values[from * length + j];
    }
    for (int64_t s = 0; s < segments; ++s) {
      for (size_t j = 0; j < length; ++j) y.values[static_cast<size_t>(s) * length + j] /= divisor(count_of(ids, s));
    }
    return std::vector<Array>{y};
  };
}

Reference spread(Divisor divisor) {
  return [divisor](const Given& g) {
    const Array &grad = g.in[0], &indices = g.in[1], &ids = g.in[2];
    const size_t length = row_length(grad);
    Array y = with_rows(grad, integer(g.in[3]));
    for (size_t i = 0; i < ids.values.size(); ++i) {
      const auto from = static_cast<size_t>(integer(ids, i)), to = static_cast<size_t>(integer(indices, i));
      const double by = divisor(count_of(ids, integer(ids, i)));
      for (size_t j = 0; j < length; ++j) y.values[to * length + j] += grad.values[from * length + j] / by;
    }
    return std::vector<Array>{y};
  };
}

const std::vector<Sample> kJoined = {{.in = {draw({4, 3}), list({3, 0, 3, 1, 1}), list({0, 0, 1, 3, 3})}},
                                     {.in = {draw({3, 2, 2}), list({2, 1, 0}), list({0, 0, 0})}},
                                     {.in = {draw({4}), list({1, 2}), list({1, 2})}},
                                     {.in = {draw({4, 3}), list({}), list({})}},
                                     {.in = {draw({2, 0}), list({1}), list({2})}}};
const std::vector<ErrorSample> kJoinedErrors = {
    {.in = {draw({4, 3}), list({0, 1, 3}), list({0, 2, 1})},
     .text = "segment_ids[2]: expected at least 2, the one before, got 1"},
    {.in = {draw({4, 3}), list({0, 1, 3}), list({-1, 0, 1})}, .text = "segment_ids[0]: expected at least 0, got -1"},
    {.in = {draw({4, 3}), list({0, -1}), list({0, 1})}, .text = "indices"},
    {.in = {draw({4, 3}), list({0, 4}), list({0, 1})}, .text = "indices"},
    {.in = {draw({4, 3}), list({0, 1}), list({0, 1, 1})},
     .text = "dimension 0 of data and segment_ids: expected 2, got 3"},
    {.in = {draw({4, 3}), array({1, 2}, {0, 1}), array({1, 2}, {0, 1})}}};

const std::vector<Sample> kCounted = {{.in = {draw({4, 3}), list({3, 0, 3, 1, 1}), list({0, 0, 1, 3, 3}), scalar(4)}},
                                      {.in = {draw({3, 2, 2}), list({2, 1, 0}), list({1, 1, 1}), scalar(5)}},
                                      {.in = {draw({4, 3}), list({}), list({}), scalar(2)}},
                                      {.in = {draw({4}), list({}), list({}), scalar(0)}}};
const std::vector<ErrorSample> kCountedErrors = {
    {.in = {draw({4, 3}), list({0, 1, 3}), list({0, 2, 1}), scalar(4)},
     .text = "segment_ids[2]: expected at least 2, the one before, got 1"},
    {.in = {draw({4, 3}), list({0, 1, 3}), list({-1, 0, 1}), scalar(4)},
     .text = "segment_ids[0]: expected at least 0, got -1"},
    {.in = {draw({4, 3}), list({0, 1, 3}), list({0, 0, 2}), scalar(2)},
     .text = "segment_ids[2]: expected one below 2, got 2"},
    {.in = {draw({4, 3}), list({0, -1}), list({0, 1}), scalar(2)}, .text = "indices"},
    {.in = {draw({4, 3}), list({}), list({}), scalar(-1)}, .text = "num_segments: expected at least 0, got -1"}};

const std::vector<Sample> kSpread = {{.in = {draw({3, 2}), list({0, 1, 1, 3}), list({0, 0, 2, 2}), scalar(5)}},
                                     {.in = {draw({3, 2, 2}), list({1, 0, 1, 0}), list({2, 0, 2, 1}), scalar(2)}},
                                     {.in = {draw({3}), list({}), list({}), scalar(2)}},
                                     {.in = {draw({0, 2}), list({}), list({}), scalar(2)}}};
const std::vector<ErrorSample> kSpreadErrors = {
    {.in = {draw({3, 2}), list({0, 5}), list({0, 2}), scalar(5)}, .text = "indices"},
    {.in = {draw({3, 2}), list({0, -1}), list({0, 2}), scalar(5)}, .text = "indices"},
    {.in = {draw({3, 2}), list({0, 1}), list({0, -1}), scalar(5)}, .text = "indices"},
    {.in = {draw({3, 2}), list({0, 1}), list({0, 3}), scalar(5)}},
    {.in = {draw({3, 2}), list({}), list({}), scalar(-5)}}};

const Family segments(
    "sparse",
    {
        {"SparseSegmentSum",
         {.samples = kJoined, .reference = joined(sum), .errors = kJoinedErrors, .data_dependent_shape = true}},
        {"SparseSegmentMean",
         {.samples = kJoined, .reference = joined(mean), .errors = kJoinedErrors, .data_dependent_shape = true}},
        {"SparseSegmentSqrtN",
         {.samples = kJoined, .reference = joined(root), .errors = kJoinedErrors, .data_dependent_shape = true}},
        {"SparseSegmentSumWithNumSegments", {.samples = kCounted, .reference = joined(sum), .errors = kCountedErrors}},
        {"SparseSegmentMeanWithNumSegments",
         {.samples = kCounted, .reference = joined(mean), .errors = kCountedErrors}},
        {"SparseSegmentSqrtNWithNumSegments",
         {.samples = kCounted, .reference = joined(root), .errors = kCountedErrors}},
        {"SparseSegmentSumGrad", {.samples = kSpread, .reference = spread(sum), .errors = kSpreadErrors}},
        {"SparseSegmentMeanGrad", {.samples = kSpread, .reference = spread(mean), .errors = kSpreadErrors}},
        {"SparseSegmentSqrtNGrad", {.samples = kSpread, .reference = spread(root), .errors = kSpreadErrors}},
    });

}  // namespace
}  // namespace panto::test::segments_rows
