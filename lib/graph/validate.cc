#include "panto/lib/graph/validate.h"

#include <map>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/graph/check.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/flow/flow.h"
#include "panto/lib/graph/infer.h"

namespace panto {

namespace {

void validate_node(const Graph& graph, const Node& node) {
  const Signature& signature = node.op().signature();
  if (node.attrs().size() != signature.attrs.size()) {
    invalid("attributes: expected {}, got {}", signature.attrs.size(), node.attrs().size());
  }
  for (size_t i = 0; i < signature.attrs.size(); ++i) check_attr(signature.attrs[i], node.attrs()[i]);

  const Types inputs = flat_types(signature.inputs, node.attrs());
  if (inputs.size() != static_cast<size_t>(node.num_inputs())) {
    invalid("inputs: expected {}, got {}", inputs.size(), node.num_inputs());
  }
  for (int i = 0; i < node.num_inputs(); ++i) {
    const DType got = graph.info(node.input(i)).dtype;
    const DType expected = inputs[static_cast<size_t>(i)];
    if (got != expected && !(got == DType::kInvalid && is_unknown(graph.at(node.input(i).node)))) {
      invalid("input {}: expected {}, got {} from '{}'", i, dtype_name(expected), dtype_name(got),
              graph.output_name(node.input(i)));
    }
  }
  const Types outputs = flat_types(signature.outputs, node.attrs());
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
    if (is_unknown(node)) continue;
    with_context([&] { return fmt::format("{} of {}", node.op().name(), node_context(node)); },
                 [&] { validate_node(graph, node); });
  }
  if (!graph.has_control_flow()) return;
  const Frames frames(graph);
  std::map<int, const Node*> conditions;  // by frame
  for (int id : graph.ids()) {
    const Node& node = graph.at(id);
    if (!node.is(OpKind::kLoopCondition)) continue;
    const auto [found, first] = conditions.emplace(frames.of(id), &node);
    if (frames.of(id) == 0 || first) continue;
    invalid("loop '{}': expected one condition, got '{}' and '{}'", printable(frames.frame(frames.of(id)).name),
            found->second->name(), node.name());
  }
}

}  // namespace panto
