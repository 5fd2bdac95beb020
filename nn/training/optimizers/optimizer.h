// Optimizer: what all optimizers have in common, and how to write one.
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
// Four functions are overridden, of which only apply_dense must be: create_slots, prepare, apply_dense, apply_sparse;
// and finish, where something changes once a step, as Adam's powers do. They are TensorFlow 1's, and all optimizers
// here are made of them. Ops in them run eagerly, become a trace, or nodes of a graph. In a graph that is made by hand
// nodes run in any order, but for this: gradients are computed first, then variables decay, then they change, then what
// `finish` does runs. So read each slot once and go on with the tensor, as above.
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

// What compute_gradients gives for each variable; the gradient is undefined where the loss does not depend on it.
struct GradientAndVariable {
  Gradient gradient;
  Variable variable;
};

// How far gradients are waited for before variables change, in a graph: TensorFlow 1's gate_gradients. Here all of them
// always are, as kGraph asks; whatever is asked for is kept.
enum class GateGradients : uint8_t { kNone, kOp, kGraph };

struct ComputeGradientsOptions {
  std::vector<Variable> var_list = {};  // empty: the optimizer's, or those of the graph
  Tensor grad_loss = {};                // the gradient of what is minimized by the loss, of its shape; undefined: ones
  GateGradients gate_gradients = GateGradients::kGraph;
};

struct ApplyGradientsOptions {
  Variable global_step = {};      // a number that grows by one when all variables have changed
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
  // Of no variables: of those that `minimize` finds in the graph (trainable_variables), or `build` and apply_gradients
  // are given.
  Optimizer(std::vector<Variable> variables, Schedule learning_rate, double weight_decay = 0);
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  const std::vector<Variable>& variables() const { return variables_; }
  // Of an optimizer made without variables: it trains these, too. Makes their slots; so before a step with them is
  // traced. Throws InvalidArgument for others where variables were given, and for those of another graph.
  void build(const std::vector<Variable>& variables);

  // What the optimizer keeps from step to step, and a checkpoint must keep: for each variable its moments (named
  // "VARIABLE/SLOT"), then what all share, then "step" (int64) where steps are counted, and last "learning_rate"
  // (float32, or float64 where a variable is) where the rate is a number. Made inside a GraphScope with a number it has
  // no "learning_rate".
  std::vector<Variable> slots() const;
  // The names of what is kept for each variable: "m", "v".
  std::vector<std::string> slot_names() const;
  // What is kept for the variable by that name. Throws InvalidArgument where there is none.
  const Variable& get_slot(const Variable& variable, std::string_view name) const;

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
  // when the variables before that one have changed; indices that a tape gave are in it. (Where rows are made whole,
  // the row of a negative index counts for nothing, as in unsorted_segment_sum.)
  void apply(std::span<const Gradient> gradients, std::source_location where = std::source_location::current());

  // TensorFlow 1's two halves of `minimize`, between which gradients may be changed:
  //
  //   auto gradients = opt.compute_gradients(loss);
  //   for (auto& [g, v] : gradients) g = clip_by_norm(g, 5);
  //   Operation train = opt.apply_gradients(gradients, {.global_step = step});
  //
  // Inside a GraphScope `loss` is one of its tensors; elsewhere it is a function that is called under a tape. Of a
  // table of which rows are looked up the gradient is rows. Throws InvalidArgument if there are no variables, or
  // grad_loss is not like the loss.
  std::vector<GradientAndVariable> compute_gradients(const Tensor& loss, const ComputeGradientsOptions& options = {},
                                                     std::source_location where = std::source_location::current());
  std::vector<GradientAndVariable> compute_gradients(const Callable<Tensor()>& loss,
                                                     const ComputeGradientsOptions& options = {},
                                                     std::source_location where = std::source_location::current());
  // One step. Inside a GraphScope: adds its nodes, and returns the node that runs them all, which is in the collection
  // "train_op" then. Throws as `apply`, and
  // InvalidArgument where a variable occurs twice or is not the optimizer's, and where none has a gradient.
  Operation apply_gradients(std::span<const GradientAndVariable> gradients, const ApplyGradientsOptions& options = {},
                            std::source_location where = std::source_location::current());

  // Inside a GraphScope: adds the nodes of one training step and returns the node that runs it all.
  // Throws FailedPrecondition outside, InvalidArgument if there are no variables or loss depends on none of them.
  Operation minimize(const Tensor& loss, std::string_view name = "minimize",
                     std::source_location where = std::source_location::current());
  Operation minimize(const Tensor& loss, const MinimizeOptions& options,
                     std::source_location where = std::source_location::current());
  // Anywhere: one step by the gradient of what the function gives.
  Operation minimize(const Callable<Tensor()>& loss, const MinimizeOptions& options = {},
                     std::source_location where = std::source_location::current());

 protected:
  // A number that a step uses for all variables, in the dtype of each. Cast once for each dtype. A default-constructed
  // one throws FailedPrecondition.
  class PANTO_EXPORT Scalar {
   public:
    Scalar() = default;
    explicit Scalar(Tensor value);
    const Tensor& value() const;
    const Tensor& as(DType dtype);

   private:
    std::vector<std::shared_ptr<const Tensor>> values_;  // references to them stay valid
  };

  // ---- What an optimizer overrides ----------------------------------------------------------------------------------

  // Makes what is kept for these variables, by add_slot, and for all, by add_shared and count_steps. Called again with
  // further ones where `build` finds such.
  virtual void create_slots(const std::vector<Variable>& variables);
  // Before the variables change in a step: reads what all share.
  virtual void prepare() {}
  // Changes the variable by its gradient, which fits it.
  virtual void apply_dense(const Tensor& gradient, const Variable& variable) = 0;
  // The same where the gradient is rows, each of which occurs once. Unless overridden, it is made whole.
  virtual void apply_sparse(const Gradient& rows, const Variable& variable);
  // The same where a row may occur several times. Unless overridden, these are added up first.
  virtual void apply_sparse_duplicates(const Gradient& rows, const Variable& variable);
  // When all variables have changed.
  virtual void finish() {}
  // False: `learning_rate` and `set_learning_rate` throw FailedPrecondition, since what changes variables has rates of
  // its own.
  virtual bool has_rate() const { return true; }

  // ---- What it may use ----------------------------------------------------------------------------------------------

  // Makes the slots of variables that have none yet. A constructor calls it at its end, so that steps can be traced and
  // slots are there to be loaded; the first step does otherwise.
  void build();
  // The variables that a constructor was given. Throws InvalidArgument if there are none.
  static std::vector<Variable> given(std::vector<Variable> variables);
  // In create_slots: makes a variable like this one, full of `value`, or with `initial`.
  void add_slot(const Variable& variable, std::string_view name, double value = 0);
  void add_slot(const Variable& variable, std::string_view name, const Tensor& initial);
  // In create_slots: a scalar, float64 if one of the optimizer's variables is, else float32. The same one for the same
  // name.
  Variable add_shared(std::string_view name, double value);
  // In create_slots: `step` will be needed.
  void count_steps();

  // In a step: its rate, in the dtype of the variable; its number, from 0, an int64 scalar. Throw FailedPrecondition
  // outside of one.
  const Tensor& rate(const Variable& variable);
  const Tensor& step() const;
  // A step's numbers for FusedRule: its rate and then `others`, scalars of float64.
  Scalar numbers(std::initializer_list<Tensor> others) const;
  // Whether weight decay is to change it (exclude_from_weight_decay): for optimizers that have a decay of their own.
  // Throws InvalidArgument for a variable that is not the optimizer's.
  bool decays(const Variable& variable) const;

 private:
  friend struct OptimizerState;  // nn/training/checkpoints/optimizer_state.h
  friend class MultiOptimizer;
  struct Slot {
    std::string name;
    Variable variable;
    double initial = 0;  // of what all share
  };
  // What holds for one step.
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
  std::vector<std::pair<int64_t, size_t>> numbers_;  // of variables, by the ids of their handles, which ascend
  std::vector<int> decays_;                          // by variable: 1 or 0
  std::vector<std::vector<Slot>> slots_;             // by variable; of those that are built
  std::vector<Slot> shared_;
  Variable rate_;                          // undefined where a schedule says it, or it is a constant of a graph
  Variable step_;                          // the number of the next step, where steps are counted
  bool of_graph_;                          // made without variables
  const void* graph_ = nullptr;            // whose variables these then are; null: none yet, or no graph's
  bool rate_is_used_ = false;              // a step is in a graph that has the rate as a constant
  Callable<void(Optimizer&)> when_built_;  // gives slots that were made what a checkpoint has for them
  size_t current_ = 0;                     // the variable that is being changed
  Now* now_ = nullptr;
};

}  // namespace panto
