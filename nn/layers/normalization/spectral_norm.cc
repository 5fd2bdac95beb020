#include "panto/nn/layers/normalization/spectral_norm.h"

#include <optional>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/training/losses/loss_parts.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/trace/graph_scope.h"

namespace panto {
void SpectralNorm::begin(const Variable& kernel, const SpectralNormOptions& options) {
  iterations_ = options.power_iterations;
  if (iterations_ < 1) invalid("SpectralNorm: expected positive power_iterations, got {}", iterations_);
  kernel_ = kernel;
  const int64_t columns = kernel.shape().dim(kernel.shape().rank() - 1);
  const VariableUseScope vectors(VariableUse::kKept);
  u_ = Variable(random_normal({1, columns}, {.dtype = kernel.dtype(), .stddev = 0.02}), options.name + "/vector_u");
}

Tensor SpectralNorm::forward(const Tensor& x) const {
  if (!in_training()) return (*layer_)(x);
  const Tensor kernel = stop_gradient(kernel_);
  const Tensor matrix = reshape(kernel, {-1, u_.shape().dim(1)});
  const Tensor before = u_.value();
  Tensor u = before, v;
  for (int64_t i = 0; i < iterations_; ++i) {
    v = detail::normalized(matmul(u, matrix, {.transpose_b = true}), -1);
    u = detail::normalized(matmul(v, matrix), -1);
  }
  const Tensor largest = reshape(matmul(matmul(v, matrix), u, {.transpose_b = true}), {1});
  const Tensor some = any(kernel != 0.0);
  const Operation moved[] = {u_.assign(where(some, u, before)),
                             kernel_.assign(kernel / where(some, largest, ones_like(largest)))};
  // In a graph built by hand the layer must wait for the new kernel; elsewhere calls run in order.
  std::optional<ControlDependencies> after;
  if (moved[1].defined()) after.emplace(std::vector<Operation>{moved[0], moved[1]});
  return (*layer_)(x);
}

std::string SpectralNorm::to_string() const { return "SpectralNorm(" + layer_->to_string() + ")"; }

}  // namespace panto
