// The nodes of a GraphDef by position: their names, ops and references to each other, and an order in which to make
// them.
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

// A node of the file, with its references resolved to positions in the file.
struct FileNode {
  const graphdef::NodeDef* def = nullptr;
  const Op* op = nullptr;            // null: the library does not have the op
  const Adapter* adapter = nullptr;  // for an old op
  std::string_view name;
  size_t first = 0;  // its first entry in references_: data inputs, then control inputs
  size_t num_inputs = 0;
  size_t num_controls = 0;
  int readers = 0;  // data inputs of nodes not made yet that read this node
  int ports = 0;    // number of outputs, as far as consumers show
};

class FileNodes {
 public:
  // Throws InvalidArgument for invalid names, versions and references, ResourceExhausted for too many nodes.
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
  // True if the input is a loop's back edge.
  bool leads_back(const FileNode& node, size_t input) const;
  // Keeps the file's order as far as inputs come first there. Throws InvalidArgument, naming the nodes of one cycle.
  std::vector<int> order() const;
  // The source line of the node, if the file has it.
  SourceLine line_of(const std::string& name) const;

  // Calls f(), and adds the node's name to errors.
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
