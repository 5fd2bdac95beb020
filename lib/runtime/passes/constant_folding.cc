// Computes nodes that depend on no feed, random number or variable: ops on constants, and values that follow from known
// shapes (Shape, Size, reduction axes, the ones that a gradient starts with). Limited in bytes and operations; loops
// also in rounds (fold_calls.h).
#include <algorithm>

#include "panto/lib/base/error.h"
#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/op/function_body.h"
#include "panto/lib/core/step/stop.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/functions/replay.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/graph/nodes.h"
#include "panto/lib/runtime/passes/fold_calls.h"
#include "panto/lib/runtime/passes/passes.h"
#include "panto/lib/runtime/passes/rules.h"
#include "panto/lib/runtime/rewrite.h"

namespace panto::passes {

namespace {

// An untrusted graph must not make the optimizer run for ever or fill the memory.
constexpr int64_t kMaxBytes = int64_t{10} << 20;       // of one constant
constexpr int64_t kMaxTotalBytes = int64_t{64} << 20;  // of all constants that one run of the pass adds
constexpr int64_t kAlwaysBytes = int64_t{64} << 10;    // folded whatever the inputs' size
constexpr int64_t kMaxGrowth = 4;                      // else at most this many times the inputs' bytes
constexpr int64_t kMaxFlops = 1'000'000'000;

int64_t bytes_of(const Tensor& t) {
  const int64_t n = t.partial_shape().numel();
  const auto size = static_cast<int64_t>(dtype_size(t.dtype()));
  return n < 0 || n > INT64_MAX / size ? INT64_MAX : n * size;
}

// Lists (variants) are not folded: a constant list would live as long as the plan, and every push would copy it.
bool may_fold(const Node& node) {
  if (!node.op().is_pure() || node.is(OpKind::kConstant) || node.num_outputs() == 0) return false;
  for (int k = 0; k < node.num_outputs(); ++k) {
    if (node.output(k).dtype == kVariant) return false;
  }
  return true;
}

// The integer tensor whose values inference found completely; undefined otherwise.
Tensor known_value(const Tensor& abstract_value) {
  if (!abstract_value.is_meta() || !abstract_value.partial_shape().fully_known() ||
      !dtypes::kIndex.contains(abstract_value.dtype())) {
    return Tensor();
  }
  const std::optional<PartialValues> values = known_integers(abstract_value);
  const Shape shape(abstract_value.partial_shape());
  if (!values || static_cast<int64_t>(values->size()) != shape.numel()) return Tensor();
  if (!std::ranges::all_of(*values, [](const auto& v) { return v.has_value(); })) return Tensor();
  Tensor tensor = allocate_tensor(cpu_device(), abstract_value.dtype(), shape);
  for (size_t i = 0; i < values->size(); ++i) {
    if (abstract_value.dtype() == kInt64) {
      mutable_data<int64_t>(tensor)[i] = *(*values)[i];
    } else {
      if (*(*values)[i] < INT32_MIN || *(*values)[i] > INT32_MAX) return Tensor();
      mutable_data<int32_t>(tensor)[i] = static_cast<int32_t>(*(*values)[i]);
    }
  }
  return tensor;
}

class Folder {
 public:
  explicit Folder(PassContext& context) : context_(context), graph_(context.graph), inference_(context.graph) {
    for (size_t i = 0; i < context.feeds.size(); ++i) inference_.set(context.feeds[i], context.feed_values[i]);
    sound_.resize(static_cast<size_t>(context.graph.id_limit()));
  }

  int run() {
    for (int id : graph_.topological_order()) {
      const Node& node = graph_.at(id);
      try {
        inference_.run(node);
      } catch (const Error& error) {
        // The user's types or shapes do not fit; the run reports that. Nodes folded so far stay folded.
        log_debug(fmt::format("constant_folding: ends where inference does: {}", error.what()));
        break;
      }
      sound_[static_cast<size_t>(id)] = is_sound(node);
      if (!may_fold(node) || context_.fixed(id)) continue;
      const std::vector<Tensor> values = evaluate(node);
      if (!values.empty()) replace(node, values);
    }
    return changes_;
  }

 private:
  // Whether a run that reaches the node can neither reject it nor the nodes that its values come from, because
  // inference checked everything that they check. Otherwise inferred values only hold if the run succeeds: reshape(x,
  // s) of a scalar has one element only if s says so. Ops that read only shapes are sound without their input.
  bool is_sound(const Node& node) {
    if (node.has(Trait::kShapeOnly) || node.is(OpKind::kConstant) || node.is(OpKind::kPlaceholder)) return true;
    // Kernels that determine their output size look at all elements and may reject them, as SparseSplit does with
    // indices.
    const bool looks_at_all = node.has(Trait::kSelfAllocating) && !node.has(Trait::kDataMovement) &&
                              !node.has(Trait::kIdentity) && !node.is_control_flow() && !calls_functions(node.op());
    for (int i = 0; i < node.num_inputs(); ++i) {
      const NodeOutput input = node.input(i);
      if (!known_sound(input.node)) return false;
      const Tensor& abstract_value = inference_.at(input);
      if (!abstract_value.partial_shape().fully_known()) return false;
      if ((looks_at_all || is_host_input(node, i)) && constant_value(graph_, input) == nullptr &&
          !known_value(abstract_value).defined()) {
        return false;
      }
    }
    return true;
  }

  // Nodes added later are constants of this pass.
  bool known_sound(int id) const { return static_cast<size_t>(id) >= sound_.size() || sound_[static_cast<size_t>(id)]; }

  // The node's outputs, if they can be computed now; empty otherwise.
  std::vector<Tensor> evaluate(const Node& node) {
    if (known_sound(node.id())) {
      std::vector<Tensor> values;
      for (int k = 0; k < node.num_outputs(); ++k) {
        Tensor value = known_value(inference_.at({node.id(), k}));
        if (!value.defined()) break;
        values.push_back(std::move(value));
      }
      if (values.size() == static_cast<size_t>(node.num_outputs())) return values;
    }

    SmallVector<const Tensor*, 8> inputs;
    std::vector<Tensor> shapes;  // stand for inputs of which only the shape matters
    shapes.reserve(static_cast<size_t>(node.num_inputs()));
    int64_t input_bytes = 0;
    for (const NodeOutput& input : node.inputs()) {
      const Tensor* value = constant_value(graph_, input);
      if (value == nullptr && node.has(Trait::kShapeOnly)) value = &shapes.emplace_back(any_value(input));
      if (value == nullptr || !value->defined()) return {};
      inputs.push_back(value);
      input_bytes += bytes_of(*value);
    }
    if (inputs.empty()) return {};
    const int64_t limit = std::min(std::max(kAlwaysBytes, kMaxGrowth * input_bytes), kMaxBytes);
    for (int k = 0; k < node.num_outputs(); ++k) {
      const int64_t bytes = bytes_of(inference_.at({node.id(), k}));
      // If only the kernel knows the output size, assume that it is about the size of the inputs.
      if (bytes == INT64_MAX ? input_bytes > kAlwaysBytes : bytes > limit) return {};
    }
    return compute(node, inputs);
  }

  // A small tensor of the output's type and shape, if that is known; undefined otherwise.
  Tensor any_value(NodeOutput output) {
    const Tensor& abstract_value = inference_.at(output);
    if (!is_plain(abstract_value.dtype()) || bytes_of(abstract_value) > kAlwaysBytes) return Tensor();
    return allocate_tensor(cpu_device(), abstract_value.dtype(), Shape(abstract_value.partial_shape()));
  }

  std::vector<Tensor> compute(const Node& node, std::span<const Tensor* const> inputs) {
    try {
      if (calls_functions(node.op())) return fold_call(node, inputs);  // has a budget of its own
      if (flops(node, inputs) > kMaxFlops) return {};
      dispatch::Outputs outputs = call_node(node, inputs, &cpu_device());
      return {outputs.begin(), outputs.end()};
    } catch (const Error& error) {
      if (is_stop(error)) throw;
      return {};  // it will fail, with context, if it is ever run
    }
  }

  void replace(const Node& node, const std::vector<Tensor>& values) {
    int64_t bytes = 0;
    for (const Tensor& value : values) bytes += bytes_of(value);
    if (bytes > kMaxBytes || bytes > kMaxTotalBytes - total_bytes_) return;
    total_bytes_ += bytes;
    const int id = node.id();
    std::vector<NodeOutput> constants;
    for (const Tensor& value : values) {
      constants.push_back(add_const(graph_, node.name(), value, node));
      inference_.set(constants.back(), value);
    }
    if (constants.size() == 1) {
      take_place(graph_, id, constants[0].node);
    } else {
      replace_node(graph_, id, constants);
    }
    ++changes_;
  }

  PassContext& context_;
  Graph& graph_;
  Inference inference_;
  std::vector<bool> sound_;  // by node
  int64_t total_bytes_ = 0;
  int changes_ = 0;
};

}  // namespace

int fold_constants(PassContext& context) { return Folder(context).run(); }

}  // namespace panto::passes
