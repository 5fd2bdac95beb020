// Fuses neighbouring elementwise ops into one loop (lib/runtime/passes/elementwise_groups.h chooses them):
// `_FusedElementwise` computes them tile by tile, so that intermediate values do not go through memory. If only a
// reduction reads the group's result, the reduction joins the loop. Results are the same to the bit.
#include <algorithm>

#include "panto/lib/core/tensor/device.h"
#include "panto/lib/ops/math/elementwise_program.h"
#include "panto/lib/runtime/passes/elementwise_groups.h"
#include "panto/lib/runtime/passes/rules.h"
#include "panto/ops/array.h"
#include "panto/ops/nn.h"

namespace panto::passes {

namespace {

class LoopFuser {
 public:
  explicit LoopFuser(PassContext& context) : context_(context), graph_(context.graph), groups_(context) {}

  int run() {
    int changes = 0;
    for (const std::vector<int>& nodes : groups_.members()) {
      if (!nodes.empty()) changes += replace(nodes);
    }
    return changes;
  }

 private:
  // The attributes of the fused node for a group.
  struct Text {
    std::vector<NodeOutput> inputs;
    std::vector<DType> in_types, out_types, types;
    std::vector<std::string> ops;
    std::vector<int64_t> operands, outputs;
    std::vector<int> seen;  // members that are outputs
  };

  Text text_of(const std::vector<int>& nodes) {
    const int group = groups_.of(nodes[0]);
    Text text;
    // Inputs are numbered before steps, so collect all inputs first.
    for (int id : nodes) {
      for (const NodeOutput& input : graph_.at(id).inputs()) {
        if (groups_.of(input.node) == group || std::ranges::find(text.inputs, input) != text.inputs.end()) continue;
        text.inputs.push_back(input);
        text.in_types.push_back(graph_.info(input).dtype);
      }
    }
    std::vector<std::pair<int, int64_t>> values;  // (node id, value number), in order of steps
    for (int id : nodes) {
      const Node& node = graph_.at(id);
      text.ops.push_back(node.op().name());
      text.types.push_back(kernel_type(node) == DType::kInvalid ? node.output(0).dtype : kernel_type(node));
      for (const NodeOutput& input : node.inputs()) {
        text.operands.push_back(value_of(input, group, text.inputs, values));
      }
      const auto value = static_cast<int64_t>(text.inputs.size() + values.size());
      values.emplace_back(id, value);
      if (!groups_.is_seen(id)) continue;
      text.seen.push_back(id);
      text.outputs.push_back(value);
      text.out_types.push_back(node.output(0).dtype);
    }
    return text;
  }

  // Adds a fused node made from `text`, on the device of `like`. Returns -1 if shapes do not fit; the original op then
  // reports the error when it runs.
  int add_fused(const Op& op, Text text, const Node& like, const std::vector<std::pair<const char*, AttrValue>>& more) {
    NodeSpec spec;
    spec.op = &op;
    spec.name = free_name(graph_, like.name());
    spec.device = like.device();
    spec.where = like.where();
    spec.inputs = std::move(text.inputs);
    set_by_name(op, spec.attrs, "Tin", AttrValue(std::move(text.in_types)));
    set_by_name(op, spec.attrs, "ops", AttrValue(std::move(text.ops)));
    set_by_name(op, spec.attrs, "types", AttrValue(std::move(text.types)));
    set_by_name(op, spec.attrs, "operands", AttrValue(std::move(text.operands)));
    set_by_name(op, spec.attrs, "outputs", AttrValue(std::move(text.outputs)));
    for (const auto& [name, value] : more) set_by_name(op, spec.attrs, name, value);
    try {
      return add_inferred(graph_, std::move(spec));
    } catch (const Error&) {
      return -1;
    }
  }

  int replace(const std::vector<int>& nodes) {
    Text text = text_of(nodes);
    const std::vector<int> seen = text.seen;
    if (text.inputs.size() > device_kind_info(device_kind(graph_.at(nodes[0]))).most_fused_inputs || seen.empty())
      return 0;  // nothing is read: the group is dead
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

  // Fuses the group with the only consumer of `value` if that is a sum, mean, max or min over the last dimensions.
  bool reduce(const Text& text, const Node& value) {
    const PartialShape& shape = value.output(0).shape;
    const DType type = value.output(0).dtype;
    if (!has_one_reader(value) || value.consumers()[0].slot != 0 || !shape.fully_known() || shape.numel() == 0 ||
        (type != kFloat32 && type != kFloat64) || kFusedReduction.kernel(device_kind(value), type).run == nullptr) {
      return false;
    }
    const Node& reader = graph_.at(value.consumers()[0].node);
    if (reduction_name(reader.op()) == nullptr || context_.fixed_in_flow(reader.id()) ||
        !context_.run_together(reader.id(), value.id()) || reader.device() != value.device() ||
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

  // The number of axes if they are the last ones; else 0.
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
    if (groups_.of(input.node) == group) {
      return std::ranges::find(values, input.node, &std::pair<int, int64_t>::first)->second;
    }
    return std::ranges::find(inputs, input) - inputs.begin();
  }

  PassContext& context_;
  Graph& graph_;
  ElementwiseGroups groups_;
};

}  // namespace

int fuse_elementwise(PassContext& context) { return LoopFuser(context).run(); }

}  // namespace panto::passes
