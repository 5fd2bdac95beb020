// Merges ops that only change the shape: Reshape, ExpandDims, Squeeze, and a Transpose that only moves dimensions of 1.
// A chain of them becomes one Reshape, or none; results are the same to the bit. Only if all shapes are known and given
// as constants: an inferred shape may turn out not to fit.
//
// Names ops (as objects, never as text), which few files outside op blocks may do.
#include <optional>
#include <utility>
#include <vector>

#include "panto/lib/runtime/passes/rules.h"
#include "panto/ops/array.h"

namespace panto::passes {

namespace {

class Reshaper {
 public:
  explicit Reshaper(PassContext& context) : context_(context), graph_(context.graph) {}

  int run() {
    for (const int id : graph_.topological_order()) {
      if (!context_.fixed(id) && reshapes(graph_.at(id))) merge(id);
    }
    return changes_;
  }

 private:
  bool reshapes(const Node& node) const {
    const Op& op = node.op();
    const bool known = &op == &kReshape || &op == &kExpandDims || &op == &kTranspose;
    if (!known && &op != &kSqueeze) return false;
    if (!is_plain(node.output(0).dtype) || !node.output(0).shape.fully_known() ||
        !graph_.info(node.input(0)).shape.fully_known()) {
      return false;
    }
    if (!known) return true;
    const std::optional<std::vector<int64_t>> how = constant_integers(graph_, node.input(1));
    return how && (&op != &kTranspose || keeps_order(graph_.info(node.input(0)).shape, *how));
  }

  // Whether the dimensions of size other than 1 keep their order.
  static bool keeps_order(const PartialShape& shape, const std::vector<int64_t>& perm) {
    const int64_t rank = shape.rank();
    int64_t last = -1;
    for (const int64_t axis : perm) {
      const int64_t from = axis < 0 ? axis + rank : axis;
      if (from < 0 || from >= rank) return false;
      if (shape.dim(static_cast<int>(from)) == 1) continue;
      if (from < last) return false;
      last = from;
    }
    return true;
  }

  void merge(int id) {
    const Node& node = graph_.at(id);
    const PartialShape shape = node.output(0).shape;
    NodeOutput source = node.input(0);
    int length = 1;
    for (; graph_.at(source.node).device() == node.device() && reshapes(graph_.at(source.node)); ++length) {
      if (!graph_.at(source.node).control_inputs().empty()) break;
      source = graph_.at(source.node).input(0);
    }
    const bool nothing = graph_.info(source).shape == shape;
    if (!nothing && length == 1 && &node.op() != &kTranspose) return;
    if (nothing && graph_.at(source.node).device() != node.device()) return;
    if (nothing) {
      const NodeOutput with[] = {source};
      replace_node(graph_, id, with);
    } else {
      const std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
      NodeSpec spec;
      spec.op = &kReshape;
      spec.name = free_name(graph_, node.name());
      spec.inputs = {source, add_const(graph_, node.name() + "/shape", tensor(dims), node)};
      set_by_name(kReshape, spec.attrs, "T", AttrValue(node.output(0).dtype));
      set_by_name(kReshape, spec.attrs, "Tshape", AttrValue(kInt64));
      spec.device = node.device();
      spec.where = node.where();
      spec.control_inputs.assign(node.control_inputs().begin(), node.control_inputs().end());
      take_place(graph_, id, add_inferred(graph_, std::move(spec)));
    }
    ++changes_;
  }

  PassContext& context_;
  Graph& graph_;
  int changes_ = 0;
};

}  // namespace

bool has_default(const Node& node) { return &node.op() == &kPlaceholderWithDefault; }

int merge_reshapes(PassContext& context) { return Reshaper(context).run(); }

}  // namespace panto::passes
