#include "panto/lib/graph/graph.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/check.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/flow/flow.h"
#include "panto/lib/graph/graph_index.h"

namespace panto {

namespace {

bool is_alphanumeric(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

// ---- Copies -----------------------------------------------------------------------------------------------------

Graph::Graph() : index_(std::make_shared<Index>(this)) {}
Graph::~Graph() = default;

Graph::Graph(Graph&& other) noexcept
    : nodes_(std::move(other.nodes_)),
      count_(other.count_),
      backward_(other.backward_),
      placed_(other.placed_),
      flow_nodes_(other.flow_nodes_),
      latest_line_(std::move(other.latest_line_)),
      edits_(other.edits_),
      final_(other.final_),
      index_(std::move(other.index_)),
      versions_(std::move(other.versions_)),
      library_(std::move(other.library_)),
      variables_(std::move(other.variables_)) {
  if (index_ != nullptr) index_->graph = this;
}

Graph& Graph::operator=(Graph&& other) noexcept {
  if (this == &other) return *this;
  std::destroy_at(this);
  return *std::construct_at(this, std::move(other));
}

Graph::Graph(const Graph& other)
    : count_(other.count_),
      backward_(other.backward_),
      placed_(other.placed_),
      flow_nodes_(other.flow_nodes_),
      latest_line_(other.latest_line_),
      index_(std::make_shared<Index>(this)),
      versions_(other.versions_),
      library_(other.library_),
      variables_(other.variables_) {
  index_->copy_but_names(*other.index_);
  nodes_.reserve(other.nodes_.size());
  for (const auto& node : other.nodes_) {
    nodes_.push_back(node == nullptr ? nullptr : std::unique_ptr<Node>(new Node(*node)));
  }
}

Graph& Graph::operator=(const Graph& other) {
  if (this != &other) *this = Graph(other);
  return *this;
}

// ---- Looking ----------------------------------------------------------------------------------------------------

const Node* Graph::find(std::string_view name) const noexcept { return find(index_->find(nodes_, name)); }

void Graph::edit() {
  if (final_) fail(Code::kFailedPrecondition, "graph: expected one that may be changed, got one that was finalized");
  ++edits_;
}

void Graph::no_node(int id) const { failf(Code::kNotFound, "node: expected an id of the graph, got {}", id); }

const Node& Graph::at(std::string_view name) const {
  if (const Node* node = find(name)) return *node;
  std::vector<std::string_view> names;
  names.reserve(static_cast<size_t>(count_));
  for (const auto& node : nodes_) {
    if (node != nullptr) names.emplace_back(node->name());
  }
  failf(Code::kNotFound, "node: expected a name of the graph, got '{}'{}", name, whole(closest_text(name, names)));
}

Node& Graph::get(int id) {
  edit();
  return const_cast<Node&>(at(id));
}

std::vector<int> Graph::ids() const {
  std::vector<int> out;
  out.reserve(static_cast<size_t>(count_));
  for (size_t id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id] != nullptr) out.push_back(static_cast<int>(id));
  }
  return out;
}

NodeOutput Graph::output(std::string_view text) const {
  const InputName name = parse_input_name(text);
  if (name.control) invalid("tensor name: expected a node's output such as 'x' or 'x:0', got '{}'", text);
  const Node& node = at(name.node);
  if (name.index >= node.num_outputs()) {
    if (is_unknown(node)) fail_unknown(node);  // its number of outputs is not known
    if (node.num_outputs() == 0) invalid("tensor name: expected a node with outputs, got '{}'", text);
    failf(Code::kOutOfRange, "output of node '{}': expected 0 to {}, got {}", node.name(), node.num_outputs() - 1,
          name.index);
  }
  return {node.id(), name.index};
}

std::string Graph::output_name(NodeOutput output) const {
  const std::string& name = at(output.node).name();
  return output.index == 0 ? name : fmt::format("{}:{}", name, output.index);
}

// ---- Edges ------------------------------------------------------------------------------------------------------

void Graph::link(int id, int slot) {
  Node& user = *nodes_[static_cast<size_t>(id)];
  const NodeOutput from = user.inputs_[static_cast<size_t>(slot)];
  Node& producer = *nodes_[static_cast<size_t>(from.node)];
  user.use_positions_[static_cast<size_t>(slot)] = static_cast<uint32_t>(producer.consumers_.size());
  producer.consumers_.push_back({id, slot, from.index});
  backward_ += from.node >= id ? 1 : 0;
}

void Graph::link_control(int id, size_t position) {
  Node& user = *nodes_[static_cast<size_t>(id)];
  Node& producer = *nodes_[static_cast<size_t>(user.control_inputs_[position])];
  user.control_positions_[position] = static_cast<uint32_t>(producer.consumers_.size());
  producer.consumers_.push_back({id, NodeUse::kControl, static_cast<int>(position)});
  backward_ += producer.id_ >= id ? 1 : 0;
}

void Graph::unlink(int id, int slot) {
  Node& user = *nodes_[static_cast<size_t>(id)];
  const int from = user.inputs_[static_cast<size_t>(slot)].node;
  drop_use(*nodes_[static_cast<size_t>(from)], user.use_positions_[static_cast<size_t>(slot)]);
  backward_ -= from >= id ? 1 : 0;
}

void Graph::unlink_control(int id, size_t position) {
  Node& user = *nodes_[static_cast<size_t>(id)];
  const int from = user.control_inputs_[position];
  drop_use(*nodes_[static_cast<size_t>(from)], user.control_positions_[position]);
  backward_ -= from >= id ? 1 : 0;
}

// The last entry moves to the dropped entry's position, and the consumer that it belongs to is updated.
void Graph::drop_use(Node& producer, size_t position) {
  const NodeUse moved = producer.consumers_.back();
  producer.consumers_.pop_back();
  if (position == producer.consumers_.size()) return;
  producer.consumers_[position] = moved;
  Node& user = *nodes_[static_cast<size_t>(moved.node)];
  if (moved.slot == NodeUse::kControl) {
    user.control_positions_[static_cast<size_t>(moved.output)] = static_cast<uint32_t>(position);
  } else {
    user.use_positions_[static_cast<size_t>(moved.slot)] = static_cast<uint32_t>(position);
  }
}

void Graph::check_output(NodeOutput output, std::string_view user) const {
  const Node* producer = find(output.node);
  if (producer == nullptr) {
    failf(Code::kInvalidArgument, "input of node '{}': expected a node of the graph, got id {}", user, output.node);
  }
  if (output.index < 0 || output.index >= producer->num_outputs()) {
    failf(Code::kInvalidArgument, "input of node '{}': expected an output below {} of node '{}', got {}", user,
          producer->num_outputs(), producer->name(), output.index);
  }
}

// ---- Changing ---------------------------------------------------------------------------------------------------

SharedImpl<const SourceLine> Graph::shared_line(SourceLine where) {
  if (latest_line_ == nullptr || !(*latest_line_ == where)) {
    latest_line_ = std::make_shared<const SourceLine>(std::move(where));
  }
  return latest_line_;
}

void Graph::reserve(size_t nodes) {
  nodes_.reserve(nodes);
  index_->reserve(nodes);
}

int Graph::add(NodeSpec spec) {
  edit();
  if (spec.op == nullptr) invalid("op of node '{}': expected one, got none", spec.name);
  if (!is_valid_name(spec.name)) {
    invalid("node name: expected letters, digits, '.', '_', '-' and '/' after a letter, digit or '.', got '{}'",
            spec.name);
  }
  for (const NodeOutput& input : spec.inputs) check_output(input, spec.name);
  with_context([&] { return "node '" + spec.name + "'"; }, [&] { complete_attrs(spec.op->signature(), spec.attrs); });

  std::vector<int> controls;
  if (!spec.control_inputs.empty()) {
    std::unordered_set<int> seen;
    for (int control : spec.control_inputs) {
      if (find(control) == nullptr) {
        invalid("control input of node '{}': expected a node of the graph, got id {}", spec.name, control);
      }
      if (seen.insert(control).second) controls.push_back(control);
    }
  }

  const int id = id_limit();
  auto node = std::unique_ptr<Node>(new Node);
  node->id_ = id;
  node->place_ = spec.place >= 0 ? spec.place : id;
  node->op_ = spec.op;
  node->inputs_ = {spec.inputs.begin(), spec.inputs.end()};
  node->use_positions_.resize(spec.inputs.size());
  node->control_positions_.resize(controls.size());
  node->control_inputs_ = std::move(controls);
  node->outputs_ = {std::make_move_iterator(spec.outputs.begin()), std::make_move_iterator(spec.outputs.end())};
  node->attrs_ = {std::make_move_iterator(spec.attrs.begin()), std::make_move_iterator(spec.attrs.end())};
  node->explicitly_set_ = spec.explicitly_set;
  node->name_ = std::move(spec.name);
  node->device_ = std::move(spec.device);
  node->where_ = shared_line(std::move(spec.where));
  node->internal_attrs_ = std::move(spec.internal_attrs);
  nodes_.emplace_back();  // a name in the index must have a node
  if (!index_->add(nodes_, *node)) {
    nodes_.pop_back();
    invalid("node name: expected one that is not taken, got '{}'", node->name());
  }
  nodes_.back() = std::move(node);
  ++count_;
  placed_ += nodes_.back()->place_ != id ? 1 : 0;
  flow_nodes_ += is_control_flow(flow_kind(*nodes_.back())) ? 1 : 0;
  const Node& added = *nodes_.back();
  for (int slot = 0; slot < added.num_inputs(); ++slot) link(id, slot);
  for (size_t i = 0; i < added.control_inputs().size(); ++i) link_control(id, i);
  return id;
}

void Graph::remove(int id) {
  const Node& node = get(id);
  if (!node.consumers_.empty()) {
    failf(Code::kFailedPrecondition, "removed node '{}': expected no consumers, got '{}'", node.name(),
          at(node.consumers_[0].node).name());
  }
  for (int slot = 0; slot < node.num_inputs(); ++slot) unlink(id, slot);
  for (size_t i = 0; i < node.control_inputs().size(); ++i) unlink_control(id, i);
  index_->remove(node);
  for (auto& [key, items] : index_->collections) {
    std::erase_if(items, [&](const NodeOutput& item) { return item.node == id; });
  }
  placed_ -= node.place_ != id ? 1 : 0;
  flow_nodes_ -= is_control_flow(flow_kind(node)) ? 1 : 0;
  nodes_[static_cast<size_t>(id)].reset();
  --count_;
}

void Graph::rename(int id, std::string name) {
  Node& node = get(id);
  if (name == node.name()) return;
  if (!is_valid_name(name)) invalid("node name: expected a well-formed one, got '{}'", name);
  if (find(name) != nullptr) invalid("node name: expected one that is not taken, got '{}'", name);
  index_->remove(node);
  node.name_ = std::move(name);
  index_->add(nodes_, node);
}

void Graph::set_input(int id, int slot, NodeOutput from) {
  Node& node = get(id);
  if (slot < 0 || slot >= node.num_inputs()) {
    invalid("input of node '{}': expected a slot below {}, got {}", node.name(), node.num_inputs(), slot);
  }
  check_output(from, node.name());
  unlink(id, slot);
  node.inputs_[static_cast<size_t>(slot)] = from;
  link(id, slot);
}

void Graph::replace_op(int id, const Op& op, std::vector<NodeOutput> inputs, std::vector<AttrValue> attrs) {
  Node& node = get(id);
  for (const NodeOutput& input : inputs) check_output(input, node.name());
  with_context([&] { return "node '" + node.name() + "'"; }, [&] { complete_attrs(op.signature(), attrs); });
  for (int slot = 0; slot < node.num_inputs(); ++slot) unlink(id, slot);
  flow_nodes_ -= is_control_flow(flow_kind(node)) ? 1 : 0;
  node.op_ = &op;
  flow_nodes_ += is_control_flow(op.kind()) ? 1 : 0;
  node.inputs_ = {inputs.begin(), inputs.end()};
  node.use_positions_.resize(inputs.size());
  node.attrs_ = {std::make_move_iterator(attrs.begin()), std::make_move_iterator(attrs.end())};
  node.explicitly_set_ = ~uint64_t{0};
  for (int slot = 0; slot < node.num_inputs(); ++slot) link(id, slot);
}

void Graph::add_control_input(int id, int from) {
  Node& node = get(id);
  at(from);
  if (id == from) return;
  if (std::ranges::find(node.control_inputs_, from) != node.control_inputs_.end()) return;
  node.control_inputs_.push_back(from);
  node.control_positions_.push_back(0);
  link_control(id, node.control_inputs_.size() - 1);
}

void Graph::remove_control_input(int id, int from) {
  Node& node = get(id);
  auto& controls = node.control_inputs_;
  const auto found = std::ranges::find(controls, from);
  if (found == controls.end()) return;
  // The last control input moves to the removed one's position.
  const auto position = static_cast<size_t>(found - controls.begin());
  unlink_control(id, position);
  if (position + 1 != controls.size()) {
    controls[position] = controls.back();
    node.control_positions_[position] = node.control_positions_.back();
    at(controls[position]);
    nodes_[static_cast<size_t>(controls[position])]->consumers_[node.control_positions_[position]].output =
        static_cast<int>(position);
  }
  controls.pop_back();
  node.control_positions_.pop_back();
}

void Graph::replace_output(NodeOutput old, NodeOutput with) {
  check_output(old, "replace_output");
  check_output(with, "replace_output");
  if (old == with) return;
  const auto uses = at(old.node).consumers_;
  for (const NodeUse& use : uses) {
    if (use.slot != NodeUse::kControl && use.output == old.index) set_input(use.node, use.slot, with);
  }
}

void Graph::replace_control(int old, int with) {
  at(with);
  if (old == with) return;
  const auto uses = at(old).consumers_;
  for (const NodeUse& use : uses) {
    if (use.slot != NodeUse::kControl) continue;
    remove_control_input(use.node, old);
    add_control_input(use.node, with);
  }
}

void Graph::set_attr(int id, std::string_view name, AttrValue value) {
  Node& node = get(id);
  const Signature& signature = node.op().signature();
  const int position = signature.find_attr(name);
  if (position < 0) failf(Code::kNotFound, "attribute: expected one of {}, got {}", node.op().name(), name);
  check_attr(signature.attrs[static_cast<size_t>(position)], value);
  node.attrs_[static_cast<size_t>(position)] = std::move(value);
  if (position < 64) node.explicitly_set_ |= uint64_t{1} << position;
}

void Graph::set_internal_attr(int id, std::string_view name, AttrValue value) {
  auto& attrs = get(id).internal_attrs_;
  const auto found = std::ranges::find(attrs, name, [](const auto& note) -> std::string_view { return note.first; });
  if (value.kind() == AttrKind::kNone) {
    if (found != attrs.end()) attrs.erase(found);
  } else if (found != attrs.end()) {
    found->second = std::move(value);
  } else {
    attrs.emplace_back(std::string(name), std::move(value));
  }
}

void Graph::set_device(int id, std::string device) { get(id).device_ = std::move(device); }

void Graph::set_outputs(int id, std::vector<OutputInfo> outputs) {
  Node& node = get(id);
  for (const NodeUse& use : node.consumers_) {
    if (use.slot != NodeUse::kControl && use.output >= static_cast<int>(outputs.size())) {
      invalid("outputs of node '{}': expected more than {}, which is used, got {}", node.name(), use.output,
              outputs.size());
    }
  }
  node.outputs_ = {std::make_move_iterator(outputs.begin()), std::make_move_iterator(outputs.end())};
}

// ---- Names ------------------------------------------------------------------------------------------------------

bool Graph::is_valid_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > kMaxNameLength) return false;
  if (!is_alphanumeric(name[0]) && name[0] != '.') return false;
  for (char c : name.substr(1)) {
    if (!is_alphanumeric(c) && c != '_' && c != '.' && c != '\\' && c != '/' && c != '>' && c != '-') return false;
  }
  return true;
}

std::string Graph::unique_scope(std::string_view wanted) {
  std::string name = unique_name(wanted);
  index_->take_scope(name);
  return name;
}

std::string Graph::unique_name(std::string_view wanted) {
  std::string base(wanted.substr(0, kMaxNameLength - 16));
  for (char& c : base) {
    if (!is_alphanumeric(c) && c != '_' && c != '.' && c != '/' && c != '>' && c != '-') c = '_';
  }
  if (base.empty() || (!is_alphanumeric(base[0]) && base[0] != '.')) base.insert(0, "n");
  return index_->free_name(nodes_, base);
}

// ---- What belongs to the whole graph -----------------------------------------------------------------------------

void Graph::set_versions(GraphVersions versions) {
  edit();
  versions_ = std::move(versions);
}
void Graph::set_seed(int64_t seed) {
  edit();
  index_->seed = seed;
}

// Follows TensorFlow's get_seed, where two zeros mean that there is no seed.
std::pair<int64_t, int64_t> Graph::next_seeds() {
  if (!index_->seed) return {0, 0};
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const auto below = [](int64_t seed) { return ((seed % kMost) + kMost) % kMost; };
  const std::pair<int64_t, int64_t> seeds(below(*index_->seed), below(index_->seeds_given++));
  return seeds == std::pair<int64_t, int64_t>(0, 0) ? std::pair<int64_t, int64_t>(0, kMost) : seeds;
}

void Graph::set_library(std::string serialized) {
  edit();
  library_ = std::move(serialized);
}
void Graph::add_variable(GraphVariable variable) {
  edit();
  variables_.push_back(std::move(variable));
}

// ---- Collections --------------------------------------------------------------------------------------------------

void Graph::add_to_collection(std::string_view key, NodeOutput item) {
  if (item.index == kNoOutput) {
    at(item.node);
  } else {
    check_output(item, "collection");
  }
  edit();
  index_->collections[std::string(key)].push_back(item);
}

std::vector<NodeOutput> Graph::collection(std::string_view key) const {
  const auto found = index_->collections.find(key);
  return found == index_->collections.end() ? std::vector<NodeOutput>() : found->second;
}

std::vector<std::string> Graph::collection_keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, items] : index_->collections) {
    if (!items.empty()) keys.push_back(key);
  }
  return keys;
}

// ---- Symbolic tensors -------------------------------------------------------------------------------------------

void Graph::bind(const Tensor& symbolic, NodeOutput output) {
  check_output(output, "bind");
  edit();
  index_->bind(symbolic.id(), output);
}

NodeOutput Graph::output_of(const Tensor& symbolic) const {
  const NodeOutput found = index_->output_of(symbolic.id());
  return find(found.node) == nullptr ? NodeOutput() : found;
}

std::weak_ptr<Graph* const> Graph::location() const noexcept {
  return std::shared_ptr<Graph* const>(index_.shared(), &index_->graph);
}

Operation Graph::operation(int id) const { return {index_.shared(), id, at(id).name()}; }

const Node& Graph::node(const Tensor& symbolic) const {
  const NodeOutput output = output_of(symbolic);
  if (!output.valid()) invalid("symbolic tensor: expected one of this graph, got {}", symbolic.to_string());
  return at(output.node);
}

}  // namespace panto
