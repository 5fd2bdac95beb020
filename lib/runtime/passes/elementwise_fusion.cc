// One loop for neighbouring elementwise ops: `_FusedElementwise` computes them tile by tile, so that what lies between
// them does not go through memory. Results are the same bits.
//
// Groups are found in one walk over the graph, inputs first. Every group and every other node has a level, one more
// than the highest level it reads from; a node joins the groups of its inputs at the highest of their levels, if it may
// be computed together with all of them. All edges then lead from lower to higher levels, so no group waits for itself.
// Afterwards a group that only one other reads joins that one: whatever waits for it waits for its reader, too. Of a
// group that is read by a reduction alone the reduction becomes part.
#include <algorithm>
#include <functional>
#include <numeric>

#include "panto/lib/core/device.h"
#include "panto/lib/ops/elementwise_program.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/passes/rules.h"

namespace panto::passes {

namespace {

constexpr int kMostSteps = 512;
constexpr size_t kMostInputs = 64;

class Grouper {
 public:
  explicit Grouper(PassContext& context)
      : context_(context),
        graph_(context.graph),
        level_(static_cast<size_t>(graph_.id_limit()), 0),
        group_(static_cast<size_t>(graph_.id_limit()), -1) {}

  int run() {
    order_ = graph_.topological_order();
    for (int id : order_) visit(graph_.at(id));
    join_readers();
    std::vector<std::vector<int>> members(groups_.size());
    for (int id : order_) {
      if (const int g = group_of(id); g >= 0) members[static_cast<size_t>(g)].push_back(id);
    }
    int changes = 0;
    for (const std::vector<int>& nodes : members) {
      if (!nodes.empty()) changes += replace(nodes);
    }
    return changes;
  }

 private:
  struct Group {
    int parent;  // another group that it was merged with, or itself
    int size = 1;
    int level = 0;
  };

  int root(int g) {
    while (groups_[static_cast<size_t>(g)].parent != g) {
      int& parent = groups_[static_cast<size_t>(g)].parent;
      parent = groups_[static_cast<size_t>(parent)].parent;
      g = parent;
    }
    return g;
  }
  int group_of(int id) {
    if (static_cast<size_t>(id) >= group_.size()) return -1;  // it took a group's place
    const int g = group_[static_cast<size_t>(id)];
    return g < 0 ? -1 : root(g);
  }
  int level_of(int id) {
    const int g = group_of(id);
    return g < 0 ? level_[static_cast<size_t>(id)] : groups_[static_cast<size_t>(g)].level;
  }

  void visit(const Node& node) {
    int highest = -1;
    for (const NodeOutput& input : node.inputs()) highest = std::max(highest, level_of(input.node));
    for (int input : node.control_inputs()) highest = std::max(highest, level_of(input));
    level_[static_cast<size_t>(node.id())] = highest + 1;
    if (!may_be_fused(node)) return;
    std::vector<int> joined;
    int size = 1;
    for (const NodeOutput& input : node.inputs()) {
      if (level_of(input.node) < highest) continue;
      const int g = group_of(input.node);
      if (g < 0 || !alike(node, graph_.at(input.node))) return begin_group(node, highest + 1);
      if (std::ranges::find(joined, g) != joined.end()) continue;
      joined.push_back(g);
      size += groups_[static_cast<size_t>(g)].size;
    }
    if (joined.empty() || size > kMostSteps) return begin_group(node, highest + 1);
    for (size_t i = 1; i < joined.size(); ++i) groups_[static_cast<size_t>(joined[i])].parent = joined[0];
    groups_[static_cast<size_t>(joined[0])].size = size;
    group_[static_cast<size_t>(node.id())] = joined[0];
  }
  void begin_group(const Node& node, int level) {
    group_[static_cast<size_t>(node.id())] = static_cast<int>(groups_.size());
    groups_.push_back({static_cast<int>(groups_.size()), 1, level});
  }

  // Readers first: they may have joined theirs.
  void join_readers() {
    constexpr int kNobody = -1, kSeveral = -2;
    std::vector<int> by_level(groups_.size());
    std::iota(by_level.begin(), by_level.end(), 0);
    std::ranges::stable_sort(by_level, std::greater{}, [&](int g) { return groups_[static_cast<size_t>(g)].level; });
    std::vector<std::vector<int>> members(groups_.size());
    for (int id : order_) {
      if (const int g = group_of(id); g >= 0) members[static_cast<size_t>(g)].push_back(id);
    }
    for (const int g : by_level) {
      int reader = kNobody;
      for (int id : members[static_cast<size_t>(g)]) {
        for (const NodeUse& use : graph_.at(id).consumers()) {
          const int other = use.slot == NodeUse::kControl ? kSeveral : group_of(use.node);
          if (other == g) continue;
          reader = other < 0 || (reader != kNobody && reader != other) ? kSeveral : other;
          if (reader == kSeveral) break;
        }
        if (reader == kSeveral) break;
      }
      if (reader < 0) continue;
      Group& joined = groups_[static_cast<size_t>(reader)];
      Group& group = groups_[static_cast<size_t>(g)];
      const int first = members[static_cast<size_t>(g)][0], other = members[static_cast<size_t>(reader)][0];
      if (!alike(graph_.at(first), graph_.at(other)) || joined.size + group.size > kMostSteps) continue;
      group.parent = reader;
      joined.size += group.size;
    }
  }

  bool may_be_fused(const Node& node) const {
    const Op& op = node.op();
    if (!may_be_step(op) || context_.fixed(node.id()) || !node.control_inputs().empty()) return false;
    if (!node.output(0).shape.known_rank()) return false;
    SmallVector<DType, 3> operands;
    for (const NodeOutput& input : node.inputs()) operands.push_back(graph_.info(input).dtype);
    if (step_result(op, type_of(node), operands) != node.output(0).dtype) return false;
    if (!has_part(node, operands)) return false;
    // A program has no place for attributes beyond types.
    for (size_t i = 0; i < node.attrs().size(); ++i) {
      const AttrDef& attr = op.signature().attrs[i];
      if (attr.kind != AttrKind::kType && !(node.attrs()[i] == attr.default_value)) return false;
    }
    return true;
  }
  // Whether fused programs on the node's device can do what it does.
  static bool has_part(const Node& node, std::span<const DType> operands) {
    const Op& op = node.op();
    const DeviceKind kind = device_kind(node);
    const Kernel& kernel = op.kernel(kind, type_of(node));
    if (kind == DeviceKind::kCpu) return op.has(Trait::kConverts) || kernel.row != nullptr;
    if (!kFusedElementwise.has_kernel(kind)) return false;
    const auto is_complex = [](DType t) { return t == kComplex64 || t == kComplex128; };
    if (is_complex(node.output(0).dtype) || std::ranges::any_of(operands, is_complex)) return false;
    return op.has(Trait::kConverts) ? kernel.run != nullptr : kernel.functor != nullptr;
  }
  static DType type_of(const Node& node) {
    const int primary = node.op().primary_attr();
    return primary < 0 ? DType::kInvalid : node.attrs()[static_cast<size_t>(primary)].as<DType>();
  }
  static bool alike(const Node& a, const Node& b) {
    return a.output(0).shape == b.output(0).shape && a.device() == b.device();
  }

  // Somebody outside the group reads it, or waits for it.
  bool is_seen(int id, int group) {
    return std::ranges::any_of(graph_.at(id).consumers(),
                               [&](const NodeUse& use) { return group_of(use.node) != group; });
  }

  // A group as the attributes of a fused node say it.
  struct Text {
    std::vector<NodeOutput> inputs;
    std::vector<DType> in_types, out_types, types;
    std::vector<std::string> ops;
    std::vector<int64_t> operands, outputs;
    std::vector<int> seen;  // members that are outputs
  };

  Text text_of(const std::vector<int>& nodes) {
    const int group = group_of(nodes[0]);
    Text text;
    // Inputs are numbered first, so they must be known before any step.
    for (int id : nodes) {
      for (const NodeOutput& input : graph_.at(id).inputs()) {
        if (group_of(input.node) == group || std::ranges::find(text.inputs, input) != text.inputs.end()) continue;
        text.inputs.push_back(input);
        text.in_types.push_back(graph_.info(input).dtype);
      }
    }
    std::vector<std::pair<int, int64_t>> values;  // node id, value: sorted, as steps are numbered in order of the walk
    for (int id : nodes) {
      const Node& node = graph_.at(id);
      text.ops.push_back(node.op().name());
      text.types.push_back(type_of(node) == DType::kInvalid ? node.output(0).dtype : type_of(node));
      for (const NodeOutput& input : node.inputs()) {
        text.operands.push_back(value_of(input, group, text.inputs, values));
      }
      const auto value = static_cast<int64_t>(text.inputs.size() + values.size());
      values.emplace_back(id, value);
      if (!is_seen(id, group)) continue;
      text.seen.push_back(id);
      text.outputs.push_back(value);
      text.out_types.push_back(node.output(0).dtype);
    }
    return text;
  }

  // A fused node with what `text` says, near `like`. -1: its shapes do not fit; the op itself will say so, if it runs.
  int add_fused(const Op& op, Text text, const Node& like, const std::vector<std::pair<const char*, AttrValue>>& more) {
    NodeInit init;
    init.op = &op;
    init.name = free_name(graph_, like.name());
    init.device = like.device();
    init.where = like.where();
    init.inputs = std::move(text.inputs);
    set_by_name(op, init.attrs, "Tin", AttrValue(std::move(text.in_types)));
    set_by_name(op, init.attrs, "ops", AttrValue(std::move(text.ops)));
    set_by_name(op, init.attrs, "types", AttrValue(std::move(text.types)));
    set_by_name(op, init.attrs, "operands", AttrValue(std::move(text.operands)));
    set_by_name(op, init.attrs, "outputs", AttrValue(std::move(text.outputs)));
    for (const auto& [name, value] : more) set_by_name(op, init.attrs, name, value);
    try {
      return add_inferred(graph_, std::move(init));
    } catch (const Error&) {
      return -1;
    }
  }

  int replace(const std::vector<int>& nodes) {
    Text text = text_of(nodes);
    const std::vector<int> seen = text.seen;
    const bool on_gpu = device_kind(graph_.at(nodes[0])) == DeviceKind::kCuda;
    if (text.inputs.size() > (on_gpu ? kMostGpuInputs : kMostInputs) || seen.empty()) return 0;  // none seen: dead
    if (seen.size() == 1 && reduce(text, graph_.at(seen[0]))) return static_cast<int>(nodes.size()) + 1;
    if (nodes.size() < 2) return 0;
    const AttrValue out_types(text.out_types);
    const int added = add_fused(kFusedElementwise, std::move(text), graph_.at(nodes.back()), {{"Tout", out_types}});
    if (added < 0) return 0;
    if (seen.size() == 1) {
      take_place(graph_, seen[0], added);
      return static_cast<int>(nodes.size());
    }
    for (size_t k = 0; k < seen.size(); ++k) {
      const NodeOutput with{added, static_cast<int>(k)};
      replace_node(graph_, seen[k], {&with, 1});
    }
    return static_cast<int>(nodes.size());
  }

  // Where all that is made of `value` is its sum, mean, largest or smallest along the last dimensions.
  bool reduce(const Text& text, const Node& value) {
    const PartialShape& shape = value.output(0).shape;
    const DType type = value.output(0).dtype;
    if (!has_one_reader(value) || value.consumers()[0].slot != 0 || !shape.fully_known() || shape.numel() == 0 ||
        (type != kFloat32 && type != kFloat64) || kFusedReduction.kernel(device_kind(value), type).run == nullptr) {
      return false;
    }
    const Node& reader = graph_.at(value.consumers()[0].node);
    if (reduction_name(reader.op()) == nullptr || context_.fixed(reader.id()) || reader.device() != value.device() ||
        !reader.control_inputs().empty()) {
      return false;
    }
    const std::optional<std::vector<int64_t>> axes = constant_integers(graph_, reader.input(1));
    const int64_t dims = axes ? last_dimensions(*axes, shape.rank()) : 0;
    if (dims == 0) return false;
    const int added = add_fused(kFusedReduction, text, reader,
                                {{"T", AttrValue(type)},
                                 {"reduction", AttrValue(reduction_name(reader.op()))},
                                 {"dims", AttrValue(dims)},
                                 {"keep_dims", reader.attr("keep_dims")}});
    if (added < 0) return false;
    take_place(graph_, reader.id(), added);
    return true;
  }

  // How many dimensions these axes are, if they are the last ones; else 0.
  static int64_t last_dimensions(std::vector<int64_t> axes, int64_t rank) {
    for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
    std::ranges::sort(axes);
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] != rank - static_cast<int64_t>(axes.size() - i)) return 0;
    }
    return static_cast<int64_t>(axes.size());
  }

  int64_t value_of(NodeOutput input, int group, const std::vector<NodeOutput>& inputs,
                   const std::vector<std::pair<int, int64_t>>& values) {
    if (group_of(input.node) == group) {
      return std::ranges::find(values, input.node, &std::pair<int, int64_t>::first)->second;
    }
    return std::ranges::find(inputs, input) - inputs.begin();
  }

  PassContext& context_;
  Graph& graph_;
  std::vector<int> order_;
  std::vector<int> level_, group_;  // by node id; a group may have been merged with another
  std::vector<Group> groups_;
};

}  // namespace

int fuse_elementwise(PassContext& context) { return Grouper(context).run(); }

}  // namespace panto::passes
