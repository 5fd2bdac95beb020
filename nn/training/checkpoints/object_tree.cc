#include "panto/nn/training/checkpoints/object_tree.h"

#include <algorithm>
#include <set>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/random/random.h"
#include "panto/nn/layers/layer.h"
#include "panto/nn/metrics/metric.h"
#include "panto/nn/training/checkpoints/optimizer_state.h"
#include "panto/nn/training/moving_average.h"
#include "panto/nn/training/optimizers/optimizer.h"

namespace panto {
namespace {

using Kind = CheckpointNode::Kind;

std::vector<CheckpointObject::Named> numbered(const std::vector<CheckpointObject>& list) {
  std::vector<CheckpointObject::Named> objects;
  for (size_t i = 0; i < list.size(); ++i) objects.emplace_back(std::to_string(i), list[i]);
  return objects;
}

// Names by their last part: the parts before it belong to the object, or to another variable whose name got a number in
// this process.
std::vector<NamedVariable> short_names(const std::vector<Variable>& variables) {
  std::vector<NamedVariable> named;
  std::set<std::string> used;
  for (const Variable& v : variables) {
    if (!v.defined()) continue;
    const std::string name = file_name_of(v);
    const size_t slash = name.rfind('/');
    const std::string base = slash == std::string::npos ? name : name.substr(slash + 1);
    std::string own = base;
    for (int64_t i = 1; !used.insert(own).second; ++i) own = fmt::format("{}_{}", base, i);
    named.emplace_back(own, v);
  }
  return named;
}

void expect_name(std::string_view name, std::set<std::string_view>& used) {
  if (name.empty() || name.find('/') != std::string_view::npos) {
    invalid("checkpoint: expected names of objects without slashes, got '{}'", name);
  }
  if (!used.insert(name).second) invalid("checkpoint: expected each name once, got '{}' twice", name);
}

void expect_names(const std::vector<CheckpointObject::Named>& objects) {
  std::set<std::string_view> used;
  for (const auto& [name, object] : objects) expect_name(name, used);
}

}  // namespace

// ---- CheckpointObject -----------------------------------------------------------------------------------------------

CheckpointObject::CheckpointObject(const Variable& variable)
    : node_(std::make_shared<const CheckpointNode>(CheckpointNode{.kind = Kind::kVariable, .variable = variable})) {
  if (!variable.defined()) invalid("checkpoint: expected variables with values, got a default-constructed one");
}
CheckpointObject::CheckpointObject(const Layer& layer)
    : node_(std::make_shared<const CheckpointNode>(CheckpointNode{.kind = Kind::kLayer, .layer = &layer})) {}
CheckpointObject::CheckpointObject(Optimizer& optimizer)
    : node_(std::make_shared<const CheckpointNode>(CheckpointNode{.kind = Kind::kOptimizer, .optimizer = &optimizer})) {
}
CheckpointObject::CheckpointObject(const metrics::Metric& metric)
    : CheckpointObject(Callable<std::vector<Variable>()>([variables = metric.state()] { return variables; })) {}
CheckpointObject::CheckpointObject(const ExponentialMovingAverage& average)
    : CheckpointObject(Callable<std::vector<Variable>()>([&average] { return average.averages(); })) {}
CheckpointObject::CheckpointObject(Callable<std::vector<Variable>()> variables)
    : node_(std::make_shared<const CheckpointNode>(
          CheckpointNode{.kind = Kind::kVariables, .variables = std::move(variables)})) {}
CheckpointObject::CheckpointObject(const std::vector<CheckpointObject>& list) : CheckpointObject(numbered(list)) {}
CheckpointObject::CheckpointObject(std::vector<Named> objects) {
  expect_names(objects);
  node_ = std::make_shared<const CheckpointNode>(CheckpointNode{.kind = Kind::kObjects, .objects = std::move(objects)});
}
CheckpointObject::CheckpointObject(Callable<Tensor()> save, Callable<void(const Tensor&)> restore)
    : node_(std::make_shared<const CheckpointNode>(
          CheckpointNode{.kind = Kind::kState, .save = std::move(save), .restore = std::move(restore)})) {}
CheckpointObject::CheckpointObject(Callable<std::string()> save, Callable<void(std::string_view)> restore)
    : CheckpointObject(Callable<Tensor()>([save = std::move(save)] { return tensor(save()); }),
                       Callable<void(const Tensor&)>([restore = std::move(restore)](const Tensor& bytes) {
                         if (bytes.dtype() != kString || bytes.shape().rank() != 0) {
                           invalid("checkpoint: expected bytes, a string, got {}", dtype_name(bytes.dtype()));
                         }
                         restore(bytes.item<std::string>());
                       })) {}

std::string file_name_of(const Variable& variable) {
  return variable.handle().is_meta() ? variable.name() : variable_of(variable.handle()).base_name();
}

// ---- The tree ------------------------------------------------------------------------------------------------------

ObjectTree::ObjectTree(const std::vector<CheckpointObject::Named>& objects) : objects_(1) {
  expect_names(objects);
  add_named(objects, 0);
  for (size_t i = 0; i < objects_.size(); ++i) {  // now that all variables have paths
    if (objects_[i].optimizer != nullptr) add_slots(i);
  }
}

void ObjectTree::add_named(const std::vector<CheckpointObject::Named>& objects, size_t to) {
  for (const auto& [name, object] : objects) add(name, *object.node_, to);
}

void ObjectTree::add(const std::string& name, const CheckpointNode& node, size_t to) {
  if (node.kind == Kind::kVariable) {
    const Variable& v = node.variable;
    // TensorFlow's tf.random.Generator is an object with a variable.
    if (v.handle().id() == random_generator().handle().id()) to = add_child(name, to);
    add_variable(v.handle().id() == random_generator().handle().id() ? "_state_var" : name, v, file_name_of(v), to);
    return;
  }
  const size_t own = add_child(name, to);
  switch (node.kind) {
    case Kind::kVariable: break;
    case Kind::kLayer: add_layer(*node.layer, own); break;
    case Kind::kOptimizer: objects_[own].optimizer = node.optimizer; break;
    case Kind::kVariables:
      for (const auto& [short_name, v] : short_names(node.variables())) {
        add_variable(short_name, v, file_name_of(v), own);
      }
      break;
    case Kind::kState: objects_[own].state = &node; break;
    case Kind::kObjects: add_named(node.objects, own); break;
  }
}

size_t ObjectTree::add_child(const std::string& name, size_t to) {
  for (const auto& [own, position] : objects_[to].children) {
    if (own == name) return position;
  }
  const std::string& above = objects_[to].way;
  const std::string way = (above.empty() ? "" : above + "/") + escaped_object_name(name);
  objects_[to].children.emplace_back(name, objects_.size());
  objects_.push_back({.way = way, .full_name = ""});
  return objects_.size() - 1;
}

// A variable that is already in the tree becomes a child there under a second name.
size_t ObjectTree::add_variable(const std::string& name, const Variable& variable, std::string full_name, size_t to) {
  const auto [known, is_new] = of_variable_.emplace(variable.handle().id(), objects_.size());
  if (!is_new) {
    objects_[to].children.emplace_back(name, known->second);
    return known->second;
  }
  const size_t own = add_child(name, to);
  known->second = own;
  objects_[own].variable = variable;
  objects_[own].full_name = std::move(full_name);
  return own;
}

void ObjectTree::add_layer(const Layer& layer, size_t to) {
  std::vector<Variable> variables = layer.variables();
  for (Variable& v : layer.state()) variables.push_back(std::move(v));
  std::vector<NamedVariable> named;
  if (std::ranges::any_of(variables, [](const Variable& v) { return v.defined() && v.handle().is_meta(); })) {
    for (const Variable& v : variables) named.emplace_back(v.name(), v);
  } else {
    named = layer.named_variables();
  }
  for (const auto& [name, v] : named) {
    size_t at = to, begin = 0;
    for (size_t end = name.find('/'); end != std::string::npos; begin = end + 1, end = name.find('/', begin)) {
      at = add_child(name.substr(begin, end - begin), at);
    }
    const size_t number = add_variable(name.substr(begin), v, name, at);
    objects_[to].by_name.emplace_back(name, number);
  }
}

void ObjectTree::add_slots(size_t of) {
  const Optimizer& optimizer = *objects_[of].optimizer;
  for (const Variable& v : optimizer.variables()) {
    const auto found = of_variable_.find(v.handle().id());
    if (found == of_variable_.end()) continue;
    const size_t variable = found->second;
    for (const auto& [name, slot] : OptimizerState::slots(optimizer, v)) {
      const SlotNames names = slot_names(optimizer, name);
      const std::string behind = names.variable.empty() ? name : names.variable;
      TreeObject object{.way = fmt::format("{}/.OPTIMIZER_SLOT/{}/{}", objects_[variable].way, objects_[of].way,
                                           escaped_object_name(names.stored)),
                        .full_name = objects_[variable].full_name + "/" + behind,
                        .variable = slot};
      objects_[of].slots.push_back({variable, names.stored, objects_.size()});
      of_variable_.emplace(slot.handle().id(), objects_.size());
      objects_.push_back(std::move(object));
    }
  }
  for (const SharedValue& shared : OptimizerState::shared(optimizer)) {
    if (!shared.name.ends_with("_power") || shared.variable.dtype() != kFloat64) {
      add_variable(shared.name, shared.variable, shared.name, of);
      continue;
    }
    const size_t wide = add_variable(shared.name + std::string(kWide), shared.variable, shared.name, of);
    const size_t narrow = add_child(shared.name, of);
    objects_[narrow].narrow_of = wide;
    objects_[narrow].full_name = std::exchange(objects_[wide].full_name, shared.name + std::string(kWide));
  }
}

void ObjectTree::expect_variables_of_optimizers() const {
  for (const TreeObject& object : objects_) {
    if (object.optimizer == nullptr) continue;
    for (const Variable& v : object.optimizer->variables()) {
      if (of_variable_.contains(v.handle().id())) continue;
      invalid("checkpoint: expected the variables of '{}' among its objects (add the model), got none that has '{}'",
              object.way, v.name());
    }
  }
}

std::string ObjectTree::key(const TreeObject& object) {
  return object.way + "/.ATTRIBUTES/" + std::string(object.state != nullptr ? kStateAttribute : kVariableAttribute);
}

std::vector<StoredObject> ObjectTree::stored() const {
  std::vector<StoredObject> stored;
  for (const TreeObject& object : objects_) {
    StoredObject& made = stored.emplace_back(StoredObject{.children = object.children, .slots = object.slots});
    if (object.variable.defined() || object.narrow_of != 0) {
      made.values.push_back({std::string(kVariableAttribute), object.full_name, key(object)});
    } else if (object.state != nullptr) {
      made.values.push_back({std::string(kStateAttribute), "", key(object)});
    }
  }
  return stored;
}

}  // namespace panto
