// fit, evaluate and predict: against Keras (tests/reference/training/loop_cases.py), and what goes wrong.
#include "panto/nn/training/loop/fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "panto/lib/ops/random/random.h"
#include "panto/nn/layers/core/losses.h"
#include "panto/nn/layers/functional_model.h"
#include "panto/nn/layers/normalization.h"
#include "panto/nn/layers/weights/regularizers.h"
#include "panto/nn/metrics/means.h"
#include "panto/nn/training/loop/callbacks.h"
#include "panto/nn/training/optimizer.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/tests/nn/training/loop/loop_models.h"
#include "panto/tests/nn/training/training_reference.h"

namespace panto {
namespace {

using namespace loop_models;

const Tensor& keras(const std::string& name) {
  static const auto* const arrays = new std::map<std::string, Tensor>(reference_arrays("loop.npz"));
  return arrays->at(name);
}

// Metrics add up in float32.
constexpr double kMetricBound = 2e-6, kVariableBound = 1e-9;

void expect_values(const std::vector<double>& got, const std::string& name) {
  const std::vector<double> expected = values_of(keras(name));
  BOOST_REQUIRE_EQUAL(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    BOOST_TEST(std::fabs(got[i] - expected[i]) <= kMetricBound * std::max(1.0, std::fabs(expected[i])),
               name << ' ' << i << ": expected " << expected[i] << ", got " << got[i]);
  }
}

void expect_history(const History& history, const std::string& name, const std::vector<std::string>& keys) {
  BOOST_TEST(history.values.size() == keys.size());
  for (const std::string& key : keys) expect_values(history[key], name + "/history/" + key);
}

// `last`: so many numbers at the end are not compared.
void expect_variables(const Layer& model, const std::string& name, int64_t last = 0) {
  std::vector<Tensor> parts;
  for (const Variable& v : model.variables()) parts.push_back(reshape(v.value(), {-1}));
  for (const Variable& v : model.state()) parts.push_back(reshape(v.value(), {-1}));
  const Tensor all = concat(parts, 0), expected = keras(name + "/variables");
  BOOST_REQUIRE_EQUAL(all.numel(), expected.numel());
  const int64_t n = all.numel() - last;
  expect_near(all(Slice(0, n)), {n}, values_of(expected(Slice(0, n))), kVariableBound, 1);
}

void expect_afterwards(const Layer& model, const std::string& name, const EvaluateOptions& options,
                       const TrainingData& validation) {
  EvaluateOptions by_four = options;
  by_four.batch_size = 4;
  std::vector<double> got;
  for (const auto& [key, value] : evaluate(model, validation, by_four)) got.push_back(value);
  expect_values(got, name + "/evaluate");
  const Tensor predicted = predict(model, validation_inputs(), {.batch_size = 4});
  const Tensor& expected = keras(name + "/predict");
  expect_near(predicted, expected.shape(), values_of(expected), kVariableBound, 1);
}

TrainingData validation_numbers() { return {validation_inputs(), numbers(validation_inputs())}; }

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(fit_suite)

BOOST_AUTO_TEST_CASE(numbers_are_those_of_keras_traced_and_not) {
  for (const bool traced : {true, false}) {
    const Sequential model = dense(1);
    Sgd sgd(model.variables(), {.learning_rate = 0.125});
    FitOptions options = quiet(3, "mse");
    options.validation = validation_numbers();
    options.optimizer = sgd;
    options.metrics = {"mae"};
    options.traced = traced;
    const History history = fit(model, {inputs(), numbers(inputs())}, options);
    expect_history(history, "plain", {"loss", "mae", "val_loss", "val_mae"});
    BOOST_TEST(history.not_traced == "");
    BOOST_TEST(history.stopped == "");
    expect_variables(model, "plain");
    expect_afterwards(model, "plain", {.loss = "mse", .metrics = {"mae"}, .traced = traced}, validation_numbers());
  }
}

BOOST_AUTO_TEST_CASE(batches_of_a_dataset_are_as_those_of_tensors) {
  const Sequential model = dense(1);
  FitOptions options = quiet(3, mean_squared_error);
  Sgd sgd(model.variables(), {.learning_rate = 0.125});
  options.optimizer = sgd;
  options.validation = Dataset::from_tensors({validation_inputs(), numbers(validation_inputs())}).batch(8);
  options.metrics = {metrics::MeanAbsoluteError()};
  options.repeat_failed_step = false;
  const History history = fit(model, Dataset::from_tensors({inputs(), numbers(inputs())}).batch(8), options);
  expect_values(history["loss"], "plain/history/loss");
  expect_values(history["val_mean_absolute_error"], "plain/history/val_mae");
  expect_variables(model, "plain");
  // Steps of an endless one go on where the epoch before ended.
  const Sequential other = dense(1);
  Sgd second(other.variables(), {.learning_rate = 0.125});
  options.optimizer = second;
  options.steps_per_epoch = 3;
  const History again = fit(other, Dataset::from_tensors({inputs(), numbers(inputs())}).batch(8).repeat(), options);
  expect_values(again["loss"], "plain/history/loss");
}

BOOST_AUTO_TEST_CASE(a_plain_loop_has_the_same_steps) {
  const Sequential model = dense(1);
  Sgd sgd(model.variables(), {.learning_rate = 0.125});
  FitOptions options = quiet(3, "mse");
  options.optimizer = sgd;
  Trainer trainer(model, options);
  std::vector<double> losses;
  for (int epoch = 0; epoch < 3; ++epoch) {
    trainer.reset_metrics();
    for (auto [x, y] : Dataset::from_tensors({inputs(), numbers(inputs())}).batch(8)) trainer.train_on_batch({x, y});
    losses.push_back(trainer.logs()["loss"]);
  }
  expect_values(losses, "plain/history/loss");
  expect_variables(model, "plain");
  BOOST_TEST(trainer.evaluate(validation_numbers()).size() == 1u);
}

// Two inputs and two targets; weights of samples.
static std::vector<Tensor> parts(const Tensor& x, const std::vector<Tensor>& weights) {
  std::vector<Tensor> all{x(Ellipsis, Slice(0, 2)), x(Ellipsis, Slice(2, 3)), numbers(x), labels(x)};
  all.insert(all.end(), weights.begin(), weights.end());
  return all;
}

BOOST_AUTO_TEST_CASE(graphs_of_layers_have_their_inputs) {
  const TwoOfEach layers;
  const ModelInput first({2}, kFloat64), second({1}, kFloat64);
  const LayerNode hidden = concatenate({first, second}, -1) | layers.hidden;
  const FunctionalModel model({first, second}, {hidden | layers.number, hidden | layers.label});
  Sgd sgd(model.variables(), {.learning_rate = 0.125});
  FitOptions options = quiet(3, {});
  options.optimizer = sgd;
  options.outputs = {
      {.name = "number", .loss = "mse", .weight = 0.5, .metrics = {"mae"}},
      {.name = "label", .loss = "sparse_categorical_crossentropy", .weight = 2, .metrics = {"accuracy"}}};
  options.validation = parts(validation_inputs(), {});
  const Tensor weights = abs(wave({22}, 0.7)) + 0.25;
  const History history = fit(model, parts(inputs(), {weights, reverse(weights, tensor({0}))}), options);
  expect_history(history, "two",
                 {"loss", "number_loss", "label_loss", "number_mae", "label_accuracy", "val_loss", "val_number_loss",
                  "val_label_loss", "val_number_mae", "val_label_accuracy"});
  expect_variables(layers, "two");
}

BOOST_AUTO_TEST_CASE(several_inputs_and_outputs) {
  const Tensor weights = abs(wave({22}, 0.7)) + 0.25;
  const std::vector<Tensor> each{weights, reverse(weights, tensor({0}))};
  for (const bool of_dataset : {false, true}) {
    for (const bool traced : {true, false}) {
      const TwoOfEach layers;
      const TrainedModel model(layers, 2, [&](const std::vector<Tensor>& x) { return layers.outputs(x); });
      Sgd sgd(layers.variables(), {.learning_rate = 0.125});
      FitOptions options = quiet(3, {});
      options.optimizer = sgd;
      options.traced = traced;
      options.outputs = {
          {.name = "number", .loss = "mse", .weight = 0.5, .metrics = {"mae"}},
          {.name = "label", .loss = "sparse_categorical_crossentropy", .weight = 2, .metrics = {"accuracy"}}};
      const std::vector<Tensor> validation = parts(validation_inputs(), {});
      options.validation = validation;
      const TrainingData data = of_dataset ? TrainingData(Dataset::from_tensors(parts(inputs(), each)).batch(8))
                                           : TrainingData(parts(inputs(), each));
      const History history = fit(model, data, options);
      expect_history(history, "two",
                     {"loss", "number_loss", "label_loss", "number_mae", "label_accuracy", "val_loss",
                      "val_number_loss", "val_label_loss", "val_number_mae", "val_label_accuracy"});
      expect_variables(layers, "two");
      const auto predicted = predict_all(model, {validation[0], validation[1]}, {.batch_size = 4});
      for (size_t i = 0; i < 2; ++i) {
        const Tensor& expected = keras(i == 0 ? "two/predict/number" : "two/predict/label");
        expect_near(predicted.at(i), expected.shape(), values_of(expected), kVariableBound, 1);
      }
      const Logs logs = evaluate(model, validation, {.outputs = options.outputs});
      expect_error_begins([&] { predict(model, {validation[0], validation[1]}); },
                          "InvalidArgument: predict: expected a model of one output (predict_all), got 2");
    }
  }
  const TwoOfEach layers;
  const TrainedModel model(layers, 2, [&](const std::vector<Tensor>& x) { return layers.outputs(x); });
  FitOptions options = quiet(1, {});
  options.outputs = {{.name = "number", .loss = "mse"}, {.name = "label", .loss = "sparse_categorical_crossentropy"}};
  expect_error_begins([&] { fit(model, {inputs(), inputs()}, options); },
                      "InvalidArgument: fit: expected 2 inputs, 2 targets and weights, none, one or 2, got 2 tensors");
  options.outputs.pop_back();
  expect_error_begins([&] { fit(model, {inputs(), inputs(), numbers(inputs())}, options); }, "InvalidArgument: ");
  options.outputs.push_back(options.outputs[0]);
  expect_error_begins([&] { fit(model, parts(inputs(), {}), options); },
                      "InvalidArgument: outputs: expected a name of its own for each, got 'number'");
  options.loss = "mse";
  expect_error_begins([&] { fit(model, parts(inputs(), {}), options); },
                      "InvalidArgument: outputs: expected them without loss and metrics of one, got both");
}

// Of powers of two a scale changes nothing but what is too large.
BOOST_AUTO_TEST_CASE(losses_are_scaled) {
  for (const bool traced : {true, false}) {
    const Sequential model = dense(1);
    Sgd sgd(model.variables(), {.learning_rate = 0.125});
    FitOptions options = quiet(3, "mse");
    options.optimizer = sgd;
    options.validation = validation_numbers();
    options.metrics = {"mae"};
    options.traced = traced;
    options.loss_scale.emplace();
    const History history = fit(model, {inputs(), numbers(inputs())}, options);
    expect_history(history, "plain", {"loss", "mae", "val_loss", "val_mae"});
    expect_variables(model, "plain");
    // A step whose gradients overflow changes nothing but the scale.
    options.loss_scale->initial = 1e38;
    options.epochs = 1;
    Trainer trainer(model, options);
    const std::vector<double> before = values_of(model.variables()[0].value());
    trainer.train_on_batch({inputs(), numbers(inputs()) * 1e280});
    BOOST_TEST(values_of(model.variables()[0].value()) == before);
  }
  const Sequential model = dense(1);
  FitOptions options = quiet(1, "mse");
  options.loss_scale.emplace();
  options.gradient_accumulation_steps = 2;
  expect_error_begins([&] { fit(model, {inputs(), numbers(inputs())}, options); },
                      "InvalidArgument: loss_scale: expected gradients that do not accumulate, got both");
}

BOOST_AUTO_TEST_CASE(weights_of_samples_count_in_the_loss_and_where_they_are_asked_for) {
  const Sequential model = dense(1);
  Sgd sgd(model.variables(), {.learning_rate = 0.125});
  FitOptions options = quiet(2, huber);
  options.validation = validation_numbers();
  options.optimizer = sgd;
  options.metrics = {"mae"};
  options.weighted_metrics = {metrics::MeanSquaredError({.name = "wmse"})};
  const Tensor weights = abs(wave({22}, 0.7)) + 0.25;
  const History history = fit(model, {inputs(), numbers(inputs()), weights}, options);
  expect_history(history, "weighted", {"loss", "mae", "wmse", "val_loss", "val_mae", "val_wmse"});
  expect_variables(model, "weighted");
}

BOOST_AUTO_TEST_CASE(classes_have_weights_and_a_share_of_the_samples_validates) {
  const Sequential model = dense(3, [](const Tensor& x) { return softmax(x); });
  Adam adam(model.variables(),
            {.learning_rate = 0.0625, .beta1 = 0.875, .beta2 = 0.9375, .epsilon = std::ldexp(1, -20)});
  FitOptions options = quiet(3, "sparse_categorical_crossentropy");
  options.validation_split = 0.25;
  options.optimizer = adam;
  options.metrics = {"accuracy"};
  options.class_weight = {{0, 1.0}, {1, 2.0}, {2, 0.5}};
  const History history = fit(model, {inputs(), labels(inputs())}, options);
  expect_history(history, "classes", {"loss", "accuracy", "val_loss", "val_accuracy"});
  const TrainingData validation{validation_inputs(), labels(validation_inputs())};
  expect_variables(model, "classes");
  expect_afterwards(model, "classes", {.loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}}, validation);
}

BOOST_AUTO_TEST_CASE(penalties_count_and_statistics_move) {
  const Dense first(3, 4, {.dtype = kFloat64});
  const Sequential model(first, BatchNorm(4, {.momentum = 0.75, .epsilon = 0.0078125, .dtype = kFloat64}),
                         ActivityRegularization({.l2 = 0.0625}), Lambda([](const Tensor& x) { return relu(x); }),
                         Dense(4, 1, {.dtype = kFloat64}));
  start(model);
  Sgd sgd(model.variables(), {.learning_rate = 0.125, .momentum = 0.5});
  FitOptions options = quiet(3, "mae");
  options.optimizer = sgd;
  options.regularization = [&] { return regularizers::l2(0.03125)(first.kernel()); };
  const History history = fit(model, {inputs(), numbers(inputs())}, options);
  expect_values(history["loss"], "norm/history/loss");
  expect_variables(model, "norm", 4);  // our running variance is the unbiased one
}

BOOST_AUTO_TEST_CASE(gradients_are_clipped_and_accumulated) {
  for (const std::string name : {"clipped", "accumulated"}) {
    const Sequential model = dense(1);
    Sgd sgd(model.variables(), {.learning_rate = 0.5});
    FitOptions options = quiet(name == "clipped" ? 2 : 4, "mse");
    options.validation = validation_numbers();
    options.optimizer = sgd;
    if (name == "clipped") {
      options.global_clip_norm = 0.25;
    } else {
      options.gradient_accumulation_steps = 2;
    }
    const History history = fit(model, {inputs(), numbers(inputs())}, options);
    expect_history(history, name, {"loss", "val_loss"});
  }
}

BOOST_AUTO_TEST_CASE(rates_fall_on_a_plateau_and_training_stops_early_with_the_best) {
  const Sequential model = dense(1);
  Sgd sgd(model.variables(), {.learning_rate = 0.125});
  FitOptions options = quiet(12, "mse");
  options.validation = validation_numbers();
  options.optimizer = sgd;
  EarlyStopping stopping({.patience = 3, .restore_best_weights = true});
  options.callbacks = {ReduceLROnPlateau({.factor = 0.5, .patience = 2, .cooldown = 1}), stopping};
  const History history = fit(model, {inputs(), numbers(inputs())}, options);
  expect_history(history, "plateau", {"loss", "val_loss", "learning_rate"});
  expect_variables(model, "plateau");
}

// ---- What goes wrong -----------------------------------------------------------------------------------------------

TrainingData training() { return {inputs(), numbers(inputs())}; }

BOOST_AUTO_TEST_CASE(faults_are_told_plainly) {
  const Sequential model = dense(1);
  const auto text = [&](const TrainingData& data, const FitOptions& options) {
    return error_text([&] { fit(model, data, options); });
  };
  const FitOptions mse = quiet(1, "mse");
  const Tensor x = inputs(), y = numbers(inputs());
  FitOptions none = mse;
  none.loss = {};
  BOOST_TEST(text(training(), none).starts_with("InvalidArgument: fit: expected a loss, got none"));
  BOOST_TEST(text({x, y(Slice(0, 20))}, mse) ==
             "InvalidArgument: fit: expected as many targets as inputs, got [20,1] beside [22,3]");
  BOOST_TEST(text(x, mse) == "InvalidArgument: fit: expected inputs and targets, {x, y}, got inputs without targets");
  BOOST_TEST(text({x(Slice(0, 0)), y(Slice(0, 0))}, mse) == "InvalidArgument: fit: expected samples, got none: [0,3]");
  BOOST_TEST(text({}, mse) == "InvalidArgument: fit: expected data, got none");
  BOOST_TEST(text(Dataset::from_tensors({x, y}).batch(4).take(0), mse) ==
             "InvalidArgument: fit: expected batches, got an empty Dataset");
  BOOST_TEST(text(Dataset::from_tensors({x, y}).batch(4).repeat(), mse)
                 .starts_with("InvalidArgument: fit: expected {.steps_per_epoch = ...} for a Dataset without end"));
  // Which layer.
  const std::string wide = text({wave({22, 5}, 1), y}, mse);
  BOOST_TEST(wide.find("[in Dense(3, 4)]") != std::string::npos, wide);
  BOOST_TEST(wide.find("[in batch 0 of epoch 0]") != std::string::npos, wide);
  // Labels that do not match.
  const std::string labels_wide = text({x, wave({22, 2}, 1)}, mse);
  BOOST_TEST(labels_wide.find("[in the loss]") != std::string::npos, labels_wide);
  FitOptions classes = quiet(1, {sparse_categorical_cross_entropy, {.from_logits = true}});
  const Sequential three = dense(3);
  const std::string label = error_text([&] { fit(three, {x, cast(wave({22}, 1), kInt64) + int64_t{7}}, classes); });
  BOOST_TEST(label.starts_with("InvalidArgument: "), label);
  for (const auto& [change, expected] : std::vector<std::pair<void (*)(FitOptions&), std::string>>{
           {[](FitOptions& o) { o.batch_size = 0; }, "batch_size: expected at least 1, got 0"},
           {[](FitOptions& o) { o.epochs = -1; }, "epochs: expected at least 0, got -1"},
           {[](FitOptions& o) { o.validation_split = 1; }, "validation_split: expected a number in [0, 1), got 1"},
           {[](FitOptions& o) { o.clip_norm = -1; }, "clip_norm: expected a finite number of at least 0, got -1"}}) {
    FitOptions wrong = mse;
    change(wrong);
    BOOST_TEST(text(training(), wrong) == "InvalidArgument: " + expected);
  }
  expect_error_begins([] { TrainingLoss loss("mes"); }, "NotFound: loss: expected one of mse, mean_squared_error");
  expect_error_begins([] { TrainingOptimizer adam("adamm"); }, "NotFound: optimizer: expected one of adam, sgd");
  expect_error_begins([] { TrainingMetric metric("acuracy"); }, "NotFound: metric: expected one of accuracy, acc");
  BOOST_TEST(error_text([&] { evaluate(model, training(), {}); }) ==
             "InvalidArgument: evaluate: expected a loss or metrics, got neither");
  expect_error([&] { fit(Flatten(), training(), mse); },
               "InvalidArgument: fit: expected a model with variables to train, got none in Flatten()");
  expect_error([&] { History()["loss"]; }, "NotFound: history: expected one of none, got 'loss'");
}

// Fails in its n-th eager call of training, after it has changed something.
struct Fragile : Layer {
  Dense inner{3, 1, {.dtype = kFloat64}};
  Variable calls{tensor(int64_t{0}), "calls"};
  std::shared_ptr<std::vector<int>> failing = std::make_shared<std::vector<int>>();
  std::shared_ptr<int> count = std::make_shared<int>(0);
  Parts parts() const override { return {inner, calls}; }
  Tensor forward(const Tensor& x) const override {
    if (!in_training()) return inner(x);
    calls.assign_add(tensor(int64_t{1}));
    const Tensor noise = random_uniform({1}, {.dtype = kFloat64});
    if (std::ranges::find(*failing, ++*count) != failing->end()) fail(Code::kUnavailable, "device: gone");
    return inner(x) + 0.0 * noise;
  }
};

BOOST_AUTO_TEST_CASE(a_step_that_fails_is_put_back_and_done_once_more) {
  std::vector<Tensor> results;
  std::vector<Tensor> draws;
  for (const std::vector<int>& failing : std::vector<std::vector<int>>{{}, {2}}) {
    set_seed(3);
    const Fragile model;
    start(model.inner);
    *model.failing = failing;
    FitOptions options = quiet(1, "mse");
    Sgd sgd(model.variables(), {.learning_rate = 0.125, .momentum = 0.5});
    options.optimizer = sgd;
    options.traced = false;
    fit(model, training(), options);
    results.push_back(model.inner.kernel().value());
    draws.push_back(random_uniform({2}));
    BOOST_TEST(model.calls.value().item<int64_t>() == 3);
    BOOST_TEST(*model.count == (failing.empty() ? 3 : 4));
  }
  BOOST_TEST(values_of(results[0]) == values_of(results[1]), boost::test_tools::per_element());
  BOOST_TEST(values_of(draws[0]) == values_of(draws[1]), boost::test_tools::per_element());
  // Twice is once too often: the error comes out, and all is as before the batch.
  const Fragile model;
  *model.failing = {1, 2};
  FitOptions options = quiet(1, "mse");
  options.traced = false;
  const Tensor before = model.inner.kernel().value();
  expect_error_begins([&] { fit(model, training(), options); }, "Unavailable: device: gone");
  BOOST_TEST(model.calls.value().item<int64_t>() == 0);
  BOOST_TEST(values_of(model.inner.kernel().value()) == values_of(before), boost::test_tools::per_element());
}

// Looks at its input's values, which no trace has.
struct Looks : Layer {
  Dense inner{3, 1, {.dtype = kFloat64}};
  Parts parts() const override { return {inner}; }
  Tensor forward(const Tensor& x) const override { return inner(sum(x).item<double>() > 1e9 ? -x : x); }
};

BOOST_AUTO_TEST_CASE(what_cannot_be_traced_runs_eagerly_and_says_why) {
  const Looks model;
  FitOptions options = quiet(2, "mse");
  options.optimizer = "sgd";
  const History history = fit(model, training(), options);
  BOOST_TEST(history["loss"].size() == 2u);
  BOOST_TEST(history.not_traced.find("fit_test.cc") != std::string::npos, history.not_traced);
  BOOST_TEST(predict(model, inputs()).shape().to_string() == "[22,1]");
}

BOOST_AUTO_TEST_CASE(shuffled_samples_are_all_there_and_in_another_order) {
  set_seed(1);
  struct Sees : Callback {
    std::vector<double> losses;
    void on_batch_end(int64_t, const Logs&) override { losses.push_back(run().batch_loss()); }
  };
  const Sequential model = dense(1);
  Sgd sgd(model.variables(), {.learning_rate = 0.0});
  FitOptions options = quiet(2, "mse");
  options.optimizer = sgd;
  options.shuffle = true;
  Sees sees;
  options.callbacks = {sees};
  const History history = fit(model, training(), options);
  BOOST_TEST(std::fabs(history["loss"][0] - history["loss"][1]) < 1e-6);
  BOOST_TEST(sees.losses[0] != sees.losses[3]);
}

BOOST_AUTO_TEST_CASE(lines_are_written_where_there_is_no_terminal) {
  const Sequential model = dense(1);
  std::string text;
  FitOptions options = quiet(2, "mse");
  options.validation = validation_numbers();
  options.progress = true;
  options.progress_bar.write = [&](std::string_view more) { text += more; };
  options.progress_bar.terminal = false;
  fit(model, training(), options);
  BOOST_TEST(text.starts_with("epoch 1/2: 3 of 3, loss "), text);
  BOOST_TEST(text.find("val_loss") != std::string::npos, text);
  BOOST_TEST(text.find("steps/s") != std::string::npos, text);
  BOOST_TEST(std::ranges::count(text, '\n') == 2, text);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
