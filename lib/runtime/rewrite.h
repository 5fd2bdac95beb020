// Graph edits that passes share. Internal.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/graph/graph.h"

namespace panto {

// The value of a Const's output; null for outputs of other nodes.
const Tensor* constant_value(const Graph& graph, NodeOutput output);
// Returns `name`, or `name_1`, `name_2`, ...: a name that no node has. Unlike Graph::unique_name, it does not avoid
// names that differ in case only: the table for that is too slow for passes over large graphs.
std::string free_name(const Graph& graph, std::string_view name);
// A Const on the device and line of `like`, under a free name near `name`.
NodeOutput add_const(Graph& graph, const std::string& name, const Tensor& value, const Node& like);
// Makes consumers of output k of the node read `with[k]` instead. Nodes that waited for the node now wait for the node
// of with[0] and for the nodes that it waited for. The node itself stays, without consumers.
void replace_node(Graph& graph, int id, std::span<const NodeOutput> with);
// The same with a new node, which gets the old node's name; the old node is removed. The new node must have the same
// outputs, at least those that are read.
void take_place(Graph& graph, int id, int replacement);
// Removes all nodes that `sink` does not need, except those in `keep`. Returns how many.
int remove_dead(Graph& graph, int sink, std::span<const NodeOutput> keep);
// Removes all nodes except `roots` and what they need. Returns how many.
int remove_dead(Graph& graph, std::span<const int> roots);
// Sets attribute `attr` of `op` to `value` in `attrs`. Throws Internal if the op has no such attribute.
void set_by_name(const Op& op, std::vector<AttrValue>& attrs, std::string_view attr, AttrValue value);

// A graph in which every fed output is a Placeholder's and one node, the sink, reads the fetches and waits for the
// targets.
struct WorkGraph {
  Graph graph;
  std::vector<NodeOutput> feeds;  // in the order of the request
  int sink = -1;
};
// `infos`: dtype and shape of each fed value; Placeholders are narrowed to them.
WorkGraph make_work_graph(const Graph& graph, std::span<const NodeOutput> feeds, std::span<const OutputInfo> infos,
                          std::span<const NodeOutput> fetches, std::span<const int> targets);
// Infers shapes anew for nodes that depend on feeds: the graph's shapes do not hold if a computed value is fed, and a
// fed value may be known better than its Placeholder declares. `values`: abstract values of the feeds.
void infer_from_feeds(WorkGraph& work, std::span<const Tensor> values);

}  // namespace panto
