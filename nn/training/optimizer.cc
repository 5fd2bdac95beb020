#include "panto/nn/training/optimizer.h"

#include <algorithm>
#include <cmath>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/layers/initializers.h"
#include "panto/ops/math.h"
#include "panto/ops/state.h"
#include "panto/trace/graph_gradients.h"
#include "panto/trace/graph_scope.h"

namespace panto {

namespace {

void expect_fits(const Variable& v, const Tensor& g) {
  if (g.dtype() != v.dtype() || !g.partial_shape().compatible_with(v.shape())) {
    invalid("gradient of '{}': expected {}{}, got {}{}", v.name(), dtype_name(v.dtype()), v.shape().to_string(),
            dtype_name(g.dtype()), g.partial_shape().to_string());
  }
}

// One index for each row, and rows that could be the variable's.
void expect_rows_fit(const Variable& v, const Gradient& g) {
  if (!g.indices.defined() || (g.indices.dtype() != kInt32 && g.indices.dtype() != kInt64)) {
    invalid("gradient of '{}': expected rows with indices of int32 or int64, got {}", v.name(),
            g.indices.defined() ? dtype_name(g.indices.dtype()) : "none");
  }
  const PartialShape& rows = g.rows.partial_shape();
  bool fits = g.rows.dtype() == v.dtype() && rows.rank() != 0;
  if (rows.known_rank() && v.shape().known_rank()) {
    fits = fits && rows.rank() == v.shape().rank();
    for (int k = 1; fits && k < rows.rank(); ++k) {
      fits = rows.dim(k) < 0 || v.shape().dim(k) < 0 || rows.dim(k) == v.shape().dim(k);
    }
  }
  if (!fits) {
    invalid("gradient of '{}': expected rows of {}{}, got {}{}", v.name(), dtype_name(v.dtype()), v.shape().to_string(),
            dtype_name(g.rows.dtype()), rows.to_string());
  }
  if (!rows.known_rank()) return;
  const PartialShape indices{rows.dim(0)};
  if (!indices.compatible_with(g.indices.partial_shape())) {
    invalid("gradient of '{}': expected an index for each row, shape {}, got {}", v.name(), indices.to_string(),
            g.indices.partial_shape().to_string());
  }
}

void expect_number(size_t got, const std::vector<Variable>& variables) {
  if (variables.empty()) {
    fail(
        Code::kFailedPrecondition,
        "apply: expected an optimizer that was given variables, got one of the graph's: `Sgd(model.variables(), ...)`");
  }
  if (got != variables.size())
    invalid("gradients: expected one for each of {} variables, got {}", variables.size(), got);
}

void expect_share(const char* what, double share, bool one_is_allowed = false) {
  if (share >= 0 && (share < 1 || (share == 1 && one_is_allowed))) return;
  invalid("{}: expected a number in [0, 1{}, got {}", what, one_is_allowed ? "]" : ")", share);
}

double not_negative(const char* what, double value) {
  if (!(value >= 0) || !std::isfinite(value))
    invalid("{}: expected a finite number of at least 0, got {}", what, value);
  return value;
}

Variable make_scalar(const char* name, double value, DType dtype) {
  return Variable(constant_initializer(value)(Shape(), dtype), name);
}

}  // namespace

Optimizer::Optimizer(std::vector<Variable> variables, Schedule learning_rate, double weight_decay)
    : variables_(std::move(variables)),
      schedule_(std::move(learning_rate)),
      weight_decay_(not_negative("weight_decay", weight_decay)),
      decays_(variables_.size(), 1),
      of_graph_(variables_.empty()) {
  if (!of_graph_) make_clock();
}

Optimizer::~Optimizer() = default;

std::vector<Variable> Optimizer::given(std::vector<Variable> variables) {
  if (variables.empty()) {
    invalid(
        "variables: expected at least one to train, got none (a layer of your own lists its layers and variables: "
        "`Parts parts() const override {{ return {{a, b}}; }}`)");
  }
  return variables;
}

void Optimizer::make_clock() {
  const UntrainedVariables beside;
  if (!schedule_.constant()) {
    if (schedule_.counts_steps()) clock_ = make_scalar("step", 0, kInt64);
    return;
  }
  const Recorder* const building = symbolic_recorder();
  if (building != nullptr && building->makes_constants()) return;
  clock_ = make_scalar("learning_rate", *schedule_.constant(), scalar_type());
}

// Of the open graph. What is kept for each of them is made once, so they stay the same.
void Optimizer::find_variables() {
  std::vector<Variable> found = trainable_variables();
  if (variables_.empty()) {
    if (found.empty()) {
      invalid(
          "minimize: expected variables to train that were made in the graph, got none (to train others, name them: "
          "`Sgd({{w, b}}, ...)`)");
    }
    variables_ = std::move(found);
    decays_.assign(variables_.size(), 1);
    make_clock();
    return make_slots();
  }
  const auto same = [](const Variable& a, const Variable& b) { return a.handle().id() == b.handle().id(); };
  if (!std::ranges::equal(variables_, found, same)) {
    invalid(
        "minimize: expected the variables of the graph to be those {} that they were at the first call, got others; "
        "make another optimizer",
        variables_.size());
  }
}

DType Optimizer::scalar_type() const {
  const auto is_double = [](const Variable& v) { return v.dtype() == kFloat64; };
  return std::ranges::any_of(variables_, is_double) ? kFloat64 : kFloat32;
}

void Optimizer::add_slots(const std::vector<std::string>& names, double value) {
  const UntrainedVariables beside;
  const Initializer initial = constant_initializer(value);
  slots_each_ = names.size();
  for (const Variable& v : variables_) {
    for (const std::string& name : names) {
      slots_.emplace_back(initial(Shape(v.shape()), v.dtype()), fmt::format("{}/{}", v.name(), name));
    }
  }
}

Variable Optimizer::add_shared(const char* name, double value) {
  const UntrainedVariables beside;
  slots_.push_back(make_scalar(name, value, scalar_type()));
  return slots_.back();
}

std::vector<Variable> Optimizer::slots() const {
  std::vector<Variable> all = slots_;
  if (clock_.defined()) all.push_back(clock_);
  return all;
}

// ---- The rate ------------------------------------------------------------------------------------------------------

double Optimizer::learning_rate() const {
  if (!clock_.defined() && schedule_.constant()) return *schedule_.constant();
  const RecorderPause unheard;
  if (!clock_.defined() && !schedule_.counts_steps()) {
    if (const Tensor now = schedule_(Tensor()); !now.is_meta()) return now.item<double>();
  }
  if (!clock_.defined() || clock_.handle().is_meta()) {
    fail(Code::kFailedPrecondition,
         "learning_rate: expected an optimizer made outside of a GraphScope, got one whose rate is a node");
  }
  const Tensor now = variable_of(clock_.handle()).read();
  return (schedule_.constant() ? now : schedule_(now)).item<double>();
}

void Optimizer::set_learning_rate(double rate) {
  if (!schedule_.constant()) {
    fail(Code::kFailedPrecondition, "set_learning_rate: expected an optimizer made with a number, got a schedule");
  }
  not_negative("learning rate", rate);
  if (clock_.defined()) {
    clock_.assign(constant_initializer(rate)(Shape(), clock_.dtype()));
    return;
  }
  if (built_) {
    fail(
        Code::kFailedPrecondition,
        "set_learning_rate: expected to be called before the graph's steps are built, in which the rate is a constant, "
        "got a call afterwards (make the optimizer with a placeholder or a variable, `{.learning_rate = rate}`, and "
        "feed or assign that)");
  }
  schedule_ = Schedule(rate);
}

const Tensor& Optimizer::Scalar::as(DType dtype) {
  for (const Tensor& value : values_) {
    if (value.dtype() == dtype) return value;
  }
  return values_.emplace_back(cast(values_[0], dtype));
}

// ---- A step --------------------------------------------------------------------------------------------------------

void Optimizer::exclude_from_weight_decay(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) {
    const auto is_same = [&v](const Variable& own) { return own.handle().id() == v.handle().id(); };
    const auto found = std::ranges::find_if(variables_, is_same);
    if (found == variables_.end()) {
      invalid("exclude_from_weight_decay: expected a variable of the optimizer, got '{}'", v.name());
    }
    decays_[static_cast<size_t>(found - variables_.begin())] = 0;
  }
}

// Nodes of a graph run in any order unless they are told (in a trace they are told anyway): a variable decays when its
// gradient has been computed, and its step is made when all have decayed.
void Optimizer::decay(std::span<const Tensor> gradients, Scalar& rate, std::optional<ControlDependencies>& done) {
  if (weight_decay_ == 0) return;
  const bool symbolic = std::ranges::any_of(gradients, [](const Tensor& g) { return g.defined() && g.is_meta(); });
  std::optional<CollectEffects> effects;
  if (symbolic) effects.emplace();
  Scalar share(rate.as(scalar_type()) * weight_decay_);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined() || decays_[i] == 0) continue;
    std::optional<ControlDependencies> computed;
    if (symbolic) computed.emplace(gradients.subspan(i, 1));
    const Variable& v = variables_[i];
    resource_apply_gradient_descent(v, share.as(v.dtype()), v.value());
  }
  if (symbolic) done.emplace(effects->operations());
}

// `gradients`: what each variable's is computed from, undefined where it has none.
template <class Update>
void Optimizer::step(std::span<const Tensor> gradients, const Update& update) {
  const Tensor now = clock_.defined() ? clock_.value() : Tensor();
  if (schedule_.constant() && !now.defined()) built_ = true;
  Scalar rate(!schedule_.constant() ? schedule_(now)
              : now.defined()       ? now
                                    : constant_initializer(*schedule_.constant())(Shape(), scalar_type()));
  std::optional<ControlDependencies> decayed;
  decay(gradients, rate, decayed);
  update(rate);
  if (schedule_.counts_steps()) clock_.assign(now + int64_t{1});
}

void Optimizer::apply(std::span<const Tensor> gradients, std::source_location where) {
  return from_caller(where, [&] {
    expect_number(gradients.size(), variables_);
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].defined()) expect_fits(variables_[i], gradients[i]);
    }
    step(gradients, [&](Scalar& rate) { update(gradients, rate); });
  });
}

void Optimizer::apply(std::initializer_list<Tensor> gradients, std::source_location where) {
  apply(std::span<const Tensor>(gradients.begin(), gradients.size()), where);
}

void Optimizer::apply(std::span<const Gradient> gradients, std::source_location where) {
  return from_caller(where, [&] {
    expect_number(gradients.size(), variables_);
    std::vector<Tensor> values;
    for (size_t i = 0; i < gradients.size(); ++i) {
      const Gradient& g = gradients[i];
      if (g.sparse()) {
        expect_rows_fit(variables_[i], g);
      } else if (g.defined()) {
        expect_fits(variables_[i], g.whole);
      }
      values.push_back(g.sparse() ? g.rows : g.whole);
    }
    step(values, [&](Scalar& rate) { update_rows(gradients, rate); });
  });
}

void Optimizer::update_rows(std::span<const Gradient> gradients, Scalar& rate) {
  std::vector<Tensor> whole;
  for (size_t i = 0; i < gradients.size(); ++i) {
    whole.push_back(gradients[i].dense());
    if (gradients[i].sparse()) expect_fits(variables_[i], whole.back());
  }
  update(whole, rate);
}

Operation Optimizer::minimize(const Tensor& loss, std::string_view name, std::source_location where) {
  return from_caller(where, [&] {
    if (of_graph_) find_variables();
    const std::vector<GradSource> sources(variables_.begin(), variables_.end());
    const std::vector<Tensor> grads = panto::gradients(loss, sources);
    if (std::ranges::none_of(grads, [](const Tensor& g) { return g.defined(); })) {
      invalid("minimize: expected a loss that depends on a variable of the optimizer, got one that does not");
    }
    const CollectEffects steps;
    apply(grads);
    return group(steps.operations(), name);
  });
}

// ---- Sgd -----------------------------------------------------------------------------------------------------------

Sgd::Sgd(std::initializer_list<Variable> variables, const SgdOptions& options) : Sgd(options, given(variables)) {}
Sgd::Sgd(const SgdOptions& options) : Sgd(options, std::vector<Variable>()) {}
Sgd::Sgd(const SgdOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate, options.weight_decay),
      momentum_(options.momentum),
      nesterov_(options.nesterov) {
  expect_share("momentum", momentum_, true);
  if (nesterov_ && momentum_ == 0) invalid("nesterov: expected a momentum above 0, got 0");
  if (!this->variables().empty()) Sgd::make_slots();
}

void Sgd::make_slots() {
  if (momentum_ > 0) add_slots({"momentum"});
}

void Sgd::update(std::span<const Tensor> gradients, Scalar& rate) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Variable& v = variables()[i];
    if (!gradients[i].defined()) continue;
    if (momentum_ > 0) {
      resource_apply_keras_momentum(v, slot(i, 0), rate.as(v.dtype()), gradients[i], momentum_,
                                    {.use_nesterov = nesterov_});
    } else {
      resource_apply_gradient_descent(v, rate.as(v.dtype()), gradients[i]);
    }
  }
}

void Sgd::update_rows(std::span<const Gradient> gradients, Scalar& rate) {
  if (momentum_ > 0) return Optimizer::update_rows(gradients, rate);
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Variable& v = variables()[i];
    const Gradient& g = gradients[i];
    if (g.sparse()) {
      resource_scatter_sub(v, g.indices, rate.as(v.dtype()) * g.rows);
    } else if (g.defined()) {
      resource_apply_gradient_descent(v, rate.as(v.dtype()), g.whole);
    }
  }
}

// ---- Adam ----------------------------------------------------------------------------------------------------------

Adam::Adam(std::initializer_list<Variable> variables, const AdamOptions& options) : Adam(options, given(variables)) {}
Adam::Adam(const AdamOptions& options) : Adam(options, std::vector<Variable>()) {}
Adam::Adam(const AdamOptions& options, std::vector<Variable> variables, double weight_decay)
    : Optimizer(std::move(variables), options.learning_rate, weight_decay),
      beta1_(options.beta1),
      beta2_(options.beta2),
      epsilon_(not_negative("epsilon", options.epsilon)) {
  expect_share("beta1", beta1_);
  expect_share("beta2", beta2_);
  if (!this->variables().empty()) Adam::make_slots();
}

void Adam::make_slots() {
  add_slots({"m", "v"});
  power1_ = add_shared("beta1_power", beta1_);
  power2_ = add_shared("beta2_power", beta2_);
}

void Adam::update(std::span<const Tensor> gradients, Scalar& rate) {
  const Tensor now1 = power1_.value();
  const Tensor now2 = power2_.value();
  Scalar power1(now1), power2(now2);
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Variable& v = variables()[i];
    if (!gradients[i].defined()) continue;
    resource_apply_adam(v, slot(i, 0), slot(i, 1), power1.as(v.dtype()), power2.as(v.dtype()), rate.as(v.dtype()),
                        beta1_, beta2_, epsilon_, gradients[i]);
  }
  power1_.assign(now1 * beta1_);
  power2_.assign(now2 * beta2_);
}

AdamW::AdamW(std::initializer_list<Variable> variables, const AdamWOptions& options)
    : AdamW(options, given(variables)) {}
AdamW::AdamW(const AdamWOptions& options) : AdamW(options, std::vector<Variable>()) {}
AdamW::AdamW(const AdamWOptions& options, std::vector<Variable> variables)
    : Adam({.learning_rate = options.learning_rate,
            .beta1 = options.beta1,
            .beta2 = options.beta2,
            .epsilon = options.epsilon},
           std::move(variables), options.weight_decay) {}

// ---- RMSprop and Adagrad -------------------------------------------------------------------------------------------

RMSprop::RMSprop(std::initializer_list<Variable> variables, const RMSpropOptions& options)
    : RMSprop(options, given(variables)) {}
RMSprop::RMSprop(const RMSpropOptions& options) : RMSprop(options, std::vector<Variable>()) {}
RMSprop::RMSprop(const RMSpropOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate, options.weight_decay),
      rho_(options.rho),
      momentum_(options.momentum),
      epsilon_(not_negative("epsilon", options.epsilon)),
      centered_(options.centered) {
  expect_share("rho", rho_);
  expect_share("momentum", momentum_, true);
  if (!this->variables().empty()) RMSprop::make_slots();
}

void RMSprop::make_slots() { centered_ ? add_slots({"ms", "mom", "mg"}) : add_slots({"ms", "mom"}); }

void RMSprop::update(std::span<const Tensor> gradients, Scalar& rate) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Variable& v = variables()[i];
    if (!gradients[i].defined()) continue;
    if (centered_) {
      resource_apply_centered_rms_prop(v, slot(i, 2), slot(i, 0), slot(i, 1), rate.as(v.dtype()), rho_, momentum_,
                                       epsilon_, gradients[i]);
    } else {
      resource_apply_rms_prop(v, slot(i, 0), slot(i, 1), rate.as(v.dtype()), rho_, momentum_, epsilon_, gradients[i]);
    }
  }
}

Adagrad::Adagrad(std::initializer_list<Variable> variables, const AdagradOptions& options)
    : Adagrad(options, given(variables)) {}
Adagrad::Adagrad(const AdagradOptions& options) : Adagrad(options, std::vector<Variable>()) {}
Adagrad::Adagrad(const AdagradOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate, options.weight_decay),
      initial_accumulator_(not_negative("initial_accumulator", options.initial_accumulator)),
      epsilon_(not_negative("epsilon", options.epsilon)) {
  if (!this->variables().empty()) Adagrad::make_slots();
}

void Adagrad::make_slots() { add_slots({"accumulator"}, initial_accumulator_); }

void Adagrad::update(std::span<const Tensor> gradients, Scalar& rate) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Variable& v = variables()[i];
    if (!gradients[i].defined()) continue;
    resource_apply_adagrad(v, slot(i, 0), rate.as(v.dtype()), epsilon_, gradients[i]);
  }
}

}  // namespace panto
