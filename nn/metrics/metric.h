// Metrics: numbers that are accumulated over batches.
//
//   metrics::SparseCategoricalAccuracy accuracy;
//   metrics::Mean loss;
//   for (auto [x, y] : batches) {
//     const Tensor logits = model(x);
//     accuracy.update_state(logits, y);
//     loss.update_state(sparse_categorical_cross_entropy(logits, y, {.from_logits = true}));
//   }
//   std::cout << loss.result() << accuracy.result();
//   loss.reset_state();
//
// They are Keras's, under Keras's names, except that predictions come before targets, as in losses, and that sizes must
// be known when a metric is made. Nothing is broadcast. Weights are per sample: [batch], or [batch, ...] with further
// dimensions of the predictions.
//
// The totals are variables, so traced steps and graphs update them: make the metric before the trace, or in the
// GraphScope. In a GraphScope `update_state` returns the node that adds a batch (`result()` does not wait for it):
//
//   const Operation update = accuracy.update_state(logits, labels);
//   session.run(update, {{x, images}, {y, digits}});
//   session.run(accuracy.result())
//
// A metric is a handle: copies share their totals. `save_variables("m.npz", accuracy.state())` saves them. Gradients do
// not flow through metrics. More metrics are in accuracy.h, auc.h, confusion.h, f_score.h, means.h, overlap.h,
// regression.h. Thread-safety: updates may run in several threads at once; a result may then include a part of one.
#pragma once

#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/op/operation.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/training/loss.h"

namespace panto::metrics {

struct MetricOptions {
  std::string name = "";   // prefix of the variables, "NAME/total"; empty: Keras's, "mean_squared_error"
  DType dtype = kFloat32;  // of totals and results: float32 or float64
};

struct UpdateOptions {
  Tensor weights = {};
};

class PANTO_EXPORT Metric {
 public:
  virtual ~Metric();

  // The result over all updates since the metric was made, or since `reset_state`.
  Tensor result(std::source_location where = std::source_location::current()) const;
  // Sets all totals to 0. While a graph is being built it returns the node that does so.
  Operation reset_state(std::source_location where = std::source_location::current()) const;
  // The totals' variables.
  const std::vector<Variable>& state() const { return state_; }
  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }

 protected:
  // Throws InvalidArgument unless the dtype is float32 or float64.
  Metric(const MetricOptions& options, std::string_view name);
  Metric(const Metric&) = default;
  Metric& operator=(const Metric&) = default;
  // Creates a variable "NAME/what" of zeros and adds it to the state.
  Variable add_state(std::string_view what, const Shape& shape);
  virtual Tensor compute() const = 0;
  // Calls `update`; while a graph is being built, returns the node that runs its effects.
  static Operation updated(const Callable<void()>& update, const std::source_location& where);
  // The result after an update.
  Tensor result_after(const Operation& update, const std::source_location& where) const;

 private:
  std::string name_;
  DType dtype_;
  std::vector<Variable> state_;
};

// A metric of values, such as losses.
class PANTO_EXPORT ValueMetric : public Metric {
 public:
  Operation update_state(Arg values, const UpdateOptions& options = {}) const;
  // Adds values, and returns the result so far.
  Tensor operator()(Arg values, const UpdateOptions& options = {}) const;

 protected:
  using Metric::Metric;
  virtual void update(const Tensor& values, const Tensor& weights) const = 0;
};

// A metric of predictions and targets. To write one:
//
//   struct Hits : metrics::PredictionMetric {
//     Hits() : PredictionMetric({}, "hits") {}
//     Variable hits = add_state("hits", {});
//     void update(const Tensor& prediction, const Tensor& target, const Tensor& weights) const override {
//       hits.assign_add(sum(cast(prediction == target, dtype())));
//     }
//     Tensor compute() const override { return hits.value(); }
//   };
class PANTO_EXPORT PredictionMetric : public Metric {
 public:
  // Throws InvalidArgument, and changes nothing, if shapes or types do not fit.
  Operation update_state(Arg prediction, Arg target, const UpdateOptions& options = {}) const;
  // Adds a batch, and returns the result so far.
  Tensor operator()(Arg prediction, Arg target, const UpdateOptions& options = {}) const;

 protected:
  using Metric::Metric;
  // `weights` is undefined if none are given.
  virtual void update(const Tensor& prediction, const Tensor& target, const Tensor& weights) const = 0;
};

// The sum of values, times their weights.
class PANTO_EXPORT Sum final : public ValueMetric {
 public:
  Sum();
  explicit Sum(const MetricOptions& options);

 private:
  void update(const Tensor& values, const Tensor& weights) const override;
  Tensor compute() const override;
  Variable total_;
};

// The totals of a mean: adds up each sample's mean value times its weight. Internal.
class PANTO_EXPORT MeanTotals {
 public:
  MeanTotals() = default;
  MeanTotals(Variable total, Variable count) : total_(std::move(total)), count_(std::move(count)) {}
  void add(const Tensor& values, const Tensor& weights) const;
  Tensor mean() const;

 private:
  Variable total_, count_;
};

// The weighted mean of values; 0 without values. If values have more dimensions than their weights, their means over
// these count; without weights the first dimension is the samples.
class PANTO_EXPORT Mean final : public ValueMetric {
 public:
  Mean();
  explicit Mean(const MetricOptions& options);

 private:
  void update(const Tensor& values, const Tensor& weights) const override;
  Tensor compute() const override;
  MeanTotals totals_;
};

// The mean of a function of predictions and targets that returns a value for each sample, such as a loss:
//
//   metrics::MeanMetricWrapper error(huber, {.delta = 0.25});
//   metrics::MeanMetricWrapper other([](const Tensor& p, const Tensor& t) { return abs(p - t); });
class PANTO_EXPORT MeanMetricWrapper : public PredictionMetric {
 public:
  using Function = Callable<Tensor(const Tensor& prediction, const Tensor& target)>;
  // Throw InvalidArgument for an empty function.
  explicit MeanMetricWrapper(Function function);
  MeanMetricWrapper(Function function, const MetricOptions& options);
  template <class F>
    requires std::is_class_v<F> &&
             (!std::is_same_v<F, Function>) && std::is_invocable_r_v<Tensor, F&, const Tensor&, const Tensor&>
  explicit MeanMetricWrapper(F function, const MetricOptions& options = {})
      : MeanMetricWrapper(Function(std::move(function)), options) {}
  template <class Options>
  explicit MeanMetricWrapper(Tensor (*loss)(Arg, Arg, const Options&), Options loss_options = {},
                             const MetricOptions& options = {})
      : MeanMetricWrapper(each_of(loss, std::move(loss_options)), options) {}

 protected:
  MeanMetricWrapper(Function function, const MetricOptions& options, std::string_view name);
  // The loss of each sample.
  template <class Options>
  static Function each_of(Tensor (*loss)(Arg, Arg, const Options&), Options options) {
    options.reduction = LossReduction::kNone;
    return
        [loss, options](const Tensor& prediction, const Tensor& target) { return loss(prediction, target, options); };
  }
  void update(const Tensor& prediction, const Tensor& target, const Tensor& weights) const override;

 private:
  Tensor compute() const override;
  Function function_;
  MeanTotals totals_;
};

}  // namespace panto::metrics
