// Layers: functions with variables.
//
//   Sequential model(Flatten(), Dense(784, 128, {.activation = relu}), Dense(128, 10));
//   Tensor logits = model(images);                      // [batch, 28, 28] -> [batch, 10]
//   auto grads = tape.gradient(loss, model.variables());
//
// A layer is a handle: copies share their variables. Calling one runs ops, so that tapes and traces work as everywhere.
// What a layer does in training only (Dropout drops, BatchNorm takes the batch's statistics) it does while a
// TrainingScope is open; a trace keeps what was so when it was made:
//
//   const Function step = trace([&](const Tensor& x, const Tensor& labels) {
//     const TrainingScope training;
//     ...
//
// Other headers have further layers: convolution.h, embedding.h, normalization.h, recurrent.h.
// Thread-safety: calls may run in several threads at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor.h"
#include "panto/lib/core/variable.h"
#include "panto/nn/initializers.h"

namespace panto {

class PANTO_EXPORT Layer {
 public:
  Layer() = default;
  Layer(const Layer&) = default;
  Layer(Layer&&) = default;
  Layer& operator=(const Layer&) = default;
  Layer& operator=(Layer&&) = default;
  virtual ~Layer();

  virtual Tensor operator()(const Tensor& x) const = 0;
  // Those that are trained, by gradients.
  virtual std::vector<Variable> variables() const;  // none
  // Those that are not, but belong to what was learned: running statistics.
  virtual std::vector<Variable> state() const;  // none
  // "Dense(784, 128)".
  virtual std::string to_string() const = 0;
};

// While one lives, layers that this thread calls are in training. Scopes nest.
class PANTO_EXPORT TrainingScope {
 public:
  explicit TrainingScope(bool training = true) noexcept;
  ~TrainingScope();
  TrainingScope(const TrainingScope&) = delete;
  TrainingScope& operator=(const TrainingScope&) = delete;

 private:
  bool previous_;
};
// What the innermost one of this thread says; false without any.
PANTO_EXPORT bool in_training() noexcept;

using Activation = Callable<Tensor(const Tensor&)>;

struct DenseOptions {
  Activation activation = nullptr;  // none
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  std::string name = "dense";  // of the variables: "dense/kernel", "dense/bias"
  DType dtype = kFloat32;
};

// activation(x . kernel + bias): [..., inputs] -> [..., units]. The bias starts at zero.
class PANTO_EXPORT Dense final : public Layer {
 public:
  // Throws InvalidArgument unless inputs and units are positive.
  Dense(int64_t inputs, int64_t units, DenseOptions options);
  Dense(int64_t inputs, int64_t units);
  // x of rank 2 or more. Throws InvalidArgument where its last dimension is not `inputs`.
  Tensor operator()(const Tensor& x) const override;
  std::vector<Variable> variables() const override;
  std::string to_string() const override;
  const Variable& kernel() const { return kernel_; }
  const Variable& bias() const { return bias_; }  // undefined without use_bias

 private:
  int64_t inputs_, units_;
  Activation activation_;
  Variable kernel_, bias_;
};

// [batch, ...] -> [batch, product of the others].
class PANTO_EXPORT Flatten final : public Layer {
 public:
  Tensor operator()(const Tensor& x) const override;
  std::string to_string() const override { return "Flatten()"; }
};

// Any function as a layer: `Lambda(relu, "relu")`.
class PANTO_EXPORT Lambda final : public Layer {
 public:
  // Throws InvalidArgument for an empty function.
  explicit Lambda(Activation function, std::string name = "Lambda");
  Tensor operator()(const Tensor& x) const override { return function_(x); }
  std::string to_string() const override { return name_ + "()"; }

 private:
  Activation function_;
  std::string name_;
};

// The exact Gelu, x times the standard normal distribution function at x, and its approximation by tanh (Hendrycks and
// Gimpel 2016), as activations: `{.activation = gelu_erf}`.
PANTO_EXPORT Tensor gelu_erf(const Tensor& x);
PANTO_EXPORT Tensor gelu_tanh(const Tensor& x);

// In training, zero for a random share `rate` of the elements and the others divided by 1 - rate (Srivastava et al.
// 2014); otherwise x itself. Draws from the process's generator (`set_seed`) at every call, also of a traced function.
class PANTO_EXPORT Dropout final : public Layer {
 public:
  // Throws InvalidArgument unless 0 <= rate < 1.
  explicit Dropout(double rate);
  // x floating.
  Tensor operator()(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  double rate_;
};

// One after the other.
class PANTO_EXPORT Sequential final : public Layer {
 public:
  template <class... Layers>
    requires(std::is_base_of_v<Layer, Layers> && ...)
  explicit Sequential(Layers... layers) : layers_{std::make_shared<const Layers>(std::move(layers))...} {}
  explicit Sequential(std::vector<std::shared_ptr<const Layer>> layers);
  Tensor operator()(const Tensor& x) const override;
  std::vector<Variable> variables() const override;
  std::vector<Variable> state() const override;
  // One layer a line, with the number of parameters.
  std::string to_string() const override;

 private:
  std::vector<std::shared_ptr<const Layer>> layers_;
};

}  // namespace panto
