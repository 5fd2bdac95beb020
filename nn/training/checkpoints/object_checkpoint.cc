#include "panto/nn/training/checkpoints/object_checkpoint.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/file.h"
#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/graph/checkpoints/checkpoint_file.h"
#include "panto/lib/graph/checkpoints/checkpoint_state.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/training/checkpoint.h"
#include "panto/nn/training/checkpoints/checkpoint_values.h"
#include "panto/nn/training/checkpoints/object_tree.h"
#include "panto/nn/training/checkpoints/optimizer_state.h"
#include "panto/nn/training/checkpoints/restoring.h"
#include "panto/nn/training/matching.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

constexpr std::string_view kSaveCounter = "save_counter";
// The key of the positions of a graph's stateful nodes, in the session.
constexpr std::string_view kSession = "session";

// "'a' and 3 more".
std::string first_of(const std::vector<std::string>& names) {
  return names.size() == 1 ? fmt::format("'{}'", printable(names[0]))
                           : fmt::format("'{}' and {} more", printable(names[0]), names.size() - 1);
}

std::vector<CheckpointObject::Named> checked(std::vector<CheckpointObject::Named> objects) {
  for (const auto& [name, object] : objects) {
    if (name == kSaveCounter || name == kSession)
      invalid("checkpoint: expected other names than '{}', which is its own", name);
  }
  return objects;
}

// The variables of a graph: their values are in a session.
std::vector<Variable> of_graph(const ObjectTree& tree) {
  std::vector<Variable> found;
  for (const TreeObject& object : tree.objects()) {
    if (object.variable.defined() && object.variable.handle().is_meta()) found.push_back(object.variable);
  }
  return found;
}

}  // namespace

// ---- RestoreStatus --------------------------------------------------------------------------------------------------

struct RestoreStatus::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (asked || restoring == nullptr || restoring->missing().empty()) return;
    try {
      log_warn(
          fmt::format("checkpoint '{}': it lacks {}, which stay as they were (expect_partial() says that this is "
                      "as it should be)",
                      printable(restoring->prefix()), first_of(restoring->missing())));
    } catch (...) {  // no memory for the text
      return;
    }
  }

  std::shared_ptr<Restoring> restoring;
  bool asked = false;
};

RestoreStatus::RestoreStatus(std::shared_ptr<State> state) : state_(std::move(state)) {}

const RestoreStatus& RestoreStatus::expect_partial() const {
  state_->asked = true;
  return *this;
}

const RestoreStatus& RestoreStatus::assert_existing_objects_matched() const {
  state_->asked = true;
  const Restoring& restoring = *state_->restoring;
  if (!restoring.missing().empty()) {
    invalid("checkpoint '{}': expected values of all objects, got none of {}", restoring.prefix(),
            whole(first_of(restoring.missing())));
  }
  return *this;
}

const RestoreStatus& RestoreStatus::assert_consumed() const {
  assert_existing_objects_matched();
  const std::vector<std::string> left = unused();
  if (!left.empty()) {
    invalid("checkpoint '{}': expected values that objects have, got {} too", state_->restoring->prefix(),
            whole(first_of(left)));
  }
  return *this;
}

const RestoreStatus& RestoreStatus::assert_nontrivial_match() const {
  state_->asked = true;
  if (state_->restoring->taken() > 0) return *this;
  const std::vector<std::string> left = unused();
  invalid("checkpoint '{}': expected a value of one of the objects, got only others{}", state_->restoring->prefix(),
          whole(left.empty() ? "" : ": " + first_of(left)));
}

std::vector<std::string> RestoreStatus::missing() const {
  state_->asked = true;
  return state_->restoring->missing();
}

std::vector<std::string> RestoreStatus::unused() const { return state_->restoring->unused(); }

// ---- Checkpoints ---------------------------------------------------------------------------------------------------

CheckpointValues::CheckpointValues(std::vector<CheckpointObject::Named> objects)
    : objects_(checked(std::move(objects))), graph_(of_graph(ObjectTree(objects_))) {}

std::vector<NamedTensor> CheckpointValues::values(Session* session, std::optional<int64_t> save_counter) const {
  std::optional<RecorderPause> unheard;  // a session's values are read unrecorded
  if (session != nullptr) unheard.emplace();
  const ObjectTree tree(objects_);
  tree.expect_variables_of_optimizers();
  std::vector<NamedVariable> variables;
  std::vector<const TreeObject*> of_session;
  std::vector<NamedTensor> values;
  for (const TreeObject& object : tree.objects()) {
    if (!object.variable.defined()) continue;
    if (object.variable.handle().is_meta()) {
      of_session.push_back(&object);
    } else {
      variables.emplace_back(ObjectTree::key(object), object.variable);
    }
  }
  values = variable_values(variables);  // throws inside a trace: before other objects are saved
  expect_session(session != nullptr, !of_session.empty());
  if (session != nullptr) {
    std::vector<Tensor> read = graph_.read(*session);
    for (const TreeObject* object : of_session) {
      const size_t position = position_in_graph(object->variable);
      values.emplace_back(ObjectTree::key(*object), read[position]);
    }
  }
  for (const TreeObject& object : tree.objects()) {
    if (object.state == nullptr) continue;
    values.emplace_back(ObjectTree::key(object), with_context([&] { return "in '" + printable(object.way) + "'"; },
                                                              [&] { return object.state->save(); }));
  }
  for (const TreeObject& object : tree.objects()) {
    if (object.narrow_of == 0) continue;
    const std::string wide = ObjectTree::key(tree.objects()[object.narrow_of]);
    const auto found = std::ranges::find(values, wide, &NamedTensor::first);
    values.emplace_back(ObjectTree::key(object), cast(Tensor(found->second), kFloat32));
  }
  std::vector<StoredObject> stored = tree.stored();
  const auto add = [&](std::string_view name, std::string_view attribute, Tensor value) {
    const std::string key = fmt::format("{}/.ATTRIBUTES/{}", name, attribute);
    stored[0].children.emplace_back(name, stored.size());
    stored.push_back({.values = {{std::string(attribute), std::string(name), key}}});
    values.emplace_back(key, std::move(value));
  };
  if (session != nullptr) add(kSession, kStateAttribute, tensor(session->node_positions()));
  if (save_counter) add(kSaveCounter, kVariableAttribute, tensor(*save_counter));
  values.emplace_back(kObjectGraphKey, tensor(write_object_graph(stored)));
  return values;
}

void CheckpointValues::expect_session(bool given, bool needed) const {
  if (given == needed) return;
  fail(Code::kFailedPrecondition,
       needed ? "checkpoint: expected a session, since variables are of a graph, got none"
              : "checkpoint: expected variables of a graph, since there is a session, got none");
}

size_t CheckpointValues::position_in_graph(const Variable& variable) const {
  const std::vector<Variable>& known = graph_.variables();
  const auto found =
      std::ranges::find_if(known, [&](const Variable& v) { return v.handle().id() == variable.handle().id(); });
  if (found == known.end()) {
    failf(Code::kFailedPrecondition,
          "checkpoint: expected to be made when all variables of the graph are there, got '{}' that came later",
          variable.name());
  }
  return static_cast<size_t>(found - known.begin());
}

std::shared_ptr<Restoring> CheckpointValues::restore(Session* session, const std::string& prefix) const {
  std::optional<RecorderPause> unheard;
  if (session != nullptr) unheard.emplace();
  expect_no_trace("restore");
  expect_session(session != nullptr, !graph_.variables().empty());
  const auto restoring = std::make_shared<Restoring>(prefix);
  const ObjectTree tree(objects_);
  const std::vector<Restoring::Assignment> found = restoring->find(tree);
  std::vector<Tensor> of_session(graph_.variables().size());
  for (const Restoring::Assignment& a : found) {  // what may throw comes first
    if (a.state != nullptr) {
      with_context([&] { return fmt::format("in file '{}'", printable(prefix)); }, [&] { a.state->restore(a.value); });
    } else if (a.variable.handle().is_meta()) {
      of_session[position_in_graph(a.variable)] = a.value;
    }
  }
  if (session != nullptr) {
    if (restoring->session_positions()) session->go_to(*restoring->session_positions());
    graph_.assign(*session, of_session);
  }
  assign(found);
  for (const TreeObject& object : tree.objects()) {
    if (object.optimizer == nullptr) continue;
    if (!restoring->awaits(*object.optimizer)) {
      OptimizerState::when_built(*object.optimizer, nullptr);
      continue;
    }
    OptimizerState::when_built(*object.optimizer,
                               [restoring](Optimizer& optimizer) { assign(restoring->find_more(optimizer)); });
  }
  return restoring;
}

void CheckpointValues::assign(const std::vector<Restoring::Assignment>& found) {
  for (const Restoring::Assignment& a : found) {
    if (a.state == nullptr && !a.variable.handle().is_meta()) variable_of(a.variable.handle()).assign(a.value);
  }
}

struct Checkpoint::Impl {
  explicit Impl(std::vector<CheckpointObject::Named> objects) : values(std::move(objects)) {}

  std::string write(Session* session, const std::string& prefix, std::optional<int64_t> counter) const {
    if (const size_t slash = prefix.rfind('/'); slash != std::string::npos && slash > 0) {
      make_folders(prefix.substr(0, slash));
    }
    write_checkpoint(prefix, values.values(session, counter));
    return prefix;
  }
  std::string save(Session* session, const std::string& prefix) {
    const size_t slash = prefix.rfind('/');
    const std::string base = slash == std::string::npos ? prefix : prefix.substr(slash + 1);
    if (base.empty()) invalid("checkpoint: expected a prefix with a name, got '{}'", prefix);
    const int64_t number = values.save_counter + 1;
    const std::string name = fmt::format("{}-{}", base, number);
    const std::string written = write(session, fmt::format("{}-{}", prefix, number), number);
    values.save_counter = number;
    write_checkpoint_state(slash == std::string::npos ? "."
                           : slash == 0               ? "/"
                                                      : prefix.substr(0, slash),
                           {.latest = name, .all = {name}});
    return written;
  }
  RestoreStatus restore(Session* session, const std::string& prefix, bool counts) {
    const auto state = std::make_shared<RestoreStatus::State>();
    state->restoring = values.restore(session, prefix);
    if (counts && state->restoring->save_counter() >= 0) values.save_counter = state->restoring->save_counter();
    return RestoreStatus(state);
  }

  CheckpointValues values;
};

Checkpoint::Checkpoint(std::initializer_list<CheckpointObject::Named> objects)
    : Checkpoint(std::vector<CheckpointObject::Named>(objects)) {}
Checkpoint::Checkpoint(std::vector<CheckpointObject::Named> objects)
    : impl_(std::make_unique<Impl>(std::move(objects))) {}
Checkpoint::~Checkpoint() = default;

std::string Checkpoint::write(const std::string& prefix) const { return impl_->write(nullptr, prefix, std::nullopt); }
std::string Checkpoint::write(Session& session, const std::string& prefix) const {
  return impl_->write(&session, prefix, std::nullopt);
}
std::string Checkpoint::save(const std::string& prefix) { return impl_->save(nullptr, prefix); }
std::string Checkpoint::save(Session& session, const std::string& prefix) { return impl_->save(&session, prefix); }
RestoreStatus Checkpoint::restore(const std::string& prefix) { return impl_->restore(nullptr, prefix, true); }
RestoreStatus Checkpoint::restore(Session& session, const std::string& prefix) {
  return impl_->restore(&session, prefix, true);
}
RestoreStatus Checkpoint::read(const std::string& prefix) { return impl_->restore(nullptr, prefix, false); }
RestoreStatus Checkpoint::read(Session& session, const std::string& prefix) {
  return impl_->restore(&session, prefix, false);
}
int64_t Checkpoint::save_counter() const { return impl_->values.save_counter; }
CheckpointValues& Checkpoint::values() { return impl_->values; }

}  // namespace panto
