// Removes ops that return their input unchanged, and pairs of ops that undo each other. Every rule holds bit by bit,
// also for NaN, infinities and both zeros: x * 1, x - 0 and x + (-0.0) are x, but x + 0.0 is not (-0.0 + 0.0 is 0.0).
// Ops that broadcast read a scalar instead of a tensor filled with it.
//
// Names ops (as objects, never as text), which few files outside op blocks may do.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/runtime/passes/rules.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto::passes {

namespace {

constexpr int64_t kMostLookedAt = 4096;  // elements of a constant

enum class Number { kOther, kOne, kZero, kNegativeZero };

template <class T>
Number classify(const T* data, int64_t n) {
  const auto of = [](T v) {
    if (v == T(1)) return Number::kOne;
    if (v != T(0)) return Number::kOther;
    if constexpr (std::is_floating_point_v<T>) {
      if (std::signbit(v)) return Number::kNegativeZero;
    }
    return Number::kZero;
  };
  const Number first = of(data[0]);
  for (int64_t i = 1; i < n; ++i) {
    if (of(data[i]) != first) return Number::kOther;
  }
  return first;
}

// The value that all elements of a constant have.
Number splat(const Tensor& t) {
  const int64_t n = t.numel();
  if (n == 0 || n > kMostLookedAt || !t.device().host_memory()) return Number::kOther;
  const void* data = t.impl()->data;
  switch (t.dtype()) {
    case DType::kFloat32: return classify(static_cast<const float*>(data), n);
    case DType::kFloat64: return classify(static_cast<const double*>(data), n);
    case DType::kInt8: return classify(static_cast<const int8_t*>(data), n);
    case DType::kInt16: return classify(static_cast<const int16_t*>(data), n);
    case DType::kInt32: return classify(static_cast<const int32_t*>(data), n);
    case DType::kInt64: return classify(static_cast<const int64_t*>(data), n);
    case DType::kUint8: return classify(static_cast<const uint8_t*>(data), n);
    case DType::kUint16: return classify(static_cast<const uint16_t*>(data), n);
    case DType::kUint32: return classify(static_cast<const uint32_t*>(data), n);
    case DType::kUint64: return classify(static_cast<const uint64_t*>(data), n);
    default: return Number::kOther;
  }
}

// Whether a conversion from `a` to `b` keeps all values, so that ops on the result may use the original instead.
bool lossless(DType a, DType b) {
  if (a == b) return true;
  const auto bits = [](DType t) { return 8 * static_cast<int>(dtype_size(t)); };
  const bool a_signed = dtypes::kSigned.contains(a), b_signed = dtypes::kSigned.contains(b);
  if (dtypes::kInteger.contains(a) && dtypes::kInteger.contains(b)) {
    if (a_signed == b_signed) return bits(a) <= bits(b);
    return !a_signed && bits(a) < bits(b);
  }
  const auto mantissa = [](DType t) { return t == kFloat64 ? 53 : t == kFloat32 ? 24 : t == kFloat16 ? 11 : 8; };
  if (dtypes::kInteger.contains(a) && dtypes::kFloating.contains(b)) {
    return b != kFloat16 && bits(a) - (a_signed ? 1 : 0) <= mantissa(b);
  }
  if (dtypes::kFloating.contains(a) && dtypes::kFloating.contains(b)) {
    return b == kFloat64 || (b == kFloat32 && (a == kFloat16 || a == kBFloat16));
  }
  return false;
}

// Whether from -> between -> to gives the same integers as a direct conversion. Out of range, a direct conversion from
// integers wraps, but a conversion from floats keeps the low bits only of values that fit 32 bits (64 for 64-bit
// types).
bool wraps_alike(DType from, DType between, DType to) {
  if (!dtypes::kInteger.contains(from) || !dtypes::kFloating.contains(between) || !dtypes::kInteger.contains(to)) {
    return true;
  }
  return from == to || lossless(from, dtype_size(to) <= 4 ? kInt32 : kInt64);
}

// TensorFlow's attribute of nodes with a gradient of their own. Its Python library has an IdentityN return the results
// of such a function, and its arguments.
constexpr std::string_view kGradientOpType = "_gradient_op_type";

class Simplifier {
 public:
  explicit Simplifier(PassContext& context) : context_(context), graph_(context.graph) {}

  int run() {
    const int limit = graph_.id_limit();
    for (int id : graph_.topological_order()) {
      if (context_.fixed(id)) continue;
      if (graph_.at(id).internal_attr(kGradientOpType) != nullptr && &graph_.at(id).op() == &kIdentityN) {
        pass_on(id);
        continue;
      }
      // Repeat, as the replacement may be simplified too.
      for (bool added = true; added;) {
        const NodeOutput same = source(graph_.at(id));
        if (!same.valid()) break;
        const NodeOutput with[] = {same};
        replace_node(graph_, id, with);
        ++changes_;
        added = same.node >= limit && same.node > id;
        id = same.node;
      }
    }
    return changes_;
  }

 private:
  // False for comparisons that return a result if shapes do not broadcast (incompatible_shape_error = false).
  static bool must_broadcast(const Node& node) {
    const int at = node.op().signature().find_attr("incompatible_shape_error");
    return at < 0 || node.attrs()[static_cast<size_t>(at)].as<bool>();
  }

  // Returns an output that equals output 0 of this node bit by bit; invalid if there is none.
  NodeOutput source(const Node& node) {
    if (node.has(Trait::kIdentity)) return identity(node);
    const Op& op = node.op();
    if (op.has(Trait::kBroadcasts) && op.has(Trait::kElementwise) && must_broadcast(node)) {
      const NodeOutput operand = node.num_inputs() == 2 ? neutral(node) : NodeOutput();
      return operand.valid() ? operand : not_repeated(node);
    }
    if (&op == &kNeg || &op == &kLogicalNot) return undone_by_itself(node);
    if (&op == &kAbs || &op == &kRelu) return once_is_enough(node);
    if (&op == &kTranspose) return transposed(node);
    if (&op == &kCast) return cast(node);
    if (&op == &kReshape) return reshaped(node);
    if (&op == &kBroadcastTo) return repeated_once(node);
    if (&op == &kAddN && node.num_inputs() == 1) return node.input(0);
    return {};
  }

  NodeOutput identity(const Node& node) {
    // Keep identities that copy to another device, and other ops with several outputs.
    if (node.num_outputs() != 1 || graph_.at(node.input(0).node).device() != node.device()) return {};
    return node.input(0);
  }

  // Has what reads the IdentityN of a custom gradient read its inputs, unless one is copied to another device. Others
  // may be there so that all of a composite's outputs are computed, or fail (lib/graph/functions/expand.cc).
  void pass_on(int id) {
    const Node& node = graph_.at(id);
    const std::vector<NodeOutput> with(node.inputs().begin(), node.inputs().end());
    const auto is_here = [&](NodeOutput input) { return graph_.at(input.node).device() == node.device(); };
    if (node.consumers().empty() || !std::ranges::all_of(with, is_here)) return;
    replace_node(graph_, id, with);
    ++changes_;
  }

  // True if the result of a broadcast has the shape of `of`, so `other` does not enlarge it.
  bool keeps_shape(const Node& node, NodeOutput of, NodeOutput other) const {
    if (graph_.info(other).shape.rank() == 0) return true;
    const PartialShape& in = graph_.info(of).shape;
    return in.fully_known() && in == node.output(0).shape;
  }

  // x * 1, x / 1, x - 0, x + 0 of integers, x + (-0.0).
  NodeOutput neutral(const Node& node) {
    const Op& op = node.op();
    for (const int side : {1, 0}) {
      const NodeOutput constant = node.input(side), other = node.input(1 - side);
      const Tensor* value = constant_value(graph_, constant);
      if (value == nullptr || !keeps_shape(node, other, constant)) continue;
      const bool integer = dtypes::kInteger.contains(value->dtype());
      const Number number = splat(*value);
      const bool one = number == Number::kOne && (&op == &kMul || (side == 1 && (&op == &kRealDiv || &op == &kDiv)) ||
                                                  (side == 1 && &op == &kFloorDiv && integer));
      const bool zero = (number == Number::kZero && ((integer && &op == &kAddV2) || (side == 1 && &op == &kSub))) ||
                        (number == Number::kNegativeZero && &op == &kAddV2);
      if (one || zero) return other;
    }
    return {};
  }

  // Replaces an operand that is itself broadcast by its source, if the other operands already give the result its
  // shape. Only if all shapes are known: otherwise the operand's shape, which is no longer checked, might not fit.
  NodeOutput not_repeated(const Node& node) {
    SmallVector<NodeOutput, 4> inputs;
    for (const NodeOutput& input : node.inputs()) inputs.push_back(input);
    const Node* repeats = nullptr;
    for (size_t k = 0; k < inputs.size() && repeats == nullptr; ++k) {
      const Node& from = graph_.at(inputs[k].node);
      const std::optional<PartialShape> repeated = shape_of_repeated(from);
      if (!repeated || !repeated->fully_known() || !from.output(0).shape.fully_known() || !shape_is_constant(from))
        continue;
      PartialShape shape = *repeated;
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (i != k) shape = broadcast_shapes(shape, graph_.info(inputs[i]).shape);
      }
      if (!shape.fully_known() || !(shape == node.output(0).shape)) continue;
      const NodeOutput value = repeated_by(from);
      if (graph_.at(value.node).device() != node.device()) continue;
      inputs[k] = value;
      repeats = &from;
    }
    if (repeats == nullptr) return {};
    NodeSpec narrow = node.spec();  // copies the whole node, so only for a node that is replaced
    narrow.inputs.assign(inputs.begin(), inputs.end());
    narrow.name = free_name(graph_, node.name());
    return add_replacement(std::move(narrow), *repeats);
  }

  // Merges two nested broadcasts into one, to the outer shape.
  NodeOutput repeated_once(const Node& node) {
    const Node& inner = graph_.at(node.input(0).node);
    if (&inner.op() != &kBroadcastTo || inner.device() != node.device() || !node.output(0).shape.fully_known() ||
        !graph_.info(inner.input(0)).shape.fully_known() || !shape_is_constant(inner)) {
      return {};
    }
    NodeSpec merged = node.spec();
    merged.name = free_name(graph_, node.name());
    merged.inputs[0] = inner.input(0);
    return add_replacement(std::move(merged), inner);
  }

  static bool repeats_a_number(const Op& op) { return &op == &kOnesLike || &op == &kZerosLike; }
  // The shape of what this node broadcasts; nullopt if it does not broadcast.
  std::optional<PartialShape> shape_of_repeated(const Node& node) const {
    if (&node.op() == &kBroadcastTo) return graph_.info(node.input(0)).shape;
    if (&node.op() == &kFill || (repeats_a_number(node.op()) && is_plain(node.output(0).dtype))) return Shape{};
    return std::nullopt;
  }
  NodeOutput repeated_by(const Node& node) {
    if (!repeats_a_number(node.op())) return node.input(&node.op() == &kFill ? 1 : 0);
    const Tensor any = allocate_tensor(cpu_device(), node.output(0).dtype, Shape{});
    return add_const(graph_, node.name(), &node.op() == &kOnesLike ? ones_like(any) : zeros_like(any), node);
  }

  NodeOutput undone_by_itself(const Node& node) {
    const Node& inner = graph_.at(node.input(0).node);
    return &inner.op() == &node.op() ? inner.input(0) : NodeOutput();
  }

  NodeOutput once_is_enough(const Node& node) {
    return &graph_.at(node.input(0).node).op() == &node.op() ? node.input(0) : NodeOutput();
  }

  // A Transpose's permutation, without negative axes.
  std::optional<std::vector<int64_t>> constant_permutation(const Node& node) const {
    std::optional<std::vector<int64_t>> perm = constant_integers(graph_, node.input(1));
    for (size_t i = 0; perm && i < perm->size(); ++i) {
      if ((*perm)[i] < 0) (*perm)[i] += static_cast<int64_t>(perm->size());
    }
    return perm;
  }

  NodeOutput transposed(const Node& node) {
    const std::optional<std::vector<int64_t>> outer = constant_permutation(node);
    // An unknown rank may not match the permutation.
    if (!outer || !graph_.info(node.input(0)).shape.known_rank()) return {};
    if (is_identity(*outer)) return node.input(0);
    const Node& inner = graph_.at(node.input(0).node);
    if (&inner.op() != &kTranspose || !graph_.info(inner.input(0)).shape.known_rank()) return {};
    const std::optional<std::vector<int64_t>> first = constant_permutation(inner);
    if (!first || first->size() != outer->size()) return {};
    // Dimension i of the result is dimension first[outer[i]] of the source.
    std::vector<int32_t> both;
    for (int64_t axis : *outer) {
      if (axis < 0 || axis >= static_cast<int64_t>(first->size())) return {};
      both.push_back(static_cast<int32_t>((*first)[static_cast<size_t>(axis)]));
    }
    if (is_identity(both)) return inner.input(0);
    NodeSpec merged = node.spec();
    merged.name = free_name(graph_, node.name());
    const NodeOutput perm = add_const(graph_, node.name() + "/perm", tensor(both), node);
    merged.inputs = {inner.input(0), perm};
    set_by_name(kTranspose, merged.attrs, "Tperm", AttrValue(kInt32));
    return add_replacement(std::move(merged), inner);
  }

  template <class T>
  static bool is_identity(const std::vector<T>& perm) {
    for (size_t i = 0; i < perm.size(); ++i) {
      if (perm[i] != static_cast<T>(i)) return false;
    }
    return true;
  }

  NodeOutput cast(const Node& node) {
    const DType to = node.output(0).dtype;
    const NodeOutput input = node.input(0);
    if (graph_.info(input).dtype == to) return input;
    const Node& inner = graph_.at(input.node);
    if (&inner.op() != &kCast || inner.attr("Truncate").as<bool>() || node.attr("Truncate").as<bool>()) return {};
    const DType from = graph_.info(inner.input(0)).dtype;
    const DType between = graph_.info(input).dtype;
    if (!lossless(from, between) || !wraps_alike(from, between, to)) return {};
    if (from == to) return inner.input(0);
    NodeSpec merged = node.spec();
    merged.name = free_name(graph_, node.name());
    merged.inputs = {inner.input(0)};
    set_by_name(kCast, merged.attrs, "SrcT", AttrValue(from));
    return add_replacement(std::move(merged), inner);
  }

  // For a reshape or broadcast: whether its shape is a constant or another tensor's. A shape that is only inferred may
  // turn out to be invalid in a run.
  bool shape_is_constant(const Node& node) const {
    const int at = &node.op() == &kFill ? 0 : 1;
    return repeats_a_number(node.op()) || constant_integers(graph_, node.input(at)).has_value();
  }

  NodeOutput reshaped(const Node& node) {
    const PartialShape& shape = node.output(0).shape;
    if (!shape.fully_known() || !shape_is_constant(node)) return {};
    if (graph_.info(node.input(0)).shape == shape) return node.input(0);
    const Node& inner = graph_.at(node.input(0).node);
    if (&inner.op() != &kReshape) return {};
    // Keep an inner reshape whose size cannot be checked now: it may fail in a run.
    const PartialShape& source = graph_.info(inner.input(0)).shape;
    if (!source.fully_known() || source.numel() != shape.numel() || !shape_is_constant(inner)) return {};
    if (source == shape) return inner.input(0);
    NodeSpec merged = node.spec();
    merged.name = free_name(graph_, node.name());
    merged.inputs[0] = inner.input(0);
    return add_replacement(std::move(merged), inner);
  }

  // The replacement also waits for what the inner node waited for.
  NodeOutput add_replacement(NodeSpec merged, const Node& inner) {
    const auto controls = inner.control_inputs();
    merged.control_inputs.insert(merged.control_inputs.end(), controls.begin(), controls.end());
    return {add_inferred(graph_, std::move(merged)), 0};
  }

  PassContext& context_;
  Graph& graph_;
  int changes_ = 0;
};

}  // namespace

int simplify(PassContext& context) { return Simplifier(context).run(); }

}  // namespace panto::passes
