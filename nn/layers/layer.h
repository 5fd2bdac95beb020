// Layers: functions with variables.
//
//   Sequential model(Flatten(), Dense(784, 128, {.activation = relu}), Dense(128, 10));
//   Tensor logits = model(images);                      // [batch, 28, 28] -> [batch, 10]
//   auto grads = tape.gradient(loss, model.variables());
//   model.save("best.safetensors");
//
// A layer of your own consists of others, and lists them (nn/layers/parts.h):
//
//   struct Net : Layer {
//     Dense a{784, 128, {.activation = relu}}, b{128, 10};
//     Variable scale{ones({10}), "scale"};
//     Parts parts() const override { return {a, b, scale}; }
//     Tensor forward(const Tensor& x) const override { return b(a(x)) * scale; }
//   };
//
// or adds them by name; these names are then used in files ("hidden/kernel", "scale"):
//
//   struct Net : Layer {
//     Dense hidden = add("hidden", Dense(784, 128, {.activation = relu})), out = add("out", Dense(128, 10));
//     Variable scale = add_variable("scale", {10}, {.initializer = ones_initializer()});
//     Tensor forward(const Tensor& x) const override { return out(hidden(x)) * scale; }
//   };
//
// `build` makes the variables that depend on the input's shape, once, before the first call:
//
//   struct Linear : Layer {
//     void build(const PartialShape& input) const override {
//       add_variable("kernel", {input.dim(input.rank() - 1), 10}, {.regularizer = regularizers::l2(1e-4)});
//     }
//     Tensor forward(const Tensor& x) const override { return matmul(x, variable("kernel")); }
//   };
//
// A layer is a handle: copies share their variables. Calling a layer runs ops, so tapes and traces work as usual.
// Behaviour that is only for training (Dropout drops, BatchNorm uses the batch's statistics) is on while a
// TrainingScope is open; a trace keeps the mode in which it was made:
//
//   const Function step = trace([&](const Tensor& x, const Tensor& labels) {
//     const TrainingScope training;
//     ...
//
// Other headers have further layers: attention.h, convolution.h (pools, padding), embedding.h, functional_model.h
// (layers as a graph), image.h (random changes), normalization.h, recurrent.h, sound/spectrogram.h; in the folder core:
// activation_layers.h, dropout.h, einsum_dense.h, losses.h, masking.h, merge.h (functions of several inputs),
// reshaping.h; in the folder preprocessing: lookup.h, preprocessing.h. The folder weights has constraints.h and
// regularizers.h, for the variables of layers.
// Thread-safety: calls may run in several threads at once.
#pragma once

#include <atomic>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/layers/activation.h"
#include "panto/nn/layers/initializers.h"
#include "panto/nn/layers/parts.h"
#include "panto/nn/layers/weights/constraints.h"
#include "panto/nn/layers/weights/regularizers.h"
#include "panto/nn/training/checkpoint.h"

namespace panto {

// The inputs that a layer accepts. A member that is left out may be anything.
struct InputSpec {
  DType dtype = DType::kInvalid;
  int rank = -1, min_rank = -1, max_rank = -1;
  std::vector<std::pair<int, int64_t>> axes = {};  // sizes by axis; the last one is -1: {{-1, 784}}
};

struct AddVariableOptions {
  Initializer initializer = nullptr;  // none: Glorot's uniform one; zeros for types that are not floating
  DType dtype = kFloat32;
  bool trainable = true;
  Regularizer regularizer = nullptr;
  Constraint constraint = nullptr;
};

class PANTO_EXPORT Layer {
 public:
  Layer();
  // Copies share the variables, and all settings below (trainable, regularizers, constraints, added parts).
  Layer(const Layer& other) noexcept;
  Layer(Layer&& other) noexcept;
  Layer& operator=(const Layer& other) noexcept;
  Layer& operator=(Layer&& other) noexcept;
  virtual ~Layer();

  // Calls `build`, before the first call, and `forward`. Their errors say which layer it was, and where it was called.
  // Throws InvalidArgument if x does not match input_spec(); FailedPrecondition at the first call, and at the first one
  // in training, if `forward` uses a variable that is neither in variables() nor in state(): it would be neither
  // trained nor saved.
  Tensor operator()(const Tensor& x, std::source_location where = std::source_location::current()) const;
  // A layer of your own overrides it:
  //
  //   struct Doubled : Layer {
  //     Tensor forward(const Tensor& x) const override { return x + x; }
  //   };
  virtual Tensor forward(const Tensor& x) const = 0;
  // Makes, by `add_variable` and `add`, the parts that depend on the shape of the first input. It runs outside of a
  // trace that may be open, and tapes do not record it. If it throws, nothing was made, and the next call tries again.
  virtual void build(const PartialShape& input) const;  // nothing
  virtual InputSpec input_spec() const;                 // anything
  // The layers and variables that this one consists of; a layer of your own lists them.
  virtual Parts parts() const;  // those given to `add` and `add_variable`; an override adds Layer::parts()
  // The variables that gradients train.
  virtual std::vector<Variable> variables() const;  // of the parts
  // Variables that are not trained but belong to the learned state: running statistics.
  virtual std::vector<Variable> state() const;  // of the parts
  // "Dense(784, 128)"; unless overridden the name of the class: "Doubled()".
  virtual std::string to_string() const;

  // Whether `build` has run, or is not needed, for this layer and all its parts.
  bool built() const;

  // Whether the layer is trained. set_trainable(false) freezes it with all its parts: its variables move to state(),
  // optimizers made from variables() after that do not change them, and a BatchNorm uses its running statistics in
  // training, too. As in Keras.
  bool trainable() const noexcept;
  void set_trainable(bool trainable) const;

  // The penalties of the trained variables by their regularizers, of this layer and its parts. `fit` adds them to the
  // loss. In a GraphScope they are also in the collection "regularization_losses".
  std::vector<Tensor> regularization_losses() const;
  // Penalizes the layer's output at every call: add_loss (core/losses.h) of the regularizer's number divided by the
  // batch size, as in Keras.
  void set_activity_regularizer(Regularizer regularizer) const;
  // Applies the constraints: assigns to each constrained variable the constraint's result. `fit` does so after each
  // step.
  void apply_constraints() const;

  // variables() and state() with their names in files: the names given to `add` and `add_variable`, else those that
  // panto/nn/training/checkpoint.h describes. Names of a layer added as "hidden" begin with "hidden"; it replaces the
  // layer's own first name if all its variables share that one ("dense/kernel": "hidden/kernel").
  std::vector<NamedVariable> named_variables() const;
  // The same for variables() only.
  std::vector<NamedVariable> named_parameters() const;
  // Saves the values of variables() and state() to "best.safetensors" or "best.npz", whole or not at all. Throws
  // InvalidArgument for other file names, and for a layer of your own without variables; and as write_npz and
  // write_safetensors.
  void save(const std::string& path) const;
  // Loads variables() and state() from a file that the same model saved, in any process. Throws InvalidArgument, and
  // changes nothing, if the file lacks a variable, has others, or has one of another shape or dtype; and as read_npz
  // and read_safetensors.
  void load(const std::string& path) const;
  // Copies the values of variables() and state() from another model of this structure, by name. Throws InvalidArgument,
  // and changes nothing, if `from` lacks one, has others, or has one of another shape or dtype.
  void copy_values(const Layer& from) const;

  // A table of the layers in this one, with the shapes of their outputs for an input of this shape and the numbers of
  // their parameters, as Keras prints it: `std::cout << model.summary({-1, 784})`. "?": a part that was not called, or
  // is not a Layer. Calls the layer inside a trace, so nothing is computed. Throws what `forward` throws.
  std::string summary(const PartialShape& input, DType dtype = kFloat32) const;
  std::string summary() const;  // without calling the layer: shapes are "?"

 protected:
  // Make a layer or a variable a part of this one, under a name. Throw InvalidArgument for a name that is empty, has a
  // '/' or is taken by another part.
  template <class L>
    requires(std::is_base_of_v<Layer, L>)
  L add(std::string_view name, L layer) const {
    add_part(name, std::make_shared<const L>(layer));
    return layer;
  }
  Variable add_variable(std::string_view name, const Shape& shape, const AddVariableOptions& options = {}) const;
  // The part added under that name. Throw NotFound.
  Variable variable(std::string_view name) const;
  const Layer& part(std::string_view name) const;
  // Sets a regularizer, or a constraint, of a variable of this layer; an empty one does nothing.
  void regularize(const Variable& variable, const Regularizer& regularizer) const;
  void constrain(const Variable& variable, const Constraint& constraint) const;
  // The functions of tensors, which `add` of layers would hide.
  static Tensor add(const ArgList& tensors);
  static Tensor add(Arg a, Arg b);

 private:
  friend class BuiltInLayer;
  friend const void* identity_of(const Layer& layer) noexcept;
  struct State;
  void add_part(std::string_view name, std::shared_ptr<const Layer> layer) const;
  Tensor called(const Tensor& x) const;
  void prepare(const Tensor& x) const;
  std::shared_ptr<State> state_;  // of all copies; never null
  virtual bool built_in() const { return false; }
  // The modes in which `forward` was found to use only listed variables. Assigning to a layer resets it, since the
  // parts change.
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

// Layers of this library: errors in them name the line that called them.
class PANTO_EXPORT BuiltInLayer : public Layer {
 private:
  bool built_in() const final { return true; }
};

// Layers called by this thread are in training while a scope lives. Scopes nest.
class PANTO_EXPORT TrainingScope {
 public:
  explicit TrainingScope(bool training = true) noexcept;
  TrainingScope(const TrainingScope&) = delete;
  TrainingScope& operator=(const TrainingScope&) = delete;

 private:
  Step step_;
  StepScope scope_;
};
// The innermost scope's mode on this thread; false without a scope.
PANTO_EXPORT bool in_training() noexcept;

struct DenseOptions {
  Activation activation = nullptr;  // none
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = constant_initializer(0);
  Regularizer kernel_regularizer = nullptr, bias_regularizer = nullptr, activity_regularizer = nullptr;
  Constraint kernel_constraint = nullptr, bias_constraint = nullptr;
  std::string name = "dense";  // of the variables: "dense/kernel", "dense/bias"
  DType dtype = kFloat32;
};

// activation(x . kernel + bias): [..., inputs] -> [..., units].
class PANTO_EXPORT Dense final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless inputs and units are positive.
  Dense(int64_t inputs, int64_t units, DenseOptions options);
  Dense(int64_t inputs, int64_t units);
  // x of rank 2 or more. Throws InvalidArgument where its last dimension is not `inputs`.
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override { return {kernel_, bias_}; }
  std::string to_string() const override;
  const Variable& kernel() const { return kernel_; }
  const Variable& bias() const { return bias_; }  // undefined without use_bias

 private:
  int64_t inputs_, units_;
  Activation activation_;
  Variable kernel_, bias_;
};

// [batch, ...] -> [batch, product of the other dimensions].
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

// The exact Gelu, x times the standard normal distribution function at x; and its approximation by tanh (Hendrycks and
// Gimpel 2016). As activations: `{.activation = gelu_erf}`.
PANTO_EXPORT Tensor gelu_erf(const Tensor& x);
PANTO_EXPORT Tensor gelu_tanh(const Tensor& x);

// In training, sets a random share `rate` of the elements to zero and divides the others by 1 - rate (Srivastava et al.
// 2014); otherwise returns x. Draws from the process's generator (`set_seed`) at every call, also at every call of a
// traced function.
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

// Applies layers one after the other.
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
