#include "panto/nn/metrics/metric.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/layers/initializers.h"
#include "panto/nn/metrics/metric_parts.h"
#include "panto/nn/training/losses/loss_parts.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/trace/graph_scope.h"

namespace panto::metrics {

// ---- Metric ---------------------------------------------------------------------------------------------------------

Metric::~Metric() = default;

Metric::Metric(const MetricOptions& options, std::string_view name)
    : name_(options.name.empty() ? name : options.name), dtype_(options.dtype) {
  if (dtype_ == kFloat32 || dtype_ == kFloat64) return;
  invalid("dtype of metric '{}': expected float32 or float64, got {}", name_, dtype_name(dtype_));
}

Variable Metric::add_state(std::string_view what, const Shape& shape) {
  const VariableUseScope totals(VariableUse::kKept);
  state_.emplace_back(constant_initializer(0)(shape, dtype_), fmt::format("{}/{}", name_, what));
  return state_.back();
}

Tensor Metric::result(std::source_location where) const {
  return from_caller(where, [&]() -> Tensor { return compute(); });
}

Operation Metric::reset_state(std::source_location where) const {
  return updated(
      [&] {
        for (const Variable& v : state_) v.assign(constant_initializer(0)(Shape(v.shape()), v.dtype()));
      },
      where);
}

Operation Metric::updated(const Callable<void()>& update, const std::source_location& where) {
  return from_caller(where, [&]() -> Operation {
    if (symbolic_recorder() == nullptr) {
      update();
      return {};
    }
    const CollectEffects effects;
    update();
    const std::vector<Operation> operations = effects.operations();
    return operations.size() == 1 ? operations[0] : group(operations, "update");
  });
}

Tensor Metric::result_after(const Operation& update, const std::source_location& where) const {
  if (!update.defined()) return result(where);
  const ControlDependencies after({update});
  return result(where);
}

namespace {

// An input without gradient, so that tapes need not keep what is computed from it.
Tensor input_of(const char* what, const Arg& x) {
  const Tensor t = detail::given_tensor(x);
  if (!t.defined()) invalid("{}: expected a tensor, got {}", what, x.is_literal() ? "a number" : "none");
  return dtypes::kFloating.contains(t.dtype()) ? stop_gradient(t) : t;
}

}  // namespace

Operation ValueMetric::update_state(Arg values, const UpdateOptions& options) const {
  return updated(
      [&] {
        // A loss may be a plain number.
        const Tensor given =
            values.is_literal() ? cast(identity(std::move(values)), dtype()) : input_of("values", values);
        update(given, options.weights);
      },
      values.where());
}

Tensor ValueMetric::operator()(Arg values, const UpdateOptions& options) const {
  const std::source_location where = values.where();
  return result_after(update_state(std::move(values), options), where);
}

Operation PredictionMetric::update_state(Arg prediction, Arg target, const UpdateOptions& options) const {
  return updated([&] { update(input_of("prediction", prediction), input_of("target", target), options.weights); },
                 prediction.where());
}

Tensor PredictionMetric::operator()(Arg prediction, Arg target, const UpdateOptions& options) const {
  const std::source_location where = prediction.where();
  return result_after(update_state(std::move(prediction), std::move(target), options), where);
}

Tensor weights_beside(const Tensor& given, const Tensor& x, DType dtype) {
  Tensor weights = given.dtype() == dtype ? given : cast(given, dtype);
  const int rank = detail::known_rank("prediction", x), own = detail::known_rank("weights", weights);
  for (int k = own; k < rank; ++k) weights = expand_dims(weights, -1);
  if (detail::broadcasts_to(weights.partial_shape(), x.partial_shape())) return weights;
  invalid("weights: expected leading dimensions of the predictions' shape {}, got {}", x.partial_shape().to_string(),
          given.partial_shape().to_string());
}

// ---- Sums and means ------------------------------------------------------------------------------------------------

namespace {

using Reduce = Tensor (*)(const Tensor& x, const ReduceOptions& options);

std::vector<int64_t> axes_from(int64_t first, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t k = first; k < rank; ++k) axes.push_back(k);
  return axes;
}

Tensor reduced_from(const Tensor& x, int64_t first, Reduce reduce) {
  const int rank = detail::known_rank("values", x);
  return rank > first ? reduce(x, {.axis = axes_from(first, rank)}) : x;
}

struct Weighted {
  Tensor values, weights;  // [batch] or a scalar; weights are undefined if not given
};

// One value for each sample, and its weight. Values are first reduced over the dimensions that the weights lack.
Weighted by_samples(const Tensor& x, const Tensor& given, DType dtype, Reduce reduce) {
  Tensor values = x.dtype() == dtype ? x : cast(x, dtype);
  if (!given.defined()) return {reduced_from(values, 1, reduce), Tensor()};
  Tensor weights = given.dtype() == dtype ? given : cast(given, dtype);
  const int rank = detail::known_rank("weights", weights);
  if (rank > detail::known_rank("values", values)) {
    invalid("weights: expected at most the {} dimensions of the values, got shape {}", values.partial_shape().rank(),
            weights.partial_shape().to_string());
  }
  values = reduced_from(values, rank, reduce);
  if (!detail::broadcasts_to(weights.partial_shape(), values.partial_shape())) {
    invalid("weights: expected them to broadcast to shape {}, got {}", values.partial_shape().to_string(),
            weights.partial_shape().to_string());
  }
  weights = broadcast_to(weights, shape(values));
  return {reduced_from(values * weights, 1, reduce), reduced_from(weights, 1, reduce)};
}

Tensor summed(const Tensor& x, const ReduceOptions& options) { return sum(x, options); }
Tensor averaged(const Tensor& x, const ReduceOptions& options) { return mean(x, options); }

}  // namespace

Sum::Sum() : Sum(MetricOptions()) {}
Sum::Sum(const MetricOptions& options) : ValueMetric(options, "sum"), total_(add_state("total", {})) {}
void Sum::update(const Tensor& values, const Tensor& weights) const {
  total_.assign_add(sum(by_samples(values, weights, dtype(), summed).values));
}
Tensor Sum::compute() const { return total_.value(); }

void MeanTotals::add(const Tensor& values, const Tensor& weights) const {
  const DType dtype = total_.dtype();
  const Weighted each = by_samples(values, weights, dtype, averaged);
  const Tensor count = each.weights.defined() ? sum(each.weights) : cast(size(each.values), dtype);
  total_.assign_add(sum(each.values));
  count_.assign_add(count);
}
Tensor MeanTotals::mean() const { return div_no_nan(total_.value(), count_.value()); }

Mean::Mean() : Mean(MetricOptions()) {}
Mean::Mean(const MetricOptions& options)
    : ValueMetric(options, "mean"), totals_{add_state("total", {}), add_state("count", {})} {}
void Mean::update(const Tensor& values, const Tensor& weights) const { totals_.add(values, weights); }
Tensor Mean::compute() const { return totals_.mean(); }

MeanMetricWrapper::MeanMetricWrapper(Function function)
    : MeanMetricWrapper(std::move(function), MetricOptions(), "mean_metric_wrapper") {}
MeanMetricWrapper::MeanMetricWrapper(Function function, const MetricOptions& options)
    : MeanMetricWrapper(std::move(function), options, "mean_metric_wrapper") {}
MeanMetricWrapper::MeanMetricWrapper(Function function, const MetricOptions& options, std::string_view name)
    : PredictionMetric(options, name),
      function_(std::move(function)),
      totals_{add_state("total", {}), add_state("count", {})} {
  if (!function_) invalid("function of metric '{}': expected one, got an empty one", this->name());
}
void MeanMetricWrapper::update(const Tensor& prediction, const Tensor& target, const Tensor& weights) const {
  totals_.add(function_(prediction, target), weights);
}
Tensor MeanMetricWrapper::compute() const { return totals_.mean(); }

}  // namespace panto::metrics
