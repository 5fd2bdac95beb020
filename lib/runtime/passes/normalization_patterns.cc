// One op for the ops that LayerNorm's body (lib/ops/nn/normalization.cc) leaves in a graph: rows go through memory
// once. Results are the same bits.
//
// One of the files outside op blocks that name ops (as objects, never as text).
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/runtime/passes/rules.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto::passes {

namespace {

// The outputs that a layer normalisation is made of.
struct LayerNorm {
  NodeOutput x, scale, offset;
  double epsilon = 0;
};

class Matcher {
 public:
  Matcher(const PassContext& context, const Node& last) : context_(context), graph_(context.graph), last_(last) {}

  // last = centred * rsqrt(variance + epsilon) * scale + offset
  std::optional<LayerNorm> match() {
    const DType type = last_.output(0).dtype;
    if (&last_.op() != &kAddV2 || context_.fixed(last_.id()) ||
        kFusedLayerNorm.kernel(device_kind(last_), type).run == nullptr) {
      return {};
    }
    for (const int side : {0, 1}) {
      const Node* scaled = inner(last_.input(side), kMul);
      if (scaled == nullptr) continue;
      for (const int other : {0, 1}) {
        const Node* normal = inner(scaled->input(other), kMul);
        if (normal == nullptr) continue;
        LayerNorm found;
        found.scale = scaled->input(1 - other);
        found.offset = last_.input(1 - side);
        if (normalises(*normal, found) && is_features(found.x, found.scale) && is_features(found.x, found.offset)) {
          return found;
        }
      }
    }
    return {};
  }

 private:
  // The node of `output`, if it is one of `op` that nobody but the pattern sees.
  const Node* inner(NodeOutput output, const Op& op, size_t readers = 1) const {
    const Node& node = graph_.at(output.node);
    const bool inside = &node.op() == &op && node.consumers().size() == readers && node.control_inputs().empty() &&
                        !context_.fixed(node.id()) && node.device() == last_.device();
    return inside ? &node : nullptr;
  }

  // centred * rsqrt(mean(square(centred)) + epsilon), where centred = x - mean(x)
  bool normalises(const Node& normal, LayerNorm& found) {
    for (const int side : {0, 1}) {
      const Node* centred = inner(normal.input(side), kSub, 2);
      const Node* factor = inner(normal.input(1 - side), kRsqrt);
      if (centred == nullptr || factor == nullptr) continue;
      const Node* sum = inner(factor->input(0), kAddV2);
      if (sum == nullptr) continue;
      const int at = constant_value(graph_, sum->input(0)) != nullptr ? 1 : 0;
      const Node* variance = mean_of_rows(sum->input(at));
      const Node* square = variance == nullptr ? nullptr : inner(variance->input(0), kSquare);
      const Node* mean = mean_of_rows(centred->input(1));
      if (square == nullptr || mean == nullptr || square->input(0).node != centred->id()) continue;
      found.x = centred->input(0);
      return mean->input(0) == found.x && is_number(sum->input(1 - at), found.epsilon);
    }
    return false;
  }

  const Node* mean_of_rows(NodeOutput output) const {
    const Node* mean = inner(output, kMean);
    if (mean == nullptr || !mean->attr("keep_dims").as<bool>()) return nullptr;
    const int rank = graph_.info(mean->input(0)).shape.rank();
    const std::optional<std::vector<int64_t>> axes = constant_integers(graph_, mean->input(1));
    if (rank < 1 || !axes || axes->size() != 1 || ((*axes)[0] != -1 && (*axes)[0] != rank - 1)) return nullptr;
    return mean;
  }

  // An epsilon that an attribute, a float, holds without rounding.
  bool is_number(NodeOutput output, double& number) const {
    const Tensor* value = constant_value(graph_, output);
    if (value == nullptr || value->rank() != 0) return false;
    number = value->dtype() == kFloat32 ? value->item<float>() : value->dtype() == kFloat64 ? value->item<double>() : 0;
    return number != 0 && static_cast<double>(static_cast<float>(number)) == number;
  }

  // A vector with an element for each of the last dimension of x, which is not repeated along it: that must be known.
  bool is_features(NodeOutput x, NodeOutput output) const {
    const PartialShape &v = graph_.info(output).shape, &rows = graph_.info(x).shape;
    return v.rank() == 1 && v.dim(0) >= 0 && v.dim(0) == rows.dim(rows.rank() - 1);
  }

  const PassContext& context_;
  const Graph& graph_;
  const Node& last_;
};

}  // namespace

int fuse_layer_norms(PassContext& context) {
  Graph& graph = context.graph;
  int changes = 0;
  for (int id : graph.ids()) {
    const Node& last = graph.at(id);
    const std::optional<LayerNorm> found = Matcher(context, last).match();
    if (!found) continue;
    NodeSpec spec;
    spec.op = &kFusedLayerNorm;
    spec.name = free_name(graph, last.name());
    spec.inputs = {found->x, found->scale, found->offset};
    spec.control_inputs.assign(last.control_inputs().begin(), last.control_inputs().end());
    spec.device = last.device();
    spec.where = last.where();
    set_by_name(kFusedLayerNorm, spec.attrs, "epsilon", AttrValue(static_cast<float>(found->epsilon)));
    set_by_name(kFusedLayerNorm, spec.attrs, "T", AttrValue(last.output(0).dtype));
    take_place(graph, id, add_inferred(graph, std::move(spec)));
    ++changes;
  }
  return changes;
}

}  // namespace panto::passes
