#include "panto/nn/metrics/means.h"

#include "panto/lib/ops/operators.h"
#include "panto/nn/metrics/metric_parts.h"
#include "panto/nn/training/loss.h"
#include "panto/nn/training/losses/classification.h"
#include "panto/nn/training/losses/loss_parts.h"
#include "panto/nn/training/losses/regression.h"
#include "panto/ops/math.h"

namespace panto::metrics {

MeanSquaredError::MeanSquaredError() : MeanSquaredError(MetricOptions()) {}
MeanSquaredError::MeanSquaredError(const MetricOptions& options)
    : MeanMetricWrapper(each_of(mean_squared_error, {}), options, "mean_squared_error") {}

MeanAbsoluteError::MeanAbsoluteError() : MeanAbsoluteError(MetricOptions()) {}
MeanAbsoluteError::MeanAbsoluteError(const MetricOptions& options)
    : MeanMetricWrapper(each_of(mean_absolute_error, {}), options, "mean_absolute_error") {}

MeanAbsolutePercentageError::MeanAbsolutePercentageError() : MeanAbsolutePercentageError(MetricOptions()) {}
MeanAbsolutePercentageError::MeanAbsolutePercentageError(const MetricOptions& options)
    : MeanMetricWrapper(each_of(mean_absolute_percentage_error, {}), options, "mean_absolute_percentage_error") {}

MeanSquaredLogarithmicError::MeanSquaredLogarithmicError() : MeanSquaredLogarithmicError(MetricOptions()) {}
MeanSquaredLogarithmicError::MeanSquaredLogarithmicError(const MetricOptions& options)
    : MeanMetricWrapper(each_of(mean_squared_logarithmic_error, {}), options, "mean_squared_logarithmic_error") {}

LogCoshError::LogCoshError() : LogCoshError(MetricOptions()) {}
LogCoshError::LogCoshError(const MetricOptions& options)
    : MeanMetricWrapper(each_of(log_cosh, {}), options, "logcosh") {}

KLDivergence::KLDivergence() : KLDivergence(MetricOptions()) {}
KLDivergence::KLDivergence(const MetricOptions& options)
    : MeanMetricWrapper(each_of(kl_divergence, {}), options, "kl_divergence") {}

Poisson::Poisson() : Poisson(MetricOptions()) {}
Poisson::Poisson(const MetricOptions& options) : MeanMetricWrapper(each_of(poisson, {}), options, "poisson") {}

Hinge::Hinge() : Hinge(MetricOptions()) {}
Hinge::Hinge(const MetricOptions& options) : MeanMetricWrapper(each_of(hinge, {}), options, "hinge") {}

SquaredHinge::SquaredHinge() : SquaredHinge(MetricOptions()) {}
SquaredHinge::SquaredHinge(const MetricOptions& options)
    : MeanMetricWrapper(each_of(squared_hinge, {}), options, "squared_hinge") {}

CategoricalHinge::CategoricalHinge() : CategoricalHinge(MetricOptions()) {}
CategoricalHinge::CategoricalHinge(const MetricOptions& options)
    : MeanMetricWrapper(each_of(categorical_hinge, {}), options, "categorical_hinge") {}

namespace {

CrossEntropyOptions of_loss(const CrossentropyOptions& options) {
  return {.from_logits = options.from_logits, .label_smoothing = options.label_smoothing, .axis = options.axis};
}

}  // namespace

BinaryCrossentropy::BinaryCrossentropy() : BinaryCrossentropy(CrossentropyOptions()) {}
BinaryCrossentropy::BinaryCrossentropy(const CrossentropyOptions& options)
    : MeanMetricWrapper(each_of(binary_cross_entropy, of_loss(options)), of_metric(options), "binary_crossentropy") {}

CategoricalCrossentropy::CategoricalCrossentropy() : CategoricalCrossentropy(CrossentropyOptions()) {}
CategoricalCrossentropy::CategoricalCrossentropy(const CrossentropyOptions& options)
    : MeanMetricWrapper(each_of(categorical_cross_entropy, of_loss(options)), of_metric(options),
                        "categorical_crossentropy") {}

SparseCategoricalCrossentropy::SparseCategoricalCrossentropy()
    : SparseCategoricalCrossentropy(SparseCrossentropyOptions()) {}
SparseCategoricalCrossentropy::SparseCategoricalCrossentropy(const SparseCrossentropyOptions& options)
    : MeanMetricWrapper(
          each_of(sparse_categorical_cross_entropy,
                  SparseCrossEntropyOptions{
                      .from_logits = options.from_logits, .ignore_class = options.ignore_class, .axis = options.axis}),
          of_metric(options), "sparse_categorical_crossentropy"),
      ignore_class_(options.ignore_class) {}

void SparseCategoricalCrossentropy::update(const Tensor& prediction, const Tensor& labels,
                                           const Tensor& weights) const {
  if (!ignore_class_) return MeanMetricWrapper::update(prediction, labels, weights);
  const Tensor counted = cast(detail::counts(labels, *ignore_class_), dtype());
  MeanMetricWrapper::update(prediction, labels,
                            weights.defined() ? counted * weights_beside(weights, counted, dtype()) : counted);
}

CosineSimilarity::CosineSimilarity() : CosineSimilarity(AlongAxisOptions()) {}
CosineSimilarity::CosineSimilarity(const AlongAxisOptions& options)
    : MeanMetricWrapper(
          [axis = options.axis](const Tensor& p, const Tensor& t) {
            return -cosine_similarity(p, t, {.axis = axis, .reduction = LossReduction::kNone});
          },
          of_metric(options), "cosine_similarity") {}

}  // namespace panto::metrics
