// Activation: a function of one tensor, as an option of layers.
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
  // Exact types, so that the compiler can choose among overloads of one name.
  Activation(Tensor (*op)(Arg));
  template <class Attrs>
  Activation(Tensor (*op)(Arg, const Attrs&)) : Activation([op](const Tensor& x) { return op(x, {}); }) {}
  Activation(Tensor (*function)(const Tensor&));
  // "relu", "sigmoid", "tanh", "softplus", "silu" ("swish"), "gelu" (exact), "gelu_tanh", "softmax", "log_softmax",
  // "exp" ("exponential"), "elu", "selu", "relu6", "leaky_relu" (slope 0.2 below zero), "softsign", "linear" (none),
  // and the names of the functions below except `threshold`; also "hard_swish". Throws InvalidArgument for another
  // name.
  Activation(std::string_view name);
  Activation(const char* name) : Activation(std::string_view(name)) {}
  Activation(const std::string& name) : Activation(std::string_view(name)) {}
  // Any callable that takes a tensor and returns one.
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

// ---- Functions that are not ops -------------------------------------------------------------------------------------
// Keras's and PyTorch's, for floating types. The ops (relu, elu, gelu, silu, softplus, ...) are in panto/ops/nn.h.
// Where a function has a kink, its gradient there is that of Keras on TensorFlow.

struct CeluOptions {
  double alpha = 1;  // not 0
};
// max(x, 0) + alpha (exp(min(x, 0) / alpha) - 1) (Barron 2017).
PANTO_EXPORT Tensor celu(Arg x, const CeluOptions& options = {});

struct GluOptions {
  int64_t axis = -1;
};
// The first half along an axis times the sigmoid of the second (Dauphin et al. 2017). Throws InvalidArgument if x does
// not have the axis, or its size is odd or unknown.
PANTO_EXPORT Tensor glu(Arg x, const GluOptions& options = {});

struct ShrinkOptions {
  double threshold = 0.5;
};
// hard_shrink: x if |x| > threshold, else 0. soft_shrink: the same, moved towards 0 by the threshold.
PANTO_EXPORT Tensor hard_shrink(Arg x, const ShrinkOptions& options = {});
PANTO_EXPORT Tensor soft_shrink(Arg x, const ShrinkOptions& options = {});
// x - tanh(x).
PANTO_EXPORT Tensor tanh_shrink(Arg x);

// relu6(x + 3) / 6; and hard_silu, x times that (Howard et al. 2019).
PANTO_EXPORT Tensor hard_sigmoid(Arg x);
PANTO_EXPORT Tensor hard_silu(Arg x);
// x, clamped to [-1, 1].
PANTO_EXPORT Tensor hard_tanh(Arg x);
// log(sigmoid(x)).
PANTO_EXPORT Tensor log_sigmoid(Arg x);
// x tanh(softplus(x)) (Misra 2019).
PANTO_EXPORT Tensor mish(Arg x);
// 0 below -1, x above 1, (x + 1)^2 / 4 in between.
PANTO_EXPORT Tensor sparse_plus(Arg x);
// 0 below -1, 1 above 1, (x + 1) / 2 in between.
PANTO_EXPORT Tensor sparse_sigmoid(Arg x);

struct SparsemaxOptions {
  int64_t axis = -1;
};
// The projection of x onto the probability simplex along an axis, with many zeros (Martins and Astudillo 2016). x must
// have a known rank of at least 1.
PANTO_EXPORT Tensor sparsemax(Arg x, const SparsemaxOptions& options = {});

struct SquareplusOptions {
  double b = 4;
};
// (x + sqrt(x^2 + b)) / 2 (Barron 2021).
PANTO_EXPORT Tensor squareplus(Arg x, const SquareplusOptions& options = {});

// x if x > bound, else `otherwise`.
PANTO_EXPORT Tensor threshold(Arg x, double bound, double otherwise);

}  // namespace panto
