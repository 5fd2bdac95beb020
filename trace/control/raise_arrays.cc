#include "panto/trace/control/raise_arrays.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/flow/flow.h"
#include "panto/lib/graph/flow/raise_parts.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/graph/nodes.h"
#include "panto/ops/lists.h"
#include "panto/trace/control/ready_function.h"

namespace panto {

namespace {

struct Array {
  int id = -1;
  std::set<int> aliases;  // nodes that pass the handle on
  std::set<int> calls;    // ops on the array
  std::set<NodeOutput> flows;
  std::set<int> passes;  // nodes that pass the flow on
};

class ArrayRaiser {
 public:
  ArrayRaiser(Graph& graph, std::span<const int> kept) : graph_(graph), kept_(kept.begin(), kept.end()) {}

  int run() {
    std::vector<int> arrays = graph_.ids();
    std::erase_if(arrays, [&](int id) { return !is(id, kTensorArrayV3); });
    if (arrays.empty()) return 0;
    order_ = graph_.topological_order();
    int count = 0;
    for (const int id : arrays) {
      const std::optional<Array> array = find(id);
      if (!array) continue;
      replace(*array);
      ++count;
    }
    if (count > 0) infer_shapes(graph_);
    return count;
  }

 private:
  bool is(int id, const Op& op) const { return &graph_.at(id).op() == &op; }

  bool is_call(int id) const {
    return is(id, kTensorArrayWriteV3) || is(id, kTensorArrayReadV3) || is(id, kTensorArrayGatherV3) ||
           is(id, kTensorArrayScatterV3) || is(id, kTensorArraySizeV3) || is(id, kTensorArrayConcatV3) ||
           is(id, kTensorArraySplitV3) || is(id, kTensorArrayCloseV3);
  }
  bool gives_flow(int id) const {
    return is(id, kTensorArrayWriteV3) || is(id, kTensorArrayScatterV3) || is(id, kTensorArraySplitV3);
  }
  static bool is_identity(const Node& node) {
    return !is_unknown(node) && node.has(Trait::kIdentity) && !node.is_control_flow() && node.num_outputs() == 1;
  }

  std::optional<Array> find(int id) const {
    Array array;
    array.id = id;
    if (kept_.contains(id)) return std::nullopt;
    std::vector<NodeOutput> handles = {{id, 0}};
    while (!handles.empty()) {
      const NodeOutput handle = handles.back();
      handles.pop_back();
      for (const NodeUse& use : graph_.at(handle.node).consumers()) {
        if (use.slot < 0 && handle.node != id) return std::nullopt;
        if (use.slot < 0 || use.output != handle.index) continue;
        const Node& user = graph_.at(use.node);
        if (is_call(user.id()) && use.slot == 0) {
          array.calls.insert(user.id());
          continue;
        }
        const bool hands_on =
            use.slot == 0 && (user.is(OpKind::kEnter) || user.is(OpKind::kSwitch) || is_identity(user));
        if (!hands_on || kept_.contains(user.id())) return std::nullopt;
        if (!array.aliases.insert(user.id()).second) continue;
        for (int k = 0; k < user.num_outputs(); ++k) handles.push_back({user.id(), k});
      }
    }
    return follow_flow(array) ? std::optional(std::move(array)) : std::nullopt;
  }

  // Returns false if the flow goes elsewhere, or if another flow joins it.
  bool follow_flow(Array& array) const {
    std::vector<NodeOutput> stack = {{array.id, 1}};
    for (const int call : array.calls) {
      if (!gives_flow(call)) continue;
      if (kept_.contains(call)) return false;
      stack.push_back({call, 0});
    }
    array.flows.insert(stack.begin(), stack.end());
    while (!stack.empty()) {
      const NodeOutput flow = stack.back();
      stack.pop_back();
      for (const NodeUse& use : graph_.at(flow.node).consumers()) {
        if (use.slot < 0 || use.output != flow.index) continue;
        const Node& user = graph_.at(use.node);
        if (array.calls.contains(user.id()) && use.slot == user.num_inputs() - 1) continue;
        const bool in_loop = user.is(OpKind::kEnter) || user.is(OpKind::kExit) || user.is(OpKind::kNextIteration) ||
                             user.is(OpKind::kMerge) || (user.is(OpKind::kSwitch) && use.slot == 0);
        if ((!in_loop && !is_identity(user)) || kept_.contains(user.id())) return false;
        if (!array.passes.insert(user.id()).second) continue;
        const int outputs = user.is(OpKind::kMerge) ? 1 : user.num_outputs();
        for (int k = 0; k < outputs; ++k) {
          array.flows.insert({user.id(), k});
          stack.push_back({user.id(), k});
        }
      }
    }
    const auto is_flow = [&](NodeOutput o) { return array.flows.contains(o); };
    return std::ranges::all_of(array.calls,
                               [&](int call) {
                                 const Node& node = graph_.at(call);
                                 return is(call, kTensorArrayCloseV3) || is_flow(node.input(node.num_inputs() - 1));
                               }) &&
           std::ranges::all_of(array.passes, [&](int pass) {
             const auto inputs = graph_.at(pass).inputs();
             return is_flow(inputs[0]) && (!graph_.at(pass).is(OpKind::kMerge) || std::ranges::all_of(inputs, is_flow));
           });
  }

  void replace(const Array& array) {
    const Node& made = graph_.at(array.id);
    const PartialShape shape = made.attr("element_shape").as<PartialShape>();
    const DType dtype = made.attr("dtype").as<DType>();
    const bool grows = made.attr("dynamic_size").as<bool>();
    for (const int pass : array.passes) {
      std::vector<OutputInfo> outputs(graph_.at(pass).outputs().begin(), graph_.at(pass).outputs().end());
      for (size_t k = 0; k < outputs.size(); ++k) {
        if (array.flows.contains({pass, static_cast<int>(k)})) outputs[k] = {kVariant, PartialShape(Shape())};
      }
      graph_.set_attr(pass, "T", AttrValue(kVariant));
      graph_.set_outputs(pass, std::move(outputs));
    }
    const int list =
        add(array.id, kTensorListReserve, {constant_near(array.id, 0, spelled_shape(shape)), made.input(0)},
            {{"element_dtype", AttrValue(dtype)}, {"shape_type", AttrValue(kInt32)}});
    graph_.replace_output({array.id, 1}, {list, 0});
    graph_.replace_control(array.id, list);
    for (const int id : order_) {
      if (array.calls.contains(id)) replace_call(id, shape, dtype, grows);
    }
    std::set<int> gone = array.aliases;
    gone.insert(array.id);
    const std::string name = graph_.at(array.id).name();
    raise::remove_all(graph_, gone);
    graph_.rename(list, name);
  }

  void replace_call(int id, const PartialShape& shape, DType dtype, bool grows) {
    const Node& node = graph_.at(id);
    const std::vector<NodeOutput> in(node.inputs().begin(), node.inputs().end());
    const NodeOutput list = in.back();
    const std::pair<std::string_view, AttrValue> type{"element_dtype", AttrValue(dtype)};
    const auto becomes = [&](const Op& op, std::vector<NodeOutput> inputs,
                             std::vector<std::pair<std::string_view, AttrValue>> attrs) {
      graph_.replace_op(id, op, std::move(inputs), raise::attributes(op, std::move(attrs)));
    };
    const auto spelled = [&](const PartialShape& s) { return constant_near(id, 1, spelled_shape(s)); };
    if (is(id, kTensorArrayReadV3)) {
      becomes(kTensorListGetItem, {list, in[1], spelled(shape)}, {type, {"Tshape", AttrValue(kInt32)}});
    } else if (is(id, kTensorArrayGatherV3)) {
      const PartialShape all = shape.merged_with(node.attr("element_shape").as<PartialShape>());
      becomes(kTensorListGather, {list, in[1], spelled(all)}, {type});
    } else if (is(id, kTensorArraySizeV3)) {
      becomes(kTensorListLength, {list}, {});
    } else if (is(id, kTensorArrayConcatV3)) {
      becomes(kTensorListConcatV2, {list, spelled(shape), constant_near(id, 1, tensor(std::vector<int64_t>{}))},
              {type, {"shape_type", AttrValue(kInt32)}});
    } else if (is(id, kTensorArrayCloseV3)) {
      becomes(get_op("NoOp"), {}, {});
    } else if (is(id, kTensorArrayWriteV3)) {
      take_place(id, add(id, kTensorListSetItem, {list, in[1], in[2]},
                         {type, {"resize_if_index_out_of_bounds", AttrValue(grows)}}));
    } else if (is(id, kTensorArrayScatterV3)) {
      take_place(id, add(id, kTensorListScatterIntoExistingList, {list, in[2], in[1]}, {type}));
    } else {
      take_place(id,
                 add(id, kTensorListSplit, {in[1], spelled(shape), in[2]}, {type, {"shape_type", AttrValue(kInt32)}}));
    }
  }

  // Replaces node `id`, which returns the flow, by node `with`, which returns the list.
  void take_place(int id, int with) {
    graph_.replace_output({id, 0}, {with, 0});
    graph_.replace_control(id, with);
    const std::string name = graph_.at(id).name();
    graph_.remove(id);
    graph_.rename(with, name);
  }

  int add(int like, const Op& op, std::vector<NodeOutput> inputs,
          std::vector<std::pair<std::string_view, AttrValue>> attrs) {
    const Node& node = graph_.at(like);
    NodeSpec spec;
    spec.op = &op;
    spec.name = graph_.unique_name(node.name() + "/list");
    spec.inputs = std::move(inputs);
    spec.attrs = raise::attributes(op, std::move(attrs));
    spec.control_inputs.assign(node.control_inputs().begin(), node.control_inputs().end());
    spec.device = node.device();
    spec.where = node.where();
    spec.place = node.place();
    spec.outputs = {{kVariant, PartialShape(Shape())}};
    return graph_.add(std::move(spec));
  }

  // Adds a constant in the same round and branch as the node: it waits for the node's input.
  NodeOutput constant_near(int id, int slot, const Tensor& value) {
    const Node& node = graph_.at(id);
    NodeOutput near = node.input(slot);
    NodeSpec spec = const_spec(graph_.unique_name(node.name() + "/element_shape"), value);
    if (graph_.at(near.node).is(OpKind::kSwitch)) {  // a control edge from a Switch does not tell the branches apart
      near = {graph_.add(identity_spec(graph_.unique_name(node.name() + "/near"), near, graph_.info(near))), 0};
    }
    spec.control_inputs = {near.node};
    spec.place = node.place();
    return {graph_.add(std::move(spec)), 0};
  }

  Graph& graph_;
  std::set<int> kept_;
  std::vector<int> order_;
};

}  // namespace

int raise_arrays(Graph& graph, std::span<const int> kept) { return ArrayRaiser(graph, kept).run(); }

}  // namespace panto
