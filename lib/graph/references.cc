#include "panto/lib/graph/references.h"

#include <utility>

#include "panto/lib/graph/infer.h"

namespace panto {

namespace {

// Adds the node, of which everything but the outputs is there.
StandIns add_inferred(Graph& graph, NodeInit init, std::span<const Tensor* const> inputs, int& id) {
  StandIns stand_ins = infer_call(*init.op, inputs, init.attrs);
  for (const Tensor& t : stand_ins) init.outputs.push_back(info_of(t));
  id = graph.add(std::move(init));
  return stand_ins;
}

}  // namespace

NodeInit node_like(const NodeInit& like, std::string name) {
  NodeInit init;
  init.name = std::move(name);
  init.device = like.device;
  init.where = like.where;
  return init;
}

Reference add_variable_handle(Graph& graph, NodeInit like, std::string name) {
  const auto at = static_cast<size_t>(like.op->signature().find_attr("shared_name"));
  if (like.attrs[at].kind() == AttrKind::kNone || like.attrs[at].as<std::string>().empty()) {
    like.attrs[at] = AttrValue(like.name);
  }
  like.name = std::move(name);
  Reference reference;
  int id = -1;
  reference.stand_in = add_inferred(graph, std::move(like), {}, id)[0];
  reference.handle = {id, 0};
  return reference;
}

ReadValue add_read(Graph& graph, const Reference& reference, NodeInit init, std::span<const int> controls) {
  init.op = &get_op("ReadVariableOp");
  init.inputs = {reference.handle};
  init.attrs = {AttrValue(reference.stand_in.impl()->meta->handle->dtype)};
  init.control_inputs.assign(controls.begin(), controls.end());
  if (reference.after >= 0) init.control_inputs.push_back(reference.after);
  const Tensor* handle = &reference.stand_in;
  int id = -1;
  Tensor value = add_inferred(graph, std::move(init), {&handle, 1}, id)[0];
  return {{id, 0}, std::move(value)};
}

}  // namespace panto
