#include "panto/lib/graph/files/import/file_nodes.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <unordered_set>

#include "panto/lib/graph/check.h"
#include "panto/lib/graph/files/functions.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/flow/flow.h"

namespace panto {

using graphdef::GraphDef;
using graphdef::NodeDef;

namespace {

void check_versions(const GraphDef& proto) {
  const auto& v = proto.versions();
  if (v.min_consumer() > kConsumerVersion) {
    invalid("versions: expected a graph for readers of version {} or earlier, got one for {} or later",
            kConsumerVersion, v.min_consumer());
  }
  if (std::ranges::find(v.bad_consumers(), kConsumerVersion) != v.bad_consumers().end()) {
    invalid("versions: expected a graph for readers of version {}, got one that excludes it", kConsumerVersion);
  }
  if (v.producer() < 0) invalid("versions: expected a producer of at least 0, got {}", v.producer());
}

// For an unknown op, every output that a consumer reads is assumed to exist, up to a limit.
void count_port(FileNode& node, int index) {
  constexpr int kMost = 1 << 16;
  node.ports = std::max(node.ports, index < kMost ? index + 1 : kMost);
}

}  // namespace

FileNodes::FileNodes(const GraphDef& proto, const ImportOptions& options, const FileFunctions* functions)
    : functions_(functions) {
  read_names(proto, options);
  find_ops();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    in_node(i, [&] { resolve_inputs(nodes_[i]); });
  }
  read_lines(proto.debug_info());
}

bool FileNodes::is_call(const FileNode& node) const { return functions_ != nullptr && functions_->has(node.def->op()); }

SourceLine FileNodes::line_of(const std::string& name) const {
  const auto found = lines_.find(name);
  return found == lines_.end() ? SourceLine() : found->second;
}

void FileNodes::read_names(const GraphDef& proto, const ImportOptions& options) {
  check_versions(proto);
  if (proto.node_size() > options.max_nodes) {
    failf(Code::kResourceExhausted, "graph: expected at most {} nodes, got {}", options.max_nodes, proto.node_size());
  }
  nodes_.resize(static_cast<size_t>(proto.node_size()));
  positions_.reserve(nodes_.size());
  for (int i = 0; i < proto.node_size(); ++i) {
    const NodeDef& def = proto.node(i);
    nodes_[static_cast<size_t>(i)].def = &def;
    nodes_[static_cast<size_t>(i)].name = def.name();
    if (!Graph::is_valid_name(def.name())) {
      invalid("name of node {}: expected letters, digits, '.', '_', '-' and '/' after a letter, digit or '.', got '{}'",
              i, def.name());
    }
    const uint32_t hash = name_hash(def.name());
    if (find(hash, def.name()) >= 0) invalid("node names: expected each once, got '{}' twice", def.name());
    positions_.insert(hash, i);
  }
}

// The position of the node with this name; -1 if there is none.
int FileNodes::find(uint32_t hash, std::string_view name) const {
  const int* found = positions_.find(hash, [&](int i) { return nodes_[static_cast<size_t>(i)].name == name; });
  return found != nullptr ? *found : -1;
}

void FileNodes::find_ops() {
  for (FileNode& node : nodes_) {
    const NodeDef& def = *node.def;
    if (def.op().empty()) invalid("op: expected a name, got none [node '{}']", def.name());
    if (is_call(node)) continue;
    node.op = find_op(def.op());
    if (node.op != nullptr && is_unknown_op(*node.op)) node.op = nullptr;  // the op `_Unknown` itself
    if (node.op != nullptr) continue;
    node.adapter = find_adapter(def.op());
    if (node.adapter != nullptr && node.adapter->becomes != nullptr) node.op = &get_op(node.adapter->becomes);
  }
}

void FileNodes::resolve_inputs(FileNode& node) {
  const auto& texts = node.def->input();
  node.first = references_.size();
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
      ++node.num_controls;
    } else {
      if (node.num_controls > 0) {
        invalid("input {}: expected control inputs after all data inputs, got '{}' after one", i, text);
      }
      ++node.num_inputs;
      ++nodes_[static_cast<size_t>(found)].readers;
      count_port(nodes_[static_cast<size_t>(found)], name.index);
    }
    references_.push_back({found, name.index});
  }
}

std::string FileNodes::closest(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const FileNode& node : nodes_) names.push_back(node.def->name());
  return closest_text(name, names);
}

// Keeps the file's order as far as inputs come first there.
std::vector<int> FileNodes::order() const {
  std::vector<int> order(nodes_.size());
  std::iota(order.begin(), order.end(), 0);
  if (std::ranges::all_of(order, [&](int i) { return inputs_come_first(i); })) return order;
  order.clear();
  std::vector<std::vector<int>> users(nodes_.size());
  std::vector<int> waiting(nodes_.size(), 0);
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const std::span<const NodeOutput> all = references(nodes_[i]);
    for (size_t k = 0; k < all.size(); ++k) {
      if (leads_back(nodes_[i], k)) continue;
      users[static_cast<size_t>(all[k].node)].push_back(static_cast<int>(i));
      ++waiting[i];
    }
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
  if (order.size() != nodes_.size()) {
    fail_cycle(
        waiting,
        [&](int i) {
          const FileNode& node = nodes_[static_cast<size_t>(i)];
          std::vector<int> before;
          for (const NodeOutput& control : controls(node)) before.push_back(control.node);
          for (size_t k = 0; k < node.num_inputs; ++k) {
            if (!leads_back(node, k)) before.push_back(inputs(node)[k].node);
          }
          return before;
        },
        [&](int i) { return nodes_[static_cast<size_t>(i)].def->name(); });
  }
  return order;
}

bool FileNodes::leads_back(const FileNode& node, size_t input) const {
  if (input >= node.num_inputs || node.op == nullptr) return false;
  const FileNode& producer = nodes_[static_cast<size_t>(inputs(node)[input].node)];
  return producer.op != nullptr && is_back_edge(producer.op->kind(), node.op->kind(), static_cast<int>(input));
}

bool FileNodes::inputs_come_first(int position) const {
  return std::ranges::all_of(references(nodes_[static_cast<size_t>(position)]),
                             [&](const NodeOutput& on) { return on.node < position; });
}

void FileNodes::read_lines(const graphdef::GraphDebugInfo& info) {
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
  // The key is "node", or, as TensorFlow writes nodes outside of functions, "node@".
  const auto node_name = [](const std::string& key) { return key.substr(0, key.find('@')); };
  for (const auto& [key, trace] : info.traces()) {
    if (key.find('@') == std::string::npos || key.back() == '@') lines_[node_name(key)] = line_of(trace);
  }
  for (const auto& [key, id] : info.name_to_trace_id()) {
    const auto found = info.traces_by_id().find(id);
    if (found != info.traces_by_id().end()) lines_[node_name(key)] = line_of(found->second);
  }
}

}  // namespace panto
