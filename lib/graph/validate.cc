#include "panto/lib/graph/validate.h"

#include "panto/lib/base/format.h"
#include "panto/lib/base/small_vector.h"
#include "panto/lib/graph/check.h"
#include "panto/lib/graph/infer.h"

namespace panto {

namespace {

constexpr int64_t kMaxListLength = int64_t{1} << 20;

// Types of the arguments with lists spread.
using Types = SmallVector<DType, 8>;
Types flat_types(const std::vector<ArgDef>& args, const Node& node) {
  const auto attr = [&](int position) -> const AttrValue& { return node.attrs()[static_cast<size_t>(position)]; };
  Types types;
  for (const ArgDef& arg : args) {
    if (arg.type_list_attr >= 0) {
      for (DType type : attr(arg.type_list_attr).as<std::vector<DType>>()) types.push_back(type);
      continue;
    }
    const DType type = arg.type_attr >= 0 ? attr(arg.type_attr).as<DType>() : arg.dtype;
    const int64_t count = arg.number_attr >= 0 ? attr(arg.number_attr).as<int64_t>() : 1;
    if (count < 0 || count > kMaxListLength) {
      invalid("{}: expected 0 to {} tensors, got {}", arg.name, kMaxListLength, count);
    }
    for (int64_t k = 0; k < count; ++k) types.push_back(type);
  }
  return types;
}

void validate_node(const Graph& graph, const Node& node) {
  const Signature& signature = node.op().signature();
  if (node.attrs().size() != signature.attrs.size()) {
    invalid("attributes: expected {}, got {}", signature.attrs.size(), node.attrs().size());
  }
  for (size_t i = 0; i < signature.attrs.size(); ++i) check_attr(signature.attrs[i], node.attrs()[i]);

  const Types inputs = flat_types(signature.inputs, node);
  if (inputs.size() != static_cast<size_t>(node.num_inputs())) {
    invalid("inputs: expected {}, got {}", inputs.size(), node.num_inputs());
  }
  for (int i = 0; i < node.num_inputs(); ++i) {
    const DType got = graph.info(node.input(i)).dtype;
    const DType expected = inputs[static_cast<size_t>(i)];
    if (got != expected) {
      invalid("input {}: expected {}, got {} from '{}'", i, dtype_name(expected), dtype_name(got),
              graph.output_name(node.input(i)));
    }
  }
  const Types outputs = flat_types(signature.outputs, node);
  if (outputs.size() != static_cast<size_t>(node.num_outputs())) {
    invalid("outputs: expected {}, got {}", outputs.size(), node.num_outputs());
  }
  for (int k = 0; k < node.num_outputs(); ++k) {
    if (node.output(k).dtype != outputs[static_cast<size_t>(k)]) {
      invalid("output {}: expected {}, got {}", k, dtype_name(outputs[static_cast<size_t>(k)]),
              dtype_name(node.output(k).dtype));
    }
  }
}

}  // namespace

void validate(const Graph& graph) {
  for (int id : graph.topological_order()) {
    const Node& node = graph.at(id);
    if (node.op().body() != nullptr) continue;  // checked when its body is run in its place
    with_context([&] { return fmt::format("{} of {}", node.op().name(), node_context(node)); },
                 [&] { validate_node(graph, node); });
  }
}

}  // namespace panto
