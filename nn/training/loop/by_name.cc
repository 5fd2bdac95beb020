// Losses, optimizers and metrics by their Keras names.
#include <algorithm>
#include <initializer_list>
#include <ranges>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/nn/metrics/accuracy.h"
#include "panto/nn/metrics/auc.h"
#include "panto/nn/metrics/confusion.h"
#include "panto/nn/metrics/means.h"
#include "panto/nn/metrics/regression.h"
#include "panto/nn/training/loop/fit.h"
#include "panto/nn/training/losses/classification.h"
#include "panto/nn/training/losses/loss_parts.h"
#include "panto/nn/training/losses/regression.h"
#include "panto/nn/training/optimizer.h"

namespace panto {
namespace {

template <class Row>
const Row& named(const char* what, const std::vector<Row>& rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &Row::name);
  if (found != rows.end()) return *found;
  std::string all;
  for (const Row& row : rows) all.append(all.empty() ? "" : ", ").append(row.name);
  failf(Code::kNotFound, "{}: expected one of {}, got '{}'", what, whole(all), name);
}

// ---- Losses --------------------------------------------------------------------------------------------------------

struct NamedLoss {
  std::string name;
  TrainingLoss loss;
};

const std::vector<NamedLoss>& losses() {
  static const auto* const all = new std::vector<NamedLoss>{
      {"mse", mean_squared_error},
      {"mean_squared_error", mean_squared_error},
      {"mae", mean_absolute_error},
      {"mean_absolute_error", mean_absolute_error},
      {"mape", mean_absolute_percentage_error},
      {"mean_absolute_percentage_error", mean_absolute_percentage_error},
      {"msle", mean_squared_logarithmic_error},
      {"mean_squared_logarithmic_error", mean_squared_logarithmic_error},
      {"huber", huber},
      {"log_cosh", log_cosh},
      {"poisson", poisson},
      {"kl_divergence", kl_divergence},
      {"cosine_similarity", cosine_similarity},
      {"hinge", hinge},
      {"squared_hinge", squared_hinge},
      {"categorical_hinge", categorical_hinge},
      {"binary_crossentropy", binary_cross_entropy},
      {"categorical_crossentropy", categorical_cross_entropy},
      {"sparse_categorical_crossentropy", sparse_categorical_cross_entropy},
      {"binary_focal_crossentropy", binary_focal_cross_entropy},
      {"categorical_focal_crossentropy", categorical_focal_cross_entropy},
  };
  return *all;
}

// ---- Optimizers ----------------------------------------------------------------------------------------------------

struct NamedOptimizer {
  std::string name;
  std::shared_ptr<Optimizer> (*make)(const std::vector<Variable>& variables);
};

template <class O, class Options>
std::shared_ptr<Optimizer> with_defaults(const std::vector<Variable>& variables) {
  return std::make_shared<O>(variables, Options{});
}
std::shared_ptr<Optimizer> sgd(const std::vector<Variable>& variables) {
  constexpr double kKerasRate = 0.01;
  return std::make_shared<Sgd>(variables, SgdOptions{.learning_rate = kKerasRate});
}

const std::vector<NamedOptimizer>& optimizers() {
  static const auto* const all = new std::vector<NamedOptimizer>{
      {"adam", with_defaults<Adam, AdamOptions>},
      {"sgd", sgd},
      {"rmsprop", with_defaults<RMSprop, RMSpropOptions>},
      {"adamw", with_defaults<AdamW, AdamWOptions>},
      {"adagrad", with_defaults<Adagrad, AdagradOptions>},
      {"adadelta", with_defaults<Adadelta, AdadeltaOptions>},
      {"adamax", with_defaults<Adamax, AdamaxOptions>},
      {"nadam", with_defaults<Nadam, NadamOptions>},
      {"ftrl", with_defaults<Ftrl, FtrlOptions>},
      {"lion", with_defaults<Lion, LionOptions>},
      {"adafactor", with_defaults<Adafactor, AdafactorOptions>},
  };
  return *all;
}

// ---- Metrics -------------------------------------------------------------------------------------------------------

// "accuracy", chosen as in Keras: binary if predictions have one number per sample, categorical if targets have the
// predictions' shape, otherwise sparse categorical.
class Accuracy final : public metrics::PredictionMetric {
 public:
  explicit Accuracy(const std::string& name)
      : PredictionMetric({}, name), totals_(add_state("total", {}), add_state("count", {})) {}

 private:
  void update(const Tensor& prediction, const Tensor& target, const Tensor& weights) const override {
    totals_.add(right(prediction, target), weights);
  }
  Tensor compute() const override { return totals_.mean(); }
  static Tensor right(const Tensor& prediction, const Tensor& target) {
    const PartialShape& p = prediction.partial_shape();
    const PartialShape& t = target.partial_shape();
    if (p.rank() < 2 || p.dim(p.rank() - 1) == 1) return metrics::binary_accuracy(prediction, target);
    if (t.rank() == p.rank()) return metrics::categorical_accuracy(prediction, target);
    return metrics::sparse_categorical_accuracy(prediction, target);
  }
  metrics::MeanTotals totals_;
};

struct NamedMetric {
  std::string name;
  TrainingMetric (*make)(const std::string& name);
};

template <class M>
TrainingMetric made(const std::string& name) {
  if constexpr (std::is_constructible_v<M, const metrics::MetricOptions&>) {
    return M(metrics::MetricOptions{.name = name});
  } else {
    return M();
  }
}
template <class M, class Options>
TrainingMetric made_with(const std::string& name) {
  return M(Options{.name = name});
}
TrainingMetric accuracy_named(const std::string& name) { return Accuracy(name); }

const std::vector<NamedMetric>& metrics_by_name() {
  using namespace metrics;
  static const auto* const all = new std::vector<NamedMetric>{
      {"accuracy", accuracy_named},
      {"acc", accuracy_named},
      {"binary_accuracy", made_with<BinaryAccuracy, BinaryAccuracyOptions>},
      {"categorical_accuracy", made<CategoricalAccuracy>},
      {"sparse_categorical_accuracy", made<SparseCategoricalAccuracy>},
      {"mse", made<MeanSquaredError>},
      {"mean_squared_error", made<MeanSquaredError>},
      {"mae", made<MeanAbsoluteError>},
      {"mean_absolute_error", made<MeanAbsoluteError>},
      {"mape", made<MeanAbsolutePercentageError>},
      {"mean_absolute_percentage_error", made<MeanAbsolutePercentageError>},
      {"msle", made<MeanSquaredLogarithmicError>},
      {"mean_squared_logarithmic_error", made<MeanSquaredLogarithmicError>},
      {"root_mean_squared_error", made<RootMeanSquaredError>},
      {"binary_crossentropy", made_with<BinaryCrossentropy, CrossentropyOptions>},
      {"categorical_crossentropy", made_with<CategoricalCrossentropy, CrossentropyOptions>},
      {"sparse_categorical_crossentropy", made_with<SparseCategoricalCrossentropy, SparseCrossentropyOptions>},
      {"hinge", made<Hinge>},
      {"poisson", made<Poisson>},
  };
  return *all;
}

}  // namespace

// ---- The classes ---------------------------------------------------------------------------------------------------

TrainingLoss::TrainingLoss(const char* name) : TrainingLoss(std::string(name)) {}
TrainingLoss::TrainingLoss(const std::string& name) : TrainingLoss(named("loss", losses(), name).loss) {}
TrainingLoss::TrainingLoss(Function function) : function_(std::move(function)) {}

TrainingLoss::Function TrainingLoss::of_samples(Callable<Tensor(const Tensor&, const Tensor&)> function) {
  return [function](const Tensor& prediction, const Tensor& target, const Tensor& weights) {
    Tensor loss;
    {
      const CallerScope own(nullptr);
      loss = function(prediction, target);
    }
    if (!loss.defined()) invalid("loss: expected a tensor, got none");
    if (loss.partial_shape().rank() != 0) return detail::reduce_losses(loss, weights, LossReduction::kMean);
    if (weights.defined()) invalid("loss: expected a value for each sample, by whose weights it counts, got a scalar");
    return loss;
  };
}

Tensor TrainingLoss::operator()(const Tensor& prediction, const Tensor& target, const Tensor& weights) const {
  Tensor loss = function_(prediction, target, weights);
  // The function returned a value per sample (LossReduction::kNone).
  if (loss.partial_shape().rank() != 0) loss = detail::reduce_losses(loss, Tensor(), LossReduction::kMean);
  return loss;
}

TrainingOptimizer::TrainingOptimizer(Optimizer& optimizer)
    : optimizer_(std::shared_ptr<Optimizer>(std::shared_ptr<void>(), &optimizer)) {}
TrainingOptimizer::TrainingOptimizer(std::shared_ptr<Optimizer> optimizer) : optimizer_(std::move(optimizer)) {
  if (optimizer_.get() == nullptr) invalid("optimizer: expected one, got null");
}
TrainingOptimizer::TrainingOptimizer(const char* name) : TrainingOptimizer(std::string(name)) {}
TrainingOptimizer::TrainingOptimizer(const std::string& name) : name_(named("optimizer", optimizers(), name).name) {}

std::shared_ptr<Optimizer> TrainingOptimizer::make(const std::vector<Variable>& variables) const {
  if (optimizer_.get() == nullptr) return named("optimizer", optimizers(), name_).make(variables);
  if (optimizer_->variables().empty()) optimizer_->build(variables);
  return optimizer_.shared();
}

TrainingMetric::TrainingMetric(const char* name) : TrainingMetric(std::string(name)) {}
TrainingMetric::TrainingMetric(const std::string& name)
    : TrainingMetric(named("metric", metrics_by_name(), name).make(name)) {}

}  // namespace panto
