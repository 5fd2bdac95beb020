// Samples of crosses of features. The reference of strings goes through the rows; hashes are TensorFlow's.
#include <algorithm>
#include <string>
#include <vector>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::cross_rows {
namespace {

Array longs(std::vector<int64_t> dims, std::vector<double> values) {
  Array a = array(std::move(dims), std::move(values));
  a.type = kInt64;
  return a;
}

const Array kI = array({3, 2}, {0, 0, 0, 1, 1, 0}), kJ = array({3, 2}, {0, 0, 1, 0, 1, 1}), kShape = list({2, 2});
const Array kAbc = texts({3}, {"a", "b", "c"}), kXyz = texts({3}, {"x", "y", "z"}), kNumbers = longs({3}, {5, -6, 7});
const Array kPq = texts({2, 1}, {"p", "q"}), kDense = longs({2, 2}, {1, 2, 3, 4});

Attrs columns(const std::vector<DType>& sparse, const std::vector<DType>& dense) {
  return {{"N", static_cast<int>(sparse.size())}, {"sparse_types", sparse}, {"dense_types", dense}};
}
Attrs with(Attrs attrs, const Attrs& more) {
  attrs.insert(attrs.end(), more.begin(), more.end());
  return attrs;
}
const Attrs kTwo = columns({kString, kString}, {}), kOne = columns({kString}, {});

std::vector<Array> crossed(const Given& g) {
  const auto n = static_cast<size_t>(g.integer("N"));
  const size_t dense = 3 * n, last = g.op.name() == "SparseCrossV2" ? g.in.size() - 1 : g.in.size();
  const std::string separator = last < g.in.size() ? g.in[last].texts[0] : "_X_";
  const int64_t rows = n > 0 ? integer(g.in[2 * n]) : dense < last ? g.in[dense].dims[0] : 0;
  const auto text = [](const Array& a, size_t i) {
    return a.texts.empty() ? std::to_string(integer(a, i)) : a.texts[i];
  };
  Array indices, values;
  values.type = kString;
  size_t most = 0;
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<std::string> so_far = {""};
    const auto cross = [&](const std::vector<std::string>& column) {
      std::vector<std::string> next;
      for (const std::string& before : so_far) {
        for (const std::string& value : column) next.push_back(before + separator + value);
      }
      so_far = next;
    };
    for (size_t i = 0; i < n; ++i) {
      std::vector<std::string> column;
      for (size_t k = 0; k < static_cast<size_t>(g.in[i].dims[0]); ++k) {
        if (integer(g.in[i], 2 * k) == row) column.push_back(text(g.in[n + i], k));
      }
      cross(column);
    }
    for (size_t i = dense; i < last; ++i) {
      std::vector<std::string> column;
      const auto length = static_cast<size_t>(g.in[i].dims[1]);
      for (size_t k = 0; k < length; ++k) column.push_back(text(g.in[i], static_cast<size_t>(row) * length + k));
      cross(column);
    }
    most = std::max(most, so_far.size());
    for (size_t k = 0; k < so_far.size(); ++k) {
      indices.values.insert(indices.values.end(), {static_cast<double>(row), static_cast<double>(k)});
      values.texts.push_back(so_far[k].substr(separator.size()));
    }
  }
  values.dims = {static_cast<int64_t>(values.texts.size())};
  indices.dims = {values.dims[0], 2};
  return {indices, values, list({static_cast<double>(rows), static_cast<double>(most)})};
}

const Array kSep = texts({}, {"_Y_"});
const std::vector<Sample> kTexts = {
    {.in = {kI, kJ, kAbc, kXyz, kShape, kShape, kSep}, .attrs = kTwo},
    {.in = {kI, kJ, kAbc, kNumbers, kShape, kShape, kDense, kSep}, .attrs = columns({kString, kInt64}, {kInt64})},
    {.in = {kPq, kDense, kSep}, .attrs = columns({}, {kString, kInt64})},
    {.in = {array({3, 2}, {0, 0, 0, 1, 2, 0}), kJ, kAbc, kXyz, list({4, 2}), list({4, 2}), kSep}, .attrs = kTwo},
    {.in = {kI, kAbc, kShape, texts({2, 0}, {}), kSep}, .attrs = columns({kString}, {kString})},
    {.in = {array({0, 2}, {}), texts({0}, {}), kShape, kSep}, .attrs = kOne}};
const std::vector<ErrorSample> kTextErrors = {
    {.in = {array({3, 2}, {0, 0, 2, 0, 1, 0}), kAbc, kShape, kSep},
     .attrs = kOne,
     .text = "indices[1,0]: expected one in [0, 2), got 2"},
    {.in = {array({3, 2}, {1, 0, 0, 0, 1, 0}), kAbc, kShape, kSep},
     .attrs = kOne,
     .text = "indices[1,0]: expected one in [1, 2), got 0"},
    {.in = {array({3, 2}, {-1, 0, 0, 0, 1, 0}), kAbc, kShape, kSep},
     .attrs = kOne,
     .text = "indices[0,0]: expected one in [0, 2), got -1"},
    {.in = {kI, kJ, kAbc, kXyz, kShape, list({3, 2}), kSep},
     .attrs = kTwo,
     .text = "number of rows: expected 2, got 3"},
    {.in = {kI, kAbc, kShape, texts({1, 1}, {"p"}), kSep},
     .attrs = columns({kString}, {kString}),
     .text = "number of rows: expected 2, got 1"},
    {.in = {kI, kAbc, list({2, 2, 2}), kSep},
     .attrs = kOne,
     .text = "number of dimensions in shapes: expected 2, got 3"},
    {.in = {array({1, 3}, {0, 0, 0}), texts({1}, {"a"}), kShape, kSep},
     .attrs = kOne,
     .text = "columns of indices: expected 2, got 3"},
    {.in = {kI, texts({2}, {"a", "b"}), kShape, kSep}, .attrs = kOne, .text = "number of indices and values"},
    {.in = {kI, kAbc, list({-2, 2}), kSep}, .attrs = kOne, .text = "shapes[0]: expected at least 0 rows, got -2"},
    {.in = {kI, kAbc, kShape, texts({1}, {"_"})}, .attrs = kOne, .text = "sep"},
    {.in = {kI, draw({3}), kShape, kSep},
     .attrs = columns({kFloat32}, {}),
     .text = "values: expected int64 or string, got float32"}};

Attrs typed(const Attrs& attrs, bool hashed, int buckets, int key, DType internal) {
  return with(attrs,
              {{"hashed_output", hashed}, {"num_buckets", buckets}, {"hash_key", key}, {"internal_type", internal}});
}
const Array kEach = array({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
const std::vector<Sample> kTyped = {
    {.in = {kI, kJ, kAbc, kXyz, kShape, kShape}, .attrs = typed(kTwo, false, 0, 1, kString)},
    {.in = {kI, kJ, kAbc, kNumbers, kShape, kShape, kDense},
     .attrs = typed(columns({kString, kInt64}, {kInt64}), false, 0, 1, kInt64)}};
const std::vector<Sample> kBuckets = {
    {.in = {kI, kJ, kAbc, kXyz, kShape, kShape},
     .attrs = typed(kTwo, true, 0, 9, kString),
     .out = {kEach, wholes({4}, {8078755523180053426, 493393362780324240, 4844198858054683933, 4510860488846773924}),
             kShape}},
    {.in = {kPq, kDense},
     .attrs = typed(columns({}, {kString, kInt64}), true, 100, 5, kInt64),
     .out = {kEach, list({58, 20, 94, 10}), kShape}}};

// With the salt (1, 2).
Sample hashed(std::vector<Array> in, Attrs attrs, double buckets, bool strong, std::vector<Array> out) {
  in.insert(in.end(), {scalar(buckets), scalar(strong ? 1 : 0), list({1, 2})});
  return {.in = std::move(in), .attrs = std::move(attrs), .out = std::move(out)};
}
const Array kWide = longs({3}, {1, 1099511627779.0, -3}), kEight = array({8, 2}, {0, 0, 0, 1, 0, 2, 0, 3,  //
                                                                                  1, 0, 1, 1, 1, 2, 1, 3});
const std::vector<Sample> kHashed = {
    hashed({kI, kJ, kAbc, kXyz, kShape, kShape}, kTwo, 0, false,
           {kEach, wholes({4}, {598440913169127831, 4641000509844720313, 5351530424226319396, 1621918656961971918}),
            kShape}),
    hashed({kI, kJ, kAbc, kXyz, kShape, kShape}, kTwo, 0, true,
           {kEach, wholes({4}, {7324330830475149127, 1048655356086242816, 7592269141358217486, 6568955687041374298}),
            kShape}),
    hashed({kI, kJ, kNumbers, kWide, kShape, kShape, kDense}, columns({kInt64, kInt64}, {kInt64}), 100, false,
           {kEight, list({39, 25, 87, 28, 68, 75, 40, 22}), list({2, 4})}),
    hashed({kI, kJ, kAbc, kNumbers, kShape, kShape, kPq, kDense}, columns({kString, kInt64}, {kString, kInt64}), 100,
           false, {kEight, list({41, 95, 56, 82, 70, 42, 25, 14}), list({2, 4})}),
    hashed({kI, kNumbers, kShape}, columns({kInt64}, {}), 0, true,
           {kI, wholes({3}, {112910862072883125, 6536507701933718805, 8054497223537440138}), kShape}),
    hashed({kI, kAbc, kShape, kPq}, columns({kString}, {kString}), 0, true,
           {kI, wholes({3}, {4579752177723788558, 5806212894002160523, 8190678170106075939}), kShape}),
    hashed({kDense}, columns({}, {kInt64}), 100, false, {kEach, list({1, 2, 3, 4}), kShape})};
const std::vector<ErrorSample> kHashedErrors = {
    {.in = {kI, kAbc, kShape, scalar(9), scalar(0), list({1, 2, 3})},
     .attrs = kOne,
     .text = "number of elements in salt: expected 2, got 3"},
    {.in = {kI, kAbc, kShape, list({9}), scalar(0), list({1, 2})}, .attrs = kOne, .text = "num_buckets"}};

const Family cross(
    "sparse",
    {
        {"SparseCross",
         {.samples = kTyped,
          .reference = crossed,
          .errors = {{.in = {kI, kNumbers, kShape},
                      .attrs = typed(columns({kInt64}, {}), false, 0, 1, kString),
                      .text = "values: expected string, got int64"}},
          .types = {kString},
          .fixed = {0},
          .data_dependent_shape = true}},
        {"SparseCross",
         {.samples = kBuckets, .label = "hashed", .types = {kInt64}, .fixed = {0}, .data_dependent_shape = true}},
        {"SparseCrossV2",
         {.samples = kTexts, .reference = crossed, .errors = kTextErrors, .fixed = {0}, .data_dependent_shape = true}},
        {"SparseCrossHashed",
         {.samples = kHashed, .errors = kHashedErrors, .fixed = {0}, .data_dependent_shape = true}},
    });

}  // namespace
}  // namespace panto::test::cross_rows
