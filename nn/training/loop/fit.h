// fit, evaluate, predict: training in one call, as Keras's model.fit.
//
//   Sequential model(Dense(784, 128, {.activation = relu}), Dense(128, 10));
//   Adam adam(model.variables());
//   History history = fit(model, {images, labels}, {
//       .epochs = 5,
//       .validation = {test_images, test_labels},
//       .callbacks = {EarlyStopping({.patience = 2})},
//       .loss = {sparse_categorical_cross_entropy, {.from_logits = true}},
//       .optimizer = adam,                               // or "adam"
//       .metrics = {metrics::SparseCategoricalAccuracy()}});   // or {"accuracy"}
//   plot({{"training", history["loss"]}, {"validation", history["val_loss"]}});
//
// A model of several inputs or outputs names the layer that has its variables, and a function that calls it:
//
//   const TrainedModel two(model, 2, [&](const std::vector<Tensor>& x) { return model.price_and_sold(x[0], x[1]); });
//   fit(two, {x1, x2, y1, y2}, {.outputs = {{.name = "price", .loss = "mse"},
//                                           {.name = "sold", .loss = "binary_crossentropy"}}});
//
//   Logs logs = evaluate(model, {test_images, test_labels}, {.loss = ..., .metrics = {"accuracy"}});
//   Tensor logits = predict(model, test_images);
//
// Your own loop takes the same step with a Trainer:
//
//   Trainer trainer(model, {.loss = "mse", .optimizer = adam});
//   for (int epoch = 0; epoch < 5; ++epoch) {
//     trainer.reset_metrics();
//     for (auto [x, y] : batches) trainer.train_on_batch({x, y});
//     std::cout << trainer.logs() << '\n';
//   }
//
// Numbers are Keras's: the loss of an epoch is the mean of its batches' losses, weighted by batch size, and includes
// the losses that layers add (add_loss) and regularization; metrics accumulate over the epoch. State that layers update
// in training (BatchNorm) is kept. A step is traced and runs as a graph; if it cannot be traced it runs eagerly, and a
// warning says why.
//
// A step that fails changes nothing: its changes are undone, and it is repeated once. If it fails again, the error
// reaches the caller.
// Thread-safety: one call at a time for a model.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/base/shared_impl.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/data/dataset.h"
#include "panto/nn/layers/layer.h"
#include "panto/nn/metrics/metric.h"
#include "panto/nn/training/loop/callback.h"
#include "panto/nn/training/loss.h"
#include "panto/nn/training/loss_scale.h"
#include "panto/nn/training/optimizers/optimizer.h"
#include "panto/nn/training/progress.h"

namespace panto {

// The model to train: a layer of one input and one output, a FunctionalModel, or a function of several inputs whose
// variables are a layer's. They must outlive the training.
class PANTO_EXPORT TrainedModel {
 public:
  // Takes the inputs and returns the outputs.
  using Function = Callable<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;
  TrainedModel(const Layer& model);  // NOLINT(google-explicit-constructor): fit(model, data)
  // Throws InvalidArgument unless there is at least one input.
  TrainedModel(const Layer& variables, int64_t inputs, Function function);
  const Layer& layer() const { return *layer_; }
  int64_t inputs() const { return inputs_; }
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const;

 private:
  const Layer* layer_;
  int64_t inputs_ = 1;
  Function function_;
};

// Inputs, targets, and optional weights of samples.
class PANTO_EXPORT TrainingData {
 public:
  // NOLINTBEGIN(google-explicit-constructor): fit(model, {x, y})
  TrainingData();  // none
  // A Dataset whose elements are batches: x; (x, y); (x, y, weights). Several inputs come first, then the targets of
  // all outputs, then one tensor of weights for all outputs, or one for each.
  TrainingData(Dataset batches);
  // All samples, along the first dimension: x; {x, y}; {x, y, weights}.
  TrainingData(Tensor x);
  TrainingData(std::initializer_list<Tensor> tensors);
  TrainingData(std::vector<Tensor> tensors);
  // NOLINTEND(google-explicit-constructor)
  bool defined() const { return !tensors_.empty() || batches_.has_value(); }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  const std::optional<Dataset>& batches() const { return batches_; }

 private:
  std::vector<Tensor> tensors_;
  std::optional<Dataset> batches_;
};

// The loss to minimize: one of this library with its options, your own, or a Keras name.
class PANTO_EXPORT TrainingLoss {
 public:
  // Takes predictions, targets and the samples' weights (undefined without); returns a scalar, or a value for each
  // sample.
  using Function = Callable<Tensor(const Tensor& prediction, const Tensor& target, const Tensor& weights)>;
  TrainingLoss() = default;
  // NOLINTBEGIN(google-explicit-constructor): .loss = huber
  // "mse", "mean_squared_error", "sparse_categorical_crossentropy" (of probabilities), ... Throws NotFound, naming the
  // known losses.
  TrainingLoss(const char* name);
  TrainingLoss(const std::string& name);
  // .loss = huber; .loss = {sparse_categorical_cross_entropy, {.from_logits = true}}.
  template <class Options>
  TrainingLoss(Tensor (*loss)(Arg, Arg, const Options&), std::type_identity_t<Options> options = {})
      : TrainingLoss(Function([loss, options](const Tensor& p, const Tensor& t, const Tensor& weights) {
          Options now = options;
          if (weights.defined()) now.weights = weights;
          return loss(p, t, now);
        })) {}
  // A function of (prediction, target). If it returns a value for each sample, these are multiplied by the weights and
  // averaged.
  template <class F>
    requires(std::is_class_v<F> && !std::is_same_v<F, Function> &&
             std::is_invocable_r_v<Tensor, F&, const Tensor&, const Tensor&>)
  TrainingLoss(F f) : TrainingLoss(of_samples([f](const Tensor& p, const Tensor& t) { return f(p, t); })) {}
  TrainingLoss(Function function);
  // NOLINTEND(google-explicit-constructor)
  bool defined() const { return static_cast<bool>(function_); }
  // Returns a scalar.
  Tensor operator()(const Tensor& prediction, const Tensor& target, const Tensor& weights) const;

 private:
  static Function of_samples(Callable<Tensor(const Tensor& prediction, const Tensor& target)> function);
  Function function_;
};

// An optimizer, which must outlive the training, or the name of one with Keras's default options: "adam", "sgd",
// "rmsprop", "adamw", "adagrad", "adadelta", "adamax", "nadam", "ftrl", "lion", "adafactor".
class PANTO_EXPORT TrainingOptimizer {
 public:
  TrainingOptimizer() = default;
  // NOLINTBEGIN(google-explicit-constructor): .optimizer = adam
  TrainingOptimizer(Optimizer& optimizer);
  TrainingOptimizer(std::shared_ptr<Optimizer> optimizer);
  // Throws NotFound, naming the known optimizers.
  TrainingOptimizer(const char* name);
  TrainingOptimizer(const std::string& name);
  // NOLINTEND(google-explicit-constructor)
  bool defined() const { return optimizer_.get() != nullptr || !name_.empty(); }
  // Returns the given optimizer, or a new one for these variables.
  std::shared_ptr<Optimizer> make(const std::vector<Variable>& variables) const;

 private:
  SharedImpl<Optimizer> optimizer_;
  std::string name_;
};

// A metric of predictions and targets, or a Keras name: "accuracy" (the shapes decide which accuracy), "mse", "mae",
// ...
class PANTO_EXPORT TrainingMetric {
 public:
  // NOLINTBEGIN(google-explicit-constructor): .metrics = {metrics::MeanSquaredError(), "mae"}
  template <class M>
    requires std::derived_from<M, metrics::PredictionMetric>
  TrainingMetric(M metric)
      : metric_(std::shared_ptr<metrics::PredictionMetric>(std::make_shared<M>(std::move(metric)))) {}
  // Throws NotFound, naming the known metrics.
  TrainingMetric(const char* name);
  TrainingMetric(const std::string& name);
  // NOLINTEND(google-explicit-constructor)
  const metrics::PredictionMetric& metric() const { return *metric_; }

 private:
  SharedImpl<metrics::PredictionMetric> metric_;
};

// One output of a model with several.
struct TrainingOutput {
  std::string name;  // prefix of its loss "NAME_loss" and of its metrics "NAME_mae", ...
  TrainingLoss loss = {};
  double weight = 1;  // factor of its loss
  std::vector<TrainingMetric> metrics = {};
  std::vector<TrainingMetric> weighted_metrics = {};
};

struct FitOptions {
  int64_t epochs = 1;
  int64_t batch_size = 32;       // for tensors; a Dataset has its own
  TrainingData validation = {};  // evaluated after epochs: "val_loss", ...
  double validation_split = 0;   // use this share of the tensors, the last samples, for validation
  int64_t validation_freq = 1;   // validate every this many epochs
  int64_t validation_steps = 0;  // batches; 0: all
  std::vector<CallbackRef> callbacks = {};
  TrainingLoss loss = {};
  std::vector<TrainingOutput> outputs = {};  // for a model of several outputs, instead of loss and metrics
  TrainingOptimizer optimizer = {};          // none: "rmsprop", as Keras
  std::vector<TrainingMetric> metrics = {};
  std::vector<TrainingMetric> weighted_metrics = {};           // with the samples' weights
  std::vector<std::pair<int64_t, double>> class_weight = {};   // {{0, 1}, {1, 5}}: of labels, or of one-hot targets
  bool shuffle = true;                                         // tensors, in a new order in each epoch
  int64_t steps_per_epoch = 0;                                 // batches; 0: all. The next epoch continues after them
  int64_t initial_epoch = 0;                                   // of a continued run
  double clip_norm = 0, clip_value = 0, global_clip_norm = 0;  // of gradients (clipping.h); 0: as they are
  int64_t gradient_accumulation_steps = 1;                     // batches per step of the optimizer
  // Loss scaling, for layers that compute with float16 (loss_scale.h); none: off.
  std::optional<LossScaleOptions> loss_scale = {};
  Callable<Tensor()> regularization = nullptr;  // returns a scalar that is added to the loss
  bool traced = true;                           // false: eagerly
  bool repeat_failed_step = true;  // keeps a copy of the variables before each step, which takes time and memory
  bool progress = true;            // a bar on a terminal; a line for each epoch elsewhere
  ProgressOptions progress_bar = {};
};

// The results of a training, epoch by epoch.
struct PANTO_EXPORT History {
  std::vector<int64_t> epochs;
  // By name; epochs without a value (validation_freq) are missing.
  std::vector<std::pair<std::string, std::vector<double>>> values;
  std::string stopped;     // why it ended before the last epoch; empty: it ran to the end
  std::string not_traced;  // why it ran eagerly; empty: it ran as a graph

  bool contains(std::string_view name) const;
  // Throws NotFound, naming the existing ones.
  const std::vector<double>& operator[](std::string_view name) const;
};

struct EvaluateOptions {
  int64_t batch_size = 32;
  TrainingLoss loss = {};
  std::vector<TrainingOutput> outputs = {};
  std::vector<TrainingMetric> metrics = {};
  std::vector<TrainingMetric> weighted_metrics = {};
  Callable<Tensor()> regularization = nullptr;
  int64_t steps = 0;  // batches; 0: all
  bool traced = true;
  bool progress = false;
  ProgressOptions progress_bar = {};
};

struct PredictOptions {
  int64_t batch_size = 32;
  int64_t steps = 0;  // batches; 0: all
  bool traced = true;
};

// A model with its training options. The model must outlive the Trainer.
class PANTO_EXPORT Trainer {
 public:
  // Throws InvalidArgument for options out of range, a missing loss, and options that exclude each other (class weights
  // with several outputs; a loss scale with gradient accumulation); FailedPrecondition inside a trace.
  Trainer(const TrainedModel& model, FitOptions options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Trains options.epochs epochs. Throws InvalidArgument for data without batches, without targets, or with different
  // numbers of samples, and what the model, the loss and callbacks throw. Errors of layers whose inputs do not fit name
  // the layer.
  History fit(const TrainingData& data, std::source_location where = std::source_location::current());
  // The loss and the metrics, as validation computes them.
  Logs evaluate(const TrainingData& data, std::source_location where = std::source_location::current());
  Tensor predict(const TrainingData& data, std::source_location where = std::source_location::current());
  // For a model of several outputs.
  std::vector<Tensor> predict_all(const TrainingData& data,
                                  std::source_location where = std::source_location::current());

  // One step on one batch, {x, y} or {x, y, weights}; returns its loss, a scalar.
  Tensor train_on_batch(const std::vector<Tensor>& batch, std::source_location where = std::source_location::current());
  Tensor test_on_batch(const std::vector<Tensor>& batch, std::source_location where = std::source_location::current());
  // The loss and metrics over the batches since reset_metrics.
  Logs logs() const;
  void reset_metrics();
  // Why steps run eagerly; empty: they are traced, or none has run yet.
  std::string not_traced() const;
  Optimizer& optimizer() const;
  // All variables that training changes: the model's, the optimizer's, and accumulated gradients.
  std::vector<Variable> variables() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Trainer(model, options).fit(data).
PANTO_EXPORT History fit(const TrainedModel& model, const TrainingData& data, const FitOptions& options,
                         std::source_location where = std::source_location::current());
// The loss, if given, and the metrics. Throws InvalidArgument without either, and as Trainer.
PANTO_EXPORT Logs evaluate(const TrainedModel& model, const TrainingData& data, const EvaluateOptions& options,
                           std::source_location where = std::source_location::current());
// The model's output for all samples, computed batch by batch and concatenated. Inputs are the first tensor of `data`,
// or the first tensors of a Dataset's elements. Throws InvalidArgument if there are none.
PANTO_EXPORT Tensor predict(const TrainedModel& model, const TrainingData& data, const PredictOptions& options,
                            std::source_location where = std::source_location::current());
PANTO_EXPORT Tensor predict(const TrainedModel& model, const TrainingData& data,
                            std::source_location where = std::source_location::current());

// All outputs of a model, in the same way. `predict` throws InvalidArgument for a model with several.
PANTO_EXPORT std::vector<Tensor> predict_all(const TrainedModel& model, const TrainingData& data,
                                             const PredictOptions& options = {},
                                             std::source_location where = std::source_location::current());

}  // namespace panto
