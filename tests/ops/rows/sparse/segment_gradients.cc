// Samples of gradients of segments, of the rows that are chosen. The reference sums into a map by row, in float64.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::segment_gradients_rows {
namespace {

using Divisor = double (*)(double count);
double sum(double) { return 1; }
double mean(double count) { return count; }
double root(double count) { return std::sqrt(count); }

Reference rows(Divisor divisor) {
  return [divisor](const Given& g) {
    const Array &grad = g.in[0], &indices = g.in[1], &ids = g.in[2];
    size_t length = 1;
    for (size_t k = 1; k < grad.dims.size(); ++k) length *= static_cast<size_t>(grad.dims[k]);
    std::map<int64_t, std::vector<double>> sums;
    for (size_t i = 0; i < ids.values.size(); ++i) {
      std::vector<double>& row = sums[integer(indices, i)];
      row.resize(length);
      const double by = divisor(static_cast<double>(std::ranges::count(ids.values, ids.values[i])));
      for (size_t j = 0; j < length; ++j) {
        row[j] += grad.values[static_cast<size_t>(integer(ids, i)) * length + j] / by;
      }
    }
    Array y, numbers;
    y.dims = grad.dims;
    y.dims[0] = static_cast<int64_t>(sums.size());
    numbers.dims = {y.dims[0]};
    for (const auto& [number, row] : sums) {
      numbers.values.push_back(static_cast<double>(number));
      y.values.insert(y.values.end(), row.begin(), row.end());
    }
    return std::vector<Array>{y, numbers};
  };
}

const std::vector<Sample> kSamples = {{.in = {draw({3, 2}), list({3, 1, 1, 0, 3}), list({0, 0, 1, 2, 2}), scalar(5)}},
                                      {.in = {draw({3, 2}), list({3, 1, 1, 0, 3}), list({2, 0, 1, 0, 2}), scalar(4)}},
                                      {.in = {draw({2, 2, 2}), list({1, 1}), list({0, 0}), scalar(2)}},
                                      {.in = {draw({3}), list({2}), list({1}), scalar(3)}},
                                      {.in = {draw({3, 2}), list({}), list({}), scalar(2)}}};
const std::vector<ErrorSample> kErrors = {
    {.in = {draw({3, 2}), list({0, 5}), list({0, 2}), scalar(5)}, .text = "indices"},
    {.in = {draw({3, 2}), list({0, -1}), list({0, 2}), scalar(5)}, .text = "indices"},
    {.in = {draw({3, 2}), list({0, 1}), list({0, 3}), scalar(5)}},
    {.in = {draw({3, 2}), list({0, 1}), list({-1, 0}), scalar(5)}},
    {.in = {draw({3, 2}), list({0, 1}), list({0}), scalar(5)}},
    {.in = {draw({3, 2}), list({}), list({}), scalar(-5)}},
    {.in = {draw({3, 2}), list({1}), list({1}), list({5})}}};

const Family gradients(
    "sparse", {
                  {"SparseSegmentSumGradV2",
                   {.samples = kSamples, .reference = rows(sum), .errors = kErrors, .data_dependent_shape = true}},
                  {"SparseSegmentMeanGradV2",
                   {.samples = kSamples, .reference = rows(mean), .errors = kErrors, .data_dependent_shape = true}},
                  {"SparseSegmentSqrtNGradV2",
                   {.samples = kSamples, .reference = rows(root), .errors = kErrors, .data_dependent_shape = true}},
              });

}  // namespace
}  // namespace panto::test::segment_gradients_rows
