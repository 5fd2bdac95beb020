// Optimizer: the base of all optimizers, and how to write one.
//
//   class HeavyBall : public Optimizer {
//    public:
//     HeavyBall(std::vector<Variable> variables, Schedule rate) : Optimizer(std::move(variables), std::move(rate)) {
//       build();
//     }
//
//    private:
//     void create_slots(const std::vector<Variable>& variables) override {
//       for (const Variable& v : variables) add_slot(v, "momentum");
//     }
//     void apply_dense(const Tensor& gradient, const Variable& v) override {
//       const Variable& m = get_slot(v, "momentum");
//       const Tensor next = 0.9 * m.value() - rate(v) * gradient;
//       m.assign(next);
//       v.assign_add(next);
//     }
//   };
//
// An optimizer overrides create_slots, prepare, apply_dense and apply_sparse, of which only apply_dense is required,
// and `finish` if something changes once per step, such as Adam's powers. The functions are TensorFlow 1's, and all
// optimizers here consist of them. Ops in them run eagerly, or become a trace or nodes of a graph. In a graph that is
// built by hand nodes run in any order, except that gradients are computed first, then variables decay, then they
// change, then `finish` runs. So read each slot once and continue with the tensor, as above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/op/operation.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/training/schedule.h"

namespace panto {

// One entry of compute_gradients; the gradient is undefined if the loss does not depend on the variable.
struct GradientAndVariable {
  Gradient gradient;
  Variable variable;
};

// TensorFlow 1's gate_gradients: how many gradients must be ready before variables change in a graph. Here all of them
// always are, as kGraph demands, which satisfies every value.
enum class GateGradients : uint8_t { kNone, kOp, kGraph };

struct ComputeGradientsOptions {
  std::vector<Variable> var_list = {};  // empty: the optimizer's, or those of the graph
  Tensor grad_loss = {};                // the gradient with respect to the loss, in its shape; undefined: ones
  GateGradients gate_gradients = GateGradients::kGraph;
};

struct ApplyGradientsOptions {
  Variable global_step = {};      // a number that is incremented when all variables have changed
  std::string name = "minimize";  // of the node that runs the step
};

struct MinimizeOptions {
  std::vector<Variable> var_list = {};
  Tensor grad_loss = {};
  Variable global_step = {};
  std::string name = "minimize";
  GateGradients gate_gradients = GateGradients::kGraph;
};

class PANTO_EXPORT Optimizer {
 public:
  // Without variables it trains those that `minimize` finds in the graph (trainable_variables), or that `build` or
  // apply_gradients are given.
  Optimizer(std::vector<Variable> variables, Schedule learning_rate, double weight_decay = 0);
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  const std::vector<Variable>& variables() const { return variables_; }
  // For an optimizer constructed without variables: adds variables to train and makes their slots; call it before a
  // step with them is traced. Throws InvalidArgument for other variables if some were given at construction, and for
  // those of another graph.
  void build(const std::vector<Variable>& variables);

  // The variables that the optimizer keeps between steps, which a checkpoint must save: for each variable its moments
  // (named "VARIABLE/SLOT"), then the shared ones, then "step" (int64) if steps are counted, and last "learning_rate"
  // (float32, or float64 if a variable is) if the rate is a number. An optimizer constructed inside a GraphScope with a
  // number has no "learning_rate".
  std::vector<Variable> slots() const;
  // The names of the slots per variable: "m", "v".
  std::vector<std::string> slot_names() const;
  // The variable's slot of that name. Throws InvalidArgument if there is none.
  const Variable& get_slot(const Variable& variable, std::string_view name) const;

  // The rate of the next step. Throws FailedPrecondition if a schedule inside a GraphScope sets it.
  double learning_rate() const;
  // Sets the rate from the next step on, also for functions traced before. (Inside a trace or GraphScope the change
  // becomes part of it.) For an optimizer constructed inside a GraphScope, it holds for steps that are built from now
  // on. Throws InvalidArgument unless rate is finite and not negative, FailedPrecondition if a schedule sets the rate,
  // and if the rate is a constant of a graph that has been built.
  void set_learning_rate(double rate);
  // Excludes variables from weight decay: biases, gains. Steps traced before do not see the change. Throws
  // InvalidArgument for a variable that the optimizer does not have.
  void exclude_from_weight_decay(const std::vector<Variable>& variables);

  // One step with one gradient for each variable; undefined ones are skipped. Throws InvalidArgument if their number,
  // dtypes or shapes do not fit, or a schedule does not give a valid rate; then no variable has changed.
  void apply(std::span<const Tensor> gradients, std::source_location where = std::source_location::current());
  void apply(std::initializer_list<Tensor> gradients, std::source_location where = std::source_location::current());
  // The same with gradients of which some are sparse. A row index outside the variable also throws InvalidArgument,
  // when the variables before that one have already changed; indices from a tape are always inside. (Where sparse
  // gradients are made dense, a row with a negative index is ignored, as in unsorted_segment_sum.)
  void apply(std::span<const Gradient> gradients, std::source_location where = std::source_location::current());

  // TensorFlow 1's two halves of `minimize`; gradients may be changed in between:
  //
  //   auto gradients = opt.compute_gradients(loss);
  //   for (auto& [g, v] : gradients) g = clip_by_norm(g, 5);
  //   Operation train = opt.apply_gradients(gradients, {.global_step = step});
  //
  // Inside a GraphScope `loss` is a tensor of the graph; elsewhere it is a function that is called under a tape. The
  // gradient of a table whose rows are looked up is sparse. Throws InvalidArgument if there are no variables, or
  // grad_loss does not have the loss's shape and dtype.
  std::vector<GradientAndVariable> compute_gradients(const Tensor& loss, const ComputeGradientsOptions& options = {},
                                                     std::source_location where = std::source_location::current());
  std::vector<GradientAndVariable> compute_gradients(const Callable<Tensor()>& loss,
                                                     const ComputeGradientsOptions& options = {},
                                                     std::source_location where = std::source_location::current());
  // One step. Inside a GraphScope: adds its nodes, and returns the node that runs them all, which is then in the
  // collection "train_op". Throws as `apply`, and InvalidArgument if a variable occurs twice or is not the optimizer's,
  // and if none has a gradient.
  Operation apply_gradients(std::span<const GradientAndVariable> gradients, const ApplyGradientsOptions& options = {},
                            std::source_location where = std::source_location::current());

  // Inside a GraphScope: adds the nodes of one training step and returns the node that runs it all.
  // Throws FailedPrecondition outside, InvalidArgument if there are no variables or loss depends on none of them.
  Operation minimize(const Tensor& loss, std::string_view name = "minimize",
                     std::source_location where = std::source_location::current());
  Operation minimize(const Tensor& loss, const MinimizeOptions& options,
                     std::source_location where = std::source_location::current());
  // Anywhere: one step by the gradient of the function's result.
  Operation minimize(const Callable<Tensor()>& loss, const MinimizeOptions& options = {},
                     std::source_location where = std::source_location::current());

 protected:
  // A number that a step uses for all variables, cast to each dtype once. A default-constructed Scalar throws
  // FailedPrecondition.
  class PANTO_EXPORT Scalar {
   public:
    Scalar() = default;
    explicit Scalar(Tensor value);
    const Tensor& value() const;
    const Tensor& as(DType dtype);

   private:
    std::vector<std::shared_ptr<const Tensor>> values_;  // references to them stay valid
  };

  // ---- Functions to override
  // ------------------------------------------------------------------------------------------

  // Makes the slots of these variables by add_slot, and shared variables by add_shared and count_steps. Called again if
  // `build` gets further variables.
  virtual void create_slots(const std::vector<Variable>& variables);
  // Called in a step before the variables change: reads the shared variables.
  virtual void prepare() {}
  // Changes the variable by its gradient, whose shape and dtype were checked.
  virtual void apply_dense(const Tensor& gradient, const Variable& variable) = 0;
  // The same for a sparse gradient whose rows are unique. By default it is made dense.
  virtual void apply_sparse(const Gradient& rows, const Variable& variable);
  // The same for a sparse gradient in which rows may repeat. By default these are added up first.
  virtual void apply_sparse_duplicates(const Gradient& rows, const Variable& variable);
  // Called in a step when all variables have changed.
  virtual void finish() {}
  // False: `learning_rate` and `set_learning_rate` throw FailedPrecondition, because the optimizer has several rates.
  virtual bool has_rate() const { return true; }

  // ---- Functions to use in these
  // --------------------------------------------------------------------------------------

  // Makes the slots of variables that have none yet. Call it at the end of the constructor, so that steps can be traced
  // and slots can be loaded; otherwise the first step does it.
  void build();
  // Returns a constructor's variables. Throws InvalidArgument if there are none.
  static std::vector<Variable> given(std::vector<Variable> variables);
  // In create_slots: makes a slot of the variable's shape and dtype, filled with `value`, or with `initial`.
  void add_slot(const Variable& variable, std::string_view name, double value = 0);
  void add_slot(const Variable& variable, std::string_view name, const Tensor& initial);
  // In create_slots: a shared scalar, float64 if one of the optimizer's variables is, else float32. Calls with one name
  // return one variable.
  Variable add_shared(std::string_view name, double value);
  // In create_slots: declares that `step` will be used.
  void count_steps();

  // In a step: its rate, in the variable's dtype; its number, from 0, as an int64 scalar. Throw FailedPrecondition
  // outside of a step.
  const Tensor& rate(const Variable& variable);
  const Tensor& step() const;
  // A step's numbers for FusedRule: its rate, then `others`, scalars of float64.
  Scalar numbers(std::initializer_list<Tensor> others) const;
  // Whether weight decay applies to the variable (exclude_from_weight_decay): for optimizers with their own decay.
  // Throws InvalidArgument for a variable that the optimizer does not have.
  bool decays(const Variable& variable) const;

 private:
  friend struct OptimizerState;  // nn/training/checkpoints/optimizer_state.h
  friend class MultiOptimizer;
  struct Slot {
    std::string name;
    Variable variable;
    double initial = 0;  // of a shared variable
  };
  // Values of the current step.
  struct Now {
    Scalar rate;
    Tensor step;
  };

  DType scalar_type() const;
  void expect_rate(std::string_view what) const;
  void number(const Variable& variable, size_t i);
  size_t index_of(const Variable& v) const;
  void make_rate();
  void adopt(const std::vector<Variable>& variables);
  void decay(std::span<const Gradient> gradients);
  void run_step(std::span<const Gradient> gradients, const Variable& global_step);
  void change(std::span<const Gradient> gradients);
  Operation apply_computed(const std::vector<GradientAndVariable>& gradients, const MinimizeOptions& options,
                           const std::source_location& where);
  std::vector<Variable> variables_for(const std::vector<Variable>& var_list) const;

  std::vector<Variable> variables_;
  Schedule schedule_;
  double weight_decay_;
  std::vector<std::pair<int64_t, size_t>> numbers_;  // indices of variables, by the ids of their handles, ascending
  std::vector<int> decays_;                          // per variable: 1 or 0
  std::vector<std::vector<Slot>> slots_;             // per variable that is built
  std::vector<Slot> shared_;
  Variable rate_;                          // undefined if a schedule sets the rate, or it is a constant of a graph
  Variable step_;                          // the number of the next step, if steps are counted
  bool of_graph_;                          // constructed without variables
  const void* graph_ = nullptr;            // the graph of these variables; null: none yet, or not in a graph
  bool rate_is_used_ = false;              // a graph has a step with the rate as a constant
  Callable<void(Optimizer&)> when_built_;  // restores new slots from a checkpoint
  size_t current_ = 0;                     // the index of the variable being changed
  Now* now_ = nullptr;
};

}  // namespace panto
