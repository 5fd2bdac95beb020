// The lookup tables of a graph: nodes by name, free names, outputs by symbolic tensor, collections. Internal.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "panto/lib/graph/graph.h"
#include "panto/lib/graph/hash_table.h"

namespace panto {

// Separate from Graph, because the headers of the tables are expensive to compile. The tables of names are built on
// first use: most copies of a graph are only walked.
class Graph::Index {
 public:
  using Nodes = std::vector<std::unique_ptr<Node>>;  // by id
  explicit Index(Graph* owner) : graph(owner) {}
  Graph* graph;  // the graph that this belongs to; updated when the graph is moved

  // The id of the node with that name, or -1. May be called by several threads at once.
  int find(const Nodes& nodes, std::string_view name);
  // The other functions need exclusive access.
  void reserve(size_t nodes) { names_.reserve(nodes); }
  // Returns false, and does nothing, if the node's name is taken. `nodes`: the other nodes.
  bool add(const Nodes& nodes, const Node& node);
  void remove(const Node& node);
  // A name that differs, even ignoring case, from all names of nodes and scopes: `base`, else `base_1`, `base_2` ...
  std::string free_name(const Nodes& nodes, const std::string& base);
  // Makes a name that free_name returned the name of a scope.
  void take_scope(const std::string& name);

  void bind(int64_t tensor, NodeOutput output);
  NodeOutput output_of(int64_t tensor) const;

  std::map<std::string, std::vector<NodeOutput>, std::less<>> collections;  // by key

  std::optional<int64_t> seed;  // of the graph's random nodes
  int64_t seeds_given = 0;

  void copy_but_names(const Index& other);

 private:
  static uint64_t lower_hash_of(std::string_view name);
  int find_made(const Nodes& nodes, uint32_t hash, std::string_view name) const;
  void make_names(const Nodes& nodes);
  void make_lower_names(const Nodes& nodes);
  void count_lower(std::string_view name);

  std::mutex making_;
  std::atomic<bool> names_made_{false};
  HashTable<uint32_t, int, -1> names_;  // ids
  // Number of nodes and scopes whose lower-case name has this hash. An accidental collision only makes a free name
  // unavailable.
  bool lower_names_made_ = false;
  HashTable<uint64_t, int, -1> lower_names_;
  std::vector<std::string> scopes_;
  std::unordered_map<std::string, int> next_suffix_;        // wanted name in lower case -> next suffix to try
  HashTable<uint64_t, NodeOutput, NodeOutput{}> bindings_;  // by tensor id, mixed to spread it
};

}  // namespace panto
