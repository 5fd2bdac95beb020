// Clipping: gradients made smaller before they are applied.
//
//   adam.apply(clip_by_global_norm(tape.gradient(loss, adam.variables()), 1.0));
//
// Gradients that are undefined stay so, those that are rows (tape.sparse_gradient) stay rows; of a row that occurs
// several times each occurrence counts for itself, as in TensorFlow. Norms are computed without overflow. A gradient
// that is not finite makes what is scaled by its norm NaN. Thread-safety: as that of ops.
#pragma once

#include <span>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Each element brought into [low, high]. Throws InvalidArgument unless low <= high.
PANTO_EXPORT Tensor clip_by_value(const Tensor& x, double low, double high);
PANTO_EXPORT Gradient clip_by_value(const Gradient& gradient, double low, double high);
PANTO_EXPORT std::vector<Tensor> clip_by_value(std::span<const Tensor> gradients, double low, double high);
PANTO_EXPORT std::vector<Gradient> clip_by_value(std::span<const Gradient> gradients, double low, double high);

// Each gradient whose Euclidean norm is above `norm` scaled to it. Throws InvalidArgument unless norm is positive.
PANTO_EXPORT Tensor clip_by_norm(const Tensor& x, double norm);
PANTO_EXPORT Gradient clip_by_norm(const Gradient& gradient, double norm);
PANTO_EXPORT std::vector<Tensor> clip_by_norm(std::span<const Tensor> gradients, double norm);
PANTO_EXPORT std::vector<Gradient> clip_by_norm(std::span<const Gradient> gradients, double norm);

// All gradients scaled by one number, if the Euclidean norm of all together is above `norm`, to which it then comes
// (Pascanu et al. 2013). Throws InvalidArgument unless norm is positive.
PANTO_EXPORT std::vector<Tensor> clip_by_global_norm(std::span<const Tensor> gradients, double norm);
PANTO_EXPORT std::vector<Gradient> clip_by_global_norm(std::span<const Gradient> gradients, double norm);

// That norm: a float64 scalar, 0 of no gradients.
PANTO_EXPORT Tensor global_norm(std::span<const Tensor> gradients);
PANTO_EXPORT Tensor global_norm(std::span<const Gradient> gradients);

}  // namespace panto
