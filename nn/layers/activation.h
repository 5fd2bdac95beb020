// Activation: a function of one tensor, as layers take it.
//
//   Dense(784, 128, {.activation = relu})                    // a function of ours, also beside <cmath>'s of that name
//   Dense(784, 128, {.activation = "relu"})                  // its name
//   Dense(784, 128, {.activation = [](const Tensor& x) { return relu(x) * x; }})
//
// Thread-safety: that of the function.
#pragma once

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
  // "exp", "elu", "selu", "relu6", "leaky_relu" (0.2 below zero), "softsign" or "linear" (none). Throws InvalidArgument
  // for another.
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

}  // namespace panto
