// One op for a matrix product, the bias added to it and the activation that follows: the product is not written to
// memory and read again. A transposed operand becomes an attribute of the product, a bias of anything else a sum. Sums
// may be taken in another order than by the separate ops, so results may differ in the last bits.
//
// One of the two files outside op blocks that name ops (as objects, never as text).
#include <algorithm>

#include "panto/lib/core/device.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/passes/rules.h"

namespace panto::passes {

namespace {

// What can follow a product inside kFusedMatMul; its name there is the op's.
bool is_fusable_activation(const Op& op) { return &op == &kRelu || &op == &kTanh || &op == &kSigmoid; }

class Fuser {
 public:
  explicit Fuser(PassContext& context) : context_(context), graph_(context.graph) {}

  int run() {
    for (int id : graph_.topological_order()) {
      if (graph_.find(id) == nullptr || &graph_.at(id).op() != &kMatMul || context_.fixed(id)) continue;
      fold_transposes(id);
      fuse(id);
    }
    for (int id : graph_.ids()) add_plainly(id);
    return changes_;
  }

 private:
  // matmul(transpose(x), y) as matmul(x, y, transpose_a).
  void fold_transposes(int id) {
    for (const int side : {0, 1}) {
      const Node& product = graph_.at(id);
      const Node& operand = graph_.at(product.input(side).node);
      if (&operand.op() != &kTranspose || operand.device() != product.device() || !operand.control_inputs().empty()) {
        continue;
      }
      if (constant_integers(graph_, operand.input(1)) != std::vector<int64_t>{1, 0}) continue;
      const char* attr = side == 0 ? "transpose_a" : "transpose_b";
      const bool already = product.attr(attr).as<bool>();
      graph_.set_attr(id, attr, AttrValue(!already));
      graph_.set_input(id, side, operand.input(0));
      ++changes_;
    }
  }

  // A bias that no product has taken is added like any other row: elementwise loops can take that.
  void add_plainly(int id) {
    const Node& node = graph_.at(id);
    if (&node.op() != &kBiasAdd || context_.fixed(id) || node.attr("data_format").as<std::string>() != "NHWC") return;
    const PartialShape& sum = node.output(0).shape;
    const PartialShape& bias = graph_.info(node.input(1)).shape;
    // A bias of another length is an error, not repeated: it must be known that this is none.
    const bool fits = sum.known_rank() && sum.rank() > 0 && bias.rank() == 1 && bias.dim(0) >= 0 &&
                      sum.dim(sum.rank() - 1) == bias.dim(0);
    if (!fits || !node.control_inputs().empty()) return;
    NodeInit init;
    init.op = &kAddV2;
    init.name = free_name(graph_, node.name());
    init.inputs = {node.input(0), node.input(1)};
    init.device = node.device();
    init.where = node.where();
    init.outputs = {node.output(0)};
    set_by_name(kAddV2, init.attrs, "T", AttrValue(node.output(0).dtype));
    take_place(graph_, id, graph_.add(std::move(init)));
    ++changes_;
  }

  // The only reader of `node`, if it can be merged with it.
  const Node* next(const Node& node) const {
    if (!has_one_reader(node) || context_.fixed(node.id())) return nullptr;
    const Node& reader = graph_.at(node.consumers()[0].node);
    if (context_.fixed(reader.id()) || reader.device() != node.device()) return nullptr;
    return &reader;
  }

  // The vector that `reader` adds to each row of `product`.
  NodeOutput bias_of(const Node& product, const Node& reader) const {
    if (&reader.op() == &kBiasAdd) {
      const bool last = reader.attr("data_format").as<std::string>() != "NCHW" || product.output(0).shape.rank() == 2;
      return reader.input(0).node == product.id() && last ? reader.input(1) : NodeOutput();
    }
    if (&reader.op() != &kAddV2) return {};
    const NodeOutput other = reader.input(reader.input(0).node == product.id() ? 1 : 0);
    const PartialShape& shape = graph_.info(other).shape;
    const PartialShape& rows = product.output(0).shape;
    const bool fits = shape.rank() == 1 && shape.dim(0) >= 0 && rows.rank() == 2 && rows.dim(1) == shape.dim(0);
    return fits ? other : NodeOutput();
  }

  bool has_kernel(const Node& product) const {
    const Op& op = kFusedMatMul;
    const DType type = product.output(0).dtype;
    const int at = op.signature().find_attr("T");
    if (!op.signature().attrs[static_cast<size_t>(at)].allowed_types.contains(type)) return false;
    const DeviceSpec spec = DeviceSpec::parse(product.device());
    const DeviceKind kind = spec.type == "GPU" ? DeviceKind::kCuda : DeviceKind::kCpu;
    return op.kernel(kind, type).run != nullptr;
  }

  void fuse(int id) {
    const Node& product = graph_.at(id);
    if (product.attr("grad_a").as<bool>() || product.attr("grad_b").as<bool>() || !has_kernel(product)) return;
    std::vector<std::string> fused;
    const Node* last = &product;
    std::vector<int> merged = {id};
    NodeOutput bias;
    if (const Node* reader = next(product)) {
      bias = bias_of(product, *reader);
      if (bias.valid()) {
        fused.push_back(kBiasAdd.name());
        last = reader;
        merged.push_back(reader->id());
      }
    }
    if (const Node* reader = next(*last); reader != nullptr && is_fusable_activation(reader->op())) {
      fused.push_back(reader->op().name());
      last = reader;
      merged.push_back(reader->id());
    }
    if (fused.empty()) return;

    NodeInit init;
    init.op = &kFusedMatMul;
    init.name = free_name(graph_, last->name());
    init.inputs = {product.input(0), product.input(1)};
    if (bias.valid()) init.inputs.push_back(bias);
    for (int each : merged) {
      const Node& node = graph_.at(each);
      init.control_inputs.insert(init.control_inputs.end(), node.control_inputs().begin(), node.control_inputs().end());
    }
    init.device = product.device();
    init.where = last->where();
    set_by_name(kFusedMatMul, init.attrs, "transpose_a", product.attr("transpose_a"));
    set_by_name(kFusedMatMul, init.attrs, "transpose_b", product.attr("transpose_b"));
    set_by_name(kFusedMatMul, init.attrs, "T", AttrValue(product.output(0).dtype));
    set_by_name(kFusedMatMul, init.attrs, "num_args", AttrValue(int64_t{bias.valid() ? 1 : 0}));
    set_by_name(kFusedMatMul, init.attrs, "fused_ops", AttrValue(std::move(fused)));
    const int replaced = last->id();
    const int added = add_inferred(graph_, std::move(init));
    take_place(graph_, replaced, added);
    changes_ += static_cast<int>(merged.size());
  }

  PassContext& context_;
  Graph& graph_;
  int changes_ = 0;
};

}  // namespace

int fuse(PassContext& context) { return Fuser(context).run(); }

const char* reduction_name(const Op& op) {
  return &op == &kSum ? "sum" : &op == &kMean ? "mean" : &op == &kMax ? "max" : &op == &kMin ? "min" : nullptr;
}

}  // namespace panto::passes
