// Samples of fractional pools. Where windows begin is compared with TensorFlow in replay_test.cc.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <set>

#include "panto/autograd/tape.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"
#include "panto/trace/graph_scope.h"

namespace panto::test::fractional_pooling_rows {
namespace {

// f(index of the window, indices of its elements), of images of these dimensions.
template <class F>
void for_each_window(const Index& input, const Index& rows, const Index& columns, bool overlapping, F f) {
  const auto end = [&](const Index& bounds, size_t i, int64_t size) {
    return std::min(bounds[i + 1] + (overlapping ? 1 : 0), size);
  };
  const auto count = [](const Index& bounds) { return static_cast<int64_t>(bounds.size()) - 1; };
  for_each_index({input[0], count(rows), count(columns), input[3]}, [&](const Index& o) {
    const auto i = static_cast<size_t>(o[1]), j = static_cast<size_t>(o[2]);
    std::vector<Index> elements;
    for (int64_t y = rows[i]; y < end(rows, i, input[1]); ++y) {
      for (int64_t x = columns[j]; x < end(columns, j, input[2]); ++x) elements.push_back({o[0], y, x, o[3]});
    }
    f(o, elements);
  });
}

double& element(Array& a, const Index& index) {
  size_t flat = 0;
  for (size_t k = 0; k < a.dims.size(); ++k) {
    flat = flat * static_cast<size_t>(a.dims[k]) + static_cast<size_t>(index[k]);
  }
  return a.values[flat];
}

std::vector<Array> max_gradient(const Given& g) {
  Array dx = filled(g.in[0].dims, 0);
  for_each_window(g.in[0].dims, integers(g.in[3]), integers(g.in[4]), g.flag("overlapping"),
                  [&](const Index& o, const std::vector<Index>& elements) {
                    const auto largest =
                        std::ranges::max_element(elements, {}, [&](const Index& i) { return at(g.in[0], i); });
                    element(dx, *largest) += at(g.in[2], o);
                  });
  return {dx};
}
std::vector<Array> avg_gradient(const Given& g) {
  Array dx = filled(integers(g.in[0]), 0);
  for_each_window(dx.dims, integers(g.in[2]), integers(g.in[3]), g.flag("overlapping"),
                  [&](const Index& o, const std::vector<Index>& elements) {
                    for (const Index& i : elements) {
                      element(dx, i) += at(g.in[1], o) / static_cast<double>(elements.size());
                    }
                  });
  return {dx};
}

const std::vector<float> kRatio = {1, 1.5F, 1.8F, 1};
const Attrs kSeeded = {{"pooling_ratio", kRatio}, {"seed", 3}};
const Attrs kOverlapping = {{"overlapping", true}};
const Array kRows = list({0, 2, 3, 5}).as(kInt64), kColumns = list({0, 1, 4}).as(kInt64);

// Pools and their gradients by the windows that they say they had.
void windows() {
  const Tensor x = to_tensor(draw({2, 7, 9, 2}, -20, 20), kFloat64);
  for (const bool spread : {false, true}) {
    for (const bool overlapping : {false, true}) {
      GradientTape tape(GradientTape::Options{.persistent = true});
      tape.watch(x);
      const auto most = fractional_max_pool(x, kRatio, {.pseudo_random = spread, .overlapping = overlapping});
      const auto mean = fractional_avg_pool(x, kRatio, {.pseudo_random = spread, .overlapping = overlapping});
      for (const bool is_max : {true, false}) {
        const Tensor y = is_max ? most.output : mean.output;
        const auto sequence = [&](const Tensor& t) {
          const auto values = t.to_vector<int64_t>();
          return Index(values.begin(), values.end());
        };
        const Index rows = sequence(is_max ? most.row_pooling_sequence : mean.row_pooling_sequence);
        const Index columns = sequence(is_max ? most.col_pooling_sequence : mean.col_pooling_sequence);
        BOOST_TEST((rows.front() == 0 && rows.back() == 7 && columns.front() == 0 && columns.back() == 9));
        std::set<int64_t> sizes;
        for (size_t i = 0; i + 1 < columns.size(); ++i) sizes.insert(columns[i + 1] - columns[i]);
        BOOST_TEST((sizes == std::set<int64_t>{1, 2}));
        const Array given = to_array(x);
        Array expected = filled({2, 4, 5, 2}, 0), dx = filled(given.dims, 0);
        for_each_window(given.dims, rows, columns, overlapping, [&](const Index& o, const std::vector<Index>& all) {
          double sum = 0;
          Index largest = all[0];
          for (const Index& i : all) {
            sum += at(given, i);
            if (at(given, i) > at(given, largest)) largest = i;
          }
          element(expected, o) = is_max ? at(given, largest) : sum / static_cast<double>(all.size());
          for (const Index& i : all) {
            element(dx, i) += is_max ? (i == largest ? 1 : 0) : 1 / static_cast<double>(all.size());
          }
        });
        BOOST_TEST(difference(expected, y, {4, 1}) == "");
        BOOST_TEST(difference(dx, tape.gradient(y, x), {4, 1}) == "");
      }
    }
  }
}

// A node that draws once, and one that draws anew.
void nodes() {
  Graph graph;
  {
    const GraphScope building(graph);
    const Tensor x = to_tensor(draw({1, 40, 40, 1}), kFloat32);
    for (const bool once : {true, false}) {
      const auto pool = fractional_max_pool(x, {1, 1.5F, 1.5F, 1}, {.deterministic = once, .seed = 3});
      named(once ? "once" : "anew", pool.row_pooling_sequence);
    }
  }
  Session session(graph);
  BOOST_TEST(difference(session.run("once"), session.run("once")) == "");
  BOOST_TEST(difference(session.run("anew"), session.run("anew")) != "");
}

std::vector<Sample> pool_samples() {
  return {{.in = {draw({2, 5, 7, 2}, -20, 20)}, .attrs = kSeeded},
          {.in = {draw({1, 6, 4, 1}, -20, 20)},
           .attrs = {{"pooling_ratio", std::vector<float>{1, 2, 1, 1}}, {"pseudo_random", true}, {"seed", 1}}},
          {.in = {draw({0, 5, 5, 1})}, .attrs = kSeeded}};
}
std::vector<ErrorSample> pool_errors() {
  const auto with = [](std::vector<float> ratio, const char* text, Code code = Code::kInvalidArgument) {
    return ErrorSample{
        .in = {draw({1, 5, 5, 1})}, .attrs = {{"pooling_ratio", std::move(ratio)}}, .code = code, .text = text};
  };
  return {with({1, 0.5F, 1, 1}, "pooling_ratio[1]: expected a finite number of at least 1, got 0.5"),
          with({1, 1, 6, 1}, "pooling_ratio[2]: expected at most 5, the size, got 6"),
          with({1, 1, std::numeric_limits<float>::quiet_NaN(), 1}, "pooling_ratio[2]: expected a finite number"),
          with({1, 1, 1, 1, 1}, "pooling_ratio: expected 4 numbers, got 5"),
          with({1, 1, 1, 2}, "pooling_ratio of batch and channels: expected 1, got 2", Code::kUnimplemented),
          {.in = {draw({5, 5, 1})}, .attrs = kSeeded, .text = "value: expected rank 4, got shape [5,5,1]"}};
}

const Array kImages = draw({2, 5, 4, 2}, -20, 20), kPooled = draw({2, 3, 2, 2});
std::vector<Sample> gradient_samples(bool of_max) {
  std::vector<Sample> samples;
  for (const Attrs& attrs : {Attrs{}, kOverlapping}) {
    if (of_max) {
      samples.push_back({.in = {kImages, kPooled, draw({2, 3, 2, 2}, -9, 9, 1), kRows, kColumns}, .attrs = attrs});
    } else {
      samples.push_back({.in = {list({2, 5, 4, 2}), kPooled, kRows, kColumns}, .attrs = attrs});
    }
  }
  return samples;
}
std::vector<ErrorSample> gradient_errors(bool of_max) {
  const auto with = [&](const Array& rows, const Array& columns, const char* text) {
    return ErrorSample{.in = of_max ? std::vector<Array>{kImages, kPooled, kPooled, rows, columns}
                                    : std::vector<Array>{list({2, 5, 4, 2}), kPooled, rows, columns},
                       .text = text};
  };
  return {with(list({0, 2, 2, 5}).as(kInt64), kColumns, "row_pooling_sequence[2]: expected 3 to 5, got 2"),
          with(kRows, list({0, 1, 5}).as(kInt64), "col_pooling_sequence[2]: expected 2 to 4, got 5"),
          with(list({-1, 2, 3, 5}).as(kInt64), kColumns, "row_pooling_sequence[0]: expected 0 to 5, got -1"),
          with(list({0, 2, 5}).as(kInt64), kColumns, "rows of windows: expected 3, got 2"),
          with(kRows, list({}).as(kInt64), "col_pooling_sequence: expected at least one, got none")};
}

const Family fractional("pooling",
                        {
                            {"FractionalMaxPool",
                             {.samples = pool_samples(),
                              .errors = pool_errors(),
                              .own = {{"windows", windows}, {"nodes", nodes}},
                              .gradient = false,
                              .random = true}},
                            {"FractionalAvgPool",
                             {.samples = pool_samples(), .errors = pool_errors(), .gradient = false, .random = true}},
                            {"FractionalMaxPoolGrad",
                             {.samples = gradient_samples(true),
                              .reference = max_gradient,
                              .errors = gradient_errors(true),
                              .fixed = {3, 4}}},
                            {"FractionalAvgPoolGrad",
                             {.samples = gradient_samples(false),
                              .reference = avg_gradient,
                              .errors = gradient_errors(false),
                              .types = {kFloat32, kFloat64},  // sums of integers are rounded once
                              .fixed = {2, 3}}},
                        });

}  // namespace
}  // namespace panto::test::fractional_pooling_rows
