// Activation: a function of one tensor, as layers take it.
//
//   Dense(784, 128, {.activation = relu})                    // a function of ours, also beside <cmath>'s of that name
//   Dense(784, 128, {.activation = "relu"})                  // its name
//   Dense(784, 128, {.activation = [](const Tensor& x) { return relu(x) * x; }})
//
// Thread-safety: that of the function.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

class PANTO_EXPORT Activation {
 public:
  Activation() = default;
  // NOLINTBEGIN(google-explicit-constructor): written as {.activation = relu}
  Activation(std::nullptr_t) {}  // none
  // Exact types, by which the compiler chooses among functions of one name.
  Activation(Tensor (*op)(Arg));
  template <class Attrs>
  Activation(Tensor (*op)(Arg, const Attrs&)) : Activation([op](const Tensor& x) { return op(x, {}); }) {}
  Activation(Tensor (*function)(const Tensor&));
  // "relu", "sigmoid", "tanh", "softplus", "silu" ("swish"), "gelu" (exact), "gelu_tanh", "softmax", "log_softmax",
  // "exp" ("exponential"), "elu", "selu", "relu6", "leaky_relu" (0.2 below zero), "softsign", "linear" (none), and the
  // names of the functions below but `threshold`, "hard_swish" among them. Throws InvalidArgument for another.
  Activation(std::string_view name);
  Activation(const char* name) : Activation(std::string_view(name)) {}
  Activation(const std::string& name) : Activation(std::string_view(name)) {}
  // Anything that can be called with a tensor and gives one.
  template <class F>
    requires(!std::is_same_v<std::decay_t<F>, Activation>) && (std::is_class_v<std::decay_t<F>>) &&
            (!std::is_convertible_v<F, std::string_view>) && (std::is_invocable_r_v<Tensor, F&, const Tensor&>)
  Activation(F function) : function_(std::move(function)) {}
  // NOLINTEND(google-explicit-constructor)

  explicit operator bool() const noexcept { return static_cast<bool>(function_); }
  // Throws FailedPrecondition if there is none.
  Tensor operator()(const Tensor& x) const;

 private:
  Callable<Tensor(const Tensor&)> function_;
};

// ---- Functions that are no ops --------------------------------------------------------------------------------------
// Keras's and PyTorch's, of floating types. Those that are ops (relu, elu, gelu, silu, softplus, ...) are in
// panto/ops/nn.h. Where a function has a kink, its gradient there is that of Keras on TensorFlow.

struct CeluOptions {
  double alpha = 1;  // not 0
};
// max(x, 0) + alpha (exp(min(x, 0) / alpha) - 1) (Barron 2017).
PANTO_EXPORT Tensor celu(Arg x, const CeluOptions& options = {});

struct GluOptions {
  int64_t axis = -1;
};
// The first half along an axis times the sigmoid of the second (Dauphin et al. 2017). Throws InvalidArgument where the
// axis is none of x, or of an odd or unknown size.
PANTO_EXPORT Tensor glu(Arg x, const GluOptions& options = {});

struct ShrinkOptions {
  double threshold = 0.5;
};
// x where its distance from 0 is above the threshold, else 0; the same, but nearer to 0 by the threshold.
PANTO_EXPORT Tensor hard_shrink(Arg x, const ShrinkOptions& options = {});
PANTO_EXPORT Tensor soft_shrink(Arg x, const ShrinkOptions& options = {});
// x - tanh(x).
PANTO_EXPORT Tensor tanh_shrink(Arg x);

// relu6(x + 3) / 6, and that times x (Howard et al. 2019).
PANTO_EXPORT Tensor hard_sigmoid(Arg x);
PANTO_EXPORT Tensor hard_silu(Arg x);
// x, but at least -1 and at most 1.
PANTO_EXPORT Tensor hard_tanh(Arg x);
// log(sigmoid(x)).
PANTO_EXPORT Tensor log_sigmoid(Arg x);
// x tanh(softplus(x)) (Misra 2019).
PANTO_EXPORT Tensor mish(Arg x);
// 0 below -1, x above 1, between them (x + 1)^2 / 4.
PANTO_EXPORT Tensor sparse_plus(Arg x);
// 0 below -1, 1 above 1, between them (x + 1) / 2.
PANTO_EXPORT Tensor sparse_sigmoid(Arg x);

struct SparsemaxOptions {
  int64_t axis = -1;
};
// The nearest probabilities to x along an axis, many of them 0 (Martins and Astudillo 2016). x of known rank, at
// least 1.
PANTO_EXPORT Tensor sparsemax(Arg x, const SparsemaxOptions& options = {});

struct SquareplusOptions {
  double b = 4;
};
// (x + sqrt(x^2 + b)) / 2 (Barron 2021).
PANTO_EXPORT Tensor squareplus(Arg x, const SquareplusOptions& options = {});

// x where it is above `bound`, else `otherwise`.
PANTO_EXPORT Tensor threshold(Arg x, double bound, double otherwise);

}  // namespace panto
