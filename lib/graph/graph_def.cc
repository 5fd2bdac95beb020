#include "panto/lib/graph/graph_def.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "panto/lib/base/format.h"
#include "panto/lib/base/log.h"
#include "panto/lib/base/quote.h"
#include "panto/lib/graph/attr_proto.h"
#include "panto/lib/graph/check.h"
#include "panto/lib/graph/expand.h"
#include "panto/lib/graph/hash_table.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/graph/shown.h"

namespace panto {

namespace {

using graphdef::GraphDef;
using graphdef::NodeDef;

// One node of the file with its references resolved to positions in the file.
struct Record {
  const NodeDef* def = nullptr;
  const Op* op = nullptr;
  std::string_view name;
  size_t first = 0;  // in the list of all references: data inputs, then what the node waits for
  size_t num_inputs = 0;
  size_t num_controls = 0;
  int readers = 0;  // data inputs that read the node and are not made yet
};

class Importer {
 public:
  Importer(const GraphDef& proto, const ImportOptions& options)
      : proto_(proto), options_(options), budget_(options.max_expanded_bytes) {}

  Graph run() {
    read_names();
    find_ops();
    resolve_inputs();
    made_.resize(records_.size());
    read_lines();
    for (int position : order()) add(static_cast<size_t>(position));
    if (proto_.has_library()) graph_.set_library(proto_.library().SerializeAsString());
    return std::move(graph_);
  }

  Outline outline() {
    read_names();
    resolve_inputs();
    Outline outline;
    outline.versions = graph_.versions();
    outline.nodes.reserve(records_.size());
    for (const Record& record : records_) outline.nodes.push_back(outline_of(record));
    return outline;
  }

 private:
  template <class F>
  void in_node(size_t position, F&& f) {
    with_context([&] { return fmt::format("node '{}'", printable(records_[position].def->name())); },
                 std::forward<F>(f));
  }

  void check_versions() {
    const auto& v = proto_.versions();
    if (v.min_consumer() > kConsumerVersion) {
      invalid("versions: expected a graph for readers of version {} or earlier, got one for {} or later",
              kConsumerVersion, v.min_consumer());
    }
    if (std::ranges::find(v.bad_consumers(), kConsumerVersion) != v.bad_consumers().end()) {
      invalid("versions: expected a graph for readers of version {}, got one that excludes it", kConsumerVersion);
    }
    if (v.producer() < 0) invalid("versions: expected a producer of at least 0, got {}", v.producer());
    GraphVersions versions;
    versions.producer = v.producer();
    versions.min_consumer = v.min_consumer();
    versions.bad_consumers.assign(v.bad_consumers().begin(), v.bad_consumers().end());
    graph_.set_versions(std::move(versions));
  }

  // All that does not depend on what the ops are.
  void read_names() {
    check_versions();
    if (proto_.node_size() > options_.max_nodes) {
      failf(Code::kResourceExhausted, "graph: expected at most {} nodes, got {}", options_.max_nodes,
            proto_.node_size());
    }
    for (const auto& function : proto_.library().function()) functions_.insert(function.signature().name());
    records_.resize(static_cast<size_t>(proto_.node_size()));
    positions_.reserve(records_.size());
    graph_.reserve(records_.size());
    for (int i = 0; i < proto_.node_size(); ++i) {
      const NodeDef& def = proto_.node(i);
      records_[static_cast<size_t>(i)].def = &def;
      records_[static_cast<size_t>(i)].name = def.name();
      if (!Graph::is_valid_name(def.name())) {
        invalid(
            "name of node {}: expected letters, digits, '.', '_', '-' and '/' after a letter, digit or '.', got '{}'",
            i, def.name());
      }
      const uint32_t hash = name_hash(def.name());
      if (find(hash, def.name()) >= 0) invalid("node names: expected each once, got '{}' twice", def.name());
      positions_.insert(hash, i);
    }
  }

  // The position of the node of that name; -1: there is none.
  int find(uint32_t hash, std::string_view name) const {
    const int* found = positions_.find(hash, [&](int i) { return records_[static_cast<size_t>(i)].name == name; });
    return found != nullptr ? *found : -1;
  }
  std::span<const NodeOutput> inputs(const Record& record) const {
    return {references_.data() + record.first, record.num_inputs};
  }
  std::span<const NodeOutput> controls(const Record& record) const {
    return {references_.data() + record.first + record.num_inputs, record.num_controls};
  }

  // All that are missing are named at once: whoever ports a model wants the list.
  void find_ops() {
    std::vector<std::pair<std::string, const NodeDef*>> missing;
    std::unordered_set<std::string> seen;
    for (Record& record : records_) {
      const NodeDef& def = *record.def;
      if (def.op().empty()) invalid("op: expected a name, got none [node '{}']", def.name());
      if (functions_.contains(def.op())) {
        failf(Code::kUnimplemented, "op: expected a primitive one, got a call of function '{}' [node '{}']", def.op(),
              def.name());
      }
      record.op = find_op(def.op());
      if (record.op == nullptr && seen.insert(def.op()).second) missing.emplace_back(def.op(), &def);
    }
    if (missing.empty()) return;
    constexpr size_t kShown = 10;
    std::string others;
    for (size_t i = 1; i < std::min(missing.size(), kShown); ++i) {
      others += fmt::format("{} '{}'", i == 1 ? " (also missing:" : ",", printable(missing[i].first));
    }
    if (missing.size() > kShown) others += fmt::format(" and {} more", missing.size() - kShown);
    if (!others.empty()) others += ")";
    failf(Code::kUnimplemented, "op: expected one that this build has, got '{}'{} [node '{}']", missing[0].first,
          whole(others), missing[0].second->name());
  }

  void resolve_inputs() {
    for (size_t i = 0; i < records_.size(); ++i) {
      in_node(i, [&] { resolve_inputs(records_[i]); });
    }
  }

  void resolve_inputs(Record& record) {
    const auto& texts = record.def->input();
    record.first = references_.size();
    std::unordered_set<int> controls;
    for (int i = 0; i < texts.size(); ++i) {
      const std::string& text = texts[i];
      const InputName name = parse_input_name(text);
      const int found = find(name_hash(name.node), name.node);
      if (found < 0) {
        invalid("input {}: expected a node of the graph, got '{}'{}", i, name.node, whole(closest(name.node)));
      }
      if (name.control) {
        if (!controls.insert(found).second) continue;
        ++record.num_controls;
      } else {
        if (record.num_controls > 0) {
          invalid("input {}: expected control inputs after all data inputs, got '{}' after one", i, text);
        }
        ++record.num_inputs;
        ++records_[static_cast<size_t>(found)].readers;
      }
      references_.push_back({found, name.index});
    }
  }

  std::string closest(std::string_view name) const {
    std::vector<std::string_view> names;
    for (const Record& record : records_) names.push_back(record.def->name());
    return closest_names(name, names);
  }

  // As in the file, as far as inputs come first there.
  std::vector<int> order() {
    std::vector<int> order(records_.size());
    std::iota(order.begin(), order.end(), 0);
    if (std::ranges::all_of(order, [&](int i) { return inputs_come_first(i); })) return order;
    order.clear();
    std::vector<std::vector<int>> users(records_.size());
    std::vector<int> waiting(records_.size(), 0);
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (size_t i = 0; i < records_.size(); ++i) {
      for (const NodeOutput& on : references(records_[i]))
        users[static_cast<size_t>(on.node)].push_back(static_cast<int>(i));
      waiting[i] = static_cast<int>(references(records_[i]).size());
      if (waiting[i] == 0) ready.push(static_cast<int>(i));
    }
    while (!ready.empty()) {
      const int next = ready.top();
      ready.pop();
      order.push_back(next);
      for (int user : users[static_cast<size_t>(next)]) {
        if (--waiting[static_cast<size_t>(user)] == 0) ready.push(user);
      }
    }
    if (order.size() != records_.size()) {
      fail_cycle(
          waiting,
          [&](int i) {
            const Record& record = records_[static_cast<size_t>(i)];
            std::vector<int> before;
            for (const NodeOutput& control : controls(record)) before.push_back(control.node);
            for (const NodeOutput& input : inputs(record)) before.push_back(input.node);
            return before;
          },
          [&](int i) { return records_[static_cast<size_t>(i)].def->name(); });
    }
    return order;
  }
  std::span<const NodeOutput> references(const Record& record) const {
    return {references_.data() + record.first, record.num_inputs + record.num_controls};
  }
  bool inputs_come_first(int position) const {
    return std::ranges::all_of(references(records_[static_cast<size_t>(position)]),
                               [&](const NodeOutput& on) { return on.node < position; });
  }

  // ---- Source lines, where the file has them --------------------------------------------------------------------

  void read_lines() {
    const auto& info = proto_.debug_info();
    const auto line_of = [&](const graphdef::GraphDebugInfo::StackTrace& trace) {
      SourceLine line;
      const graphdef::GraphDebugInfo::FileLineCol* frame = nullptr;
      if (trace.file_line_cols_size() > 0) {
        frame = &trace.file_line_cols(0);
      } else if (trace.frame_id_size() > 0) {
        const auto found = info.frames_by_id().find(trace.frame_id(0));
        if (found != info.frames_by_id().end()) frame = &found->second;
      }
      if (frame != nullptr && frame->file_index() >= 0 && frame->file_index() < info.files_size()) {
        line.file = printable(info.files(frame->file_index()));
        line.line = frame->line();
      }
      return line;
    };
    // "node" or, as TensorFlow writes the nodes outside functions, "node@".
    const auto node_name = [](const std::string& key) { return key.substr(0, key.find('@')); };
    for (const auto& [key, trace] : info.traces()) {
      if (key.find('@') == std::string::npos || key.back() == '@') lines_[node_name(key)] = line_of(trace);
    }
    for (const auto& [key, id] : info.name_to_trace_id()) {
      const auto found = info.traces_by_id().find(id);
      if (found != info.traces_by_id().end()) lines_[node_name(key)] = line_of(found->second);
    }
  }

  // ---- Nodes ----------------------------------------------------------------------------------------------------

  void add(size_t position) {
    const Record& record = records_[position];
    NodeInit init;
    init.name = record.def->name();
    init.op = record.op;
    init.device = record.def->device();
    if (const auto found = lines_.find(init.name); found != lines_.end()) init.where = found->second;
    in_node(position, [&] {
      check_device(init.device);
      SmallVector<const Tensor*, 8> stand_ins;
      init.inputs.reserve(record.num_inputs);
      for (size_t i = 0; i < record.num_inputs; ++i) {
        const NodeOutput& input = inputs(record)[i];
        const Made& producer = made_[static_cast<size_t>(input.node)];
        if (static_cast<size_t>(input.index) >= producer.outputs.size()) {
          invalid("input {}: expected an output of '{}' below {}, got {}", i,
                  records_[static_cast<size_t>(input.node)].def->name(), producer.outputs.size(), input.index);
        }
        init.inputs.push_back(producer.outputs[static_cast<size_t>(input.index)]);
        stand_ins.push_back(&producer.stand_ins[static_cast<size_t>(input.index)]);
      }
      for (const NodeOutput& control : controls(record)) {
        init.control_inputs.push_back(made_[static_cast<size_t>(control.node)].node);
      }
      read_attrs(record, init);
      Made& made = made_[position];
      if (record.op->body() != nullptr) {
        expand(init, stand_ins, made);
      } else {
        made.stand_ins = infer_call(*record.op, stand_ins, init.attrs);
        for (const Tensor& t : made.stand_ins) init.outputs.push_back(info_of(t));
        check_output_shapes(*record.def, init.outputs);
        const size_t outputs = init.outputs.size();
        made.node = graph_.add(std::move(init));
        for (size_t k = 0; k < outputs; ++k) made.outputs.push_back({made.node, static_cast<int>(k)});
      }
    });
    // Dropped with their last reader, while they are near: a large graph has few at a time.
    for (const NodeOutput& input : inputs(record)) {
      const auto producer = static_cast<size_t>(input.node);
      if (--records_[producer].readers == 0) made_[producer].stand_ins.clear();
    }
    if (record.readers == 0) made_[position].stand_ins.clear();
  }

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

  void expand(NodeInit& init, std::span<const Tensor* const> inputs, Made& made) {
    Expansion expansion = expand_composite(graph_, init, inputs);
    made.outputs = {expansion.outputs.begin(), expansion.outputs.end()};
    made.stand_ins = std::move(expansion.stand_ins);
    if (!made.outputs.empty()) made.node = made.outputs[0].node;
  }

  void read_attrs(const Record& record, NodeInit& init) {
    const Signature& signature = record.op->signature();
    init.attrs.resize(signature.attrs.size());
    init.written = 0;
    // In the order of names: a map's own order differs from run to run, messages should not.
    SmallVector<const google::protobuf::MapPair<std::string, graphdef::AttrValue>*, 8> attrs;
    for (const auto& attr : record.def->attr()) attrs.push_back(&attr);
    std::ranges::sort(attrs, {}, [](const auto* attr) -> const std::string& { return attr->first; });
    for (const auto* attr : attrs) {
      const std::string* name = &attr->first;
      const graphdef::AttrValue& value = attr->second;
      if (name->empty()) invalid("attribute: expected a name, got none");
      // The text form takes any bytes; the binary form of a graph that kept them could not be read again.
      if (!std::ranges::all_of(*name, [](char c) { return c > ' ' && c < '\x7f'; })) {
        invalid("attribute: expected a name of visible ASCII characters, got '{}'", *name);
      }
      const int at = signature.find_attr(*name);
      if (at >= 0) {
        const AttrDef& def = signature.attrs[static_cast<size_t>(at)];
        init.attrs[static_cast<size_t>(at)] = attr_from_proto(def, value, budget_);
        check_attr(def, init.attrs[static_cast<size_t>(at)]);
        if (at < 64) init.written |= uint64_t{1} << at;
      } else if (name->front() == '_') {
        if (*name == "_output_shapes") continue;  // checked, then known better
        if (auto note = note_from_proto(value)) init.notes.emplace_back(*name, std::move(*note));
      } else if (is_zero(value)) {
        if (log_debug_enabled()) {
          log_debug(fmt::format("attribute '{}' of {} is not known here and ignored", *name, record.op->name()));
        }
      } else {
        failf(Code::kUnimplemented, "attribute: expected one that {} has here, got '{}' with a value",
              record.op->name(), *name);
      }
    }
    if (record.op->has(Trait::kPlaceholder)) forgive_old_placeholder(signature, init);
  }

  // Before version 22 a scalar shape could mean that the shape is not known.
  void forgive_old_placeholder(const Signature& signature, NodeInit& init) {
    const int at = signature.find_attr("shape");
    if (at < 0 || graph_.versions().producer >= 22) return;
    AttrValue& value = init.attrs[static_cast<size_t>(at)];
    if (value.kind() == AttrKind::kShape && value.as<PartialShape>().rank() == 0) value = AttrValue(PartialShape());
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

  // ---- For those who only look -----------------------------------------------------------------------------------

  OutlineNode outline_of(const Record& record) {
    const NodeDef& def = *record.def;
    OutlineNode node;
    node.name = printable(def.name());
    node.op = printable(def.op());
    node.device = printable(def.device());
    node.inputs.assign(inputs(record).begin(), inputs(record).end());
    for (const NodeOutput& control : controls(record)) node.control_inputs.push_back(control.node);
    const Op* op = functions_.contains(def.op()) ? nullptr : find_op(def.op());
    if (op == nullptr) {
      node.kind = functions_.contains(def.op()) ? OutlineNode::Kind::kCall : OutlineNode::Kind::kUnknown;
    } else if (op->has(Trait::kPlaceholder)) {
      node.kind = OutlineNode::Kind::kPlaceholder;
    } else if (op->has(Trait::kConstant)) {
      node.kind = OutlineNode::Kind::kConstant;
    }
    SmallVector<const google::protobuf::MapPair<std::string, graphdef::AttrValue>*, 8> attrs;
    for (const auto& attr : def.attr()) attrs.push_back(&attr);
    std::ranges::sort(attrs, {}, [](const auto* attr) -> const std::string& { return attr->first; });
    for (const auto* attr : attrs) {
      if (attr->first == "_output_shapes") continue;
      const int at = op != nullptr ? op->signature().find_attr(attr->first) : -1;
      const AttrDef* described = at >= 0 ? &op->signature().attrs[static_cast<size_t>(at)] : nullptr;
      if (described != nullptr && described->inferred) continue;
      const std::optional<AttrValue> value = value_to_show(attr->second, budget_);
      if (described != nullptr && described->has_default() && value && *value == described->default_value) continue;
      node.attrs.emplace_back(printable(attr->first), value ? printable(shown_on_a_line(*value)) : "...");
    }
    return node;
  }

  const GraphDef& proto_;
  const ImportOptions& options_;
  ExpansionBudget budget_;
  Graph graph_;
  std::unordered_set<std::string> functions_;
  std::vector<Record> records_;
  std::vector<NodeOutput> references_;      // of all records, one after the other; node: position in the file
  HashTable<uint32_t, int, -1> positions_;  // by name
  std::unordered_map<std::string, SourceLine> lines_;
  std::vector<Made> made_;      // by position
  std::string checked_device_;  // the latest that was in order
};

}  // namespace

Graph graph_from_proto(const GraphDef& proto, const ImportOptions& options) { return Importer(proto, options).run(); }

Outline outline_from_proto(const GraphDef& proto, const ImportOptions& options) {
  return Importer(proto, options).outline();
}

void graph_to_proto(const Graph& graph, const ExportOptions& options, GraphDef* proto) {
  proto->Clear();
  for (int id : graph.topological_order()) {
    const Node& node = graph.at(id);
    if (node.op().name().starts_with('_') && !options.own_ops) {
      invalid("op: expected one that TensorFlow has, got {} (write the graph before it is optimized) [node '{}']",
              node.op().name(), node.name());
    }
    NodeDef* def = proto->add_node();
    def->set_name(node.name());
    def->set_op(node.op().name());
    def->set_device(node.device());
    for (const NodeOutput& input : node.inputs()) def->add_input(graph.output_name(input));
    std::vector<std::string> controls;
    for (int control : node.control_inputs()) controls.push_back("^" + graph.at(control).name());
    std::ranges::sort(controls);
    for (std::string& control : controls) def->add_input(std::move(control));
    const auto& attrs = node.op().signature().attrs;
    for (size_t i = 0; i < attrs.size(); ++i) {
      const AttrValue& value = node.attrs()[i];
      if (options.strip_defaults && attrs[i].has_default() && value == attrs[i].default_value) continue;
      with_context([&] { return fmt::format("attribute {} of node '{}'", attrs[i].name, printable(node.name())); },
                   [&] { attr_to_proto(value, &(*def->mutable_attr())[attrs[i].name]); });
    }
    for (const auto& [name, value] : node.notes()) attr_to_proto(value, &(*def->mutable_attr())[name]);
  }
  const GraphVersions& versions = graph.versions();
  proto->mutable_versions()->set_producer(versions.producer > 0 ? versions.producer : kProducerVersion);
  proto->mutable_versions()->set_min_consumer(versions.min_consumer);
  for (int bad : versions.bad_consumers) proto->mutable_versions()->add_bad_consumers(bad);
  if (!graph.library().empty() && !proto->mutable_library()->ParseFromString(graph.library())) {
    fail(Code::kInternal, "function library: expected what was read, got bytes that cannot be parsed");
  }
}

}  // namespace panto
