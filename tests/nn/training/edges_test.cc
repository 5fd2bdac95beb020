// Where numbers nearly do not fit: labels, losses and moments of narrow types; and optimizers whose first call failed.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "panto/panto.h"
#include "panto/tests/expect.h"

namespace panto {
namespace {

using Make = std::function<std::unique_ptr<Optimizer>(const std::vector<Variable>&)>;

std::vector<double> doubles(const Tensor& t) { return cast(t, kFloat64).to_vector<double>(); }

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(edges)

BOOST_AUTO_TEST_CASE(an_optimizer_whose_first_call_fails_in_a_trace) {
  const auto after = [](bool fails_first) {
    const Variable w(tensor({1.f, 2.f}), "w");
    Adam adam(AdamOptions{.learning_rate = cosine_decay(0.1, 10)});
    const auto minimize = [&] { adam.minimize([&] { return sum(square(w.value())); }, {.var_list = {w}}); };
    if (fails_first) {
      expect_error_begins(
          [&] {
            (void)trace([&](const Tensor& x) {
              minimize();
              return x;
            })(tensor(1.f));
          },
          "FailedPrecondition: ");
    }
    for (int i = 0; i < 3; ++i) minimize();
    BOOST_TEST(adam.slots().size() == 5U);
    return w.value().to_vector<float>();
  };
  BOOST_TEST(after(true) == after(false));
}

BOOST_AUTO_TEST_CASE(lamb_with_bfloat16) {
  const auto train = [](DType type) {
    const Variable w(cast(tensor({1.0, -2.0, 3.0}), type), "w");
    Lamb lamb({w}, {.learning_rate = 0.05, .weight_decay = 0.01});
    for (int i = 0; i < 10; ++i) lamb.minimize([&] { return sum(square(w.value())); });
    return doubles(w.value());
  };
  const std::vector<double> narrow = train(kBFloat16), wide = train(kFloat64);
  for (size_t i = 0; i < wide.size(); ++i) BOOST_TEST(std::abs(narrow[i] - wide[i]) < 0.1 * std::abs(wide[i]) + 0.02);
}

BOOST_AUTO_TEST_CASE(zero_gradients_of_float16_give_no_nan) {
  const Make makes[] = {
      [](const std::vector<Variable>& v) { return std::make_unique<Adafactor>(v); },
      [](const std::vector<Variable>& v) { return std::make_unique<ScheduleFreeAdamW>(v); },
      [](const std::vector<Variable>& v) { return std::make_unique<Lamb>(v); },
      [](const std::vector<Variable>& v) { return std::make_unique<Adam>(v); },
  };
  for (const Make& make : makes) {
    const Variable matrix(cast(tensor({{1.f, 2.f}, {3.f, 4.f}}), kFloat16), "m"), zero(zeros({3}, kFloat16), "z");
    const std::unique_ptr<Optimizer> optimizer = make({matrix, zero});
    for (int i = 0; i < 3; ++i) optimizer->apply({zeros({2, 2}, kFloat16), zeros({3}, kFloat16)});
    for (const Variable& v : {matrix, zero}) {
      for (const double value : doubles(v.value())) BOOST_TEST(std::isfinite(value));
    }
    for (const double value : doubles(zero.value())) BOOST_TEST(value == 0);
    optimizer->apply({cast(ones({2, 2}), kFloat16), cast(ones({3}), kFloat16)});
    for (const double value : doubles(matrix.value())) BOOST_TEST(std::isfinite(value));
  }
}

// A float16 could count to 2048 only.
BOOST_AUTO_TEST_CASE(losses_of_many_float16_samples) {
  constexpr int64_t kSamples = 100000;
  const Tensor p = cast(reshape(cast(arange(kSamples) % int64_t{8}, kFloat32) / 8.f, {kSamples, 1}), kFloat16);
  const Tensor t = zeros({kSamples, 1}, kFloat16);
  for (const LossReduction reduction : {LossReduction::kMean, LossReduction::kWeightedMean}) {
    BOOST_TEST(doubles(mean_absolute_error(p, t, {.reduction = reduction}))[0] == 0.4375);
  }
  BOOST_TEST(doubles(mean_squared_error(p, t))[0] == 0.2734375);
}

BOOST_AUTO_TEST_CASE(precision_of_a_class_with_unknown_dimensions) {
  const Tensor p = tensor({{0.9f, 0.1f, 0.8f}, {0.2f, 0.7f, 0.6f}, {0.7f, 0.6f, 0.1f}});
  const Tensor t = tensor({{1.f, 0.f, 0.f}, {0.f, 1.f, 1.f}, {0.f, 1.f, 0.f}});
  for (const std::optional<int64_t> top_k : {std::optional<int64_t>(), std::optional<int64_t>(2)}) {
    const metrics::Precision known({.top_k = top_k, .class_id = 2}), unknown({.top_k = top_k, .class_id = 2});
    known.update_state(p, t);
    const Function update = trace(
        [&](const Tensor& a, const Tensor& b) {
          unknown.update_state(a, b);
          return a;
        },
        {{kFloat32, {-1, -1}}, {kFloat32, {-1, -1}}});
    (void)update(p, t);
    BOOST_TEST(doubles(known.result())[0] == 0.5);
    BOOST_TEST(doubles(unknown.result())[0] == 0.5);
  }
}

// Labels of two types are compared in the wider one: 2^32 + 1 is not 1.
BOOST_AUTO_TEST_CASE(circle_loss_with_wide_reference_labels) {
  const Tensor embeddings = tensor({{1.f, 0.f}, {0.6f, 0.8f}}), references = tensor({{0.8f, 0.6f}, {0.f, 1.f}});
  const auto loss = [&](std::vector<int64_t> labels) {
    return doubles(circle(embeddings, tensor<int32_t>({0, 1}),
                          {.remove_diagonal = false,
                           .ref_labels = tensor(labels),
                           .ref_embeddings = references,
                           .reduction = LossReduction::kNone}));
  };
  BOOST_TEST(loss({0, (int64_t{1} << 32) + 1}) == loss({0, 7}));
  BOOST_TEST(loss({0, int64_t{1} << 32}) == loss({0, 7}));
  BOOST_TEST(loss({0, 1}) != loss({0, 7}));
}

// 2^40 is no int32, and not 0 either.
BOOST_AUTO_TEST_CASE(an_ignored_class_that_labels_cannot_be) {
  const Tensor p = tensor({{0.7f, 0.3f}, {0.4f, 0.6f}});
  const Tensor labels = tensor<int32_t>({0, 1});
  const double all = doubles(sparse_categorical_cross_entropy(p, labels))[0];
  BOOST_TEST(doubles(sparse_categorical_cross_entropy(p, labels, {.ignore_class = int64_t{1} << 40}))[0] == all);
  BOOST_TEST(doubles(sparse_categorical_cross_entropy(p, labels, {.ignore_class = 0}))[0] != all);
  const Tensor classes = tensor<int32_t>({0, 1, 1}), predicted = tensor<int32_t>({0, 1, 0});
  const metrics::MeanIoU every(2), ignoring(2, {.ignore_class = int64_t{1} << 40});
  every.update_state(predicted, classes);
  ignoring.update_state(predicted, classes);
  BOOST_TEST(doubles(ignoring.result())[0] == doubles(every.result())[0]);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
