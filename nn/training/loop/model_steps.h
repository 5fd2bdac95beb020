// The steps of a training loop: of a batch, for training, evaluation and prediction, with what adds up over them.
// Internal.
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
  // Without `trains` there is no optimizer, and perhaps no loss. `model` outlives this.
  ModelSteps(TrainedModel model, FitOptions options, bool trains);

  // One step of training, or evaluation: the loss (zero where there is none). What training fails at is put back and
  // done once more.
  Tensor train(const std::vector<Tensor>& batch, const std::source_location& where);
  Tensor test(const std::vector<Tensor>& batch, const std::source_location& where);
  // Of the inputs, the first of a batch.
  std::vector<Tensor> predict(std::span<const Tensor> batch, const std::source_location& where);

  void reset();
  // "loss", then the metrics, of the batches since `reset`.
  ProgressValues values() const;

  const FitOptions& options() const { return options_; }
  // What a batch has: so many inputs, then so many targets.
  Layout layout() const { return {model_.inputs(), std::ssize(outputs_)}; }
  Optimizer& optimizer() const { return *optimizer_; }
  std::vector<Variable> variables() const;
  const std::string& not_traced() const { return train_.not_traced(); }
  // From now on what train() begins with is kept, even if it is not to be repeated.
  void keep_before_steps() { keeps_ = true; }
  // As TrainingRun's.
  std::string find_not_finite();

 private:
  std::vector<Tensor> train_step(std::span<const Tensor> batch);
  std::vector<Tensor> test_step(std::span<const Tensor> batch);
  std::vector<Variable> all_variables() const;
  // Of one output.
  struct Result {
    Tensor prediction, target, weights, loss;
  };
  bool has_loss() const;
  Tensor weights_of(std::span<const Tensor> batch, size_t output, bool training) const;
  // What the model gives for a batch, and the losses of it.
  std::vector<Result> results_of(std::span<const Tensor> batch, bool training) const;
  Tensor total_of(const std::vector<Result>& results) const;
  void apply(std::vector<Gradient> gradients);
  void add_up(const Tensor& loss, std::span<const Tensor> batch, const std::vector<Result>& results) const;

  TrainedModel model_;
  FitOptions options_;
  std::shared_ptr<Optimizer> optimizer_;
  std::vector<Variable> trained_;
  std::optional<size_t> listed_;  // how many variables the model had, all of which are trained
  std::optional<GradientAccumulator> accumulator_;
  std::optional<LossScale> scale_;
  std::vector<TrainingOutput> outputs_;  // one at least
  metrics::Mean loss_;
  std::vector<metrics::Mean> losses_;  // of outputs, where there are several
  std::vector<std::string> metric_names_;
  StepFunction train_, test_, predict_;
  bool keeps_;
  Snapshot before_;
  std::vector<Tensor> latest_;  // the batch behind `before_`
  std::source_location latest_where_;
};

}  // namespace panto::loop
