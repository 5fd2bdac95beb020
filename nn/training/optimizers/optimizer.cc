#include "panto/nn/training/optimizers/optimizer.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/layers/initializers.h"
#include "panto/nn/training/optimizers/by_hand.h"
#include "panto/nn/training/optimizers/checks.h"
#include "panto/nn/training/options.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/state.h"
#include "panto/trace/graph_scope.h"

namespace panto {

namespace {

bool same(const Variable& a, const Variable& b) { return a.handle().id() == b.handle().id(); }

bool contains(const std::vector<Variable>& variables, const Variable& v) {
  return std::ranges::any_of(variables, [&v](const Variable& other) { return same(other, v); });
}

Variable make_scalar(std::string_view name, double value, DType dtype) {
  return Variable(constant_initializer(value)(Shape(), dtype), name);
}

// Makes later nodes wait for all elements: through one node if there are several, to avoid an edge from each element to
// each later node.
template <class Elements>
void wait_for(std::optional<ControlDependencies>& waiting, const Elements& elements) {
  if (elements.empty()) return;
  if (elements.size() == 1) {
    waiting.emplace(elements);
  } else {
    waiting.emplace(GraphElements{group(elements, "ready")});
  }
}

}  // namespace

// ---- Variables and slots -------------------------------------------------------------------------------------------

Optimizer::Optimizer(std::vector<Variable> variables, Schedule learning_rate, double weight_decay)
    : variables_(std::move(variables)),
      schedule_(std::move(learning_rate)),
      weight_decay_(not_negative("weight_decay", weight_decay)),
      decays_(variables_.size(), 1),
      of_graph_(variables_.empty()) {
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (!variables_[i].defined()) invalid("variables: expected variables to train, got a default-constructed one");
    number(variables_[i], i);
  }
  if (!of_graph_) make_rate();
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

void Optimizer::make_rate() {
  const VariableUseScope beside(VariableUse::kKept);
  if (schedule_.counts_steps()) count_steps();
  if (rate_.defined() || !schedule_.constant() || is_graph_by_hand()) return;
  rate_ = make_scalar("learning_rate", *schedule_.constant(), scalar_type());
}

void Optimizer::create_slots(const std::vector<Variable>& variables) { static_cast<void>(variables); }

void Optimizer::build() {
  if (slots_.size() == variables_.size()) return;
  const VariableUseScope beside(VariableUse::kKept);
  const std::vector<Variable> more(variables_.begin() + static_cast<std::ptrdiff_t>(slots_.size()), variables_.end());
  const size_t before = slots_.size();
  slots_.resize(variables_.size());
  try {
    create_slots(more);
    if (when_built_ && !is_graph_by_hand()) when_built_(*this);
  } catch (...) {  // such as inside a trace: a later call tries again
    slots_.resize(before);
    throw;
  }
}

void Optimizer::build(const std::vector<Variable>& variables) { adopt(variables); }

void Optimizer::adopt(const std::vector<Variable>& variables) {
  std::vector<Variable> more;
  for (const Variable& v : variables) {
    if (!v.defined()) invalid("variables: expected variables to train, got a default-constructed one");
    if (index_of(v) == variables_.size() && !contains(more, v)) more.push_back(v);
  }
  if (!more.empty() && !of_graph_) {
    invalid("variables: expected some of the {} that the optimizer was given, got '{}'", variables_.size(),
            more[0].name());
  }
  const void* const graph = is_graph_by_hand() ? current_graph().identity() : nullptr;
  if (!variables_.empty() && of_graph_ && graph != graph_) {
    invalid("variables: expected those of the graph of the first call, got others; make another optimizer");
  }
  if (variables_.empty()) graph_ = graph;
  for (const Variable& v : more) {
    number(v, variables_.size());
    variables_.push_back(v);
  }
  decays_.resize(variables_.size(), 1);
  if (of_graph_ && !variables_.empty()) make_rate();  // again if an earlier call failed, such as inside a trace
  build();
}

DType Optimizer::scalar_type() const {
  const auto is_double = [](const Variable& v) { return v.dtype() == kFloat64; };
  return std::ranges::any_of(variables_, is_double) ? kFloat64 : kFloat32;
}

void Optimizer::number(const Variable& v, size_t i) {
  const int64_t id = v.handle().id();
  const auto at = std::ranges::lower_bound(numbers_, id, {}, &std::pair<int64_t, size_t>::first);
  if (at == numbers_.end() || at->first != id) numbers_.insert(at, {id, i});  // of duplicates the first
}

size_t Optimizer::index_of(const Variable& v) const {
  if (current_ < variables_.size() && same(variables_[current_], v)) return current_;
  const int64_t id = v.handle().id();
  const auto found = std::ranges::lower_bound(numbers_, id, {}, &std::pair<int64_t, size_t>::first);
  return found == numbers_.end() || found->first != id ? variables_.size() : found->second;
}

void Optimizer::add_slot(const Variable& variable, std::string_view name, double value) {
  add_slot(variable, name, constant_initializer(value)(Shape(variable.shape()), variable.dtype()));
}

void Optimizer::add_slot(const Variable& variable, std::string_view name, const Tensor& initial) {
  const size_t i = index_of(variable);
  if (i >= slots_.size()) {
    invalid("add_slot '{}': expected a variable of the optimizer, got '{}'", name, variable.name());
  }
  if (std::ranges::find(slots_[i], name, &Slot::name) != slots_[i].end()) {
    invalid("add_slot '{}': expected a new name for '{}', got one that it has", name, variable.name());
  }
  const VariableUseScope beside(VariableUse::kKept);
  slots_[i].push_back({std::string(name), Variable(initial, fmt::format("{}/{}", variable.name(), name))});
}

Variable Optimizer::add_shared(std::string_view name, double value) {
  const auto found = std::ranges::find(shared_, name, &Slot::name);
  if (found != shared_.end()) return found->variable;
  const VariableUseScope beside(VariableUse::kKept);
  shared_.push_back({std::string(name), make_scalar(name, value, scalar_type()), value});
  return shared_.back().variable;
}

void Optimizer::count_steps() {
  if (step_.defined()) return;
  const VariableUseScope beside(VariableUse::kKept);
  step_ = make_scalar("step", 0, kInt64);
}

std::vector<Variable> Optimizer::slots() const {
  std::vector<Variable> all;
  for (const std::vector<Slot>& own : slots_) {
    for (const Slot& slot : own) all.push_back(slot.variable);
  }
  for (const Slot& slot : shared_) all.push_back(slot.variable);
  if (step_.defined()) all.push_back(step_);
  if (rate_.defined()) all.push_back(rate_);
  return all;
}

std::vector<std::string> Optimizer::slot_names() const {
  std::vector<std::string> names;
  for (const std::vector<Slot>& own : slots_) {
    for (const Slot& slot : own) {
      if (std::ranges::find(names, slot.name) == names.end()) names.push_back(slot.name);
    }
  }
  return names;
}

const Variable& Optimizer::get_slot(const Variable& variable, std::string_view name) const {
  const size_t i = index_of(variable);
  if (i >= slots_.size()) {
    invalid("get_slot '{}': expected a variable of the optimizer, got '{}'", name, variable.name());
  }
  const auto slot = std::ranges::find(slots_[i], name, &Slot::name);
  if (slot == slots_[i].end()) {
    std::string names;
    for (const Slot& own : slots_[i]) names += (names.empty() ? "" : ", ") + own.name;
    invalid("get_slot: expected one of [{}] of '{}', got '{}'", names, variable.name(), name);
  }
  return slot->variable;
}

// ---- The rate ------------------------------------------------------------------------------------------------------

void Optimizer::expect_rate(std::string_view what) const {
  if (has_rate()) return;
  failf(Code::kFailedPrecondition,
        "{}: expected an optimizer with one rate, got a MultiOptimizer, whose optimizers() have each their own", what);
}

double Optimizer::learning_rate() const {
  expect_rate("learning_rate");
  if (!rate_.defined() && schedule_.constant()) return *schedule_.constant();
  const RecorderPause unheard;
  const Variable& clock = schedule_.constant() ? rate_ : step_;
  if (!schedule_.constant() && !schedule_.counts_steps()) {
    if (const Tensor now = schedule_(Tensor()); !now.is_meta()) return now.item<double>();
  } else if (clock.defined() && !clock.handle().is_meta()) {
    const Tensor now = variable_of(clock.handle()).read();
    return (schedule_.constant() ? now : schedule_(now)).item<double>();
  }
  fail(Code::kFailedPrecondition,
       "learning_rate: expected an optimizer made outside of a GraphScope, got one whose rate is a node");
}

void Optimizer::set_learning_rate(double rate) {
  expect_rate("set_learning_rate");
  if (!schedule_.constant()) {
    fail(Code::kFailedPrecondition, "set_learning_rate: expected an optimizer made with a number, got a schedule");
  }
  not_negative("learning rate", rate);
  if (rate_.defined()) {
    rate_.assign(constant_initializer(rate)(Shape(), rate_.dtype()));
    return;
  }
  if (rate_is_used_) {
    fail(
        Code::kFailedPrecondition,
        "set_learning_rate: expected to be called before the graph's steps are built, in which the rate is a constant, "
        "got a call afterwards (make the optimizer with a placeholder or a variable, `{.learning_rate = rate}`, and "
        "feed or assign that)");
  }
  schedule_ = Schedule(rate);
}

Optimizer::Scalar::Scalar(Tensor value) : values_{std::make_shared<const Tensor>(std::move(value))} {}

const Tensor& Optimizer::Scalar::value() const {
  if (values_.empty()) fail(Code::kFailedPrecondition, "scalar of an optimizer: expected one with a value, got none");
  return *values_.front();
}

const Tensor& Optimizer::Scalar::as(DType dtype) {
  for (const auto& value : values_) {
    if (value->dtype() == dtype) return *value;
  }
  return *values_.emplace_back(std::make_shared<const Tensor>(cast(value(), dtype)));
}

const Tensor& Optimizer::rate(const Variable& variable) {
  if (now_ == nullptr) fail(Code::kFailedPrecondition, "rate: expected to be asked for in a step, got a call outside");
  return now_->rate.as(variable.dtype());
}

Optimizer::Scalar Optimizer::numbers(std::initializer_list<Tensor> others) const {
  if (now_ == nullptr)
    fail(Code::kFailedPrecondition, "numbers: expected to be asked for in a step, got a call outside");
  std::vector<Tensor> all = {cast(now_->rate.value(), kFloat64)};
  all.insert(all.end(), others);
  return Scalar(stack(all));
}

const Tensor& Optimizer::step() const {
  if (now_ == nullptr || !now_->step.defined()) {
    fail(Code::kFailedPrecondition, "step: expected a step of an optimizer that calls count_steps, got none");
  }
  return now_->step;
}

// ---- A step --------------------------------------------------------------------------------------------------------

void Optimizer::exclude_from_weight_decay(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) {
    const size_t i = index_of(v);
    if (i == variables_.size()) {
      invalid("exclude_from_weight_decay: expected a variable of the optimizer, got '{}'", v.name());
    }
    decays_[i] = 0;
  }
}

bool Optimizer::decays(const Variable& variable) const {
  const size_t i = index_of(variable);
  if (i == variables_.size()) invalid("decays: expected a variable of the optimizer, got '{}'", variable.name());
  return decays_[i] != 0;
}

void Optimizer::decay(std::span<const Gradient> gradients) {
  if (weight_decay_ == 0) return;
  Scalar share(now_->rate.as(scalar_type()) * weight_decay_);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined() || decays_[i] == 0) continue;
    const Variable& v = variables_[i];
    resource_apply_gradient_descent(v, share.as(v.dtype()), v.value());
  }
}

void Optimizer::change(std::span<const Gradient> gradients) {
  for (current_ = 0; current_ < gradients.size(); ++current_) {
    const Gradient& g = gradients[current_];
    if (g.sparse()) {
      apply_sparse_duplicates(g, variables_[current_]);
    } else if (g.defined()) {
      apply_dense(g.whole, variables_[current_]);
    }
  }
}

// `gradients` have been checked. Slots are read before anything changes.
void Optimizer::run_step(std::span<const Gradient> gradients, const Variable& global_step) {
  build();
  Now now;
  if (step_.defined()) now.step = step_.value();
  if (!schedule_.constant()) {
    now.rate = Scalar(schedule_(now.step));
  } else if (rate_.defined()) {
    now.rate = Scalar(rate_.value());
  } else {
    rate_is_used_ = true;
    now.rate = Scalar(constant_initializer(*schedule_.constant())(Shape(), scalar_type()));
  }
  struct Current {
    explicit Current(Now*& slot, Now* value) : slot(slot) { slot = value; }
    ~Current() { slot = nullptr; }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    Now*& slot;
  } const in_this_step(now_, &now);

  if (!is_graph_by_hand()) {
    prepare();
    decay(gradients);
    change(gradients);
    finish();
    if (step_.defined()) step_.assign(now.step + int64_t{1});
    if (global_step.defined()) global_step.assign_add(1);
    return;
  }
  // A variable may be read by several nodes, also for another variable's gradient: wait for all gradients.
  std::vector<Tensor> computed;
  for (const Gradient& g : gradients) {
    if (g.defined()) computed.push_back(g.elements());
  }
  std::optional<ControlDependencies> after_gradients, after_decay, after_change;
  prepare();
  if (computed.size() > 1 || weight_decay_ != 0) wait_for(after_gradients, computed);
  const CollectEffects decaying;
  decay(gradients);
  wait_for(after_decay, decaying.operations());
  const CollectEffects changes;
  change(gradients);
  after_change.emplace(changes.operations());
  finish();
  if (step_.defined()) step_.assign(now.step + int64_t{1});
  if (global_step.defined()) global_step.assign_add(1);
}

void Optimizer::apply(std::span<const Tensor> gradients, std::source_location where) {
  return from_caller(where, [&] {
    std::vector<Gradient> all;
    all.reserve(gradients.size());
    for (const Tensor& g : gradients) all.push_back({.whole = g});
    expect_gradients_fit(variables_, all);
    run_step(all, {});
  });
}

void Optimizer::apply(std::initializer_list<Tensor> gradients, std::source_location where) {
  apply(std::span<const Tensor>(gradients.begin(), gradients.size()), where);
}

void Optimizer::apply(std::span<const Gradient> gradients, std::source_location where) {
  return from_caller(where, [&] {
    expect_gradients_fit(variables_, gradients);
    run_step(gradients, {});
  });
}

void Optimizer::apply_sparse(const Gradient& rows, const Variable& variable) { apply_dense(rows.dense(), variable); }

void Optimizer::apply_sparse_duplicates(const Gradient& rows, const Variable& variable) {
  const auto [different, position] = unique(rows.indices);
  apply_sparse({.indices = different,
                .rows = unsorted_segment_sum(rows.rows, position, size(different)),
                .num_rows = rows.num_rows},
               variable);
}

}  // namespace panto
