// Losses of losses/ against Keras and finite differences: eagerly, traced, in a graph.
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "panto/autograd/gradcheck.h"
#include "panto/autograd/tape.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/training/losses/classification.h"
#include "panto/nn/training/losses/regression.h"
#include "panto/nn/training/losses/sampled.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/tests/nn/training/training_reference.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

using Loss = std::function<Tensor(const Tensor&, const Tensor&, const LossOptions&)>;

struct Row {
  std::string name, prediction, target;
  Loss loss;
};

template <auto kLoss, class Options>
Loss with(Options options) {
  return [options](const Tensor& p, const Tensor& t, const LossOptions& common) {
    Options all = options;
    all.weights = common.weights;
    all.reduction = common.reduction;
    return kLoss(p, t, all);
  };
}

// The classes are the rows': axis 1 of two dimensions.
std::vector<Row> rows() {
  return {
      {"mean_absolute_percentage_error", "values", "targets", mean_absolute_percentage_error},
      {"mean_squared_logarithmic_error", "positive", "counts", mean_squared_logarithmic_error},
      {"log_cosh", "values", "targets", log_cosh},
      {"poisson", "positive", "counts", poisson},
      {"kl_divergence", "probabilities", "distributions", kl_divergence},
      {"cosine_similarity", "values", "targets", with<cosine_similarity>(CosineSimilarityOptions{})},
      {"hinge", "logits", "signs", hinge},
      {"hinge_binary", "logits", "truths", hinge},
      {"squared_hinge", "logits", "truths", squared_hinge},
      {"categorical_hinge", "logits", "one_hot", categorical_hinge},
      {"binary_focal", "probabilities", "truths", with<binary_focal_cross_entropy>(BinaryFocalOptions{})},
      {"binary_focal_logits", "logits", "truths",
       with<binary_focal_cross_entropy>(BinaryFocalOptions{
           .apply_class_balancing = true, .alpha = 0.375, .gamma = 3, .from_logits = true, .label_smoothing = 0.125})},
      {"categorical_focal", "distributions", "one_hot",
       with<categorical_focal_cross_entropy>(CategoricalFocalOptions{})},
      {"categorical_focal_logits", "logits", "one_hot",
       with<categorical_focal_cross_entropy>(CategoricalFocalOptions{
           .alphas = {0.25, 0.5, 1}, .gamma = 1.5, .from_logits = true, .label_smoothing = 0.125})},
      {"generalized", "positive", "labels",
       with<categorical_generalized_cross_entropy>(GeneralizedCrossEntropyOptions{.q = 0.75})},
      {"dice", "probabilities", "truths", with<dice>(DiceOptions{.axis = {1}})},
      {"tversky", "probabilities", "truths", with<tversky>(TverskyOptions{.alpha = 0.25, .beta = 0.75, .axis = {1}})},
      {"circle", "embeddings", "own_labels", with<circle>(CircleOptions{})},
      {"circle_diagonal", "embeddings", "own_labels",
       with<circle>(CircleOptions{.gamma = 16, .margin = 0.25, .remove_diagonal = false})},
      {"ctc", "steps", "letters", with<ctc>(CtcOptions{})},
  };
}

Tensor input(const std::string& name) { return loss_reference("input/" + name); }

std::vector<double> part(const std::vector<double>& all, size_t from, size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

PartialShape any_batch(const Tensor& x) {
  std::vector<int64_t> dims(x.shape().dims().begin(), x.shape().dims().end());
  dims[0] = -1;
  return PartialShape(dims);
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(losses)

BOOST_AUTO_TEST_CASE(more_as_keras) {
  for (const Row& row : rows()) {
    const std::vector<double> expected = values_of(loss_reference("loss/" + row.name));
    const Tensor target = input(row.target);
    const Tensor weights = input(row.prediction == "steps" ? "letters_weights" : "weights");
    for (const DType type : {kFloat64, kFloat32}) {
      BOOST_TEST_CONTEXT(row.name << " " << dtype_name(type)) {
        // In Keras CTC is of float32, and so is the logarithm of 2.
        const bool narrow = row.name == "ctc" || row.name == "log_cosh" || type == kFloat32;
        const double tolerance = narrow ? 2e-6 : 1e-12, floor = narrow ? 0.1 : 1e-3;
        const Tensor prediction = cast(input(row.prediction), type);
        const auto samples = static_cast<size_t>(prediction.shape().dim(0));
        const auto reduced = [&](LossReduction reduction, const Tensor& w = {}) {
          return row.loss(prediction, target, {.weights = w, .reduction = reduction});
        };
        const Tensor each = reduced(LossReduction::kNone);
        BOOST_TEST(dtype_name(each.dtype()) == dtype_name(type));
        expect_near(each, {static_cast<int64_t>(samples)}, part(expected, 0, samples), tolerance, floor);
        expect_near(reduced(LossReduction::kMean), expected[samples], tolerance);
        expect_near(reduced(LossReduction::kSum), expected[samples + 1], tolerance);
        // What does not count for circle's mean counts for its mean by weights there, if it weighs something.
        if (!row.name.starts_with("circle")) {
          expect_near(reduced(LossReduction::kWeightedMean, weights), expected[samples + 3], tolerance);
        }

        GradientTape tape;
        tape.watch(prediction);
        const Tensor mean = reduced(LossReduction::kMean, weights);
        expect_near(mean, expected[samples + 2], tolerance);
        const std::vector<double> gradient = part(expected, samples + 4, expected.size() - samples - 4);
        expect_near(tape.gradient(mean, prediction), prediction.shape(), gradient, 4 * tolerance, floor);

        const auto traced =
            trace([&](const Tensor& p, const Tensor& t) { return row.loss(p, t, {.weights = weights}); },
                  {TensorSpec(type, any_batch(prediction)), TensorSpec(target.dtype(), any_batch(target))});
        expect_near(traced(prediction, target), expected[samples + 2], tolerance);

        Graph graph;
        {
          const GraphScope scope(graph);
          const Tensor p = placeholder(type, any_batch(prediction), "p");
          const Tensor t = placeholder(target.dtype(), any_batch(target), "t");
          named("loss", identity(row.loss(p, t, {.weights = weights})));
        }
        Session session(graph);
        expect_near(session.run("loss", {{"p", prediction}, {"t", target}}), expected[samples + 2], tolerance);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(other_axes_as_keras) {
  const Tensor cube = input("cube"), targets = input("cube_targets"), labels = input("cube_labels");
  const LossReduction none = LossReduction::kNone;
  std::set<std::string> seen;
  const auto check = [&](const std::string& name, const Tensor& got) {
    BOOST_TEST_CONTEXT(name) {
      const Tensor& expected = loss_reference("plain/" + name);
      expect_near(got, expected.shape(), values_of(expected), 1e-12);
      seen.insert(name);
    }
  };
  check("mape", mean_absolute_percentage_error(cube, targets, {.reduction = none}));
  check("cosine_1", cosine_similarity(cube, targets, {.axis = 1, .reduction = none}));
  check("binary_1", binary_cross_entropy(cube, targets, {.axis = 1, .reduction = none}));
  check("categorical_1", categorical_cross_entropy(cube, targets, {.axis = -2, .reduction = none}));
  check("binary_focal_0", binary_focal_cross_entropy(cube, targets, {.axis = 0, .reduction = none}));
  check("categorical_focal_1", categorical_focal_cross_entropy(cube, targets, {.axis = 1, .reduction = none}));
  check("dice", dice(cube, targets));
  check("dice_axes", dice(cube, targets, {.axis = {1, 2}, .reduction = none}));
  check("tversky", tversky(cube, targets));
  check("generalized",
        categorical_generalized_cross_entropy(cube, maximum(labels, int64_t{0}), {.q = 0.5, .reduction = none}));
  check("sparse_ignored", sparse_categorical_cross_entropy(cube, labels, {.ignore_class = -1, .reduction = none}));
  check("sparse_ignored_mean", sparse_categorical_cross_entropy(cube, labels, {.ignore_class = -1}));
  check("sparse_ignored_sum",
        sparse_categorical_cross_entropy(cube, labels, {.ignore_class = -1, .reduction = LossReduction::kSum}));
  check("sparse_ignored_weighted",
        sparse_categorical_cross_entropy(cube, labels, {.ignore_class = -1, .weights = input("cube_weights")}));
  const Tensor bits = tensor({{0, 1, 1, 0, 1}, {1, 1, 0, 0, 0}, {0, 0, 1, 1, 1}});
  check("sparse_0", sparse_categorical_cross_entropy(cube, bits, {.axis = 0, .reduction = none}));
  check("circle_references", circle(input("embeddings"), input("own_labels"),
                                    {.gamma = 16,
                                     .remove_diagonal = false,
                                     .ref_labels = input("reference_labels"),
                                     .ref_embeddings = input("references"),
                                     .reduction = none}));
  check("weighted_cross_entropy",
        weighted_cross_entropy_with_logits(input("logits"), input("truths"), tensor({0.5, 2.0, 1.5})));
  BOOST_TEST(seen.size() == 17U);
}

BOOST_AUTO_TEST_CASE(gradients_of_more) {
  for (const Row& row : rows()) {
    BOOST_TEST_CONTEXT(row.name) {
      if (row.prediction == "values") continue;  // far apart: below
      const Tensor target = input(row.target),
                   weights = input(row.prediction == "steps" ? "letters_weights" : "weights");
      // Off the kinks and ends of what probabilities may be.
      Tensor x = input(row.prediction);
      if (row.prediction == "probabilities") x = clip(x, 0.0625, 0.875);
      if (row.prediction == "distributions" || row.prediction == "logits") x = x + 0.0625;
      const auto loss = [&](std::span<const Tensor> in) { return row.loss(in[0], target, {.weights = in[1]}); };
      const Tensor inputs[] = {x, weights};
      const GradcheckResult first = gradcheck(loss, inputs);
      BOOST_TEST(first.ok, first.report);
      if (row.name == "ctc" || row.name == "hinge" || row.name == "hinge_binary" || row.name == "categorical_hinge")
        continue;
      const GradcheckResult second = gradcheck_second_order(loss, inputs);
      BOOST_TEST(second.ok, second.report);
    }
  }
  const Tensor p = tensor({{0.5, -1.5, 2.0}, {0.25, 3.0, -0.75}}), t = tensor({{0.25, 0.75, 0.125}, {1.5, 2.0, 0.25}});
  for (const Row& row : rows()) {
    if (row.prediction != "values") continue;
    BOOST_TEST_CONTEXT(row.name) {
      const auto loss = [&](std::span<const Tensor> in) { return row.loss(in[0], in[1], {}); };
      const Tensor inputs[] = {p, t};
      const GradcheckResult first = gradcheck(loss, inputs);
      BOOST_TEST(first.ok, first.report);
    }
  }
}

// ---- Edges ---------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(small_and_large_errors) {
  const LossReduction none = LossReduction::kNone;
  const Tensor errors = tensor({1e-4F, 1e-8F, 200.F, -1e4F}), zero = zeros({4});
  expect_near(log_cosh(errors, zero, {.reduction = none}), {4},
              {0.5e-8, 0.5e-16, 200 - std::log(2.0), 1e4 - std::log(2.0)}, 1e-6);
  GradientTape tape;
  tape.watch(errors);
  const Tensor loss = log_cosh(errors, zero, {.reduction = LossReduction::kSum});
  expect_near(tape.gradient(loss, errors), {4}, {1e-4, 1e-8, 1, -1}, 1e-6);
}

BOOST_AUTO_TEST_CASE(vectors_without_direction) {
  for (const DType type : {kFloat64, kFloat32, kFloat16, kBFloat16}) {
    const Tensor x = cast(tensor({{0.0, 0.0}, {3.0, 4.0}}), type), y = cast(tensor({{1.0, 1.0}, {-3.0, -4.0}}), type);
    GradientTape tape;
    tape.watch(x);
    const Tensor each = cosine_similarity(x, y, {.reduction = LossReduction::kNone});
    expect_near(each, {2}, {0, 1}, 1e-2);
    if (type == kFloat16) continue;  // the gradient, 7e6, is more than there is
    for (double g : values_of(tape.gradient(each, x))) BOOST_TEST(std::isfinite(g));
  }
}

// No other sample has the label: no loss, and gradients of 0.
BOOST_AUTO_TEST_CASE(circle_without_pairs) {
  const Tensor x = tensor({{1.F, 0.F}, {0.F, 1.F}});
  GradientTape tape;
  tape.watch(x);
  const Tensor loss = circle(x, tensor({0, 1}));
  expect_near(loss, 0.0);
  expect_near(tape.gradient(loss, x), {2, 2}, {0, 0, 0, 0});
}

BOOST_AUTO_TEST_CASE(half_types) {
  const Tensor p = cast(tensor({{0.25, 0.75}, {0.5, 0.5}}), kBFloat16), t = tensor({{0.F, 1.F}, {1.F, 0.F}});
  expect_near(mean_squared_logarithmic_error(p, t), 0.0787, 0.05);
  expect_near(binary_focal_cross_entropy(p, t), 0.096, 0.05);
  expect_near(dice(p, t), 1 - 2 * 1.25 / 4, 0.02);
  expect_near(ctc(cast(zeros({1, 2, 2}), kFloat16), tensor({{1}})), -std::log(0.75), 1e-3);
}

BOOST_AUTO_TEST_CASE(lengths_of_sequences) {
  const Tensor x = input("steps"), letters = input("letters");
  const Tensor shorter = ctc(x, letters, {.lengths = tensor({4, 5, 3}), .reduction = LossReduction::kNone});
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t length = i == 0 ? 4 : i == 1 ? 5 : 3;
    const Tensor one = x(Slice(i, i + 1), Slice(0, length));
    expect_near(shorter[i], values_of(ctc(one, letters(Slice(i, i + 1))))[0], 1e-12);
  }
}

// ---- Drawn classes -------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(sampled_as_tensorflow) {
  const SampledValues drawn{input("sampled_candidates"), cast(input("sampled_true_counts"), kFloat32),
                            cast(input("sampled_counts"), kFloat32)};
  const Tensor labels = input("sampled_labels"), x = cast(input("sampled_inputs"), kFloat32);
  const Variable weights(cast(input("sampled_weights"), kFloat32), "weights");
  const Variable biases(cast(input("sampled_biases"), kFloat32), "biases");
  const auto check = [&](const std::string& name, const auto& loss) {
    BOOST_TEST_CONTEXT(name) {
      const std::vector<double> expected = values_of(loss_reference("sampled/" + name));
      GradientTape tape;
      tape.watch(x);
      const Tensor each = loss();
      expect_near(each, {3}, part(expected, 0, 3), 2e-6);
      const Tensor total = sum(each);
      const Gradient rows = tape.sparse_gradient(total, weights);
      BOOST_TEST(rows.sparse());
      expect_near(rows.dense(), {7, 4}, part(expected, 3, 28), 4e-6, 0.1);
    }
    GradientTape tape;
    tape.watch(x);
    const std::vector<double> expected = values_of(loss_reference("sampled/" + name));
    expect_near(tape.gradient(sum(loss()), x), {3, 4}, part(expected, 31, 12), 4e-6, 0.1);
  };
  const NceOptions nce{.num_true = 2, .sampled = drawn},
      removed{.num_true = 2, .sampled = drawn, .remove_accidental_hits = true};
  const SampledSoftmaxOptions softmax{.num_true = 2, .sampled = drawn},
      kept{.num_true = 2, .sampled = drawn, .remove_accidental_hits = false};
  check("nce", [&] { return nce_loss(weights, biases, labels, x, 3, 7, nce); });
  check("nce_removed", [&] { return nce_loss(weights, biases, labels, x, 3, 7, removed); });
  check("softmax", [&] { return sampled_softmax_loss(weights, biases, labels, x, 3, 7, softmax); });
  check("softmax_kept", [&] { return sampled_softmax_loss(weights, biases, labels, x, 3, 7, kept); });
}

// All classes are drawn: each is expected once, and the loss is that of the softmax over all.
BOOST_AUTO_TEST_CASE(sampled_softmax_of_all_classes) {
  const Tensor weights = input("sampled_weights"), biases = input("sampled_biases"), x = input("sampled_inputs");
  const Tensor labels = tensor({{1}, {6}, {0}});
  const Tensor logits = matmul(x, transpose(weights)) + biases;
  const Tensor whole = sparse_softmax_cross_entropy_with_logits(logits, reshape(labels, {-1}));
  const auto drawn = all_candidate_sampler(cast(labels, kInt64), 1, 7, true);
  const SampledValues all{drawn.sampled_candidates, drawn.true_expected_count, drawn.sampled_expected_count};
  expect_near(sampled_softmax_loss(weights, biases, labels, x, 7, 7, {.sampled = all}), {3}, values_of(whole), 1e-12);
}

BOOST_AUTO_TEST_CASE(drawn_by_seed) {
  const Tensor weights = random_normal({50, 4}, {.seed = 1}), biases = zeros({50}), x = ones({2, 4});
  const auto loss = [&](std::optional<int64_t> seed) {
    return values_of(nce_loss(weights, biases, tensor({{3}, {4}}), x, 5, 50, {.seed = seed}));
  };
  BOOST_TEST((loss(3) == loss(3)));
  BOOST_TEST((loss(3) != loss(4)));
  BOOST_TEST((loss(std::nullopt) != loss(std::nullopt)));
}

BOOST_AUTO_TEST_CASE(misuse_of_more) {
  const Tensor x = tensor({{1.F, 2.F}}), labels = tensor({0});
  const auto expect_invalid = [](const auto& f, const std::string& text) {
    expect_error_begins(f, "InvalidArgument: " + text);
  };
  expect_invalid([&] { log_cosh(x, tensor({1.F})); }, "target: expected the prediction's shape [1,2], got [1]");
  expect_invalid([&] { cosine_similarity(x, x, {.axis = 2}); }, "axis: expected one of 2 dimensions, got 2");
  expect_invalid([&] { binary_focal_cross_entropy(x, x, {.gamma = -1}); },
                 "gamma: expected a finite number of at least 0, got -1");
  expect_invalid([&] { categorical_focal_cross_entropy(x, x, {.alphas = {1, 2, 3}}); },
                 "alphas: expected one for each class of shape [1,2], got 3");
  expect_invalid([&] { categorical_generalized_cross_entropy(x, labels, {.q = 1}); },
                 "q: expected a number in (0, 1), got 1");
  expect_error_begins([&] { categorical_generalized_cross_entropy(x, tensor({2})); }, "InvalidArgument: ");
  expect_invalid([&] { circle(x, tensor({1.F})); }, "labels: expected int32 or int64, got float32");
  expect_invalid([&] { circle(x, labels, {.ref_embeddings = x}); }, "ref_labels: expected a label for each reference");
  expect_invalid([&] { ctc(x, labels); }, "logits: expected shape [batch, time, classes], got [1,2]");
  expect_invalid([&] { ctc(zeros({1, 2, 3}), labels); }, "labels: expected shape [batch, position], got [1]");
  expect_invalid([&] { nce_loss(x, x, labels, x, 1, 1); }, "labels: expected shape [batch, 1], got [1]");
  expect_invalid([&] { nce_loss(x, x, tensor({{0}}), x, 0, 1); }, "num_sampled: expected at least 1, got 0");
  expect_invalid([&] { mean_squared_error(x, x, {.reduction = static_cast<LossReduction>(9)}); },
                 "reduction: expected kMean, kWeightedMean, kSum or kNone, got number 9");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
