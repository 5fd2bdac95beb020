#include "panto/nn/training/loop/model_steps.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <set>

#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/random/random.h"
#include "panto/nn/layers/core/losses.h"
#include "panto/nn/training/clipping.h"
#include "panto/nn/training/options.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto::loop {
namespace {

void at_least(const char* what, int64_t least, int64_t value) {
  if (value < least) invalid("{}: expected at least {}, got {}", what, least, value);
}

FitOptions checked(FitOptions options) {
  at_least("epochs", 0, options.epochs);
  at_least("batch_size", 1, options.batch_size);
  at_least("validation_freq", 1, options.validation_freq);
  at_least("validation_steps", 0, options.validation_steps);
  at_least("steps_per_epoch", 0, options.steps_per_epoch);
  at_least("initial_epoch", 0, options.initial_epoch);
  at_least("gradient_accumulation_steps", 1, options.gradient_accumulation_steps);
  not_negative("clip_norm", options.clip_norm);
  not_negative("clip_value", options.clip_value);
  not_negative("global_clip_norm", options.global_clip_norm);
  expect_share("validation_split", options.validation_split);
  for (const auto& [label, weight] : options.class_weight) {
    at_least("label of class_weight", 0, label);
    not_negative("class_weight", weight);
  }
  if (symbolic_recorder() != nullptr) {
    fail(Code::kFailedPrecondition, "training: expected no trace around it, got one (a loop of steps has no graph)");
  }
  return options;
}

// The outputs: those of the options, or the single one that options.loss and options.metrics describe.
std::vector<TrainingOutput> outputs_of(const FitOptions& options) {
  if (options.outputs.empty()) return {{"", options.loss, 1, options.metrics, options.weighted_metrics}};
  if (options.loss.defined() || !options.metrics.empty() || !options.weighted_metrics.empty()) {
    invalid("outputs: expected them without loss and metrics of one, got both");
  }
  if (!options.class_weight.empty() && options.outputs.size() > 1) {
    invalid("class_weight: expected a model of one output, got {}", options.outputs.size());
  }
  std::set<std::string> names;
  for (const TrainingOutput& output : options.outputs) {
    not_negative("weight", output.weight);
    if (options.outputs.size() > 1 && (output.name.empty() || !names.insert(output.name).second)) {
      invalid("outputs: expected a name of its own for each, got '{}'", printable(output.name));
    }
  }
  return options.outputs;
}

std::string name_in(const TrainingOutput& output, std::string_view what) {
  return output.name.empty() ? std::string(what) : fmt::format("{}_{}", output.name, what);
}

// The names of the metrics, made distinct from "loss", the outputs' losses and each other.
std::vector<std::string> names_of(const std::vector<TrainingOutput>& outputs) {
  std::set<std::string> taken{"loss"};
  if (outputs.size() > 1) {
    for (const TrainingOutput& output : outputs) taken.insert(name_in(output, "loss"));
  }
  std::vector<std::string> names;
  for (const TrainingOutput& output : outputs) {
    for (const auto* list : {&output.metrics, &output.weighted_metrics}) {
      for (const TrainingMetric& m : *list) {
        std::string name = name_in(output, m.metric().name());
        for (int k = 1; !taken.insert(name).second; ++k)
          name = fmt::format("{}_{}", name_in(output, m.metric().name()), k);
        names.push_back(std::move(name));
      }
    }
  }
  return names;
}

// Adapts targets as Keras does: [batch] becomes [batch, 1] if predictions are [batch, 1], and integer labels [batch, 1]
// become [batch] if predictions are [batch, classes].
Tensor target_beside(const Tensor& prediction, const Tensor& target) {
  const PartialShape& p = prediction.partial_shape();
  const PartialShape& t = target.partial_shape();
  if (!p.known_rank() || !t.known_rank() || p.rank() == 0) return target;
  const int64_t last = p.dim(p.rank() - 1);
  if (t.rank() + 1 == p.rank() && last == 1) return expand_dims(target, -1);
  const bool labels = target.dtype() == kInt32 || target.dtype() == kInt64;
  if (labels && t.rank() == p.rank() && t.rank() > 1 && t.dim(t.rank() - 1) == 1 && last > 1) {
    return squeeze(target, {.squeeze_dims = {-1}});
  }
  return target;
}

std::vector<Gradient> clipped(std::vector<Gradient> gradients, const FitOptions& options) {
  if (options.clip_norm > 0) gradients = clip_by_norm(gradients, options.clip_norm);
  if (options.global_clip_norm > 0) gradients = clip_by_global_norm(gradients, options.global_clip_norm);
  if (options.clip_value > 0) gradients = clip_by_value(gradients, -options.clip_value, options.clip_value);
  return gradients;
}

// The weight of each sample by its label, or by the argmax of its one-hot targets.
Tensor class_weights(const Tensor& target, const std::vector<std::pair<int64_t, double>>& by_class) {
  const PartialShape& shape = target.partial_shape();
  if (!shape.known_rank() || shape.rank() > 2 || shape.rank() < 1) {
    invalid("class_weight: expected targets [batch], [batch, 1] or [batch, classes], got {}", shape.to_string());
  }
  Tensor labels = target;
  if (shape.rank() == 2) labels = shape.dim(1) == 1 ? reshape(target, {-1}) : argmax(target, 1);
  labels = cast(labels, kInt64);
  Tensor weights = ones_like(cast(labels, kFloat32));
  for (const auto& [label, weight] : by_class) weights = where(labels == label, static_cast<float>(weight), weights);
  return weights;
}

}  // namespace

ModelSteps::ModelSteps(TrainedModel model, FitOptions options, bool trains)
    : model_(std::move(model)),
      options_(checked(std::move(options))),
      outputs_(outputs_of(options_)),
      loss_({.name = "loss"}),
      metric_names_(names_of(outputs_)),
      train_(
          "fit", [this](std::span<const Tensor> batch) { return train_step(batch); }, options_.traced),
      test_(
          "evaluate", [this](std::span<const Tensor> batch) { return test_step(batch); }, options_.traced),
      predict_(
          "predict",
          [this](std::span<const Tensor> batch) {
            const TrainingScope training(false);
            return model_({batch.begin(), batch.end()});
          },
          options_.traced),
      keeps_(options_.repeat_failed_step) {
  if (outputs_.size() > 1) {
    for (const TrainingOutput& output : outputs_)
      losses_.emplace_back(metrics::MetricOptions{.name = name_in(output, "loss")});
  }
  if (!trains) return;
  if (!has_loss()) {
    invalid(
        "fit: expected a loss, got none: {{.loss = {{sparse_categorical_cross_entropy, {{.from_logits = true}}}}}}");
  }
  const Layer& layer = model_.layer();
  const std::vector<Variable> variables = layer.variables();
  if (variables.empty()) invalid("fit: expected a model with variables to train, got none in {}", layer.to_string());
  if (!options_.optimizer.defined()) options_.optimizer = "rmsprop";
  optimizer_ = options_.optimizer.make(variables);
  optimizer_->build(optimizer_->variables());  // before a step is traced
  trained_ = optimizer_->variables();
  if (options_.loss_scale) {
    if (options_.gradient_accumulation_steps > 1) {
      invalid("loss_scale: expected gradients that do not accumulate, got both");
    }
    scale_.emplace(*options_.loss_scale);
  }
  if (optimizer_->variables().size() == variables.size()) listed_ = variables.size();
  if (options_.gradient_accumulation_steps > 1) {
    accumulator_.emplace(*optimizer_, GradientAccumulatorOptions{.steps = options_.gradient_accumulation_steps});
  }
}

// ---- A step ---------------------------------------------------------------------------------------------------------

bool ModelSteps::has_loss() const {
  return std::ranges::any_of(outputs_, [](const TrainingOutput& output) { return output.loss.defined(); });
}

Tensor ModelSteps::weights_of(std::span<const Tensor> batch, size_t output, bool training) const {
  const auto [inputs, targets] = layout();
  const auto first = static_cast<size_t>(inputs + targets);
  Tensor weights;
  if (batch.size() == first + 1) weights = batch[first];
  if (batch.size() > first + 1) weights = batch[first + output];
  if (!training || options_.class_weight.empty()) return weights;
  const Tensor by_class = class_weights(batch[static_cast<size_t>(inputs)], options_.class_weight);
  return weights.defined() ? cast(weights, kFloat32) * by_class : by_class;
}

std::vector<ModelSteps::Result> ModelSteps::results_of(std::span<const Tensor> batch, bool training) const {
  const auto inputs = static_cast<size_t>(model_.inputs());
  const std::vector<Tensor> predictions = model_({batch.begin(), batch.begin() + model_.inputs()});
  if (predictions.size() != outputs_.size()) {
    invalid("model: expected {} outputs, as the options name, got {}", outputs_.size(), predictions.size());
  }
  std::vector<Result> results;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Result r{predictions[i], target_beside(predictions[i], batch[inputs + i]), weights_of(batch, i, training),
             Tensor()};
    if (outputs_[i].loss.defined()) {
      r.loss = with_context([&] { return "in the " + name_in(outputs_[i], "loss"); },
                            [&] { return outputs_[i].loss(r.prediction, r.target, r.weights); });
    }
    results.push_back(std::move(r));
  }
  return results;
}

Tensor ModelSteps::total_of(const std::vector<Result>& results) const {
  Tensor total;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].loss.defined()) continue;
    const double weight = outputs_[i].weight;
    Tensor own = weight == 1 ? results[i].loss : results[i].loss * cast(tensor(weight), results[i].loss.dtype());
    if (total.defined() && own.dtype() != total.dtype()) own = cast(own, total.dtype());
    total = total.defined() ? total + own : own;
  }
  return total;
}

// Adds penalties and regularization to the loss of the predictions.
static Tensor with_penalties(Tensor loss, const Layer& model, const CollectLosses& penalties,
                             const Callable<Tensor()>& regularization) {
  for (const std::vector<Tensor>& list : {penalties.losses(), model.regularization_losses()}) {
    for (const Tensor& penalty : list) {
      loss = loss + (penalty.dtype() == loss.dtype() ? penalty : cast(penalty, loss.dtype()));
    }
  }
  if (!regularization) return loss;
  Tensor more;
  {
    const CallerScope own(nullptr);
    more = regularization();
  }
  if (!more.defined() || more.partial_shape().rank() > 0) invalid("regularization: expected a scalar, got another");
  return loss + (more.dtype() == loss.dtype() ? more : cast(more, loss.dtype()));
}

void ModelSteps::add_up(const Tensor& loss, std::span<const Tensor> batch, const std::vector<Result>& results) const {
  // As Keras: the total loss is weighted by batch size; losses of single outputs are averaged over batches.
  loss_.update_state(loss, {.weights = cast(shape(batch[0])[0], kFloat32)});
  for (size_t i = 0; i < losses_.size(); ++i) {
    if (results[i].loss.defined()) losses_[i].update_state(results[i].loss);
  }
  size_t next = 0;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Result& r = results[i];
    const auto each = [&](const std::vector<TrainingMetric>& list, const Tensor& by) {
      for (const TrainingMetric& m : list) {
        with_context([&] { return fmt::format("in metric '{}'", printable(metric_names_[next])); },
                     [&] { m.metric().update_state(r.prediction, r.target, {.weights = by}); });
        ++next;
      }
    };
    each(outputs_[i].metrics, Tensor());
    each(outputs_[i].weighted_metrics, r.weights);
  }
}

void ModelSteps::apply(std::vector<Gradient> gradients) {
  if (std::ranges::none_of(gradients, [](const Gradient& g) { return g.defined(); })) {
    invalid("fit: expected a loss that depends on the optimizer's variables, got one that does not");
  }
  if (scale_) {
    scale_->apply(*optimizer_, gradients,
                  [this](std::vector<Gradient> unscaled) { return clipped(std::move(unscaled), options_); });
    return;
  }
  gradients = clipped(std::move(gradients), options_);
  if (accumulator_) {
    accumulator_->apply(gradients);
  } else {
    optimizer_->apply(gradients);
  }
}

std::vector<Tensor> ModelSteps::train_step(std::span<const Tensor> batch) {
  const TrainingScope training;
  Tensor loss;
  std::vector<Result> results;
  std::vector<Gradient> gradients;
  {
    const CollectLosses penalties;
    GradientTape tape({.watch_variables = false});
    for (const Variable& v : trained_) tape.watch(v);
    results = results_of(batch, true);
    if (listed_ && model_.layer().variables().size() != *listed_) {
      failf(Code::kFailedPrecondition,
            "fit: expected a model with all of its {} variables, got one that makes more when it is called: call it "
            "once before",
            *listed_);
    }
    loss = with_penalties(total_of(results), model_.layer(), penalties, options_.regularization);
    gradients = tape.sparse_gradient(scale_ ? scale_->scale_loss(loss) : loss, trained_);
  }
  apply(std::move(gradients));
  model_.layer().apply_constraints();
  add_up(loss, batch, results);
  return {loss};
}

std::vector<Tensor> ModelSteps::test_step(std::span<const Tensor> batch) {
  const TrainingScope training(false);
  const CollectLosses penalties;
  const std::vector<Result> results = results_of(batch, false);
  Tensor loss =
      has_loss() ? with_penalties(total_of(results), model_.layer(), penalties, options_.regularization) : tensor(0.0F);
  add_up(loss, batch, results);
  return {loss};
}

// ---- Running steps -------------------------------------------------------------------------------------------------

std::vector<Variable> ModelSteps::variables() const {
  std::vector<Variable> all = model_.layer().variables();
  const auto add = [&](const std::vector<Variable>& more) { all.insert(all.end(), more.begin(), more.end()); };
  add(model_.layer().state());
  if (optimizer_ != nullptr) {
    // The optimizer may train variables that are not the model's.
    std::set<int64_t> known;
    for (const Variable& v : all) known.insert(v.handle().id());
    for (const Variable& v : trained_) {
      if (known.insert(v.handle().id()).second) all.push_back(v);
    }
    add(optimizer_->slots());
  }
  if (accumulator_) add(accumulator_->slots());
  if (scale_) add(scale_->slots());
  return all;
}

std::vector<Variable> ModelSteps::all_variables() const {
  std::vector<Variable> all = variables();
  const auto add = [&](const std::vector<Variable>& more) { all.insert(all.end(), more.begin(), more.end()); };
  add(loss_.state());
  for (const metrics::Mean& loss : losses_) add(loss.state());
  for (const TrainingOutput& output : outputs_) {
    for (const TrainingMetric& m : output.metrics) add(m.metric().state());
    for (const TrainingMetric& m : output.weighted_metrics) add(m.metric().state());
  }
  all.push_back(random_generator());
  return all;
}

Tensor ModelSteps::train(const std::vector<Tensor>& batch, const std::source_location& where) {
  const auto step = [&] { return from_caller(where, [&] { return train_(batch)[0]; }); };
  if (!keeps_) return step();
  before_.take(all_variables());
  latest_ = batch;
  latest_where_ = where;
  if (!options_.repeat_failed_step) return step();
  std::string fault;
  try {
    return step();
  } catch (const Error& error) {
    if (error.code() == Code::kCancelled) throw;
    fault = error.what();
  } catch (const std::bad_alloc&) {
    fault = "no memory";
  }
  before_.restore();
  try {
    Tensor loss = step();
    log_warn(fmt::format("fit: a step failed, and was done once more: {}", fault));
    return loss;
  } catch (...) {
    before_.restore();
    throw;
  }
}

Tensor ModelSteps::test(const std::vector<Tensor>& batch, const std::source_location& where) {
  return from_caller(where, [&] { return test_(batch)[0]; });
}

std::vector<Tensor> ModelSteps::predict(std::span<const Tensor> batch, const std::source_location& where) {
  return from_caller(where, [&] { return predict_(batch.subspan(0, static_cast<size_t>(model_.inputs()))); });
}

void ModelSteps::reset() {
  loss_.reset_state();
  for (const metrics::Mean& loss : losses_) loss.reset_state();
  for (const TrainingOutput& output : outputs_) {
    for (const TrainingMetric& m : output.metrics) m.metric().reset_state();
    for (const TrainingMetric& m : output.weighted_metrics) m.metric().reset_state();
  }
}

ProgressValues ModelSteps::values() const {
  const RecorderPause pause;
  ProgressValues values;
  const auto number = [](const metrics::Mean& mean) { return cast(mean.result(), kFloat64).item<double>(); };
  if (has_loss()) values.emplace_back("loss", number(loss_));
  for (size_t i = 0; i < losses_.size(); ++i) {
    if (outputs_[i].loss.defined()) values.emplace_back(name_in(outputs_[i], "loss"), number(losses_[i]));
  }
  size_t next = 0;
  for (const TrainingOutput& output : outputs_) {
    for (const auto* list : {&output.metrics, &output.weighted_metrics}) {
      for (const TrainingMetric& m : *list) {
        const std::vector<double> numbers = cast(m.metric().result(), kFloat64).to_vector<double>();
        const std::string& name = metric_names_[next++];
        for (size_t k = 0; k < numbers.size(); ++k) {
          values.emplace_back(numbers.size() == 1 ? name : fmt::format("{}[{}]", name, k), numbers[k]);
        }
      }
    }
  }
  return values;
}

std::string ModelSteps::find_not_finite() {
  if (!before_.taken()) return "";
  before_.restore();
  for (size_t i = 0; i < latest_.size(); ++i) {
    if (const auto bad = not_finite(latest_[i]))
      return fmt::format("the batch's {} have a {}", name_of(i, layout()), *bad);
  }
  for (const Variable& v : variables()) {
    if (const auto bad = not_finite(v.value())) return fmt::format("variable '{}' has a {}", printable(v.name()), *bad);
  }
  std::string found;
  {
    const FiniteWatch watch;
    try {
      from_caller(latest_where_, [&] { train_.run_eagerly(latest_); });
    } catch (const Error& error) {
      found = error.what();
    }
    if (!watch.found().empty()) found = watch.found();
  }
  before_.restore();
  return found;
}

}  // namespace panto::loop
