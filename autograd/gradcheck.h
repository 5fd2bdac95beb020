// gradcheck: gradients against finite differences.
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

// Compares the Jacobian that a tape gives with central differences, for every float64 input (others are held fixed).
// `fn` gives one floating tensor and must be a function of its inputs only. Throws InvalidArgument where no input or
// the output is not float64, and what `fn` throws.
PANTO_EXPORT GradcheckResult gradcheck(const GradcheckFunction& fn, std::span<const Tensor> inputs,
                                       const GradcheckOptions& options = {});
// The same for the gradients themselves: the gradient of sum(fn * weights), with fixed weights, is checked.
PANTO_EXPORT GradcheckResult gradcheck_second_order(const GradcheckFunction& fn, std::span<const Tensor> inputs,
                                                    const GradcheckOptions& options = {});

}  // namespace panto
