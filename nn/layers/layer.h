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
// or names them as it makes them, which then are their names in files ("hidden/kernel", "scale"):
//
//   struct Net : Layer {
//     Dense hidden = add("hidden", Dense(784, 128, {.activation = relu})), out = add("out", Dense(128, 10));
//     Variable scale = add_variable("scale", {10}, {.initializer = ones_initializer()});
//     Tensor forward(const Tensor& x) const override { return out(hidden(x)) * scale; }
//   };
//
// What depends on the input's shape is made by `build`, once, before the first call:
//
//   struct Linear : Layer {
//     void build(const PartialShape& input) const override {
//       add_variable("kernel", {input.dim(input.rank() - 1), 10}, {.regularizer = regularizers::l2(1e-4)});
//     }
//     Tensor forward(const Tensor& x) const override { return matmul(x, variable("kernel")); }
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
// Other headers have further layers: attention.h, convolution.h (pools, padding), embedding.h, functional_model.h
// (layers as a graph), image.h (random changes), normalization.h, recurrent.h, sound/spectrogram.h, and in the folder
// core: activation_layers.h, dropout.h, einsum_dense.h, lookup.h, losses.h, masking.h, merge.h (functions of several
// inputs), preprocessing.h, reshaping.h. In the folder weights: constraints.h and regularizers.h, for the variables of
// layers.
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

// What a layer takes. What is left out may be anything.
struct InputSpec {
  DType dtype = DType::kInvalid;
  int rank = -1, min_rank = -1, max_rank = -1;
  std::vector<std::pair<int, int64_t>> axes = {};  // sizes by axis; the last one is -1: {{-1, 784}}
};

struct AddVariableOptions {
  Initializer initializer = nullptr;  // Glorot's uniform one; zeros of what is not floating
  DType dtype = kFloat32;
  bool trainable = true;
  Regularizer regularizer = nullptr;
  Constraint constraint = nullptr;
};

class PANTO_EXPORT Layer {
 public:
  Layer();
  // Copies have the same variables, and the same that is said of them below.
  Layer(const Layer& other) noexcept;
  Layer(Layer&& other) noexcept;
  Layer& operator=(const Layer& other) noexcept;
  Layer& operator=(Layer&& other) noexcept;
  virtual ~Layer();

  // Calls `build`, before the first time, and `forward`. What they throw says which layer it was, and where it was
  // called. Throws InvalidArgument for an x that is not as input_spec() says; FailedPrecondition at the first call, and
  // at the first one in training, if `forward` uses a variable that is neither among variables() nor state(): it would
  // be neither trained nor saved.
  Tensor operator()(const Tensor& x, std::source_location where = std::source_location::current()) const;
  // What a layer of yours defines:
  //
  //   struct Doubled : Layer {
  //     Tensor forward(const Tensor& x) const override { return x + x; }
  //   };
  virtual Tensor forward(const Tensor& x) const = 0;
  // Makes, by `add_variable` and `add`, what depends on the shape of the first input: outside of a trace in which the
  // call may be, and unheard by tapes. If it throws, nothing was made, and the next call tries again.
  virtual void build(const PartialShape& input) const;  // nothing
  virtual InputSpec input_spec() const;                 // anything
  // The layers and variables that it is made of, which a layer of yours lists.
  virtual Parts parts() const;  // what `add` and `add_variable` were given; one that lists others adds Layer::parts()
  // Those that are trained, by gradients.
  virtual std::vector<Variable> variables() const;  // of the parts
  // Those that are not, but belong to what was learned: running statistics.
  virtual std::vector<Variable> state() const;  // of the parts
  // "Dense(784, 128)"; of a layer that does not say, the name of its class: "Doubled()".
  virtual std::string to_string() const;

  // Whether `build` has run, or need not, of this layer and all that it is made of.
  bool built() const;

  // Whether it is trained. set_trainable(false) freezes the layer and all that it is made of: its variables are among
  // state(), optimizers that are made of variables() from then on leave them alone, and a BatchNorm keeps to its
  // running statistics in training, too. As in Keras.
  bool trainable() const noexcept;
  void set_trainable(bool trainable) const;

  // The penalties of variables that are trained, by their regularizers, of this layer and those that it is made of.
  // `fit` adds them to the loss. In a GraphScope they are in the collection "regularization_losses", too.
  std::vector<Tensor> regularization_losses() const;
  // What the layer gives is penalized whenever it is called: add_loss (core/losses.h) of the regularizer's number
  // divided by the batch's size, as in Keras.
  void set_activity_regularizer(Regularizer regularizer) const;
  // Gives variables that have a constraint the value that it makes of theirs. `fit` does so behind each step.
  void apply_constraints() const;

  // variables() and state() by the names that they have in files: those that `add` and `add_variable` gave, else as
  // panto/nn/training/checkpoint.h says. Of a layer that was added as "hidden" they begin with that, which stands in
  // the place of its own first name where all its variables have it in common ("dense/kernel": "hidden/kernel").
  std::vector<NamedVariable> named_variables() const;
  // Of those only variables().
  std::vector<NamedVariable> named_parameters() const;
  // The values of variables() and state(), to "best.safetensors" or "best.npz", whole or not at all. Throws
  // InvalidArgument for other names, and for a layer of your own without variables, and as write_npz and
  // write_safetensors.
  void save(const std::string& path) const;
  // Gives variables() and state() the values of a file that the same model saved, in whatever process. Throws
  // InvalidArgument, and changes nothing, where the file lacks a variable, has others, or has one of another shape or
  // dtype; and as read_npz and read_safetensors.
  void load(const std::string& path) const;
  // Gives variables() and state() the values that those of the same names have in another model of this structure.
  // Throws InvalidArgument, and changes nothing, where `from` lacks one, has others, or has one of another shape or
  // dtype.
  void copy_values(const Layer& from) const;

  // A table of the layers that it is made of, with the shapes of their outputs for an input of this shape and the
  // numbers of their parameters, as Keras prints it: `std::cout << model.summary({-1, 784})`. "?": a part that was not
  // called, or is no Layer. Calls the layer inside a trace, so nothing is computed. Throws what `forward` throws.
  std::string summary(const PartialShape& input, DType dtype = kFloat32) const;
  std::string summary() const;  // without calling anything: shapes are "?"

 protected:
  // Makes a layer or a variable a part of this one, by a name. They throw InvalidArgument for a name that is empty, has
  // a '/' or is another part's.
  template <class L>
    requires(std::is_base_of_v<Layer, L>)
  L add(std::string_view name, L layer) const {
    add_part(name, std::make_shared<const L>(layer));
    return layer;
  }
  Variable add_variable(std::string_view name, const Shape& shape, const AddVariableOptions& options = {}) const;
  // What was added by that name. Throw NotFound.
  Variable variable(std::string_view name) const;
  const Layer& part(std::string_view name) const;
  // A penalty, or a constraint, of a variable of this layer; nothing where there is none.
  void regularize(const Variable& variable, const Regularizer& regularizer) const;
  void constrain(const Variable& variable, const Constraint& constraint) const;
  // The functions, which `add` of layers would hide.
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
