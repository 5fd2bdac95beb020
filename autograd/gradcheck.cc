#include "panto/autograd/gradcheck.h"

#include <cmath>

#include "panto/autograd/tape.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"

namespace panto {
namespace {

// Rows by output element, columns by input element.
struct Jacobian {
  size_t rows = 0, columns = 0;
  std::vector<double> values;
  Jacobian(size_t r, size_t c) : rows(r), columns(c), values(r * c) {}
  double& at(size_t r, size_t c) { return values[r * columns + c]; }
  double at(size_t r, size_t c) const { return values[r * columns + c]; }
};

std::vector<double> elements(const Tensor& t) { return t.to_vector<double>(); }

Tensor with_element(const Tensor& t, size_t index, double value) {
  std::vector<double> values = elements(t);
  values[index] = value;
  return tensor(values, t.shape());
}

Tensor checked_output(const GradcheckFunction& fn, std::span<const Tensor> inputs) {
  Tensor y = fn(inputs);
  if (y.dtype() != kFloat64) invalid("gradcheck: expected a float64 output, got {}", dtype_name(y.dtype()));
  return y;
}

Jacobian numeric_jacobian(const GradcheckFunction& fn, std::span<const Tensor> inputs, size_t which, size_t rows,
                          double step) {
  const RecorderPause quiet;
  std::vector<Tensor> moved(inputs.begin(), inputs.end());
  const std::vector<double> x = elements(inputs[which]);
  Jacobian j(rows, x.size());
  for (size_t c = 0; c < x.size(); ++c) {
    moved[which] = with_element(inputs[which], c, x[c] + step);
    const std::vector<double> above = elements(checked_output(fn, moved));
    moved[which] = with_element(inputs[which], c, x[c] - step);
    const std::vector<double> below = elements(checked_output(fn, moved));
    for (size_t r = 0; r < rows; ++r) j.at(r, c) = (above[r] - below[r]) / (2 * step);
  }
  return j;
}

Jacobian tape_jacobian(const GradcheckFunction& fn, std::span<const Tensor> inputs, size_t which) {
  // A separate tensor, in case the same tensor is passed for another input too.
  std::vector<Tensor> own(inputs.begin(), inputs.end());
  own[which] = identity(inputs[which]);
  GradientTape tape({.persistent = true, .unconnected_zero = true});
  tape.watch(own[which]);
  const Tensor y = checked_output(fn, own);
  tape.stop();
  const auto rows = static_cast<size_t>(y.numel());
  Jacobian j(rows, static_cast<size_t>(inputs[which].numel()));
  for (size_t r = 0; r < rows; ++r) {
    std::vector<double> seed(rows, 0.0);
    seed[r] = 1;
    const std::vector<double> row = elements(tape.gradient(y, own[which], tensor(seed, y.shape())));
    for (size_t c = 0; c < row.size(); ++c) j.at(r, c) = row[c];
  }
  return j;
}

std::string text(const Jacobian& j) {
  return tensor(j.values, Shape{static_cast<int64_t>(j.rows), static_cast<int64_t>(j.columns)}).to_string();
}

// Equal infinities pass; a NaN never does.
double excess(double analytic, double numeric, double relative) {
  if (analytic == numeric) return 0;
  const double e = std::fabs(analytic - numeric) - relative * std::fabs(numeric);
  return std::isnan(e) ? INFINITY : e;
}

void compare(const Jacobian& analytic, const Jacobian& numeric, size_t which, const GradcheckOptions& options,
             GradcheckResult& result) {
  size_t worst_row = 0, worst_column = 0;
  double worst = 0;
  for (size_t r = 0; r < numeric.rows; ++r) {
    for (size_t c = 0; c < numeric.columns; ++c) {
      const double e = excess(analytic.at(r, c), numeric.at(r, c), options.relative_tolerance);
      if (e <= worst) continue;
      worst = e;
      worst_row = r;
      worst_column = c;
    }
  }
  result.worst = std::max(result.worst, worst);
  if (worst <= options.absolute_tolerance) return;
  result.ok = false;
  result.report += fmt::format(
      "input {}: d y[{}] / d x[{}]: expected {} (central differences), got {} (tape)\nnumeric Jacobian:\n{}\ntape's "
      "Jacobian:\n{}\n",
      which, worst_row, worst_column, numeric.at(worst_row, worst_column), analytic.at(worst_row, worst_column),
      text(numeric), text(analytic));
}

}  // namespace

GradcheckResult gradcheck(const GradcheckFunction& fn, std::span<const Tensor> inputs,
                          const GradcheckOptions& options) {
  GradcheckResult result;
  bool checked = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != kFloat64) continue;
    checked = true;
    const Jacobian analytic = tape_jacobian(fn, inputs, i);
    compare(analytic, numeric_jacobian(fn, inputs, i, analytic.rows, options.step), i, options, result);
  }
  if (!checked) invalid("gradcheck: expected at least one float64 input, got none");
  return result;
}

GradcheckResult gradcheck_second_order(const GradcheckFunction& fn, std::span<const Tensor> inputs,
                                       const GradcheckOptions& options) {
  GradcheckResult result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != kFloat64) continue;
    const GradcheckFunction first_order = [&, i](std::span<const Tensor> x) {
      std::vector<Tensor> own(x.begin(), x.end());
      own[i] = identity(x[i]);
      GradientTape tape({.unconnected_zero = true});
      tape.watch(own[i]);
      const Tensor y = checked_output(fn, own);
      // Fixed, different weights: in a plain sum, errors could cancel.
      std::vector<double> weights(static_cast<size_t>(y.numel()));
      for (size_t k = 0; k < weights.size(); ++k) weights[k] = std::cos(1.0 + static_cast<double>(k));
      return tape.gradient(y, own[i], tensor(weights, y.shape()));
    };
    const GradcheckResult one = gradcheck(first_order, inputs, options);
    result.ok = result.ok && one.ok;
    result.worst = std::max(result.worst, one.worst);
    if (!one.ok) result.report += fmt::format("gradient with respect to input {}:\n{}", i, one.report);
  }
  return result;
}

}  // namespace panto
