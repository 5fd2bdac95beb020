#include "panto/lib/graph/files/graph_def.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/graph/files/function_writer.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/functions/expand.h"

namespace panto {

using graphdef::GraphDef;
using graphdef::NodeDef;

void graph_to_proto(const Graph& graph, const ExportOptions& options, GraphDef* proto) {
  Graph copy;
  const Graph& known = *as_others_know_it(graph, options, copy);
  if (&known != &graph) return graph_to_proto(known, options, proto);
  proto->Clear();
  if (!graph.library().empty() && !proto->mutable_library()->ParseFromString(graph.library())) {
    fail(Code::kInternal, "function library: expected what was read, got bytes that cannot be parsed");
  }
  graphdef::FunctionDefLibrary library = proto->library();
  FunctionWriter functions(options, &library);
  for (int id : graph.topological_order()) {
    const Node& node = graph.at(id);
    const bool unknown = is_unknown(node);
    if (node.op().name().starts_with('_') && !node.op().in_tensorflow() && !unknown && !options.own_ops) {
      invalid("op: expected one that TensorFlow has, got {} (write the graph before it is optimized) [node '{}']",
              node.op().name(), node.name());
    }
    NodeDef* def = proto->add_node();
    if (const AttrValue* kept = node.internal_attr(kKeptAttrs)) {
      if (!def->ParseFromString(kept->as<std::string>())) {
        failf(Code::kInternal, "attributes of node '{}': expected what was read, got bytes that cannot be parsed",
              node.name());
      }
    }
    def->set_name(node.name());
    def->set_op(op_name(node));
    def->set_device(node.device());
    for (const NodeOutput& input : node.inputs()) def->add_input(graph.output_name(input));
    std::vector<std::string> controls;
    for (int control : node.control_inputs()) controls.push_back("^" + graph.at(control).name());
    std::ranges::sort(controls);
    for (std::string& control : controls) def->add_input(std::move(control));
    functions.attrs_to_proto(node, def);
  }
  const GraphVersions& versions = graph.versions();
  proto->mutable_versions()->set_producer(versions.producer > 0 ? versions.producer : kProducerVersion);
  proto->mutable_versions()->set_min_consumer(versions.min_consumer);
  for (int bad : versions.bad_consumers) proto->mutable_versions()->add_bad_consumers(bad);
  if (library.ByteSizeLong() > 0) *proto->mutable_library() = std::move(library);
}

}  // namespace panto
