// Layers: functions with variables.
//
//   Sequential model(Flatten(), Dense(784, 128, {.activation = relu}), Dense(128, 10));
//   Tensor logits = model(images);                      // [batch, 28, 28] -> [batch, 10]
//   auto grads = tape.gradient(loss, model.variables());
//   model.save("best.safetensors");
//
// One of your own is made of others, and lists them (nn/layers/parts.h):
//
//   struct Net : Layer {
//     Dense a{784, 128, {.activation = relu}}, b{128, 10};
//     Variable scale{ones({10}), "scale"};
//     Parts parts() const override { return {a, b, scale}; }
//     Tensor forward(const Tensor& x) const override { return b(a(x)) * scale; }
//   };
//
// A layer is a handle: copies share their variables. Calling one runs ops, so that tapes and traces work as everywhere.
// What a layer does in training only (Dropout drops, BatchNorm takes the batch's statistics) it does while a
// TrainingScope is open; a trace keeps what was so when it was made:
//
//   const Function step = trace([&](const Tensor& x, const Tensor& labels) {
//     const TrainingScope training;
//     ...
//
// Other headers have further layers: attention.h, convolution.h, embedding.h, normalization.h, recurrent.h.
// Thread-safety: calls may run in several threads at once.
#pragma once

#include <atomic>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/layers/activation.h"
#include "panto/nn/layers/initializers.h"
#include "panto/nn/layers/parts.h"
#include "panto/nn/training/checkpoint.h"

namespace panto {

class PANTO_EXPORT Layer {
 public:
  Layer() = default;
  Layer(const Layer&) = default;
  Layer(Layer&&) = default;
  Layer& operator=(const Layer&) = default;
  Layer& operator=(Layer&&) = default;
  virtual ~Layer();

  // Calls `forward`. What it throws says which layer it was, and where it was called. Throws FailedPrecondition at the
  // first call, and at the first one in training, if `forward` uses a variable that is neither among variables() nor
  // state(): it would be neither trained nor saved.
  Tensor operator()(const Tensor& x, std::source_location where = std::source_location::current()) const;
  // What a layer of yours defines:
  //
  //   struct Doubled : Layer {
  //     Tensor forward(const Tensor& x) const override { return x + x; }
  //   };
  virtual Tensor forward(const Tensor& x) const = 0;
  // The layers and variables that it is made of, which a layer of yours lists.
  virtual Parts parts() const;  // none
  // Those that are trained, by gradients.
  virtual std::vector<Variable> variables() const;  // of the parts
  // Those that are not, but belong to what was learned: running statistics.
  virtual std::vector<Variable> state() const;  // of the parts
  // "Dense(784, 128)"; of a layer that does not say, the name of its class: "Doubled()".
  virtual std::string to_string() const;

  // variables() and state() by the names that they have in files (panto/nn/training/checkpoint.h says which).
  std::vector<NamedVariable> named_variables() const;
  // The values of variables() and state(), to "best.safetensors" or "best.npz", whole or not at all. Throws
  // InvalidArgument for other names, and for a layer of your own without variables, and as write_npz and
  // write_safetensors.
  void save(const std::string& path) const;
  // Gives variables() and state() the values of a file that the same model saved, in whatever process. Throws
  // InvalidArgument, and changes nothing, where the file lacks a variable, has others, or has one of another shape or
  // dtype; and as read_npz and read_safetensors.
  void load(const std::string& path) const;

 private:
  friend class BuiltInLayer;
  virtual bool built_in() const { return false; }
  // In which modes `forward` was found to use only what is listed. A layer that is assigned to has other parts.
  class Seen {
   public:
    Seen() = default;
    Seen(const Seen& other) noexcept : modes_(other.modes_.load(std::memory_order_relaxed)) {}
    Seen& operator=(const Seen&) noexcept {
      modes_.store(0, std::memory_order_relaxed);
      return *this;
    }
    bool has(int mode) const noexcept { return (modes_.load(std::memory_order_relaxed) & mode) != 0; }
    void add(int mode) const noexcept { modes_.fetch_or(mode, std::memory_order_relaxed); }

   private:
    mutable std::atomic<int> modes_{0};
  };
  Seen seen_;
};

// Layers of this library: what goes wrong in them is said of the line that called them.
class PANTO_EXPORT BuiltInLayer : public Layer {
 private:
  bool built_in() const final { return true; }
};

// While one lives, layers that this thread calls are in training. Scopes nest.
class PANTO_EXPORT TrainingScope {
 public:
  explicit TrainingScope(bool training = true) noexcept;
  TrainingScope(const TrainingScope&) = delete;
  TrainingScope& operator=(const TrainingScope&) = delete;

 private:
  Step step_;
  StepScope scope_;
};
// What the innermost one of this thread says; false without any.
PANTO_EXPORT bool in_training() noexcept;

struct DenseOptions {
  Activation activation = nullptr;  // none
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  std::string name = "dense";  // of the variables: "dense/kernel", "dense/bias"
  DType dtype = kFloat32;
};

// activation(x . kernel + bias): [..., inputs] -> [..., units]. The bias starts at zero.
class PANTO_EXPORT Dense final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless inputs and units are positive.
  Dense(int64_t inputs, int64_t units, DenseOptions options);
  Dense(int64_t inputs, int64_t units);
  // x of rank 2 or more. Throws InvalidArgument where its last dimension is not `inputs`.
  Tensor forward(const Tensor& x) const override;
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
class PANTO_EXPORT Flatten final : public BuiltInLayer {
 public:
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override { return "Flatten()"; }
};

// Any function as a layer: `Lambda(relu, "relu")`.
class PANTO_EXPORT Lambda final : public BuiltInLayer {
 public:
  // Throws InvalidArgument for an empty function.
  explicit Lambda(Activation function, std::string name = "Lambda");
  Tensor forward(const Tensor& x) const override { return function_(x); }
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
class PANTO_EXPORT Dropout final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless 0 <= rate < 1.
  explicit Dropout(double rate);
  // x floating.
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  double rate_;
};

// One after the other.
class PANTO_EXPORT Sequential final : public BuiltInLayer {
 public:
  template <class... Layers>
    requires(std::is_base_of_v<Layer, Layers> && ...)
  explicit Sequential(Layers... layers) : layers_{std::make_shared<const Layers>(std::move(layers))...} {}
  explicit Sequential(std::vector<std::shared_ptr<const Layer>> layers);
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override;
  // One layer a line, with the number of parameters.
  std::string to_string() const override;

 private:
  std::vector<std::shared_ptr<const Layer>> layers_;
};

}  // namespace panto
