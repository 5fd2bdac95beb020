// The state of layers: named parts, whether it is trained, penalties. Also calls of layers.
#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/nn/layers/core/losses.h"
#include "panto/nn/layers/core/merge.h"
#include "panto/nn/layers/layer.h"
#include "panto/nn/layers/summary.h"
#include "panto/nn/layers/watch.h"
#include "panto/ops/math.h"
#include "panto/trace/graph_scope.h"

namespace panto {

struct Layer::State {
  struct Part {
    std::string name;
    std::shared_ptr<const Layer> layer = nullptr;  // null: a variable
    Variable variable = {};
    bool trainable = true;
  };
  std::mutex building;  // one call builds, others wait
  std::atomic<bool> built{false}, trainable{true}, watches_activity{false};
  mutable std::mutex mutex;  // guards the lists
  std::vector<Part> parts;
  std::vector<std::pair<Variable, Regularizer>> penalties;
  std::vector<std::pair<Variable, Constraint>> constraints;
  Regularizer activity;

  const Part* find(std::string_view name) const {
    const auto at = std::ranges::find(parts, name, &Part::name);
    return at == parts.end() ? nullptr : &*at;
  }
  void expect_free(std::string_view name) const {
    if (name.empty() || name.find('/') != std::string_view::npos) {
      invalid("add: expected a name without '/', got '{}'", name);
    }
    if (find(name) != nullptr) invalid("add: expected a name that no other part has, got '{}'", name);
  }
};

Layer::Layer() : state_(std::make_shared<State>()) {}
Layer::Layer(const Layer& other) noexcept = default;
// NOLINTNEXTLINE(performance-move-constructor-init): what was moved from stays a layer
Layer::Layer(Layer&& other) noexcept : state_(other.state_), seen_(other.seen_) {}
Layer& Layer::operator=(const Layer& other) noexcept = default;
Layer& Layer::operator=(Layer&& other) noexcept { return *this = static_cast<const Layer&>(other); }
Layer::~Layer() = default;

const void* identity_of(const Layer& layer) noexcept { return layer.state_.get(); }

// ---- Parts ---------------------------------------------------------------------------------------------------------

void Layer::build(const PartialShape&) const {}
InputSpec Layer::input_spec() const { return {}; }

Parts Layer::parts() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<Parts> all;
  for (const State::Part& part : state_->parts) {
    Parts one = part.layer ? Parts(*part.layer) : Parts(part.variable);
    all.push_back(part.trainable ? std::move(one) : frozen(std::move(one)));
  }
  return all.empty() ? Parts() : Parts(all);
}

std::vector<Variable> Layer::variables() const { return trainable() ? parts().variables() : std::vector<Variable>(); }
std::vector<Variable> Layer::state() const { return trainable() ? parts().state() : frozen(parts()).state(); }

void Layer::add_part(std::string_view name, std::shared_ptr<const Layer> layer) const {
  const std::lock_guard lock(state_->mutex);
  state_->expect_free(name);
  state_->parts.push_back({.name = std::string(name), .layer = std::move(layer)});
}

Variable Layer::add_variable(std::string_view name, const Shape& shape, const AddVariableOptions& options) const {
  {
    const std::lock_guard lock(state_->mutex);
    state_->expect_free(name);
  }
  const bool floating = dtypes::kDifferentiable.contains(options.dtype);
  Initializer initializer = options.initializer;
  if (!initializer) initializer = floating ? glorot_uniform() : constant_initializer(0);
  const VariableUseScope use(options.trainable ? VariableUse::kTrained : VariableUse::kKept);
  const auto make = [&] { return Variable(initializer(shape, options.dtype), name); };
  Variable made;
  if (in_graph_scope()) {
    made = make();
  } else {
    const RecorderPause unheard;
    made = make();
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->parts.push_back({.name = std::string(name), .variable = made, .trainable = options.trainable});
  }
  if (options.trainable) regularize(made, options.regularizer);
  constrain(made, options.constraint);
  return made;
}

Variable Layer::variable(std::string_view name) const {
  const std::lock_guard lock(state_->mutex);
  const State::Part* found = state_->find(name);
  if (found == nullptr || found->layer) {
    failf(Code::kNotFound, "variable '{}': expected one that add_variable has made, got none of that name", name);
  }
  return found->variable;
}

const Layer& Layer::part(std::string_view name) const {
  const std::lock_guard lock(state_->mutex);
  const State::Part* found = state_->find(name);
  if (found == nullptr || !found->layer) {
    failf(Code::kNotFound, "part '{}': expected a layer that was added, got none of that name", name);
  }
  return *found->layer;
}

Tensor Layer::add(const ArgList& tensors) { return panto::add(tensors); }
Tensor Layer::add(Arg a, Arg b) { return panto::add(std::move(a), std::move(b)); }

// ---- Names ---------------------------------------------------------------------------------------------------------

namespace {

// The prefix "dense/" that all names share; otherwise "".
std::string_view common_owner(const std::vector<NamedVariable>& named) {
  if (named.empty()) return {};
  const std::string_view first = named[0].first;
  const std::string_view owner = first.substr(0, first.find('/') + 1);
  const bool all = std::ranges::all_of(named, [&](const NamedVariable& v) { return v.first.starts_with(owner); });
  return all ? owner : std::string_view();
}

}  // namespace

std::vector<NamedVariable> Layer::named_variables() const {
  const std::vector<Variable> lists[] = {variables(), state()};
  std::vector<NamedVariable> named = panto::named_variables(lists);
  std::vector<State::Part> added;
  {
    const std::lock_guard lock(state_->mutex);
    added = state_->parts;
  }
  if (added.empty()) return named;
  std::map<int64_t, std::string> names;
  for (const State::Part& part : added) {
    if (!part.layer) {
      names.try_emplace(part.variable.handle().id(), part.name);
      continue;
    }
    const std::vector<NamedVariable> inner = part.layer->named_variables();
    bool has_names = false;
    {
      const std::lock_guard lock(part.layer->state_->mutex);
      has_names = !part.layer->state_->parts.empty();
    }
    const size_t skipped = has_names ? 0 : common_owner(inner).size();
    for (const auto& [name, v] : inner) {
      names.try_emplace(v.handle().id(), fmt::format("{}/{}", part.name, name.substr(skipped)));
    }
  }
  std::set<std::string> used;
  for (auto& [name, v] : named) {
    if (const auto found = names.find(v.handle().id()); found != names.end()) name = found->second;
    while (!used.insert(name).second) name += "_1";
  }
  return named;
}

std::vector<NamedVariable> Layer::named_parameters() const {
  std::set<int64_t> trained;
  for (const Variable& v : variables()) trained.insert(v.handle().id());
  std::vector<NamedVariable> named = named_variables();
  std::erase_if(named, [&](const NamedVariable& v) { return !trained.contains(v.second.handle().id()); });
  return named;
}

// ---- Settings -------------------------------------------------------------------------------------------------------

bool Layer::trainable() const noexcept { return state_->trainable.load(std::memory_order_relaxed); }

void Layer::set_trainable(bool trainable) const {
  state_->trainable.store(trainable, std::memory_order_relaxed);
  const Parts own = parts();  // it refers to layers
  for (const Layer* layer : own.layers()) layer->set_trainable(trainable);
}

void Layer::regularize(const Variable& variable, const Regularizer& regularizer) const {
  if (!regularizer || !variable.defined()) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->penalties.emplace_back(variable, regularizer);
  }
  if (in_graph_scope()) add_to_collection("regularization_losses", {regularizer(variable.value())});
}

void Layer::constrain(const Variable& variable, const Constraint& constraint) const {
  if (!constraint || !variable.defined()) return;
  const std::lock_guard lock(state_->mutex);
  state_->constraints.emplace_back(variable, constraint);
}

// Collects `layer` and all layers in it, each once.
static void add_layers(const Layer& layer, std::set<const void*>& seen, std::vector<const Layer*>& all) {
  if (!seen.insert(identity_of(layer)).second) return;
  all.push_back(&layer);
  const Parts own = layer.parts();
  for (const Layer* part : own.layers()) add_layers(*part, seen, all);
}
static std::vector<const Layer*> all_layers(const Layer& layer) {
  std::set<const void*> seen;
  std::vector<const Layer*> all;
  add_layers(layer, seen, all);
  return all;
}

bool Layer::built() const {
  return std::ranges::all_of(all_layers(*this), [](const Layer* layer) {
    return layer->built_in() || layer->state_->built.load(std::memory_order_acquire);
  });
}

std::vector<Tensor> Layer::regularization_losses() const {
  std::vector<Tensor> losses;
  for (const Layer* layer : all_layers(*this)) {
    if (!layer->trainable()) continue;
    std::vector<std::pair<Variable, Regularizer>> due;
    {
      const std::lock_guard lock(layer->state_->mutex);
      due = layer->state_->penalties;
    }
    for (const auto& [variable, regularizer] : due) losses.push_back(regularizer(variable.value()));
  }
  return losses;
}

void Layer::apply_constraints() const {
  for (const Layer* layer : all_layers(*this)) {
    std::vector<std::pair<Variable, Constraint>> due;
    {
      const std::lock_guard lock(layer->state_->mutex);
      due = layer->state_->constraints;
    }
    for (const auto& [variable, constraint] : due) variable.assign(constraint(variable.value()));
  }
}

void Layer::set_activity_regularizer(Regularizer regularizer) const {
  const std::lock_guard lock(state_->mutex);
  state_->watches_activity.store(static_cast<bool>(regularizer), std::memory_order_relaxed);
  state_->activity = std::move(regularizer);
}

// ---- Calls ---------------------------------------------------------------------------------------------------------

static void expect_input(const Layer& layer, const Tensor& x) {
  const InputSpec spec = layer.input_spec();
  const PartialShape& shape = x.partial_shape();
  const auto refuse = [&](std::string_view wanted) {
    invalid("{}: expected an input of {}, got {}{}", layer.to_string(), wanted, dtype_name(x.dtype()),
            shape.to_string());
  };
  if (spec.dtype != DType::kInvalid && x.dtype() != spec.dtype) refuse(dtype_name(spec.dtype));
  if (!shape.known_rank()) return;
  const int rank = shape.rank();
  if (spec.rank >= 0 && rank != spec.rank) refuse(fmt::format("rank {}", spec.rank));
  if (spec.min_rank >= 0 && rank < spec.min_rank) refuse(fmt::format("rank {} at least", spec.min_rank));
  if (spec.max_rank >= 0 && rank > spec.max_rank) refuse(fmt::format("rank {} at most", spec.max_rank));
  for (const auto& [axis, size] : spec.axes) {
    const int at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank) refuse(fmt::format("a rank with axis {}", axis));
    if (shape.dim(at) >= 0 && shape.dim(at) != size) refuse(fmt::format("size {} along axis {}", size, axis));
  }
}

void Layer::prepare(const Tensor& x) const {
  if (state_->built.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(state_->building);
  if (state_->built.load(std::memory_order_relaxed)) return;
  size_t parts = 0, penalties = 0, constraints = 0;
  {
    const std::lock_guard lists(state_->mutex);
    parts = state_->parts.size(), penalties = state_->penalties.size(), constraints = state_->constraints.size();
  }
  try {
    build(x.partial_shape());
  } catch (...) {
    const std::lock_guard lists(state_->mutex);
    state_->parts.resize(parts);
    state_->penalties.resize(penalties);
    state_->constraints.resize(constraints);
    throw;
  }
  state_->built.store(true, std::memory_order_release);
}

Tensor Layer::called(const Tensor& x) const {
  if (!built_in()) {
    expect_input(*this, x);
    prepare(x);
  }
  Tensor y = forward(x);
  if (state_->watches_activity.load(std::memory_order_relaxed)) {
    Regularizer activity;
    {
      const std::lock_guard lock(state_->mutex);
      activity = state_->activity;
    }
    detail::add_activity_loss(y, activity);
  }
  return heard(*this, std::move(y));
}

Tensor Layer::operator()(const Tensor& x, std::source_location where) const {
  // A library layer that is called inside a watched layer needs no watch of its own; a user's layer does.
  const int mode = in_training() ? 2 : 1;
  const bool look = !seen_.has(mode) && !(built_in() && UseWatch::open());
  const auto watched = [&] {
    try {
      if (!look) return called(x);
      const UseWatch watch;
      Tensor y = called(x);
      watch.expect_listed(*this, built_in());
      seen_.add(mode);
      return y;
    } catch (Error& error) {
      // If to_string() has several lines, the error's context already names inner layers.
      if (const std::string text = to_string(); text.find('\n') == std::string::npos) error.add_context("in " + text);
      throw;
    }
  };
  if (built_in()) return from_caller(where, watched);
  const CallerScope own(nullptr);
  return watched();
}

}  // namespace panto
