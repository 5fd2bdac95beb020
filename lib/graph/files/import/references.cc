#include "panto/lib/graph/files/import/references.h"

#include <utility>

#include "panto/lib/graph/infer.h"

namespace panto {

namespace {

// Adds a node whose spec is complete except for the outputs.
AbstractValues add_inferred(Graph& graph, NodeSpec spec, std::span<const Tensor* const> inputs, int& id) {
  AbstractValues abstract_values = infer_call(*spec.op, inputs, spec.attrs);
  for (const Tensor& t : abstract_values) spec.outputs.push_back(info_of(t));
  id = graph.add(std::move(spec));
  return abstract_values;
}

}  // namespace

NodeSpec node_like(const NodeSpec& like, std::string name) {
  NodeSpec spec;
  spec.name = std::move(name);
  spec.device = like.device;
  spec.where = like.where;
  return spec;
}

Reference add_variable_handle(Graph& graph, NodeSpec like, std::string name) {
  const auto at = static_cast<size_t>(like.op->signature().find_attr("shared_name"));
  if (like.attrs[at].kind() == AttrKind::kNone || like.attrs[at].as<std::string>().empty()) {
    like.attrs[at] = AttrValue(like.name);
  }
  like.name = std::move(name);
  Reference reference;
  int id = -1;
  reference.abstract_value = add_inferred(graph, std::move(like), {}, id)[0];
  reference.handle = {id, 0};
  return reference;
}

ReadValue add_read(Graph& graph, const Reference& reference, NodeSpec spec, std::span<const int> controls) {
  spec.op = &get_op("ReadVariableOp");
  spec.inputs = {reference.handle};
  spec.attrs = {AttrValue(reference.abstract_value.impl()->meta->handle->dtype)};
  spec.control_inputs.assign(controls.begin(), controls.end());
  if (reference.after >= 0) spec.control_inputs.push_back(reference.after);
  const Tensor* handle = &reference.abstract_value;
  int id = -1;
  Tensor value = add_inferred(graph, std::move(spec), {&handle, 1}, id)[0];
  return {{id, 0}, std::move(value)};
}

}  // namespace panto
