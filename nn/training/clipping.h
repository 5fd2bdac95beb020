// Clipping: limits gradients before they are applied.
//
//   adam.apply(clip_by_global_norm(tape.gradient(loss, adam.variables()), 1.0));
//
// Undefined gradients stay undefined and sparse ones (tape.sparse_gradient) stay sparse; if a row occurs several times,
// each occurrence counts separately, as in TensorFlow. Norms are computed without overflow. If a gradient is not
// finite, everything scaled by its norm becomes NaN. Thread-safety: as that of ops.
#pragma once

#include <span>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Clips each element to [low, high]. Throws InvalidArgument unless low <= high.
PANTO_EXPORT Tensor clip_by_value(const Tensor& x, double low, double high);
PANTO_EXPORT Gradient clip_by_value(const Gradient& gradient, double low, double high);
PANTO_EXPORT std::vector<Tensor> clip_by_value(std::span<const Tensor> gradients, double low, double high);
PANTO_EXPORT std::vector<Gradient> clip_by_value(std::span<const Gradient> gradients, double low, double high);

// Scales each gradient whose Euclidean norm is above `norm` down to `norm`. Throws InvalidArgument unless norm is
// positive.
PANTO_EXPORT Tensor clip_by_norm(const Tensor& x, double norm);
PANTO_EXPORT Gradient clip_by_norm(const Gradient& gradient, double norm);
PANTO_EXPORT std::vector<Tensor> clip_by_norm(std::span<const Tensor> gradients, double norm);
PANTO_EXPORT std::vector<Gradient> clip_by_norm(std::span<const Gradient> gradients, double norm);

// If the Euclidean norm of all gradients together is above `norm`, scales all by one factor so that it becomes `norm`
// (Pascanu et al. 2013). Throws InvalidArgument unless norm is positive.
PANTO_EXPORT std::vector<Tensor> clip_by_global_norm(std::span<const Tensor> gradients, double norm);
PANTO_EXPORT std::vector<Gradient> clip_by_global_norm(std::span<const Gradient> gradients, double norm);

// The norm of all gradients together: a float64 scalar, 0 for no gradients.
PANTO_EXPORT Tensor global_norm(std::span<const Tensor> gradients);
PANTO_EXPORT Tensor global_norm(std::span<const Gradient> gradients);

}  // namespace panto
