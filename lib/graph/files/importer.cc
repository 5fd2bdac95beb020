// GraphDef -> Graph, node by node: attributes, then inference. What cannot run here becomes a node that says so
// (unknown.h); old ops are adapted (adapters.h), references to variables become handles (references.h).
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
#include "panto/lib/graph/files/adapters.h"
#include "panto/lib/graph/files/file_nodes.h"
#include "panto/lib/graph/files/functions.h"
#include "panto/lib/graph/files/graph_def.h"
#include "panto/lib/graph/files/references.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/files/wire/attr_proto.h"
#include "panto/lib/graph/functions/endpoints.h"
#include "panto/lib/graph/functions/expand.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/graph/infer.h"

namespace panto {

namespace {

using graphdef::GraphDef;
using graphdef::NodeDef;

class Importer {
 public:
  Importer(const GraphDef& proto, const ImportOptions& options, std::shared_ptr<FileFunctions> functions)
      : proto_(proto),
        functions_(std::move(functions)),
        nodes_(proto, options, functions_.get()),
        budget_(options.max_expanded_bytes),
        max_nodes_(options.max_nodes) {}

  Graph run() {
    read_versions();
    graph_.reserve(nodes_.size());
    made_.resize(nodes_.size());
    for (int position : nodes_.order()) add(static_cast<size_t>(position));
    for (const auto& [position, infos] : unknown_) graph_.set_outputs(made_[position].node, infos);
    for (const BackEdge& edge : back_edges_) close(edge);
    if (!back_edges_.empty()) infer_shapes(graph_);  // what holds in every round
    if (proto_.has_library()) graph_.set_library(kept_bytes(proto_.library(), "function library"));
    return std::move(graph_);
  }

 private:
  void read_versions() {
    const auto& v = proto_.versions();
    GraphVersions versions;
    versions.producer = v.producer();
    versions.min_consumer = v.min_consumer();
    versions.bad_consumers.assign(v.bad_consumers().begin(), v.bad_consumers().end());
    graph_.set_versions(std::move(versions));
  }

  // ---- Nodes ----------------------------------------------------------------------------------------------------

  void add(size_t position) {
    const FileNode& node = nodes_.at(position);
    NodeSpec spec = started(node);
    if (static_cast<size_t>(graph_.num_nodes()) > added_++) make_room(spec.name);
    nodes_.in_node(position, [&] {
      check_device(spec.device);
      AbstractPointers abstract_values;
      read_inputs(position, spec, abstract_values);
      const bool call = nodes_.is_call(node);
      if (node.op == nullptr && node.adapter == nullptr && !call) return add_unknown(position, spec, "");
      if (!unknown_.empty() && !call && !find_types(node, abstract_values)) {
        return add_unknown(position, spec, "inputs: expected known types, got one of an op that is not here");
      }
      const int first = graph_.id_limit();
      try {
        call ? add_call(position, spec, abstract_values) : add_known(position, spec, abstract_values);
      } catch (const Error& error) {
        if (error.code() != Code::kUnimplemented) throw;
        for (int id = graph_.id_limit(); id-- > first;) {
          if (graph_.find(id) != nullptr) graph_.remove(id);
        }
        made_[position] = Made();
        for (int k = 0; k < 2; ++k) references_to_variables_.erase({position, k});
        spec = started(node);
        abstract_values.clear();
        read_inputs(position, spec, abstract_values);
        add_unknown(position, spec, error.message());
      }
    });
    // Dropped with their last reader, while they are near: a large graph has few at a time.
    for (const NodeOutput& input : nodes_.inputs(node)) {
      const auto producer = static_cast<size_t>(input.node);
      if (--nodes_.at(producer).readers == 0) made_[producer].abstract_values.clear();
    }
    if (node.readers == 0) made_[position].abstract_values.clear();
  }

  // What was made for another node may have the name of one of the file, which comes first.
  void make_room(const std::string& name) {
    if (const Node* holder = graph_.find(name)) graph_.rename(holder->id(), graph_.unique_name(name));
  }

  NodeSpec started(const FileNode& node) const {
    NodeSpec spec;
    spec.name = node.def->name();
    spec.op = node.op;
    spec.device = node.def->device();
    spec.where = nodes_.line_of(spec.name);
    return spec;
  }

  using AbstractPointers = SmallVector<const Tensor*, 8>;

  void read_inputs(size_t position, NodeSpec& spec, AbstractPointers& abstract_values) {
    const FileNode& node = nodes_.at(position);
    spec.inputs.reserve(node.num_inputs);
    for (size_t i = 0; i < node.num_inputs; ++i) {
      const NodeOutput& input = nodes_.inputs(node)[i];
      const Made& producer = made_[static_cast<size_t>(input.node)];
      if (producer.node < 0 && nodes_.leads_back(node, i)) {
        // The loop is closed when both ends are there. Until then nothing is known of what comes back.
        back_edges_.push_back({position, static_cast<int>(i), input});
        spec.inputs.push_back(spec.inputs[0]);
        abstract_values.push_back(&to_come_.emplace_back(meta_tensor(abstract_values[0]->dtype(), PartialShape())));
        continue;
      }
      if (static_cast<size_t>(input.index) >= producer.outputs.size()) {
        invalid("input {}: expected an output of '{}' below {}, got {}", i,
                nodes_.at(static_cast<size_t>(input.node)).def->name(), producer.outputs.size(), input.index);
      }
      spec.inputs.push_back(producer.outputs[static_cast<size_t>(input.index)]);
      abstract_values.push_back(&producer.abstract_values[static_cast<size_t>(input.index)]);
    }
    for (const NodeOutput& control : nodes_.controls(node)) {
      spec.control_inputs.push_back(made_[static_cast<size_t>(control.node)].node);
    }
  }

  void add_known(size_t position, NodeSpec& spec, AbstractPointers& abstract_values) {
    const FileNode& node = nodes_.at(position);
    const Adapter* adapter = node.adapter;
    SmallVector<Tensor, 2> values;  // of variables, for what reads a reference
    if (adapter != nullptr && adapter->kind == Adapter::Kind::kChoice) {
      return choose_reference(position, spec, abstract_values);
    }
    if (!references_to_variables_.empty()) {
      const bool passed = adapter != nullptr && adapter->kind == Adapter::Kind::kPassed;
      if (passed && node.num_inputs > 0 && reference_of(nodes_.inputs(node)[0]) != nullptr) {
        return pass_reference(position, spec, abstract_values);
      }
      const int kept = adapter == nullptr ? 0 : adapter->references;
      values.reserve(node.num_inputs);
      read_references(node, static_cast<size_t>(kept), spec, abstract_values, values);
    }
    if (adapter != nullptr && adapter->kind == Adapter::Kind::kLastValue) {
      return add_last_value(position, spec, abstract_values);
    }
    if (adapter != nullptr && adapter->makes_variable()) return add_variable(position, spec);
    if (adapter != nullptr && adapter->references > 0) return add_update(position, spec, abstract_values);
    Made& made = made_[position];
    if (adapter != nullptr && adapter->body != nullptr) {
      const Signature& signature = adapter->parsed();
      read_attrs(signature, *node.def, spec);
      complete_attrs(signature, spec.attrs);
      check_inputs(signature, spec, abstract_values);
      const AdapterCall call(signature, spec.attrs, abstract_values);
      return keep(expand_body(graph_, spec, abstract_values, [&] { return adapter->body(call); }), made);
    }
    read_attrs(node.op->signature(), *node.def, spec);
    add_plain(position, spec, abstract_values);
  }

  void add_plain(size_t position, NodeSpec& spec, const AbstractPointers& abstract_values) {
    Made& made = made_[position];
    // A few bytes may stand for many nodes: of functions each of which calls the one before it twice.
    nodes_called_ += size_of_functions(spec.attrs);
    if (nodes_called_ > max_nodes_) {
      failf(Code::kResourceExhausted, "functions: expected at most {} nodes in all, got more", max_nodes_);
    }
    made.abstract_values = infer_call(*spec.op, abstract_values, spec.attrs);
    for (const Tensor& t : made.abstract_values) spec.outputs.push_back(info_of(t));
    check_output_shapes(*nodes_.at(position).def, spec.outputs);
    const size_t outputs = spec.outputs.size();
    made.node = graph_.add(std::move(spec));
    for (size_t k = 0; k < outputs; ++k) made.outputs.push_back({made.node, static_cast<int>(k)});
  }

  // A function that is called by its own name, as TensorFlow 1 did it.
  void add_call(size_t position, NodeSpec& spec, const AbstractPointers& abstract_values) {
    const NodeDef& def = *nodes_.at(position).def;
    graphdef::NameAttrList named;
    named.set_name(def.op());
    for (const auto* attr : sorted_attrs(def)) {
      check_attr_name(attr->first);
      if (attr->first.front() == '_') {
        if (auto note = note_from_proto(attr->second)) spec.internal_attrs.emplace_back(attr->first, std::move(*note));
      } else {
        (*named.mutable_attr())[attr->first] = attr->second;
      }
    }
    FunctionRef function = functions_->reference(named);
    if (function.body == nullptr) {
      failf(Code::kUnimplemented, "op: expected a call that a condition may end, got function '{}' that calls itself",
            printable(def.op()));
    }
    const auto list = [](std::span<const DType> types) {
      return AttrValue(std::vector<DType>(types.begin(), types.end()));
    };
    spec.op = &get_op(function.body->effects() == 0 ? "PartitionedCall" : "StatefulPartitionedCall");
    spec.attrs.resize(spec.op->signature().attrs.size());
    const auto set = [&](std::string_view name, AttrValue value) {
      spec.attrs[static_cast<size_t>(spec.op->signature().find_attr(name))] = std::move(value);
    };
    set("Tin", list(function.body->input_types()));
    set("Tout", list(function.body->output_types()));
    set("f", AttrValue(std::move(function)));
    add_plain(position, spec, abstract_values);
  }

  // ---- What cannot run here -------------------------------------------------------------------------------------

  void add_unknown(size_t position, NodeSpec& spec, std::string why) {
    const FileNode& node = nodes_.at(position);
    const bool call = nodes_.is_call(node);
    if (call) why = fmt::format("op: expected a primitive one, got a call of function '{}'", printable(node.def->op()));
    NodeSpec unknown = unknown_init(std::move(spec.name), node.def->op(), std::move(why), call);
    unknown.inputs = std::move(spec.inputs);
    unknown.control_inputs = std::move(spec.control_inputs);
    unknown.device = std::move(spec.device);
    unknown.where = std::move(spec.where);
    NodeDef kept = *node.def;
    kept.clear_name();
    kept.clear_input();
    kept.clear_device();
    for (const auto* attr : sorted_attrs(*node.def)) {
      check_attr_name(attr->first);
      if (attr->first.front() != '_' || attr->first == "_output_shapes") continue;
      if (auto note = note_from_proto(attr->second)) {
        unknown.internal_attrs.emplace_back(attr->first, std::move(*note));
        kept.mutable_attr()->erase(attr->first);
      }
    }
    std::string bytes = kept_bytes(kept, "node");  // with the op's name
    unknown.internal_attrs.emplace_back(kKeptAttrs, AttrValue(std::move(bytes)));
    unknown.outputs = unknown_outputs(node);
    Made& made = made_[position];
    for (size_t k = 0; k < unknown.outputs.size(); ++k) {
      made.abstract_values.push_back(meta_tensor(unknown.outputs[k].dtype, unknown.outputs[k].shape));
    }
    const size_t outputs = unknown.outputs.size();
    unknown_[position] = unknown.outputs;
    made.node = graph_.add(std::move(unknown));
    for (size_t k = 0; k < outputs; ++k) made.outputs.push_back({made.node, static_cast<int>(k)});
  }

  // Those that are read, that the file gives shapes of, or that it calls an output of the function.
  std::vector<OutputInfo> unknown_outputs(const FileNode& node) {
    const bool is_output = node.def->attr().contains(std::string(kFunctionOutput));
    std::vector<OutputInfo> infos(std::max<size_t>(static_cast<size_t>(node.ports), is_output ? 1 : 0));
    const auto found = node.def->attr().find("_output_shapes");
    if (found != node.def->attr().end()) {
      const auto& shapes = found->second.list().shape();
      infos.resize(std::max(infos.size(), static_cast<size_t>(shapes.size())));
      for (int k = 0; k < shapes.size(); ++k) infos[static_cast<size_t>(k)].shape = shape_from_proto(shapes[k]);
    }
    // A few bytes of a file may ask for many.
    constexpr size_t kMostInAll = size_t{1} << 18;
    unknown_ports_ += infos.size();
    if (unknown_ports_ > kMostInAll) {
      failf(Code::kResourceExhausted, "outputs: expected at most {} of ops that are not here, got {}", kMostInAll,
            unknown_ports_);
    }
    return infos;
  }

  // An output whose dtype is not known has the one that a reader expects. False if one is left.
  bool find_types(const FileNode& node, AbstractPointers& abstract_values) {
    bool open = false;
    for (const Tensor* t : abstract_values) open = open || t->dtype() == DType::kInvalid;
    if (!open) return true;
    const bool has_body = node.adapter != nullptr && node.adapter->body != nullptr;
    const Signature& signature = has_body ? node.adapter->parsed() : node.op->signature();
    const SmallVector<DType, 8> types = written_types(signature, *node.def, abstract_values.size());
    for (size_t i = 0; i < abstract_values.size(); ++i) {
      if (abstract_values[i]->dtype() != DType::kInvalid) continue;
      if (i >= types.size() || types[i] == DType::kInvalid) return false;
      const NodeOutput& input = nodes_.inputs(node)[i];
      const auto producer = static_cast<size_t>(input.node), output = static_cast<size_t>(input.index);
      if (made_[producer].node < 0) {
        abstract_values[i] = &to_come_.emplace_back(meta_tensor(types[i], PartialShape()));
        continue;
      }
      unknown_.at(producer)[output].dtype = types[i];
      made_[producer].abstract_values[output] = meta_tensor(types[i], abstract_values[i]->partial_shape());
      abstract_values[i] = &made_[producer].abstract_values[output];
    }
    return true;
  }

  // What the file says of the types of inputs, lists spread; kInvalid where it says nothing.
  static SmallVector<DType, 8> written_types(const Signature& signature, const NodeDef& def, size_t most) {
    const auto written = [&](int position) -> const graphdef::AttrValue* {
      const auto found = def.attr().find(signature.attrs[static_cast<size_t>(position)].name);
      return found == def.attr().end() ? nullptr : &found->second;
    };
    const auto dtype = [](int number) { return is_dtype(number) ? static_cast<DType>(number) : DType::kInvalid; };
    SmallVector<DType, 8> types;
    for (const ArgDef& arg : signature.inputs) {
      if (arg.type_list_attr >= 0) {
        const graphdef::AttrValue* list = written(arg.type_list_attr);
        for (int k = 0; list != nullptr && k < list->list().type_size(); ++k) {
          types.push_back(dtype(list->list().type(k)));
        }
        continue;
      }
      DType type = arg.dtype;
      if (arg.type_attr >= 0) {
        const graphdef::AttrValue* value = written(arg.type_attr);
        const AttrValue& otherwise = signature.attrs[static_cast<size_t>(arg.type_attr)].default_value;
        type = value != nullptr                      ? dtype(value->type())
               : otherwise.kind() == AttrKind::kType ? otherwise.as<DType>()
                                                     : DType::kInvalid;
      }
      const graphdef::AttrValue* number = arg.number_attr >= 0 ? written(arg.number_attr) : nullptr;
      const int64_t count = arg.number_attr < 0 ? 1 : number != nullptr ? number->i() : 0;
      for (int64_t k = 0; k < count && types.size() < most; ++k) types.push_back(type);
    }
    return types;
  }

  struct BackEdge {
    size_t reader;
    int slot;
    NodeOutput from;  // node: a position in the file
  };
  void close(const BackEdge& edge) {
    nodes_.in_node(edge.reader, [&] {
      const Made& producer = made_[static_cast<size_t>(edge.from.node)];
      graph_.set_input(made_[edge.reader].node, edge.slot, {producer.node, edge.from.index});
    });
  }

  // ---- Reference variables --------------------------------------------------------------------------------------

  const Reference* reference_of(const NodeOutput& input) const {
    const auto found = references_to_variables_.find({static_cast<size_t>(input.node), input.index});
    return found == references_to_variables_.end() ? nullptr : &found->second;
  }

  // Behind the first `kept` inputs, values stand for references: each is read when the node may run.
  void read_references(const FileNode& node, size_t kept, NodeSpec& spec, AbstractPointers& abstract_values,
                       SmallVector<Tensor, 2>& values) {
    // A Merge waits for one of its inputs, and reads that when it is there.
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

  void add_variable(size_t position, NodeSpec& spec) {
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

  // TensorFlow's, by which it is destroyed.
  static std::string name_of_temporary(const NodeDef& def) {
    const auto found = def.attr().find("var_name");
    return found == def.attr().end() || found->second.s().empty() ? def.name() : found->second.s();
  }

  // The value has been read when all that the node waits for had run.
  void add_last_value(size_t position, NodeSpec& spec, const AbstractPointers& abstract_values) {
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

  // The reference that the index says. What is updated through it waits for what the node waits for.
  void choose_reference(size_t position, NodeSpec& spec, const AbstractPointers& abstract_values) {
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

  static NodeDef without(const NodeDef& def, std::initializer_list<const char*> attrs) {
    NodeDef others = def;
    for (const char* name : attrs) others.mutable_attr()->erase(name);
    return others;
  }

  void add_update(size_t position, NodeSpec& spec, AbstractPointers& abstract_values) {
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
    if (references.empty()) return;  // inference has refused it
    references[0].after = made_[position].node;
    add_value(position, references[0], read, made_[position].node);
  }

  // In the words of the op that takes a handle. Locks are taken in any case.
  static NodeDef update_attrs(const FileNode& node) {
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

  // A variable has the shape that it was declared with, whatever Assign is told.
  static void check_new_shape(const NodeSpec& spec, const AbstractPointers& abstract_values) {
    const auto at = static_cast<size_t>(spec.op->signature().find_attr("validate_shape"));
    const PartialShape& declared = abstract_values[0]->impl()->meta->handle->shape;
    const PartialShape& value = abstract_values[1]->partial_shape();
    if (spec.attrs[at].as<bool>() || value.compatible_with(declared)) return;
    failf(Code::kUnimplemented, "value: expected the variable's shape {}, got {}", declared.to_string(),
          value.to_string());
  }

  // The value has the name of the file's node; who waits for that node waits for `made`.
  void add_value(size_t position, const Reference& reference, const NodeSpec& like, int made_by) {
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

  // The handle goes to a branch, or into a loop, and what is behind it refers to the variable there.
  void pass_reference(size_t position, NodeSpec& spec, AbstractPointers& abstract_values) {
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

  // ---- Attributes and devices -----------------------------------------------------------------------------------

  // Most nodes have the device of the one before.
  void check_device(const std::string& device) {
    if (device == checked_device_) return;
    static_cast<void>(DeviceSpec::parse(device));
    checked_device_ = device;
  }

  struct Made {
    int node = -1;
    SmallVector<NodeOutput, 1> outputs;
    AbstractValues abstract_values;
  };

  static void keep(Expansion expansion, Made& made) {
    made.outputs = {expansion.outputs.begin(), expansion.outputs.end()};
    made.abstract_values = std::move(expansion.abstract_values);
    if (!made.outputs.empty()) made.node = made.outputs[0].node;
  }

  // What is kept as it is, but for fields that TensorFlow does not have: the text form could not be read with them. In
  // turn it takes any bytes for a string, of which the binary form could not be read.
  template <class Message>
  static std::string kept_bytes(Message message, std::string_view what) {
    message.DiscardUnknownFields();
    std::string bytes = message.SerializeAsString();
    if (!Message().ParseFromString(bytes)) invalid("{}: expected names in UTF-8, got other bytes", what);
    return bytes;
  }

  // In the order of names: a map's own order differs from run to run, messages should not.
  using Attrs = SmallVector<const google::protobuf::MapPair<std::string, graphdef::AttrValue>*, 8>;
  static Attrs sorted_attrs(const NodeDef& def) {
    Attrs attrs;
    for (const auto& attr : def.attr()) attrs.push_back(&attr);
    std::ranges::sort(attrs, {}, [](const auto* attr) -> const std::string& { return attr->first; });
    return attrs;
  }

  // The text form takes any bytes; the binary form of a graph that kept them could not be read again.
  static void check_attr_name(const std::string& name) {
    if (name.empty()) invalid("attribute: expected a name, got none");
    if (!std::ranges::all_of(name, [](char c) { return c > ' ' && c < '\x7f'; })) {
      invalid("attribute: expected a name of visible ASCII characters, got '{}'", name);
    }
  }

  AttrValue attr_value(const AttrDef& described, const graphdef::AttrValue& value) {
    const bool one = described.kind == AttrKind::kFunc && value.has_func();
    if (!one && (described.kind != AttrKind::kFuncList || !value.has_list())) {
      return attr_from_proto(described, value, budget_);
    }
    return with_context([&] { return "attribute " + described.name; },
                        [&]() -> AttrValue {
                          if (one) return AttrValue(function_named(value.func()));
                          std::vector<FunctionRef> functions;
                          for (const auto& function : value.list().func()) {
                            functions.push_back(function_named(function));
                          }
                          return AttrValue(std::move(functions));
                        });
  }

  FunctionRef function_named(const graphdef::NameAttrList& function) {
    if (functions_ != nullptr) return functions_->reference(function);
    failf(Code::kUnimplemented, "expected a function of the file, got '{}', which it does not have",
          printable(function.name()));
  }

  void read_attrs(const Signature& signature, const NodeDef& def, NodeSpec& spec) {
    spec.attrs.resize(signature.attrs.size());
    spec.explicitly_set = 0;
    NodeDef kept;
    for (const auto* attr : sorted_attrs(def)) {
      const std::string& name = attr->first;
      const graphdef::AttrValue& value = attr->second;
      check_attr_name(name);
      const int at = signature.find_attr(name);
      if (at >= 0) {
        const AttrDef& described = signature.attrs[static_cast<size_t>(at)];
        spec.attrs[static_cast<size_t>(at)] = attr_value(described, value);
        check_attr(described, spec.attrs[static_cast<size_t>(at)]);
        if (at < 64) spec.explicitly_set |= uint64_t{1} << at;
      } else if (name.front() == '_') {
        if (name == "_output_shapes") continue;  // checked, then known better
        if (auto note = note_from_proto(value)) {
          spec.internal_attrs.emplace_back(name, std::move(*note));
        } else {
          (*kept.mutable_attr())[name] = value;
        }
      } else if (is_zero(value)) {
        if (log_debug_enabled()) {
          log_debug(fmt::format("attribute '{}' of {} is not known here and ignored", name, def.op()));
        }
      } else {
        failf(Code::kUnimplemented, "attribute: expected one that {} has here, got '{}' with a value", def.op(), name);
      }
    }
    if (kept.attr_size() > 0) spec.internal_attrs.emplace_back(kKeptAttrs, AttrValue(kept_bytes(kept, "attributes")));
    const bool placeholder = spec.op != nullptr && spec.op->is(OpKind::kPlaceholder);
    if (placeholder && graph_.versions().producer < 22) forgive_scalar_shape(signature, spec.attrs);
  }

  // Of a body's op; of others inference sees to it.
  static void check_inputs(const Signature& signature, const NodeSpec& spec, const AbstractPointers& abstract_values) {
    const Types types = flat_types(signature.inputs, spec.attrs);
    if (types.size() != abstract_values.size())
      invalid("inputs: expected {}, got {}", types.size(), abstract_values.size());
    for (size_t i = 0; i < types.size(); ++i) {
      if (abstract_values[i]->dtype() == types[i]) continue;
      invalid("input {}: expected {}, got {}", i, dtype_name(types[i]), dtype_name(abstract_values[i]->dtype()));
    }
  }

  static void check_output_shapes(const NodeDef& def, const std::vector<OutputInfo>& outputs) {
    const auto found = def.attr().find("_output_shapes");
    if (found == def.attr().end() || !found->second.has_list()) return;
    const auto& shapes = found->second.list().shape();
    for (int k = 0; k < shapes.size() && k < static_cast<int>(outputs.size()); ++k) {
      const PartialShape noted = shape_from_proto(shapes[k]);
      const PartialShape& inferred = outputs[static_cast<size_t>(k)].shape;
      if (!noted.compatible_with(inferred)) {
        invalid("_output_shapes of output {}: expected one compatible with {}, got {}", k, inferred.to_string(),
                noted.to_string());
      }
    }
  }

  const GraphDef& proto_;
  std::shared_ptr<FileFunctions> functions_;  // null: the file has none
  FileNodes nodes_;
  ExpansionBudget budget_;
  const int64_t max_nodes_;
  int64_t nodes_called_ = 0;  // those of functions, as often as they are called
  Graph graph_;
  std::vector<Made> made_;                             // by position
  std::map<size_t, std::vector<OutputInfo>> unknown_;  // by position: outputs of what cannot run here
  size_t unknown_ports_ = 0;
  size_t added_ = 0;  // nodes of the file
  std::vector<BackEdge> back_edges_;
  std::deque<Tensor> to_come_;                                           // abstract values of what leads back
  std::map<std::pair<size_t, int>, Reference> references_to_variables_;  // by position and output
  std::string checked_device_;                                           // the latest that was in order
};

}  // namespace

Graph graph_from_proto(const GraphDef& proto, const ImportOptions& options) {
  std::shared_ptr<FileFunctions> functions;
  if (proto.library().function_size() > 0) {
    functions = std::make_shared<FileFunctions>(proto.library(), proto.versions(), options);
  }
  return graph_from_proto(proto, options, std::move(functions));
}

Graph graph_from_proto(const GraphDef& proto, const ImportOptions& options, std::shared_ptr<FileFunctions> functions) {
  return Importer(proto, options, std::move(functions)).run();
}

}  // namespace panto
