// References to variables in an imported graph.
#include "panto/lib/graph/files/import/importer.h"

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/graph/check.h"
#include "panto/lib/graph/files/functions.h"
#include "panto/lib/graph/files/graph_def.h"
#include "panto/lib/graph/files/import/adapters.h"
#include "panto/lib/graph/files/import/file_nodes.h"
#include "panto/lib/graph/files/import/references.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/files/wire/attr_proto.h"
#include "panto/lib/graph/functions/endpoints.h"
#include "panto/lib/graph/functions/expand.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/graph/infer.h"

namespace panto {

const Reference* Importer::reference_of(const NodeOutput& input) const {
  const auto found = references_to_variables_.find({static_cast<size_t>(input.node), input.index});
  return found == references_to_variables_.end() ? nullptr : &found->second;
}

void Importer::read_references(const FileNode& node, size_t kept, NodeSpec& spec, AbstractPointers& abstract_values,
                               SmallVector<Tensor, 2>& values) {
  // A Merge waits for one of its inputs only, and reads a reference when that input is there.
  const bool waits_for_all = node.op == nullptr || !node.op->is(OpKind::kMerge);
  std::vector<int> before;
  if (waits_for_all) before = spec.control_inputs;
  bool any = false;
  for (size_t i = 0; i < node.num_inputs; ++i) {
    const Reference* reference = reference_of(nodes_.inputs(node)[i]);
    if (reference == nullptr) {
      const Node& producer = graph_.at(spec.inputs[i].node);
      const bool at_once = producer.is(OpKind::kConstant) || producer.is(OpKind::kPlaceholder);
      if (!at_once && waits_for_all) before.push_back(producer.id());
    } else if (reference->after >= 0 && waits_for_all) {
      before.push_back(reference->after);
    }
    any = any || (i >= kept && reference != nullptr);
  }
  if (!any) return;
  for (size_t i = kept; i < node.num_inputs; ++i) {
    const Reference* reference = reference_of(nodes_.inputs(node)[i]);
    if (reference == nullptr) continue;
    const std::string& variable = nodes_.at(static_cast<size_t>(nodes_.inputs(node)[i].node)).def->name();
    ReadValue value =
        add_read(graph_, *reference,
                 node_like(spec, graph_.unique_name(fmt::format("{}/{}/read", spec.name, variable))), before);
    spec.inputs[i] = value.output;
    values.push_back(std::move(value.abstract_value));
    abstract_values[i] = &values.back();
  }
}

void Importer::add_variable(size_t position, NodeSpec& spec) {
  const FileNode& node = nodes_.at(position);
  const Signature& signature = node.op->signature();
  const bool temporary = node.adapter->kind == Adapter::Kind::kTemporary;
  read_attrs(signature, temporary ? without(*node.def, {"var_name"}) : *node.def, spec);
  if (node.adapter->kind == Adapter::Kind::kOldVariable) forgive_scalar_shape(signature, spec.attrs);
  NodeSpec handle = node_like(spec, spec.name);
  handle.op = spec.op;
  handle.attrs = spec.attrs;
  handle.control_inputs = spec.control_inputs;
  Reference reference = add_variable_handle(graph_, std::move(handle), graph_.unique_name(spec.name + "/handle"));
  if (temporary) reference.temporary = name_of_temporary(*node.def);
  add_value(position, reference, spec, reference.handle.node);
}

std::string Importer::name_of_temporary(const NodeDef& def) {
  const auto found = def.attr().find("var_name");
  return found == def.attr().end() || found->second.s().empty() ? def.name() : found->second.s();
}

void Importer::add_last_value(size_t position, NodeSpec& spec, const AbstractPointers& abstract_values) {
  const FileNode& node = nodes_.at(position);
  const Reference* reference = node.num_inputs == 1 ? reference_of(nodes_.inputs(node)[0]) : nullptr;
  if (reference == nullptr || reference->temporary.empty()) {
    fail(Code::kUnimplemented, "ref: expected a reference to a TemporaryVariable, got none");
  }
  if (const std::string name = name_of_temporary(*node.def); name != reference->temporary) {
    failf(Code::kUnimplemented, "var_name: expected '{}', as the TemporaryVariable has it, got '{}'",
          printable(reference->temporary), printable(name));
  }
  read_attrs(node.op->signature(), without(*node.def, {"var_name"}), spec);
  add_plain(position, spec, abstract_values);
}

void Importer::choose_reference(size_t position, NodeSpec& spec, const AbstractPointers& abstract_values) {
  const FileNode& node = nodes_.at(position);
  if (node.num_inputs < 2) invalid("inputs: expected an index and references, got {}", node.num_inputs);
  const std::optional<PartialValues> index = known_integers(*abstract_values[0]);
  if (!index || index->size() != 1 || !(*index)[0]) {
    fail(Code::kUnimplemented, "index: expected a constant scalar, got one that is known only when the graph runs");
  }
  const int64_t i = *(*index)[0];
  const auto count = static_cast<int64_t>(node.num_inputs) - 1;
  if (i < 0 || i >= count) failf(Code::kUnimplemented, "index: expected one in [0, {}), got {}", count, i);
  const Reference* found = reference_of(nodes_.inputs(node)[static_cast<size_t>(i) + 1]);
  if (found == nullptr) {
    failf(Code::kUnimplemented, "input {}: expected a reference to a variable, got a value", i + 1);
  }
  Reference reference = *found;
  read_attrs(node.op->signature(), without(*node.def, {"T", "N"}), spec);
  NodeSpec read = node_like(spec, spec.name);
  read.internal_attrs = std::exchange(spec.internal_attrs, {});
  spec.name = graph_.unique_name(spec.name + "/chosen");
  spec.inputs.clear();
  if (reference.after >= 0) spec.control_inputs.push_back(reference.after);
  reference.after = graph_.add(std::move(spec));
  add_value(position, reference, read, reference.after);
}

NodeDef Importer::without(const NodeDef& def, std::initializer_list<const char*> attrs) {
  NodeDef others = def;
  for (const char* name : attrs) others.mutable_attr()->erase(name);
  return others;
}

void Importer::add_update(size_t position, NodeSpec& spec, AbstractPointers& abstract_values) {
  const FileNode& node = nodes_.at(position);
  const Adapter& adapter = *node.adapter;
  SmallVector<Reference, 2> references;
  for (size_t i = 0; i < static_cast<size_t>(adapter.references) && i < node.num_inputs; ++i) {
    const NodeOutput& input = nodes_.inputs(node)[i];
    const Reference* reference = reference_of(input);
    if (reference == nullptr) {
      failf(Code::kUnimplemented, "input {}: expected a reference to a variable, got '{}'", i,
            nodes_.at(static_cast<size_t>(input.node)).def->name());
    }
    references.push_back(*reference);
    spec.inputs[i] = reference->handle;
    if (reference->after >= 0) spec.control_inputs.push_back(reference->after);
  }
  for (size_t i = 0; i < references.size(); ++i) abstract_values[i] = &references[i].abstract_value;
  read_attrs(node.op->signature(), update_attrs(node), spec);
  if (adapter.kind == Adapter::Kind::kQuestion) return add_plain(position, spec, abstract_values);
  if (adapter.kind == Adapter::Kind::kAssign && node.num_inputs == 2) check_new_shape(spec, abstract_values);
  NodeSpec read = node_like(spec, spec.name);
  read.internal_attrs = std::exchange(spec.internal_attrs, {});
  spec.name = graph_.unique_name(fmt::format("{}/{}", spec.name, adapter.becomes));
  add_plain(position, spec, abstract_values);
  if (references.empty()) return;  // inference refused the node then
  references[0].after = made_[position].node;
  add_value(position, references[0], read, made_[position].node);
}

NodeDef Importer::update_attrs(const FileNode& node) {
  const Signature& signature = node.op->signature();
  NodeDef def = *node.def;
  auto& attrs = *def.mutable_attr();
  if (signature.find_attr("dtype") >= 0 && attrs.contains("T") && !attrs.contains("dtype")) {
    attrs["dtype"] = attrs.at("T");
    attrs.erase("T");
  }
  for (const char* name : {"use_locking", "dtype"}) {
    if (signature.find_attr(name) < 0) attrs.erase(name);
  }
  if (node.adapter->kind == Adapter::Kind::kAssign && !attrs.contains("validate_shape"))
    attrs["validate_shape"].set_b(true);
  return def;
}

void Importer::check_new_shape(const NodeSpec& spec, const AbstractPointers& abstract_values) {
  const auto at = static_cast<size_t>(spec.op->signature().find_attr("validate_shape"));
  const PartialShape& declared = abstract_values[0]->impl()->meta->handle->shape;
  const PartialShape& value = abstract_values[1]->partial_shape();
  if (spec.attrs[at].as<bool>() || value.compatible_with(declared)) return;
  failf(Code::kUnimplemented, "value: expected the variable's shape {}, got {}", declared.to_string(),
        value.to_string());
}

void Importer::add_value(size_t position, const Reference& reference, const NodeSpec& like, int made_by) {
  NodeSpec read = node_like(like, like.name);
  read.internal_attrs = like.internal_attrs;
  ReadValue value = add_read(graph_, reference, std::move(read), like.control_inputs);
  check_output_shapes(*nodes_.at(position).def, {graph_.info(value.output)});
  Made& made = made_[position];
  made.outputs.clear();
  made.outputs.push_back(value.output);
  made.abstract_values.clear();
  made.abstract_values.push_back(std::move(value.abstract_value));
  made.node = made_by;
  references_to_variables_.insert_or_assign({position, 0}, reference);
}

void Importer::pass_reference(size_t position, NodeSpec& spec, AbstractPointers& abstract_values) {
  const FileNode& node = nodes_.at(position);
  const Reference reference = *reference_of(nodes_.inputs(node)[0]);
  spec.inputs[0] = reference.handle;
  abstract_values[0] = &reference.abstract_value;
  if (reference.after >= 0) spec.control_inputs.push_back(reference.after);
  NodeDef of_handle = *node.def;
  of_handle.clear_attr();
  for (const auto& [name, value] : node.def->attr()) {
    if (name != "T" && name != "_output_shapes") (*of_handle.mutable_attr())[name] = value;
  }
  read_attrs(node.op->signature(), of_handle, spec);
  add_plain(position, spec, abstract_values);
  const Made& made = made_[position];
  for (size_t k = 0; k < made.outputs.size(); ++k) {
    references_to_variables_.insert_or_assign({position, static_cast<int>(k)},
                                              Reference{made.outputs[k], made.abstract_values[k]});
  }
}

}  // namespace panto
