// gradcheck: compares gradients with finite differences.
//
//   GradcheckResult r = gradcheck([](std::span<const Tensor> x) { return tanh(x[0]); }, {x});
//   if (!r.ok) std::cerr << r.report;
#pragma once

#include <span>
#include <string>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

struct GradcheckOptions {
  double step = 1e-6;  // of the central differences
  double absolute_tolerance = 1e-5;
  double relative_tolerance = 1e-3;
};

struct GradcheckResult {
  bool ok = true;
  double worst = 0;    // the largest |analytic - numeric| - relative_tolerance * |numeric|
  std::string report;  // "" if ok; otherwise input, worst index and both Jacobians
};

using GradcheckFunction = Callable<Tensor(std::span<const Tensor>)>;

// Compares the Jacobian of a tape with central differences, for every float64 input (others are held fixed). `fn` must
// return one float64 tensor that depends on its inputs only. Throws InvalidArgument if no input is float64 or the
// output is not, and what `fn` throws.
PANTO_EXPORT GradcheckResult gradcheck(const GradcheckFunction& fn, std::span<const Tensor> inputs,
                                       const GradcheckOptions& options = {});
// Checks second derivatives: applies gradcheck to the gradient of sum(fn * weights), with fixed weights.
PANTO_EXPORT GradcheckResult gradcheck_second_order(const GradcheckFunction& fn, std::span<const Tensor> inputs,
                                                    const GradcheckOptions& options = {});

}  // namespace panto
