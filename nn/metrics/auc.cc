#include "panto/nn/metrics/auc.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/metrics/metric_parts.h"
#include "panto/nn/training/losses/loss_parts.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto::metrics {

namespace {

// The first and last threshold lie slightly outside of [0, 1]: all predictions are positive at the first, none at the
// last.
std::vector<double> thresholds_of(const AucOptions& options) {
  std::vector<double> thresholds = options.thresholds;
  for (double t : thresholds) {
    if (!(t >= 0 && t <= 1)) invalid("thresholds: expected a number in [0, 1], got {}", t);
  }
  if (thresholds.empty()) {
    const std::vector<double> all = even_thresholds(options.num_thresholds, 2);
    thresholds.assign(all.begin() + 1, all.end() - 1);
  }
  std::ranges::sort(thresholds);
  thresholds.insert(thresholds.begin(), -detail::kLossEpsilon);
  thresholds.push_back(1 + detail::kLossEpsilon);
  return thresholds;
}

void expect_weights_fit(const AucOptions& options) {
  if (options.num_labels < 0) invalid("num_labels: expected at least 0, got {}", options.num_labels);
  const auto weights = static_cast<int64_t>(options.label_weights.size());
  if (options.num_labels > 0 && weights > 0 && weights != options.num_labels) {
    invalid("label_weights: expected one for each of {} labels, got {}", options.num_labels, weights);
  }
}

Tensor before(const Tensor& x) { return x(Slice(0, -1)); }
Tensor behind(const Tensor& x) { return x(Slice(1, {})); }
}  // namespace

AUC::AUC() : AUC(AucOptions()) {}
AUC::AUC(const AucOptions& options)
    : ConfusionMetric(of_metric(options), "auc",
                      {.thresholds = thresholds_of(options),
                       .true_positives = true,
                       .false_positives = true,
                       .true_negatives = true,
                       .false_negatives = true,
                       .clip = true,
                       .from_logits = options.from_logits,
                       .label_weights = options.label_weights,
                       .labels = options.num_labels}),
      curve_(options.curve),
      summation_(options.summation_method) {
  expect_weights_fit(options);
}

// Sums the areas of the intervals; with labels, averages the labels' sums.
Tensor AUC::total(const Tensor& areas) const {
  Tensor by_label = sum(areas, {0});
  if (setup().labels == 0) return by_label;
  if (setup().label_weights.empty()) return mean(by_label);
  const Tensor weights = cast(tensor(setup().label_weights), dtype());
  return div_no_nan(sum(by_label * weights), sum(weights));
}

// Between two thresholds, true positives are interpolated linearly in the number of positives (Davis and Goadrich
// 2006).
Tensor AUC::interpolated_pr() const {
  const Tensor tp = true_positives(), positives = tp + false_positives(), truths = tp + false_negatives();
  const Tensor gained = before(tp) - behind(tp);
  const Tensor slope = div_no_nan(gained, maximum(before(positives) - behind(positives), 0.0));
  const Tensor intercept = behind(tp) - slope * behind(positives);
  const Tensor both = logical_and(before(positives) > 0.0, behind(positives) > 0.0);
  const Tensor ratio = where(both, div_no_nan(before(positives), behind(positives)), 1.0);
  return total(div_no_nan(slope * (gained + intercept * log(ratio)), behind(truths)));
}

Tensor AUC::compute() const {
  if (curve_ == AucCurve::kPr && summation_ == AucSummation::kInterpolation) return interpolated_pr();
  const Tensor tp = true_positives(), fp = false_positives(), tn = true_negatives(), fn = false_negatives();
  Tensor x, y;
  switch (curve_) {
    case AucCurve::kRoc:
      x = part_of(fp, tn);
      y = part_of(tp, fn);
      break;
    case AucCurve::kPr:
      x = part_of(tp, fn);
      y = part_of(tp, fp);
      break;
    case AucCurve::kPrGain: {
      const Tensor odds = div_no_nan(tp + fn, tn + fp), none = equal(tp, 0.0);
      x = maximum(where(none, 0.0, 1.0 - odds * div_no_nan(fn, tp)), 0.0);
      y = where(none, 1.0, 1.0 - odds * div_no_nan(fp, tp));
      break;
    }
  }
  Tensor heights;
  switch (summation_) {
    case AucSummation::kInterpolation: heights = (before(y) + behind(y)) / 2.0; break;
    case AucSummation::kMinoring: heights = minimum(before(y), behind(y)); break;
    case AucSummation::kMajoring: heights = maximum(before(y), behind(y)); break;
  }
  return total((before(x) - behind(x)) * heights);
}

}  // namespace panto::metrics
