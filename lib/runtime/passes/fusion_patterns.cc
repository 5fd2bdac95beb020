// Fuses a matrix product or convolution with what follows it: a bias, the addition of another tensor (as where
// gradients are summed) and an activation, or a product with its own sigmoid. For a convolution also a batch
// normalisation by given moments, or the multiplication and addition of vectors that remain of one if the moments are
// constants. The intermediate results are then not written to memory. A bias added to anything else becomes an Add.
// Results are the same to the bit.
//
// Names ops (as objects, never as text), which few files outside op blocks may do.
#include <algorithm>
#include <optional>
#include <vector>

#include "panto/lib/core/tensor/device.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/runtime/passes/rules.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto::passes {

namespace {

// Smaller products are still in the cache when an elementwise loop reads them, and such a loop can add more than two
// tensors.
constexpr int64_t kLeastSum = 64 * 1024;

// Activations that can end a fused op, which has an activation of the same name.
bool is_fusable_activation(const Op& op) {
  return &op == &kRelu || &op == &kRelu6 || &op == &kTanh || &op == &kSigmoid;
}

class Fuser {
 public:
  explicit Fuser(PassContext& context) : context_(context), graph_(context.graph) {}

  int run() {
    // Walk backwards, so that of two products that are added the later one takes the Add; the other need not wait.
    const std::vector<int> order = graph_.topological_order();
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      if (graph_.find(*id) == nullptr || context_.fixed_in_flow(*id)) continue;
      const Op& op = graph_.at(*id).op();
      if (&op == &kMatMul) {
        fuse(*id, kFusedMatMul);
      } else if (&op == &kConv2D) {
        fuse(*id, kFusedConv2D);
      } else if (&op == &kDepthwiseConv2dNative) {
        fuse(*id, kFusedDepthwiseConv2dNative);
      }
    }
    for (int id : graph_.ids()) add_plainly(id);
    return changes_;
  }

 private:
  // Turns a BiasAdd that was not fused into an Add, which elementwise loops can take.
  void add_plainly(int id) {
    const Node& node = graph_.at(id);
    if (&node.op() != &kBiasAdd || context_.fixed_in_flow(id) || node.attr("data_format").as<std::string>() != "NHWC")
      return;
    // The value's shape, not the output's, which may have been inferred from a wrong bias.
    const PartialShape& value = graph_.info(node.input(0)).shape;
    const PartialShape& bias = graph_.info(node.input(1)).shape;
    // A BiasAdd with a bias of another length fails, while an Add might broadcast: the lengths must be known to match.
    const bool fits = value.known_rank() && value.rank() > 0 && bias.rank() == 1 && bias.dim(0) >= 0 &&
                      value.dim(value.rank() - 1) == bias.dim(0);
    if (!fits || !node.control_inputs().empty()) return;
    NodeSpec spec;
    spec.op = &kAddV2;
    spec.name = free_name(graph_, node.name());
    spec.inputs = {node.input(0), node.input(1)};
    spec.device = node.device();
    spec.where = node.where();
    spec.outputs = {node.output(0)};
    set_by_name(kAddV2, spec.attrs, "T", AttrValue(node.output(0).dtype));
    take_place(graph_, id, graph_.add(std::move(spec)));
    ++changes_;
  }

  // The only consumer of `node`, if it can be fused with it; null otherwise.
  const Node* next(const Node& node) const {
    if (!has_one_reader(node) || context_.fixed_in_flow(node.id())) return nullptr;
    const Node& reader = graph_.at(node.consumers()[0].node);
    if (context_.fixed_in_flow(reader.id()) || reader.device() != node.device()) return nullptr;
    return &reader;
  }

  // Whether `reader` and `base` agree on which dimension holds the channels.
  static bool same_channels(const Node& base, const Node& reader) {
    const bool first = reader.attr("data_format").as<std::string>() == "NCHW";
    if (is_convolution(base.op())) return first == (base.attr("data_format").as<std::string>() == "NCHW");
    return !first || base.output(0).shape.rank() == 2;
  }

  // The vector that `reader` adds to each row of `before`, which belongs to `base`.
  NodeOutput bias_of(const Node& base, const Node& before, const Node& reader) const {
    if (&reader.op() == &kBiasAdd) {
      return reader.input(0).node == before.id() && same_channels(base, reader) ? reader.input(1) : NodeOutput();
    }
    return &reader.op() == &kAddV2 ? row_of(base, before, reader) : NodeOutput();
  }

  // The vector that an elementwise `reader` combines with each row of `before`.
  NodeOutput row_of(const Node& base, const Node& before, const Node& reader) const {
    const NodeOutput other = reader.input(reader.input(0).node == before.id() ? 1 : 0);
    const PartialShape& shape = graph_.info(other).shape;
    const PartialShape& rows = before.output(0).shape;
    const bool convolution = is_convolution(base.op());
    if (convolution && base.attr("data_format").as<std::string>() != "NHWC") return {};
    if (!shape.known_rank() || shape.rank() == 0 || rows.rank() != (convolution ? 4 : 2)) return {};
    const int64_t length = shape.dim(shape.rank() - 1);
    // Files have vectors of constants with leading dimensions of 1, too, which `as_vector` removes.
    const bool is_row = shape.rank() == 1 || (shape.rank() <= rows.rank() && shape.fully_known() &&
                                              shape.numel() == length && constant_value(graph_, other) != nullptr);
    return is_row && length >= 0 && rows.dim(rows.rank() - 1) == length ? other : NodeOutput();
  }

  // A vector that `row_of` returned, without leading dimensions.
  NodeOutput as_vector(NodeOutput row) {
    const OutputInfo& info = graph_.info(row);
    if (info.shape.rank() == 1) return row;
    const Tensor vector = view_tensor(*constant_value(graph_, row), Shape{info.shape.numel()});
    const Node& node = graph_.at(row.node);
    return add_const(graph_, node.name(), vector, node);
  }

  // Whether `reader` normalises `before`, which belongs to `base`, by given moments, and its other outputs are unused.
  static bool is_normalisation(const Node& base, const Node& before, const Node& reader) {
    return &reader.op() == &kFusedBatchNorm && !reader.attr("is_training").as<bool>() &&
           reader.input(0).node == before.id() && reader.attr("U").as<DType>() == before.output(0).dtype &&
           same_channels(base, reader) && std::ranges::all_of(reader.consumers(), [](const NodeUse& use) {
             return use.slot == NodeUse::kControl || use.output == 0;
           });
  }

  // What `reader` adds to `before`, which belongs to `base`, element by element.
  NodeOutput addend_of(const Node& base, const Node& before, const Node& reader) const {
    if (&reader.op() != &kAddV2) return {};
    const NodeOutput other = reader.input(reader.input(0).node == before.id() ? 1 : 0);
    const PartialShape& shape = before.output(0).shape;
    const bool fits = shape.fully_known() && graph_.info(other).shape == shape &&
                      (is_convolution(base.op()) || shape.numel() >= kLeastSum);
    return fits ? other : NodeOutput();
  }

  struct SwishNodes {
    const Node* sigmoid = nullptr;
    const Node* product = nullptr;
  };

  // The ops of `before` times sigmoid of `before`, if nothing else reads either; nulls otherwise.
  SwishNodes swish_of(const Node& before) const {
    const std::span<const NodeUse> uses = before.consumers();
    if (uses.size() != 2 || context_.fixed_in_flow(before.id())) return {};
    for (const int at : {0, 1}) {
      const NodeUse use = uses[static_cast<size_t>(at)], other = uses[static_cast<size_t>(1 - at)];
      if (use.slot == NodeUse::kControl || other.slot == NodeUse::kControl || use.output != 0 || other.output != 0) {
        return {};
      }
      const Node& sigmoid = graph_.at(use.node);
      if (&sigmoid.op() != &kSigmoid || sigmoid.device() != before.device()) continue;
      const Node* product = next(sigmoid);
      if (product != nullptr && &product->op() == &kMul && product->id() == other.node) return {&sigmoid, product};
    }
    return {};
  }

  static bool has_kernel(const Op& op, const Node& base) {
    const DType type = base.output(0).dtype;
    const int at = op.signature().find_attr("T");
    if (!op.signature().attrs[static_cast<size_t>(at)].allowed_types.contains(type)) return false;
    return op.kernel(device_kind(base), type).run != nullptr;
  }

  // The nodes that are fused with a product or convolution.
  struct Chain {
    std::vector<int> merged;
    const Node* last;
    std::vector<std::string> ops;
    std::vector<NodeOutput> args;
    std::vector<size_t> rows;  // which of `args` must be vectors
    std::optional<float> epsilon;

    void take(const Node& node, std::string name, std::initializer_list<NodeOutput> inputs) {
      merged.push_back(node.id());
      last = &node;
      ops.push_back(std::move(name));
      args.insert(args.end(), inputs);
    }
    void take_row(const Node& node, std::string name, NodeOutput row) {
      rows.push_back(args.size());
      take(node, std::move(name), {row});
    }
  };

  Chain chain_from(const Node& base) const {
    Chain chain{{base.id()}, &base, {}, {}, {}, {}};
    if (const Node* reader = next(base)) {
      if (const NodeOutput bias = bias_of(base, base, *reader); bias.valid()) {
        chain.take_row(*reader, kBiasAdd.name(), bias);
      }
    }
    if (is_convolution(base.op())) {
      // These names are _FusedConv2D's, without versions.
      if (const Node* reader = next(*chain.last); reader != nullptr && is_normalisation(base, *chain.last, *reader)) {
        chain.take(*reader, "FusedBatchNorm", {reader->input(1), reader->input(2), reader->input(3), reader->input(4)});
        chain.epsilon = reader->attr("epsilon").as<float>();
      } else if (reader != nullptr && &reader->op() == &kMul) {
        if (const NodeOutput scale = row_of(base, *chain.last, *reader); scale.valid()) {
          chain.take_row(*reader, kMul.name(), scale);
          const Node* sum = next(*chain.last);
          const NodeOutput offset = sum == nullptr ? NodeOutput() : bias_of(base, *chain.last, *sum);
          if (offset.valid()) chain.take_row(*sum, kBiasAdd.name(), offset);
        }
      }
    }
    if (const Node* reader = next(*chain.last)) {
      if (const NodeOutput other = addend_of(base, *chain.last, *reader); other.valid()) {
        chain.take(*reader, "Add", {other});
      }
    }
    if (const Node* reader = next(*chain.last); reader != nullptr && is_fusable_activation(reader->op())) {
      chain.take(*reader, reader->op().name(), {});
    } else if (const auto [sigmoid, product] = swish_of(*chain.last); product != nullptr) {
      chain.merged.push_back(sigmoid->id());
      chain.take(*product, "Swish", {});
    }
    return chain;
  }

  void fuse(int id, const Op& op) {
    const Node& base = graph_.at(id);
    if (!has_kernel(op, base)) return;
    if (&op == &kFusedMatMul && (base.attr("grad_a").as<bool>() || base.attr("grad_b").as<bool>())) return;
    Chain chain = chain_from(base);
    if (chain.ops.empty()) return;
    for (const size_t k : chain.rows) chain.args[k] = as_vector(chain.args[k]);

    NodeSpec spec;
    spec.op = &op;
    spec.name = free_name(graph_, chain.last->name());
    spec.inputs = {base.input(0), base.input(1)};
    spec.inputs.insert(spec.inputs.end(), chain.args.begin(), chain.args.end());
    for (int each : chain.merged) {
      const Node& node = graph_.at(each);
      spec.control_inputs.insert(spec.control_inputs.end(), node.control_inputs().begin(), node.control_inputs().end());
    }
    spec.device = base.device();
    spec.where = chain.last->where();
    for (const AttrDef& attr : base.op().signature().attrs) {
      if (op.signature().find_attr(attr.name) >= 0) set_by_name(op, spec.attrs, attr.name, base.attr(attr.name));
    }
    set_by_name(op, spec.attrs, "num_args", AttrValue(static_cast<int64_t>(chain.args.size())));
    set_by_name(op, spec.attrs, "fused_ops", AttrValue(std::move(chain.ops)));
    if (chain.epsilon) set_by_name(op, spec.attrs, "epsilon", AttrValue(*chain.epsilon));
    const int replaced = chain.last->id();
    const int added = add_inferred(graph_, std::move(spec));
    take_place(graph_, replaced, added);
    changes_ += static_cast<int>(chain.merged.size());
  }

  PassContext& context_;
  Graph& graph_;
  int changes_ = 0;
};

}  // namespace

int fuse(PassContext& context) { return Fuser(context).run(); }

bool is_convolution(const Op& op) { return &op == &kConv2D || &op == &kDepthwiseConv2dNative; }

const char* reduction_name(const Op& op) {
  return &op == &kSum ? "sum" : &op == &kMean ? "mean" : &op == &kMax ? "max" : &op == &kMin ? "min" : nullptr;
}

}  // namespace panto::passes
