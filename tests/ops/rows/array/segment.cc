// Samples of ops that join rows by segment. References go through the rows one after the other.
#include <algorithm>
#include <cmath>
#include <limits>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::segment_rows {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using Join = Complex (*)(Complex, Complex);

Complex added(Complex a, Complex b) { return a + b; }
Complex multiplied(Complex a, Complex b) { return a * b; }
Complex larger(Complex a, Complex b) { return std::isnan(a.real()) || a.real() > b.real() ? a : b; }
Complex smaller(Complex a, Complex b) { return std::isnan(a.real()) || a.real() < b.real() ? a : b; }

// What stands for no rows, of a type.
double zero(DType) { return 0; }
double one(DType) { return 1; }
// Of other types it is no double, or what float64 says of float32 is something else: tests/reference has these.
const DTypeSet kWithEnds = {kFloat64, kInt8, kUint8, kInt16, kUint16, kInt32, kUint32};
double highest(DType type) {
  switch (type) {
    case kInt8: return std::numeric_limits<int8_t>::max();
    case kUint8: return std::numeric_limits<uint8_t>::max();
    case kInt16: return std::numeric_limits<int16_t>::max();
    case kUint16: return std::numeric_limits<uint16_t>::max();
    case kInt32: return std::numeric_limits<int32_t>::max();
    case kUint32: return std::numeric_limits<uint32_t>::max();
    default: return std::numeric_limits<double>::max();
  }
}
double lowest(DType type) {
  if (type == kUint8 || type == kUint16 || type == kUint32) return 0;
  return type == kFloat64 ? -highest(type) : -highest(type) - 1;
}

// Segment s of the result: rows whose id is s, joined in order.
std::vector<Array> joined(const Given& g, int64_t segments, Join join, double none, bool mean = false) {
  const Array &data = g.in[0], &ids = g.in[1];
  Index dims = {segments};
  dims.insert(dims.end(), data.dims.begin() + static_cast<int64_t>(ids.dims.size()), data.dims.end());
  size_t row = 1;
  for (size_t k = ids.dims.size(); k < data.dims.size(); ++k) row *= static_cast<size_t>(data.dims[k]);
  std::vector<Complex> result;
  for (int64_t s = 0; s < segments; ++s) {
    for (size_t j = 0; j < row; ++j) {
      Complex value = none;
      int count = 0;
      for (size_t i = 0; i < ids.values.size(); ++i) {
        if (integer(ids, i) != s) continue;
        const Complex x = data.complex(i * row + j);
        value = count++ == 0 ? x : join(value, x);
      }
      result.push_back(mean && count > 0 ? value / static_cast<double>(count) : value);
    }
  }
  if (!data.imag.empty()) return {complexes(dims, result)};
  Array real;
  real.dims = dims;
  for (const Complex& v : result) real.values.push_back(v.real());
  return {real};
}

Reference unsorted(Join join, double (*none)(DType)) {
  return [join, none](const Given& g) { return joined(g, integer(g.in[2]), join, none(g.type)); };
}
Reference sorted(Join join, double (*none)(DType), bool mean = false) {
  return [join, none, mean](const Given& g) {
    const int64_t segments = g.in[1].values.empty() ? 0 : integer(g.in[1], g.in[1].values.size() - 1) + 1;
    return joined(g, segments, join, none(g.type), mean);
  };
}

// No segment is empty; rows "none" have empty ones.
const std::vector<Sample> kUnsorted = {{.in = {draw({4, 3}), list({2, 0, 2, 1}), scalar(3)}},
                                       {.in = {draw({5, 2}), list({1, -1, 0, 1, -1}), scalar(2)}},
                                       {.in = {draw({2, 2, 2}), array({2, 2}, {0, 1, 1, 0}), scalar(2)}},
                                       {.in = {draw({3}), list({0, 0, 0}), scalar(1)}},
                                       {.in = {draw({}), scalar(0), scalar(1)}},
                                       {.in = {draw({0, 3}), list({}), scalar(0)}}};
const std::vector<ErrorSample> kUnsortedErrors = {
    {.in = {draw({3}), list({0, 2, 1}), scalar(2)}, .text = "segment_ids[1]: expected one below 2, got 2"},
    {.in = {draw({3}), list({0, 1}), scalar(2)},
     .text = "leading dimensions of data and segment_ids: expected 3, got 2"},
    {.in = {draw({3}), list({0, 0, 0}), scalar(-1)}, .text = "num_segments: expected at least 0, got -1"},
    {.in = {draw({3}), array({3, 1}, {0, 0, 0}), scalar(1)},
     .text = "rank of segment_ids: expected at most 1, that of data, got 2"}};

const std::vector<Sample> kSorted = {{.in = {draw({5, 3}), list({0, 0, 1, 3, 3})}},
                                     {.in = {draw({3}), list({1, 1, 2})}},
                                     {.in = {draw({2, 2, 300}), list({0, 0})}},
                                     {.in = {draw({0, 3}), list({})}},
                                     {.in = {draw({2, 0}), list({0, 2})}}};
const std::vector<ErrorSample> kSortedErrors = {
    {.in = {draw({3}), list({0, 2, 1})}, .text = "segment_ids[2]: expected at least 2, the one before, got 1"},
    {.in = {draw({3}), list({-1, 0, 1})}, .text = "segment_ids[0]: expected at least 0, got -1"},
    {.in = {draw({3}), list({0, 1})}, .text = "dimension 0 of data and segment_ids: expected 3, got 2"},
    {.in = {draw({2, 2}), array({2, 1}, {0, 1})}, .text = "segment_ids: expected a vector, got shape [2,1]"},
    {.in = {draw({}), list({})}, .text = "data: expected a rank of at least 1, got shape []"}};

// Several zeros in one segment, of which each product's derivatives know.
const Array kZeros = array({6, 2}, {0, 1, 2, 0, 0, 3, 4, 0, 5, 2, 0, 7});

const Family segments(
    "array",
    {
        {"UnsortedSegmentSum", {.samples = kUnsorted, .reference = unsorted(added, zero), .errors = kUnsortedErrors}},
        {"UnsortedSegmentSum",
         {.samples = {{.in = {draw({4, 3}), list({2, 0, 2, -1}), scalar(4)}},
                      {.in = {draw({0, 3}), list({}), scalar(2)}}},
          .reference = unsorted(added, zero),
          .label = "none"}},
        {"UnsortedSegmentProd",
         {.samples = kUnsorted, .reference = unsorted(multiplied, one), .errors = kUnsortedErrors}},
        {"UnsortedSegmentProd",
         {.samples = {{.in = {draw({4, 3}), list({2, 0, 2, -1}), scalar(4)}},
                      {.in = {kZeros, list({0, 1, 0, 1, 0, 1}), scalar(3)}}},
          .reference = unsorted(multiplied, one),
          .label = "none and zeros"}},
        {"UnsortedSegmentMax",
         {.samples = kUnsorted, .reference = unsorted(larger, lowest), .errors = kUnsortedErrors}},
        {"UnsortedSegmentMax",
         {.samples = {{.in = {draw({4, 3}), list({2, 0, 2, -1}), scalar(4)}},
                      {.in = {draw({0, 3}), list({}), scalar(2)}}},
          .reference = unsorted(larger, lowest),
          .label = "none",
          .types = kWithEnds}},
        {"UnsortedSegmentMin",
         {.samples = kUnsorted, .reference = unsorted(smaller, highest), .errors = kUnsortedErrors}},
        {"UnsortedSegmentMin",
         {.samples = {{.in = {draw({4, 3}), list({2, 0, 2, -1}), scalar(4)}},
                      {.in = {draw({0, 3}), list({}), scalar(2)}}},
          .reference = unsorted(smaller, highest),
          .label = "none",
          .types = kWithEnds}},
        {"SegmentSum",
         {.samples = kSorted, .reference = sorted(added, zero), .errors = kSortedErrors, .data_dependent_shape = true}},
        {"SegmentMean",
         {.samples = kSorted,
          .reference = sorted(added, zero, true),
          .errors = kSortedErrors,
          .data_dependent_shape = true}},
        {"SegmentProd",
         {.samples = kSorted,
          .reference = sorted(multiplied, one),
          .errors = kSortedErrors,
          .data_dependent_shape = true}},
        {"SegmentProd",
         {.samples = {{.in = {kZeros, list({0, 0, 0, 2, 2, 2})}}},
          .reference = sorted(multiplied, one),
          .label = "zeros",
          .data_dependent_shape = true}},
        {"SegmentMax",
         {.samples = kSorted,
          .reference = sorted(larger, zero),
          .errors = kSortedErrors,
          .data_dependent_shape = true}},
        {"SegmentMin",
         {.samples = kSorted,
          .reference = sorted(smaller, zero),
          .errors = kSortedErrors,
          .data_dependent_shape = true}},
        // Equal elements share the gradient, which finite differences do not know.
        {"SegmentMax",
         {.samples = {{.in = {list({1, 3, 3, 2, 2}), list({0, 0, 0, 1, 1})}, .out = {list({3, 2})}}},
          .label = "equal",
          .gradient = false,
          .data_dependent_shape = true}},
        {"SegmentMin",
         {.samples = {{.in = {list({1, kNan, 3, kNan, 2}), list({0, 0, 0, 1, 2})}, .out = {list({kNan, kNan, 2})}}},
          .label = "special",
          .types = dtypes::kFloating,
          .gradient = false,
          .data_dependent_shape = true}},
    });

// With the number of segments: vectors of ids only, in any order.
const std::vector<Sample> kCounted = {{.in = {draw({4, 3}), list({2, 0, 2, 1}), scalar(3)}},
                                      {.in = {draw({5, 2}), list({0, -1, 0, 1, 1}), scalar(2)}},
                                      {.in = {draw({0, 3}), list({}), scalar(0)}}};
const std::vector<ErrorSample> kCountedErrors = {
    {.in = {draw({3}), list({0, 2, 1}), scalar(2)}, .text = "segment_ids[1]: expected one below 2, got 2"},
    {.in = {draw({2, 2}), array({2, 2}, {0, 0, 0, 0}), scalar(1)}, .text = "input: expected shape [?], got [2,2]"}};

const Family counted(
    "array",
    {
        {"SegmentSumV2", {.samples = kCounted, .reference = unsorted(added, zero), .errors = kCountedErrors}},
        {"SegmentProdV2", {.samples = kCounted, .reference = unsorted(multiplied, one), .errors = kCountedErrors}},
        {"SegmentMaxV2", {.samples = kCounted, .reference = unsorted(larger, lowest), .errors = kCountedErrors}},
        {"SegmentMinV2", {.samples = kCounted, .reference = unsorted(smaller, highest), .errors = kCountedErrors}},
    });

}  // namespace
}  // namespace panto::test::segment_rows
