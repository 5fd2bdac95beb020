// The nodes of a GraphDef by position: their names, ops and references to each other, and an order to make them in.
// Internal (protobuf).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/graph/files/graph_def.h"
#include "panto/lib/graph/files/import/adapters.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/graph/hash_table.h"

namespace panto {

class FileFunctions;

// One node of the file with its references resolved to positions in the file.
struct FileNode {
  const graphdef::NodeDef* def = nullptr;
  const Op* op = nullptr;            // null: there is none here
  const Adapter* adapter = nullptr;  // of an old op
  std::string_view name;
  size_t first = 0;  // in the list of all references: data inputs, then what the node waits for
  size_t num_inputs = 0;
  size_t num_controls = 0;
  int readers = 0;  // data inputs that read the node and are not made yet
  int ports = 0;    // outputs, as far as they are read
};

class FileNodes {
 public:
  // Throws InvalidArgument for names, versions and references that cannot be, ResourceExhausted for too many nodes.
  // `functions`: those of the file; null: it has none.
  FileNodes(const graphdef::GraphDef& proto, const ImportOptions& options, const FileFunctions* functions);

  size_t size() const { return nodes_.size(); }
  FileNode& at(size_t position) { return nodes_[position]; }
  const FileNode& at(size_t position) const { return nodes_[position]; }
  bool is_call(const FileNode& node) const;
  // NodeOutput::node: a position in the file.
  std::span<const NodeOutput> inputs(const FileNode& node) const {
    return {references_.data() + node.first, node.num_inputs};
  }
  std::span<const NodeOutput> controls(const FileNode& node) const {
    return {references_.data() + node.first + node.num_inputs, node.num_controls};
  }
  // Whether the input closes a loop.
  bool leads_back(const FileNode& node, size_t input) const;
  // As in the file, as far as inputs come first there. Throws InvalidArgument, naming the nodes of one cycle.
  std::vector<int> order() const;
  // Where the file says that the node was made.
  SourceLine line_of(const std::string& name) const;

  // Calls f() with the node's name in errors.
  template <class F>
  void in_node(size_t position, F&& f) const {
    with_context([&] { return fmt::format("node '{}'", printable(nodes_[position].def->name())); }, std::forward<F>(f));
  }

 private:
  void read_names(const graphdef::GraphDef& proto, const ImportOptions& options);
  void find_ops();
  void resolve_inputs(FileNode& node);
  void read_lines(const graphdef::GraphDebugInfo& info);
  int find(uint32_t hash, std::string_view name) const;
  std::string closest(std::string_view name) const;
  bool inputs_come_first(int position) const;
  std::span<const NodeOutput> references(const FileNode& node) const {
    return {references_.data() + node.first, node.num_inputs + node.num_controls};
  }

  const FileFunctions* functions_;
  std::vector<FileNode> nodes_;
  std::vector<NodeOutput> references_;      // of all nodes, one after the other
  HashTable<uint32_t, int, -1> positions_;  // by name
  std::unordered_map<std::string, SourceLine> lines_;
};

}  // namespace panto
