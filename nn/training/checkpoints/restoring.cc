#include "panto/nn/training/checkpoints/restoring.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/ops/create.h"
#include "panto/nn/layers/initializers.h"
#include "panto/nn/training/checkpoints/optimizer_state.h"
#include "panto/nn/training/optimizers/optimizer.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

constexpr std::string_view kSaveCounter = "save_counter/.ATTRIBUTES/VARIABLE_VALUE";
constexpr std::string_view kSessionState = "session/.ATTRIBUTES/STATE";
constexpr std::string_view kPower = "_power";

Tensor scalar_of(double value, DType dtype) { return constant_initializer(value)(Shape(), dtype); }

// Whether `name` is `end`, or ends with a slash and `end`.
bool ends_with_name(std::string_view name, std::string_view end) {
  return name.ends_with(end) && (name.size() == end.size() || name[name.size() - end.size() - 1] == '/');
}

const StoredObject::Value* value_of(const StoredObject& object, std::string_view attribute) {
  const auto found = std::ranges::find(object.values, attribute, &StoredObject::Value::name);
  return found == object.values.end() ? nullptr : &*found;
}

}  // namespace

Restoring::Restoring(const std::string& prefix) : prefix_(prefix), reader_(std::in_place, prefix) {
  for (const CheckpointVariable& v : reader_->variables()) keys_.emplace(v.name, v);
  if (reader_->has_object_graph()) {
    stored_ = with_context([&] { return fmt::format("in file '{}'", printable(prefix_)); },
                           [&] { return read_object_graph(reader_->read(kObjectGraphKey).item<std::string>()); });
  }
  const auto has_scalar = [this](std::string_view key, DType dtype) {
    const auto found = keys_.find(key);
    return found != keys_.end() && found->second.dtype == dtype && found->second.shape.rank() == 0;
  };
  if (has_scalar(kSaveCounter, kInt64)) save_counter_ = reader_->read(kSaveCounter).item<int64_t>();
  if (has_scalar(kSessionState, kString)) session_positions_ = reader_->read(kSessionState).item<std::string>();
}

// ---- Values --------------------------------------------------------------------------------------------------------

Tensor Restoring::read(const std::string& key) {
  if (reader_) return reader_->read(key);
  const auto kept = later_.find(key);
  return kept == later_.end() ? Tensor() : kept->second;
}

bool Restoring::take(const TreeObject& object, const std::string& key, std::vector<Assignment>& found) {
  const auto info = keys_.find(key);
  if (info == keys_.end()) return false;
  if (object.state != nullptr) {
    taken_.insert(key);
    states_.insert(object.state);
    found.push_back({.variable = {}, .state = object.state, .value = read(key)});
    return true;
  }
  const Variable& v = object.variable;
  // Reading reports a dtype that this library does not have.
  if (info->second.dtype != DType::kInvalid &&
      (info->second.dtype != v.dtype() || !v.shape().compatible_with(info->second.shape))) {
    invalid("checkpoint '{}': expected {} for '{}', got {}", prefix_, type_text(v.dtype(), v.shape()), object.way,
            type_text(info->second.dtype, info->second.shape));
  }
  taken_.insert(key);
  given_.insert(v.handle().id());
  found.push_back({.variable = v, .value = read(key)});
  return true;
}

bool Restoring::take_value_of(const TreeObject& object, size_t stored, std::vector<Assignment>& found) {
  const StoredObject::Value* const value =
      value_of(stored_[stored], object.state != nullptr ? kStateAttribute : kVariableAttribute);
  return value != nullptr && take(object, value->key, found);
}

void Restoring::miss(const Variable& variable, const std::string& way) {
  if (variable.defined()) given_.insert(variable.handle().id());
  missing_.push_back(variable.defined() ? fmt::format("{} ({})", way, type_text(variable.dtype(), variable.shape()))
                                        : way);
}

std::vector<std::string> Restoring::unused() const {
  std::vector<std::string> keys;
  for (const auto& [key, info] : keys_) {
    if (taken_.contains(key) || key == kObjectGraphKey || key == kSaveCounter || key == kSessionState) continue;
    keys.push_back(fmt::format("{} ({}{})", key, info.dtype_text, PartialShape(info.shape).to_string()));
  }
  return keys;
}

// ---- Objects -------------------------------------------------------------------------------------------------------

std::vector<Restoring::Assignment> Restoring::find(const ObjectTree& tree) {
  std::vector<Assignment> found;
  if (stored_.empty()) {
    find_by_names(tree, found);
  } else {
    find_by_ways(tree, found);
  }
  keep_for_later(tree);
  reader_.reset();
  return found;
}

// Walks both object graphs from the root: objects reached by the same names correspond.
void Restoring::find_by_ways(const ObjectTree& tree, std::vector<Assignment>& found) {
  const std::vector<TreeObject>& objects = tree.objects();
  std::deque<Place> places{{0, 0}};
  stored_of_.emplace(0, 0);
  while (!places.empty()) {
    const auto [number, stored] = places.front();
    places.pop_front();
    const TreeObject& object = objects[number];
    if (object.variable.defined()) stored_variable_.emplace(object.variable.handle().id(), stored);
    if (object.variable.defined() || object.state != nullptr) take_value_of(object, stored, found);
    if (object.optimizer != nullptr) {
      stored_optimizer_.emplace(object.optimizer, stored);
      continue;  // later, when all variables are known
    }
    for (const auto& [name, child] : object.children) {
      const size_t* const there = stored_[stored].child(name);
      if (there != nullptr && stored_of_.emplace(child, *there).second) places.push_back({child, *there});
    }
  }
  for (size_t i = 0; i < objects.size(); ++i) {
    if (!objects[i].by_name.empty()) find_in_layer(tree, i, found);
  }
  for (const TreeObject& object : objects) {
    if (object.optimizer == nullptr) continue;
    way_of_optimizer_.emplace(object.optimizer, object.way);
    find_of_optimizer(*object.optimizer, found);
  }
  for (size_t i = 1; i < objects.size(); ++i) {
    const TreeObject& object = objects[i];
    if (object.variable.defined() && !given_.contains(object.variable.handle().id())) {
      miss(object.variable, object.way);
    } else if (object.state != nullptr && !states_.contains(object.state)) {
      miss({}, object.way);
    }
  }
}

// Finds a layer's variables that have other paths in the checkpoint, by their names.
void Restoring::find_in_layer(const ObjectTree& tree, size_t layer, std::vector<Assignment>& found) {
  const auto place = stored_of_.find(layer);
  if (place == stored_of_.end()) return;
  std::vector<size_t> below;  // values that are not taken yet
  std::set<size_t> seen{place->second};
  std::deque<size_t> next{place->second};
  while (!next.empty()) {
    const StoredObject& object = stored_[next.front()];
    const StoredObject::Value* const value = value_of(object, kVariableAttribute);
    if (value != nullptr && !taken_.contains(value->key)) below.push_back(next.front());
    next.pop_front();
    for (const auto& [name, child] : object.children) {
      if (seen.insert(child).second) next.push_back(child);
    }
  }
  for (const auto& [name, number] : tree.objects()[layer].by_name) {
    const TreeObject& object = tree.objects()[number];
    if (given_.contains(object.variable.handle().id())) continue;
    const auto fits = [&, &name = name](size_t stored) {
      return ends_with_name(value_of(stored_[stored], kVariableAttribute)->full_name, name);
    };
    const auto first = std::ranges::find_if(below, fits);
    if (first == below.end() || std::find_if(first + 1, below.end(), fits) != below.end()) continue;
    if (take_value_of(object, *first, found)) stored_variable_[object.variable.handle().id()] = *first;
  }
}

// ---- Checkpoints of names ------------------------------------------------------------------------------------------

bool Restoring::take_by_name(const TreeObject& object, const std::vector<std::string>& names,
                             std::vector<Assignment>& found) {
  for (const std::string& name : names) {
    if (taken_.contains(name) || !take(object, name, found)) continue;
    if (object.variable.defined()) name_of_variable_.emplace(object.variable.handle().id(), name);
    return true;
  }
  return false;
}

void Restoring::find_by_names(const ObjectTree& tree, std::vector<Assignment>& found) {
  const std::vector<TreeObject>& objects = tree.objects();
  std::set<size_t> of_optimizers;
  for (const TreeObject& object : objects) {
    if (object.optimizer == nullptr) continue;
    for (const auto& [name, number] : object.children) of_optimizers.insert(number);
    for (const StoredObject::Slot& slot : object.slots) of_optimizers.insert(slot.slot);
  }
  for (size_t i = 1; i < objects.size(); ++i) {
    const TreeObject& object = objects[i];
    if (of_optimizers.contains(i) || (!object.variable.defined() && object.state == nullptr)) continue;
    if (take_by_name(object, {object.way, object.full_name}, found)) continue;
    miss(object.variable, object.way);
  }
  for (const TreeObject& object : objects) {
    if (object.optimizer == nullptr) continue;
    way_of_optimizer_.emplace(object.optimizer, object.way);
    find_of_optimizer(*object.optimizer, found);
  }
}

// ---- Optimizers ----------------------------------------------------------------------------------------------------

bool Restoring::find_slot(const Optimizer& optimizer, const Variable& variable, const std::string& slot,
                          const Variable& value, std::vector<Assignment>& found) {
  const SlotNames names = slot_names(optimizer, slot);
  const std::string& way = way_of_optimizer_[&optimizer];
  if (stored_.empty()) {
    const auto of = name_of_variable_.find(variable.handle().id());
    const std::string name = of == name_of_variable_.end() ? file_name_of(variable) : of->second;
    const TreeObject object{.way = fmt::format("{}/{}", name, slot), .full_name = "", .variable = value};
    std::vector<std::string> candidates{object.way};
    if (!names.variable.empty()) candidates.push_back(fmt::format("{}/{}", name, names.variable));
    if (take_by_name(object, candidates, found)) return true;
    miss(value, fmt::format("{}/{}", name, names.variable.empty() ? slot : names.variable));
    return false;
  }
  const auto own = stored_optimizer_.find(&optimizer);
  const auto of = stored_variable_.find(variable.handle().id());
  const TreeObject object{.way = fmt::format("{}/.OPTIMIZER_SLOT/{}/{}", file_name_of(variable), way, names.stored),
                          .full_name = "",
                          .variable = value};
  if (own == stored_optimizer_.end() || of == stored_variable_.end()) {
    miss(value, object.way);
    return false;
  }
  const StoredObject& stored = stored_[own->second];
  const bool of_keras_2 = stored.child("iter") != nullptr;
  for (const StoredObject::Slot& there : stored.slots) {
    if (there.variable != of->second) continue;
    const bool fits =
        of_keras_2 && !names.second.empty()
            ? there.name == names.second
            : there.name == names.stored && !(of_keras_2 && there.name == "momentum" && names.keras.empty());
    if (fits && take_value_of(object, there.slot, found)) return true;
  }
  // Keras 3 has a list for each slot, and one of the variables.
  const size_t* const variables = stored.child("_trainable_variables");
  const size_t* const list = names.keras.empty() ? nullptr : stored.child(names.keras);
  if (variables != nullptr && list != nullptr) {
    for (const auto& [number, child] : stored_[*variables].children) {
      const size_t* const there = stored_[*list].child(number);
      if (child == of->second && there != nullptr && take_value_of(object, *there, found)) return true;
    }
  }
  if (variables != nullptr && list == nullptr && names.keras_may_lack) {
    given_.insert(value.handle().id());
    return true;
  }
  miss(value, object.way);
  return false;
}

// The number of steps of a Keras optimizer.
std::optional<int64_t> Restoring::steps_of(size_t optimizer) {
  for (const char* name : {"_iterations", "iter"}) {
    const size_t* const there = stored_[optimizer].child(name);
    const StoredObject::Value* const value = there == nullptr ? nullptr : value_of(stored_[*there], kVariableAttribute);
    const auto info = value == nullptr ? keys_.end() : keys_.find(value->key);
    if (info == keys_.end() || info->second.shape.rank() != 0) continue;
    if (info->second.dtype != kInt64 && info->second.dtype != kInt32) continue;
    const Tensor steps = read(value->key);
    taken_.insert(value->key);
    return info->second.dtype == kInt64 ? steps.item<int64_t>() : steps.item<int32_t>();
  }
  return std::nullopt;
}

void Restoring::find_shared(const Optimizer& optimizer, std::vector<Assignment>& found) {
  const std::string& way = way_of_optimizer_[&optimizer];
  const auto own = stored_optimizer_.find(&optimizer);
  for (const auto& [name, variable, initial] : OptimizerState::shared(optimizer)) {
    if (given_.contains(variable.handle().id())) continue;
    const TreeObject object{.way = fmt::format("{}/{}", way, name), .full_name = "", .variable = variable};
    const auto give = [&, &variable = variable](const Tensor& value) {
      given_.insert(variable.handle().id());
      found.push_back({.variable = variable, .value = value});
    };
    // The number may have another type there: TensorFlow 1 stores float32 for variables of any type.
    const auto give_value = [&, &variable = variable](const std::string& key) {
      const auto info = keys_.find(key);
      if (info == keys_.end() || info->second.shape.rank() != 0 || !dtypes::kFloating.contains(info->second.dtype)) {
        return false;
      }
      taken_.insert(key);
      give(cast(read(key), variable.dtype()));
      return true;
    };
    if (stored_.empty()) {
      if (dtypes::kFloating.contains(variable.dtype())) {
        if (give_value(object.way) || give_value(name) || name == "learning_rate") continue;
      } else if (take_by_name(object, {object.way, name}, found)) {
        continue;
      }
      miss(variable, object.way);
      continue;
    }
    if (own == stored_optimizer_.end()) {
      if (name != "learning_rate") miss(variable, object.way);
      continue;
    }
    const auto give_number = [&](std::string_view child) {
      const size_t* const there = stored_[own->second].child(child);
      const StoredObject::Value* const value =
          there == nullptr ? nullptr : value_of(stored_[*there], kVariableAttribute);
      return value != nullptr && give_value(value->key);
    };
    if (name == "learning_rate") {  // TensorFlow 1 does not store it: then it stays
      if (!give_number(name) && !give_number("_learning_rate")) given_.insert(variable.handle().id());
      continue;
    }
    if (dtypes::kFloating.contains(variable.dtype())) {
      if (give_number(name + std::string(kWide))) {  // the float32 copy beside it is for other readers
        if (const size_t* const narrow = stored_[own->second].child(name)) {
          if (const auto* value = value_of(stored_[*narrow], kVariableAttribute)) taken_.insert(value->key);
        }
        continue;
      }
      if (give_number(name) || (name == "momentum_product" && give_number("_u_product"))) continue;
    } else if (const size_t* const there = stored_[own->second].child(name);
               there != nullptr && take_value_of(object, *there, found)) {
      continue;
    }
    if (const std::optional<int64_t> steps = steps_of(own->second)) {
      // Computes beta1_power from the number of steps.
      if (name == "step") give(scalar_of(static_cast<double>(*steps), kInt64));
      if (name.ends_with(kPower)) {
        give(scalar_of(std::pow(initial, static_cast<double>(*steps) + 1), variable.dtype()));
      }
    }
    if (!given_.contains(variable.handle().id())) miss(variable, object.way);
  }
}

void Restoring::find_of_optimizer(const Optimizer& optimizer, std::vector<Assignment>& found) {
  for (const Variable& v : optimizer.variables()) {
    for (const auto& [name, value] : OptimizerState::slots(optimizer, v)) {
      if (!given_.contains(value.handle().id())) find_slot(optimizer, v, name, value, found);
    }
  }
  find_shared(optimizer, found);
  // Keras also counts steps for optimizers that do not count here.
  if (const auto own = stored_optimizer_.find(&optimizer); own != stored_optimizer_.end()) steps_of(own->second);
}

std::vector<Restoring::Assignment> Restoring::find_more(const Optimizer& optimizer) {
  std::vector<Assignment> found;
  find_of_optimizer(optimizer, found);
  return found;
}

bool Restoring::awaits(const Optimizer& optimizer) const {
  return way_of_optimizer_.contains(&optimizer) && OptimizerState::may_grow(optimizer);
}

// Keeps values for variables that optimizers may make later: slots, and values below the optimizer.
void Restoring::keep_for_later(const ObjectTree& tree) {
  const auto keep = [this](const std::string& key) {
    const auto info = keys_.find(key);
    if (info == keys_.end() || taken_.contains(key) || later_.contains(key)) return;
    if (info->second.dtype != DType::kInvalid) later_.emplace(key, reader_->read(key));
  };
  bool any = false;
  for (const TreeObject& object : tree.objects()) {
    any = any || (object.optimizer != nullptr && OptimizerState::may_grow(*object.optimizer));
  }
  if (!any) return;
  if (stored_.empty()) {
    for (const auto& [key, info] : keys_) keep(key);
    return;
  }
  for (const auto& [optimizer, number] : stored_optimizer_) {
    if (!OptimizerState::may_grow(*optimizer)) continue;
    for (const StoredObject::Slot& slot : stored_[number].slots) {
      if (const auto* value = value_of(stored_[slot.slot], kVariableAttribute)) keep(value->key);
    }
    for (const auto& [name, child] : stored_[number].children) {
      if (name == "_trainable_variables") continue;
      if (const auto* value = value_of(stored_[child], kVariableAttribute)) keep(value->key);
      for (const auto& [inner, grandchild] : stored_[child].children) {
        if (const auto* value = value_of(stored_[grandchild], kVariableAttribute)) keep(value->key);
      }
    }
  }
}

}  // namespace panto
