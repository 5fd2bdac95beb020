// Optimizers: they change variables by gradients.
//
//   Adam adam(model.variables(), {.learning_rate = 1e-3});
//   GradientTape tape;
//   Tensor loss = ...;
//   adam.apply(tape.gradient(loss, adam.variables()));
//
// The rate is a number, which set_learning_rate changes at any time, or a schedule (nn/training/schedule.h), which
// follows the optimizer's own count of steps. Both are variables, so traced steps and graphs follow them. What else a
// step keeps, the optimizer makes when it is constructed, so that a training step can be traced.
//
// Inside a GraphScope it may be as in TensorFlow 1: `Sgd({.learning_rate = 0.5}).minimize(loss)` trains the variables
// of the graph. A rate that is a number is a constant of the graph there, and no variable that would have to be
// initialized. One that is to change is a placeholder, or a variable: `{.learning_rate = rate}`.
//
// Gradients may be rows of variables (tape.sparse_gradient), as of an embedding's table: Sgd without momentum then
// changes those rows only (weight decay: all). The others make them whole, since their averages decay, and change the
// variable, where the gradient is zero too.
//
// Weight decay (`.weight_decay`) is decoupled from the gradient, as in Keras and AdamW (Loshchilov and Hutter 2019): a
// step first makes v -= learning_rate * weight_decay * v of each variable that has a gradient.
//
// Constructors throw InvalidArgument for options out of their range. Thread-safety: one call at a time.
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/op/operation.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/training/schedule.h"

namespace panto {

class ControlDependencies;

class PANTO_EXPORT Optimizer {
 public:
  // Of no variables: of those that `minimize` finds in the graph (trainable_variables).
  Optimizer(std::vector<Variable> variables, Schedule learning_rate, double weight_decay = 0);
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  const std::vector<Variable>& variables() const { return variables_; }
  // What the optimizer keeps from step to step, and a checkpoint must keep: for each variable its moments (named
  // "VARIABLE/SLOT"), then what all share, last "learning_rate" (float32, or float64 where a variable is) or, with a
  // schedule, "step" (int64). Made inside a GraphScope with a number it has neither.
  std::vector<Variable> slots() const;

  // The rate of the next step. Throws FailedPrecondition where a schedule inside a GraphScope says it.
  double learning_rate() const;
  // From the next step on, also of functions traced before. (Inside a trace or GraphScope it becomes a part of that.)
  // Of an optimizer made inside a GraphScope: of the steps that are built from now on. Throws InvalidArgument unless
  // rate is finite and not negative, FailedPrecondition where a schedule says the rate, and where the rate is a
  // constant of a graph that has been built.
  void set_learning_rate(double rate);
  // Weight decay leaves these as they are: biases, gains. Steps traced before do not know. Throws InvalidArgument for a
  // variable that is not the optimizer's.
  void exclude_from_weight_decay(const std::vector<Variable>& variables);

  // One step; gradients by variable, undefined ones are skipped. Throws InvalidArgument where their number, dtypes or
  // shapes do not fit, or a schedule gives no rate; then no variable has changed.
  void apply(std::span<const Tensor> gradients, std::source_location where = std::source_location::current());
  void apply(std::initializer_list<Tensor> gradients, std::source_location where = std::source_location::current());
  // The same with gradients of which some are rows. An index that is not in the variable throws InvalidArgument too,
  // when the variables before that one have changed; indices that a tape gave are in it.
  void apply(std::span<const Gradient> gradients, std::source_location where = std::source_location::current());
  // Inside a GraphScope: adds the nodes of one training step and returns the node that runs it all.
  // Throws FailedPrecondition outside, InvalidArgument if there are no variables or loss depends on none of them.
  Operation minimize(const Tensor& loss, std::string_view name = "minimize",
                     std::source_location where = std::source_location::current());

 protected:
  // A number that a step uses for all variables, in the dtype of each. Cast once for each dtype.
  class PANTO_EXPORT Scalar {
   public:
    explicit Scalar(Tensor value) : values_{std::move(value)} {}
    const Tensor& as(DType dtype);

   private:
    std::vector<Tensor> values_;
  };

  // One step, by gradients that fit the variables; undefined ones are to be skipped.
  virtual void update(std::span<const Tensor> gradients, Scalar& rate) = 0;
  // The same where some are rows: unless overridden, it makes them whole and calls update.
  virtual void update_rows(std::span<const Gradient> gradients, Scalar& rate);

  // Makes what the optimizer keeps, by add_slots and add_shared, when its variables are known: a constructor that was
  // given some calls it.
  virtual void make_slots() {}
  // The variables that a constructor was given. Throws InvalidArgument if there are none.
  static std::vector<Variable> given(std::vector<Variable> variables);
  // Makes a variable full of `value` of each name like each of the optimizer's; slot(i, k) is the k-th of the i-th
  // variable. To be called once at most, and before add_shared.
  void add_slots(const std::vector<std::string>& names, double value = 0);
  const Variable& slot(size_t i, size_t k) const { return slots_[i * slots_each_ + k]; }
  // A scalar, float64 if one of the optimizer's variables is, else float32.
  Variable add_shared(const char* name, double value);

 private:
  DType scalar_type() const;
  void make_clock();
  void find_variables();
  void decay(std::span<const Tensor> gradients, Scalar& rate, std::optional<ControlDependencies>& done);
  template <class Update>
  void step(std::span<const Tensor> gradients, const Update& update);

  std::vector<Variable> variables_;
  Schedule schedule_;
  double weight_decay_;
  std::vector<int> decays_;  // by variable: 1 or 0
  std::vector<Variable> slots_;
  size_t slots_each_ = 0;
  Variable clock_;      // the rate, or the number of the next step; undefined where the rate is a constant of a graph
  bool of_graph_;       // its variables are those of the graph
  bool built_ = false;  // a step is in a graph that has the rate as a constant
};

struct SgdOptions {
  Schedule learning_rate = 0.01;
  double momentum = 0;  // in [0, 1]
  bool nesterov = false;
  double weight_decay = 0;
};

// Gradient descent: v -= learning_rate * dv, for rows one after the other. With momentum, as Keras: m = momentum * m -
// learning_rate * dv; v += m, and with nesterov v += momentum * m - learning_rate * dv (needs momentum). PyTorch
// applies the rate to what has accumulated: the same while the rate is.
class PANTO_EXPORT Sgd final : public Optimizer {
 public:
  // Of variables in braces or in a vector: templates and lists, so that options in braces are taken for what they are.
  explicit Sgd(std::initializer_list<Variable> variables, const SgdOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit Sgd(Variables variables, const SgdOptions& options = {}) : Sgd(options, given(std::move(variables))) {}
  // Of the variables of the graph.
  explicit Sgd(const SgdOptions& options);

 private:
  Sgd(const SgdOptions& options, std::vector<Variable> variables);
  void make_slots() override;
  void update(std::span<const Tensor> gradients, Scalar& rate) override;
  void update_rows(std::span<const Gradient> gradients, Scalar& rate) override;
  double momentum_;
  bool nesterov_;
};

struct AdamOptions {
  Schedule learning_rate = 0.001;
  double beta1 = 0.9;     // in [0, 1)
  double beta2 = 0.999;   // in [0, 1)
  double epsilon = 1e-7;  // as Keras; added to the root, as in the paper's efficient form
};

// Adam (Kingma and Ba 2015, section 2, with bias correction). slots(): "m" and "v" of each variable,
// then "beta1_power" and "beta2_power".
class PANTO_EXPORT Adam : public Optimizer {
 public:
  explicit Adam(std::initializer_list<Variable> variables, const AdamOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit Adam(Variables variables, const AdamOptions& options = {}) : Adam(options, given(std::move(variables))) {}
  // Of the variables of the graph.
  explicit Adam(const AdamOptions& options);

 protected:
  Adam(const AdamOptions& options, std::vector<Variable> variables, double weight_decay = 0);

 private:
  void make_slots() final;
  void update(std::span<const Tensor> gradients, Scalar& rate) override;
  double beta1_, beta2_, epsilon_;
  Variable power1_, power2_;
};

struct AdamWOptions {
  Schedule learning_rate = 0.001;
  double weight_decay = 0.004;  // as Keras
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
};

// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
class PANTO_EXPORT AdamW final : public Adam {
 public:
  explicit AdamW(std::initializer_list<Variable> variables, const AdamWOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit AdamW(Variables variables, const AdamWOptions& options = {}) : AdamW(options, given(std::move(variables))) {}
  // Of the variables of the graph.
  explicit AdamW(const AdamWOptions& options);

 private:
  AdamW(const AdamWOptions& options, std::vector<Variable> variables);
};

struct RMSpropOptions {
  Schedule learning_rate = 0.001;
  double rho = 0.9;  // in [0, 1)
  double momentum = 0;
  bool centered = false;  // divide by an estimate of the gradient's variance, not of its square
  double epsilon = 1e-7;  // added to what the root is taken of, as in Keras
  double weight_decay = 0;
};

// RMSprop (Hinton 2012, lecture 6e; centered: Graves 2013). slots(): "ms", "mom" and, if
// centered, "mg".
class PANTO_EXPORT RMSprop final : public Optimizer {
 public:
  explicit RMSprop(std::initializer_list<Variable> variables, const RMSpropOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit RMSprop(Variables variables, const RMSpropOptions& options = {})
      : RMSprop(options, given(std::move(variables))) {}
  // Of the variables of the graph.
  explicit RMSprop(const RMSpropOptions& options);

 private:
  RMSprop(const RMSpropOptions& options, std::vector<Variable> variables);
  void make_slots() override;
  void update(std::span<const Tensor> gradients, Scalar& rate) override;
  double rho_, momentum_, epsilon_;
  bool centered_;
};

struct AdagradOptions {
  Schedule learning_rate = 0.001;
  double initial_accumulator = 0.1;  // as Keras; PyTorch: 0
  double epsilon = 1e-7;             // added to the root
  double weight_decay = 0;
};

// Adagrad (Duchi et al. 2011). slots(): "accumulator".
class PANTO_EXPORT Adagrad final : public Optimizer {
 public:
  explicit Adagrad(std::initializer_list<Variable> variables, const AdagradOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit Adagrad(Variables variables, const AdagradOptions& options = {})
      : Adagrad(options, given(std::move(variables))) {}
  // Of the variables of the graph.
  explicit Adagrad(const AdagradOptions& options);

 private:
  Adagrad(const AdagradOptions& options, std::vector<Variable> variables);
  void make_slots() override;
  void update(std::span<const Tensor> gradients, Scalar& rate) override;
  double initial_accumulator_, epsilon_;
};

}  // namespace panto
