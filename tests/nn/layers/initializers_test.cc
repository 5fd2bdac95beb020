#include "panto/nn/layers/initializers.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/layers/layer.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/tests/nn/training/training_reference.h"
#include "panto/trace/graph_scope.h"

namespace panto {
namespace {

struct Moments {
  double mean, deviation, largest;
};

Moments moments(const Tensor& t) {
  const std::vector<double> v = values_of(t);
  Moments m{0, 0, 0};
  for (double x : v) {
    m.mean += x / static_cast<double>(v.size());
    m.largest = std::max(m.largest, std::fabs(x));
  }
  for (double x : v) m.deviation += (x - m.mean) * (x - m.mean) / static_cast<double>(v.size());
  m.deviation = std::sqrt(m.deviation);
  return m;
}

// 120,000 numbers: the sample's deviation is within 1 %, its mean within 0.015 deviations (5 standard errors).
void expect_moments(const Tensor& t, double deviation, double bound) {
  const Moments m = moments(t);
  BOOST_TEST(std::fabs(m.mean) < 0.015 * deviation);
  BOOST_TEST(std::fabs(m.deviation / deviation - 1) < 0.01, m.deviation << " for " << deviation);
  if (bound > 0) BOOST_TEST((m.largest <= bound && m.largest > 0.99 * bound), m.largest << " for " << bound);
}

// The deviation of a normal distribution that was cut at 2 of its own.
constexpr double kTruncated = 0.8796256610342398;

using Maker = Initializer (*)(Seed);
constexpr Maker kMakers[] = {glorot_uniform, glorot_normal, he_uniform, he_normal, lecun_uniform, lecun_normal};

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(initializers)

BOOST_AUTO_TEST_CASE(bounds_and_variances) {
  const Shape matrix{300, 400}, window{3, 5, 80, 100};
  for (DType type : {kFloat32, kFloat64}) {
    const double glorot = std::sqrt(2. / 700), he = std::sqrt(2. / 300), root2 = std::sqrt(2.), root3 = std::sqrt(3.);
    expect_moments(glorot_uniform(1)(matrix, type), glorot, glorot * root3);
    expect_moments(glorot_normal(1)(matrix, type), glorot, 2 * glorot / kTruncated);
    expect_moments(he_uniform(1)(matrix, type), he, he * root3);
    expect_moments(he_normal(1)(matrix, type), he, 2 * he / kTruncated);
    expect_moments(variance_scaling({.distribution = "untruncated_normal", .seed = 1})(matrix, type), he / root2, 0);
    expect_moments(normal_initializer(0, 0.25, 1)(matrix, type), 0.25, 0);
    expect_moments(truncated_normal_initializer(0, 0.25, 1)(matrix, type), 0.25 * kTruncated, 0.5);
    expect_moments(uniform_initializer(-0.25, 0.25, 1)(matrix, type), 0.25 / root3, 0.25);
  }
  // Of a convolution: 15 places times 80 channels in, 100 out.
  const double glorot = std::sqrt(2. / (15 * 180)), he = std::sqrt(2. / (15 * 80));
  expect_moments(glorot_uniform(2)(window, kFloat32), glorot, glorot * std::sqrt(3.));
  expect_moments(he_normal(2)(window, kFloat32), he, 2 * he / kTruncated);
}

BOOST_AUTO_TEST_CASE(shapes_and_types) {
  for (Maker make : kMakers) {
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{0, 3}, Shape{3, 0}, Shape{0}, Shape{1, 2, 3, 4}}) {
      const Tensor t = make(3)(shape, kFloat64);
      BOOST_TEST(t.shape().to_string() == shape.to_string());
      BOOST_TEST(dtype_name(t.dtype()) == "float64");
      for (double v : values_of(t)) BOOST_TEST(std::isfinite(v));
    }
  }
}

BOOST_AUTO_TEST_CASE(seeds) {
  const Shape shape{4, 5};
  for (Maker make : kMakers) {
    const auto drawn = [&](Seed seed) { return values_of(make(seed)(shape, kFloat32)); };
    BOOST_TEST((drawn(7) == drawn(7)));
    BOOST_TEST((drawn(7) != drawn(8)));
    // Without one the process's generator goes on, and can be started anew.
    set_seed(5);
    const auto first = drawn(std::nullopt), second = drawn(std::nullopt);
    BOOST_TEST((first != second));
    set_seed(5);
    BOOST_TEST((drawn(std::nullopt) == first));
  }
}

BOOST_AUTO_TEST_CASE(constants) {
  expect_near(constant_initializer(2.5)({2, 2}, kFloat32), {2, 2}, {2.5, 2.5, 2.5, 2.5});
  const Tensor t = constant_initializer(-3)({2}, kInt32);
  BOOST_TEST(dtype_name(t.dtype()) == "int32");
  expect_near(t, {2}, {-3, -3});
}

// By the numbers that Keras asks its generator for.
BOOST_AUTO_TEST_CASE(scaled_as_keras) {
  enum class Kind { kUniform, kNormal, kTruncated };
  struct Row {
    const char* name;
    Initializer initializer;
    Kind kind;
  };
  const Row rows[] = {
      {"glorot_uniform", glorot_uniform(9), Kind::kUniform},
      {"glorot_normal", glorot_normal(9), Kind::kTruncated},
      {"he_uniform", he_uniform(9), Kind::kUniform},
      {"he_normal", he_normal(9), Kind::kTruncated},
      {"lecun_uniform", lecun_uniform(9), Kind::kUniform},
      {"lecun_normal", lecun_normal(9), Kind::kTruncated},
      {"variance_scaling", variance_scaling({.seed = 9}), Kind::kTruncated},
      {"variance_scaling_out", variance_scaling({.scale = 3, .mode = "fan_out", .distribution = "uniform", .seed = 9}),
       Kind::kUniform},
      {"variance_scaling_avg",
       variance_scaling({.scale = 0.5, .mode = "fan_avg", .distribution = "untruncated_normal", .seed = 9}),
       Kind::kNormal},
  };
  const Shape shapes[] = {{}, {5}, {3, 7}, {0, 4}, {3, 2, 5}, {2, 3, 4, 6}};
  for (const Row& row : rows) {
    const std::vector<double> numbers = values_of(loss_reference(std::string("initializer/") + row.name));
    BOOST_REQUIRE_EQUAL(numbers.size(), std::size(shapes));
    for (size_t i = 0; i < numbers.size(); ++i) {
      BOOST_TEST_CONTEXT(row.name << " " << shapes[i].to_string()) {
        const double scale = numbers[i];
        const Tensor expected =
            row.kind == Kind::kUniform
                ? random_uniform(shapes[i], {.seed = 9, .dtype = kFloat64, .min = -scale, .max = scale})
            : row.kind == Kind::kNormal ? random_normal(shapes[i], {.seed = 9, .dtype = kFloat64, .stddev = scale})
                                        : truncated_normal(shapes[i], {.seed = 9, .dtype = kFloat64, .stddev = scale});
        expect_near(row.initializer(shapes[i], kFloat64), shapes[i], values_of(expected), 1e-14, 0.1);
      }
    }
  }
  // Fans of other dimensions: of an attention's [features, heads, size] kernel.
  const Initializer heads =
      variance_scaling({.distribution = "uniform", .seed = 9, .input_axes = {0}, .output_axes = {1, -1}});
  const double bound = std::sqrt(3. / 6);
  const Tensor expected = random_uniform({6, 2, 4}, {.seed = 9, .dtype = kFloat64, .min = -bound, .max = bound});
  expect_near(heads({6, 2, 4}, kFloat64), {6, 2, 4}, values_of(expected), 1e-14, 0.1);
}

BOOST_AUTO_TEST_CASE(orthogonal) {
  for (const Shape& shape : {Shape{5, 3}, Shape{3, 5}, Shape{4, 4}, Shape{2, 3, 4}, Shape{2, 2, 9}, Shape{1, 1}}) {
    for (const DType type : {kFloat64, kFloat32}) {
      const Tensor q = orthogonal_initializer(2, 3)(shape, type);
      BOOST_TEST(q.shape().to_string() == shape.to_string());
      const int64_t columns = shape.dim(shape.rank() - 1), rows = shape.numel() / columns;
      const Tensor m = cast(reshape(q, {rows, columns}), kFloat64);
      const Tensor product = rows < columns ? matmul(m, transpose(m)) : matmul(transpose(m), m);
      const int64_t least = std::min(rows, columns);
      expect_near(product, {least, least}, values_of(eye(least, kFloat64) * 4.0), type == kFloat64 ? 1e-13 : 1e-5, 1);
    }
  }
  // Of many matrices the mean is 0: signs are not those of a decomposition.
  double sum_of_first = 0;
  for (int64_t seed = 0; seed < 400; ++seed) {
    sum_of_first += values_of(orthogonal_initializer(1, seed)({3, 3}, kFloat64))[0];
  }
  BOOST_TEST(std::fabs(sum_of_first / 400) < 0.15);  // 5 standard errors
  BOOST_TEST(orthogonal_initializer()({0, 3}, kFloat32).shape().to_string() == "[0,3]");
  BOOST_TEST(dtype_name(orthogonal_initializer()({2, 3}, kBFloat16).dtype()) == "bfloat16");
  expect_error_begins([] { orthogonal_initializer()({3}, kFloat32); },
                      "InvalidArgument: orthogonal_initializer: expected two dimensions or more, got shape [3]");
}

BOOST_AUTO_TEST_CASE(of_graphs_and_halves) {
  const char* const names[] = {"zeros",          "glorot_uniform", "glorot_normal",    "lecun_normal", "random_normal",
                               "random_uniform", "orthogonal",     "truncated_normal", "identity"};
  Graph graph;
  std::vector<Tensor> values;
  {
    const GraphScope scope(graph);
    for (const char* name : names) values.push_back(Variable(Initializer(name)({4, 4}, kFloat64), name).value());
    global_variables_initializer();
  }
  Session session(graph);
  session.run("init");
  const Tensor q = session.run(values[6]);
  expect_near(matmul(q, transpose(q)), {4, 4}, values_of(eye(4, kFloat64)), 1e-13, 1);
  for (size_t i = 0; i < std::size(names); ++i) {
    BOOST_TEST_CONTEXT(names[i]) {
      const std::vector<double> first = values_of(session.run(values[i]));
      BOOST_TEST(first.size() == 16U);
      session.run("init");
      const bool drawn = i != 0 && i != 8;
      BOOST_TEST((values_of(session.run(values[i])) != first) == drawn);
    }
  }
  for (const char* name : names) {
    for (const DType type : {kFloat16, kBFloat16}) {
      const Tensor t = Initializer(name)({3, 4}, type);
      BOOST_TEST(dtype_name(t.dtype()) == dtype_name(type));
      for (double v : values_of(t)) BOOST_TEST(std::isfinite(v));
    }
  }
}

BOOST_AUTO_TEST_CASE(given_values) {
  expect_near(zeros_initializer()({2}, kInt64), {2}, {0, 0});
  expect_near(ones_initializer()({2}, kFloat16), {2}, {1, 1});
  expect_near(constant_initializer(tensor({1, 2}))({2, 2}, kFloat32), {2, 2}, {1, 2, 1, 2});
  expect_near(identity_initializer(3)({2, 3}, kFloat64), {2, 3}, {3, 0, 0, 0, 3, 0});
  expect_error_begins([] { identity_initializer()({2}, kFloat32); },
                      "InvalidArgument: identity_initializer: expected a matrix's shape, got [2]");
  expect_error_begins([] { constant_initializer(tensor({1, 2}))({3}, kFloat32); }, "InvalidArgument: ");
}

BOOST_AUTO_TEST_CASE(stft_as_keras) {
  const auto check = [](const char* name, const StftInitializerOptions& options) {
    BOOST_TEST_CONTEXT(name) {
      const std::vector<double> expected = values_of(loss_reference(std::string("stft/") + name));
      expect_near(stft_initializer(options)({5, 1, 6}, kFloat64), {5, 1, 6}, expected, 1e-13, 1);
    }
  };
  check("real", {});
  check("imag", {.side = "imag", .window = "hamming", .scaling = "spectrum", .periodic = true});
  check("plain", {.window = "", .scaling = ""});
  expect_near(stft_initializer({.scaling = ""})({1, 2, 2}, kFloat32), {1, 2, 2}, {1, 1, 1, 1});
  expect_error_begins([] { stft_initializer()({5, 1, 1}, kFloat32); }, "InvalidArgument: stft_initializer: expected");
  expect_error_begins([] { stft_initializer({.window = "kaiser"}); },
                      "InvalidArgument: window: expected \"hann\", \"hamming\" or \"\", got \"kaiser\"");
}

BOOST_AUTO_TEST_CASE(by_name) {
  expect_near(Initializer("zeros")({2}, kFloat32), {2}, {0, 0});
  set_seed(4);
  const std::vector<double> expected = values_of(he_normal()({3, 2}, kFloat32));
  set_seed(4);
  expect_near(Dense(3, 2, {.kernel_initializer = "he_normal"}).kernel().value(), {3, 2}, expected);
  for (const char* name :
       {"ones", "glorot_uniform", "glorot_normal", "he_uniform", "lecun_uniform", "lecun_normal", "variance_scaling",
        "random_uniform", "uniform", "random_normal", "normal", "truncated_normal", "orthogonal", "identity"}) {
    BOOST_TEST(Initializer(name)({2, 3}, kFloat32).shape().to_string() == "[2,3]");
  }
  expect_error_begins([] { Initializer("he"); }, "InvalidArgument: initializer: expected");
  BOOST_TEST(!Initializer());
  BOOST_TEST(!Initializer(nullptr));
  const Initializer own = [](const Shape& shape, DType type) { return ones(shape, type); };
  expect_near(own({1}, kFloat32), {1}, {1});
}

BOOST_AUTO_TEST_CASE(misuse) {
  const auto expect_invalid = [](const auto& f, const std::string& text) {
    expect_error_begins(f, "InvalidArgument: " + text);
  };
  expect_invalid([] { variance_scaling({.scale = 0}); }, "scale: expected a positive number, got 0");
  expect_invalid([] { variance_scaling({.mode = "fan"}); }, "mode: expected");
  expect_invalid([] { variance_scaling({.distribution = "flat"}); }, "distribution: expected");
  expect_invalid([] { variance_scaling({.input_axes = {2}, .output_axes = {0}})({2, 2}, kFloat32); },
                 "axis: expected one of shape [2,2], got 2");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
