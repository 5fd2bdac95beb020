// GraphDef -> Graph, node by node: attributes, then inference. What cannot run here becomes a node that says so
// (unknown.h); old ops are adapted (adapters.h), references to variables become handles (references.h).
#include <algorithm>
#include <map>
#include <utility>

#include "panto/lib/base/format.h"
#include "panto/lib/base/log.h"
#include "panto/lib/base/quote.h"
#include "panto/lib/graph/adapters.h"
#include "panto/lib/graph/attr_proto.h"
#include "panto/lib/graph/check.h"
#include "panto/lib/graph/expand.h"
#include "panto/lib/graph/file_nodes.h"
#include "panto/lib/graph/graph_def.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/graph/references.h"
#include "panto/lib/graph/unknown.h"

namespace panto {

namespace {

using graphdef::GraphDef;
using graphdef::NodeDef;

class Importer {
 public:
  Importer(const GraphDef& proto, const ImportOptions& options)
      : proto_(proto), nodes_(proto, options), budget_(options.max_expanded_bytes) {}

  Graph run() {
    read_versions();
    graph_.reserve(nodes_.size());
    made_.resize(nodes_.size());
    for (int position : nodes_.order()) add(static_cast<size_t>(position));
    for (const auto& [position, infos] : unknown_) graph_.set_outputs(made_[position].node, infos);
    for (const BackEdge& edge : back_edges_) close(edge);
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
    NodeInit init = started(node);
    if (static_cast<size_t>(graph_.num_nodes()) > added_++) make_room(init.name);
    nodes_.in_node(position, [&] {
      check_device(init.device);
      StandInPointers stand_ins;
      read_inputs(position, init, stand_ins);
      if (node.op == nullptr && node.adapter == nullptr) return add_unknown(position, init, "");
      if (!unknown_.empty() && !find_types(node, stand_ins)) {
        return add_unknown(position, init, "inputs: expected known types, got one of an op that is not here");
      }
      const int first = graph_.id_limit();
      try {
        add_known(position, init, stand_ins);
      } catch (const Error& error) {
        if (error.code() != Code::kUnimplemented) throw;
        for (int id = graph_.id_limit(); id-- > first;) {
          if (graph_.find(id) != nullptr) graph_.remove(id);
        }
        made_[position] = Made();
        references_to_variables_.erase(position);
        init = started(node);
        stand_ins.clear();
        read_inputs(position, init, stand_ins);
        add_unknown(position, init, error.message());
      }
    });
    // Dropped with their last reader, while they are near: a large graph has few at a time.
    for (const NodeOutput& input : nodes_.inputs(node)) {
      const auto producer = static_cast<size_t>(input.node);
      if (--nodes_.at(producer).readers == 0) made_[producer].stand_ins.clear();
    }
    if (node.readers == 0) made_[position].stand_ins.clear();
  }

  // What was made for another node may have the name of one of the file, which comes first.
  void make_room(const std::string& name) {
    if (const Node* holder = graph_.find(name)) graph_.rename(holder->id(), graph_.unique_name(name));
  }

  NodeInit started(const FileNode& node) const {
    NodeInit init;
    init.name = node.def->name();
    init.op = node.op;
    init.device = node.def->device();
    init.where = nodes_.line_of(init.name);
    return init;
  }

  using StandInPointers = SmallVector<const Tensor*, 8>;

  void read_inputs(size_t position, NodeInit& init, StandInPointers& stand_ins) {
    const FileNode& node = nodes_.at(position);
    init.inputs.reserve(node.num_inputs);
    for (size_t i = 0; i < node.num_inputs; ++i) {
      const NodeOutput& input = nodes_.inputs(node)[i];
      const Made& producer = made_[static_cast<size_t>(input.node)];
      if (producer.node < 0 && nodes_.leads_back(node, i)) {
        // The loop is closed when both ends are there.
        back_edges_.push_back({position, static_cast<int>(i), input});
        init.inputs.push_back(init.inputs[0]);
        stand_ins.push_back(stand_ins[0]);
        continue;
      }
      if (static_cast<size_t>(input.index) >= producer.outputs.size()) {
        invalid("input {}: expected an output of '{}' below {}, got {}", i,
                nodes_.at(static_cast<size_t>(input.node)).def->name(), producer.outputs.size(), input.index);
      }
      init.inputs.push_back(producer.outputs[static_cast<size_t>(input.index)]);
      stand_ins.push_back(&producer.stand_ins[static_cast<size_t>(input.index)]);
    }
    for (const NodeOutput& control : nodes_.controls(node)) {
      init.control_inputs.push_back(made_[static_cast<size_t>(control.node)].node);
    }
  }

  void add_known(size_t position, NodeInit& init, StandInPointers& stand_ins) {
    const FileNode& node = nodes_.at(position);
    const Adapter* adapter = node.adapter;
    SmallVector<Tensor, 2> values;  // of variables, for what reads a reference
    if (!references_to_variables_.empty()) {
      const int kept = adapter == nullptr ? 0 : adapter->references;
      values.reserve(node.num_inputs);
      read_references(node, static_cast<size_t>(kept), init, stand_ins, values);
    }
    if (adapter != nullptr && adapter->makes_variable()) return add_variable(position, init);
    if (adapter != nullptr && adapter->references > 0) return add_update(position, init, stand_ins);
    Made& made = made_[position];
    if (adapter != nullptr && adapter->body != nullptr) {
      const Signature& signature = adapter->parsed();
      read_attrs(signature, *node.def, init);
      complete_attrs(signature, init.attrs);
      check_inputs(signature, init, stand_ins);
      const AdapterCall call(signature, init.attrs, stand_ins);
      return keep(expand_body(graph_, init, stand_ins, [&] { return adapter->body(call); }), made);
    }
    read_attrs(node.op->signature(), *node.def, init);
    if (node.op->body() != nullptr) return keep(expand_composite(graph_, init, stand_ins), made);
    add_plain(position, init, stand_ins);
  }

  void add_plain(size_t position, NodeInit& init, const StandInPointers& stand_ins) {
    Made& made = made_[position];
    made.stand_ins = infer_call(*init.op, stand_ins, init.attrs);
    for (const Tensor& t : made.stand_ins) init.outputs.push_back(info_of(t));
    check_output_shapes(*nodes_.at(position).def, init.outputs);
    const size_t outputs = init.outputs.size();
    made.node = graph_.add(std::move(init));
    for (size_t k = 0; k < outputs; ++k) made.outputs.push_back({made.node, static_cast<int>(k)});
  }

  // ---- What cannot run here -------------------------------------------------------------------------------------

  void add_unknown(size_t position, NodeInit& init, std::string why) {
    const FileNode& node = nodes_.at(position);
    const bool call = nodes_.is_call(node);
    if (call) why = fmt::format("op: expected a primitive one, got a call of function '{}'", printable(node.def->op()));
    NodeInit unknown = unknown_init(std::move(init.name), node.def->op(), std::move(why), call);
    unknown.inputs = std::move(init.inputs);
    unknown.control_inputs = std::move(init.control_inputs);
    unknown.device = std::move(init.device);
    unknown.where = std::move(init.where);
    NodeDef kept = *node.def;
    kept.clear_name();
    kept.clear_input();
    kept.clear_device();
    for (const auto* attr : sorted_attrs(*node.def)) {
      check_attr_name(attr->first);
      if (attr->first.front() != '_' || attr->first == "_output_shapes") continue;
      if (auto note = note_from_proto(attr->second)) {
        unknown.notes.emplace_back(attr->first, std::move(*note));
        kept.mutable_attr()->erase(attr->first);
      }
    }
    std::string bytes = kept_bytes(kept, "node");  // with the op's name
    unknown.notes.emplace_back(kKeptAttrs, AttrValue(std::move(bytes)));
    unknown.outputs = unknown_outputs(node);
    Made& made = made_[position];
    for (size_t k = 0; k < unknown.outputs.size(); ++k) {
      made.stand_ins.push_back(meta_tensor(unknown.outputs[k].dtype, unknown.outputs[k].shape));
    }
    const size_t outputs = unknown.outputs.size();
    unknown_[position] = unknown.outputs;
    made.node = graph_.add(std::move(unknown));
    for (size_t k = 0; k < outputs; ++k) made.outputs.push_back({made.node, static_cast<int>(k)});
  }

  // Those that are read, or that the file gives shapes of.
  std::vector<OutputInfo> unknown_outputs(const FileNode& node) {
    std::vector<OutputInfo> infos(static_cast<size_t>(node.ports));
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
  bool find_types(const FileNode& node, StandInPointers& stand_ins) {
    bool open = false;
    for (const Tensor* t : stand_ins) open = open || t->dtype() == DType::kInvalid;
    if (!open) return true;
    const bool has_body = node.adapter != nullptr && node.adapter->body != nullptr;
    const Signature& signature = has_body ? node.adapter->parsed() : node.op->signature();
    const SmallVector<DType, 8> types = written_types(signature, *node.def, stand_ins.size());
    for (size_t i = 0; i < stand_ins.size(); ++i) {
      if (stand_ins[i]->dtype() != DType::kInvalid) continue;
      if (i >= types.size() || types[i] == DType::kInvalid) return false;
      const NodeOutput& input = nodes_.inputs(node)[i];
      const auto producer = static_cast<size_t>(input.node), output = static_cast<size_t>(input.index);
      unknown_.at(producer)[output].dtype = types[i];
      made_[producer].stand_ins[output] = meta_tensor(types[i], stand_ins[i]->partial_shape());
      stand_ins[i] = &made_[producer].stand_ins[output];
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
    if (input.index != 0) return nullptr;
    const auto found = references_to_variables_.find(static_cast<size_t>(input.node));
    return found == references_to_variables_.end() ? nullptr : &found->second;
  }

  // Behind the first `kept` inputs, values stand for references: each is read when the node may run.
  void read_references(const FileNode& node, size_t kept, NodeInit& init, StandInPointers& stand_ins,
                       SmallVector<Tensor, 2>& values) {
    std::vector<int> before = init.control_inputs;
    bool any = false;
    for (size_t i = 0; i < node.num_inputs; ++i) {
      const Reference* reference = reference_of(nodes_.inputs(node)[i]);
      if (reference == nullptr) {
        const Node& producer = graph_.at(init.inputs[i].node);
        const bool at_once = producer.has(Trait::kConstant) || producer.has(Trait::kPlaceholder);
        if (!at_once) before.push_back(producer.id());
      } else if (reference->after >= 0) {
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
                   node_like(init, graph_.unique_name(fmt::format("{}/{}/read", init.name, variable))), before);
      init.inputs[i] = value.output;
      values.push_back(std::move(value.stand_in));
      stand_ins[i] = &values.back();
    }
  }

  void add_variable(size_t position, NodeInit& init) {
    const FileNode& node = nodes_.at(position);
    const Signature& signature = node.op->signature();
    read_attrs(signature, *node.def, init);
    if (node.adapter->kind == Adapter::Kind::kOldVariable) forgive_scalar_shape(signature, init.attrs);
    NodeInit handle = node_like(init, init.name);
    handle.op = init.op;
    handle.attrs = init.attrs;
    handle.control_inputs = init.control_inputs;
    const Reference reference =
        add_variable_handle(graph_, std::move(handle), graph_.unique_name(init.name + "/handle"));
    add_value(position, reference, init, reference.handle.node);
  }

  void add_update(size_t position, NodeInit& init, StandInPointers& stand_ins) {
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
      init.inputs[i] = reference->handle;
      if (reference->after >= 0) init.control_inputs.push_back(reference->after);
    }
    for (size_t i = 0; i < references.size(); ++i) stand_ins[i] = &references[i].stand_in;
    read_attrs(node.op->signature(), update_attrs(node), init);
    if (adapter.kind == Adapter::Kind::kQuestion) return add_plain(position, init, stand_ins);
    if (adapter.kind == Adapter::Kind::kAssign && node.num_inputs == 2) check_new_shape(init, stand_ins);
    NodeInit read = node_like(init, init.name);
    read.notes = std::exchange(init.notes, {});
    init.name = graph_.unique_name(fmt::format("{}/{}", init.name, adapter.becomes));
    add_plain(position, init, stand_ins);
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
  static void check_new_shape(const NodeInit& init, const StandInPointers& stand_ins) {
    const auto at = static_cast<size_t>(init.op->signature().find_attr("validate_shape"));
    const PartialShape& declared = stand_ins[0]->impl()->meta->handle->shape;
    const PartialShape& value = stand_ins[1]->partial_shape();
    if (init.attrs[at].as<bool>() || value.compatible_with(declared)) return;
    failf(Code::kUnimplemented, "value: expected the variable's shape {}, got {}", declared.to_string(),
          value.to_string());
  }

  // The value has the name of the file's node; who waits for that node waits for `made`.
  void add_value(size_t position, const Reference& reference, const NodeInit& like, int made_by) {
    NodeInit read = node_like(like, like.name);
    read.notes = like.notes;
    ReadValue value = add_read(graph_, reference, std::move(read), like.control_inputs);
    check_output_shapes(*nodes_.at(position).def, {graph_.info(value.output)});
    Made& made = made_[position];
    made.outputs.clear();
    made.outputs.push_back(value.output);
    made.stand_ins.clear();
    made.stand_ins.push_back(std::move(value.stand_in));
    made.node = made_by;
    references_to_variables_.insert_or_assign(position, reference);
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
    StandIns stand_ins;
  };

  static void keep(Expansion expansion, Made& made) {
    made.outputs = {expansion.outputs.begin(), expansion.outputs.end()};
    made.stand_ins = std::move(expansion.stand_ins);
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

  void read_attrs(const Signature& signature, const NodeDef& def, NodeInit& init) {
    init.attrs.resize(signature.attrs.size());
    init.written = 0;
    NodeDef kept;
    for (const auto* attr : sorted_attrs(def)) {
      const std::string& name = attr->first;
      const graphdef::AttrValue& value = attr->second;
      check_attr_name(name);
      const int at = signature.find_attr(name);
      if (at >= 0) {
        const AttrDef& described = signature.attrs[static_cast<size_t>(at)];
        init.attrs[static_cast<size_t>(at)] = attr_from_proto(described, value, budget_);
        check_attr(described, init.attrs[static_cast<size_t>(at)]);
        if (at < 64) init.written |= uint64_t{1} << at;
      } else if (name.front() == '_') {
        if (name == "_output_shapes") continue;  // checked, then known better
        if (auto note = note_from_proto(value)) {
          init.notes.emplace_back(name, std::move(*note));
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
    if (kept.attr_size() > 0) init.notes.emplace_back(kKeptAttrs, AttrValue(kept_bytes(kept, "attributes")));
    const bool placeholder = init.op != nullptr && init.op->has(Trait::kPlaceholder);
    if (placeholder && graph_.versions().producer < 22) forgive_scalar_shape(signature, init.attrs);
  }

  // Of a body's op; of others inference sees to it.
  static void check_inputs(const Signature& signature, const NodeInit& init, const StandInPointers& stand_ins) {
    const Types types = flat_types(signature.inputs, init.attrs);
    if (types.size() != stand_ins.size()) invalid("inputs: expected {}, got {}", types.size(), stand_ins.size());
    for (size_t i = 0; i < types.size(); ++i) {
      if (stand_ins[i]->dtype() == types[i]) continue;
      invalid("input {}: expected {}, got {}", i, dtype_name(types[i]), dtype_name(stand_ins[i]->dtype()));
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
  FileNodes nodes_;
  ExpansionBudget budget_;
  Graph graph_;
  std::vector<Made> made_;                             // by position
  std::map<size_t, std::vector<OutputInfo>> unknown_;  // by position: outputs of what cannot run here
  size_t unknown_ports_ = 0;
  size_t added_ = 0;  // nodes of the file
  std::vector<BackEdge> back_edges_;
  std::map<size_t, Reference> references_to_variables_;  // by position; of output 0
  std::string checked_device_;                           // the latest that was in order
};

}  // namespace

Graph graph_from_proto(const GraphDef& proto, const ImportOptions& options) { return Importer(proto, options).run(); }

}  // namespace panto
