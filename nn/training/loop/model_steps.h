// The steps of a training loop on one batch: training, evaluation and prediction, with the accumulated loss and
// metrics. Internal.
#pragma once

#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "panto/nn/metrics/metric.h"
#include "panto/nn/training/gradient_accumulator.h"
#include "panto/nn/training/loop/batches.h"
#include "panto/nn/training/loop/fit.h"
#include "panto/nn/training/loop/snapshot.h"
#include "panto/nn/training/loop/step_function.h"

namespace panto::loop {

class ModelSteps {
 public:
  // Without `trains` there is no optimizer, and the loss is optional. `model` must outlive this.
  ModelSteps(TrainedModel model, FitOptions options, bool trains);

  // One step of training, or evaluation; returns the loss (zero if there is none). If a training step fails, its
  // changes are undone and it is repeated once.
  Tensor train(const std::vector<Tensor>& batch, const std::source_location& where);
  Tensor test(const std::vector<Tensor>& batch, const std::source_location& where);
  // Predicts from the inputs, the first tensors of a batch.
  std::vector<Tensor> predict(std::span<const Tensor> batch, const std::source_location& where);

  void reset();
  // "loss", then the metrics, of the batches since `reset`.
  ProgressValues values() const;

  const FitOptions& options() const { return options_; }
  // The layout of a batch: inputs, then targets.
  Layout layout() const { return {model_.inputs(), std::ssize(outputs_)}; }
  Optimizer& optimizer() const { return *optimizer_; }
  std::vector<Variable> variables() const;
  const std::string& not_traced() const { return train_.not_traced(); }
  // From now on keeps the variables from before each train(), even if failed steps are not repeated.
  void keep_before_steps() { keeps_ = true; }
  // As TrainingRun::find_not_finite.
  std::string find_not_finite();

 private:
  std::vector<Tensor> train_step(std::span<const Tensor> batch);
  std::vector<Tensor> test_step(std::span<const Tensor> batch);
  std::vector<Variable> all_variables() const;
  // The results of one output.
  struct Result {
    Tensor prediction, target, weights, loss;
  };
  bool has_loss() const;
  Tensor weights_of(std::span<const Tensor> batch, size_t output, bool training) const;
  // Runs the model on a batch and computes the losses.
  std::vector<Result> results_of(std::span<const Tensor> batch, bool training) const;
  Tensor total_of(const std::vector<Result>& results) const;
  void apply(std::vector<Gradient> gradients);
  void add_up(const Tensor& loss, std::span<const Tensor> batch, const std::vector<Result>& results) const;

  TrainedModel model_;
  FitOptions options_;
  std::shared_ptr<Optimizer> optimizer_;
  std::vector<Variable> trained_;
  std::optional<size_t> listed_;  // the number of variables that the model had; all of them are trained
  std::optional<GradientAccumulator> accumulator_;
  std::optional<LossScale> scale_;
  std::vector<TrainingOutput> outputs_;  // at least one
  metrics::Mean loss_;
  std::vector<metrics::Mean> losses_;  // per output, if there are several
  std::vector<std::string> metric_names_;
  StepFunction train_, test_, predict_;
  bool keeps_;
  Snapshot before_;
  std::vector<Tensor> latest_;  // the batch that ran after `before_` was taken
  std::source_location latest_where_;
};

}  // namespace panto::loop
