// What passes do to graphs. Internal.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/graph/graph.h"

namespace panto {

// The value of a constant's output; null for any other.
const Tensor* constant_value(const Graph& graph, NodeOutput output);
// `name`, or `name_1`, `name_2` ...: one that no node has. Names that differ in case only are not kept apart, as
// Graph::unique_name does with a table of its own: too much for what passes make of a large graph.
std::string free_name(const Graph& graph, std::string_view name);
// A Const on the device and line of `like`, under a free name near `name`.
NodeOutput add_const(Graph& graph, const std::string& name, const Tensor& value, const Node& like);
// Everybody who read output k of the node reads `with[k]` instead, and who waited for it waits for the node of with[0]
// and for what the node waited for. The node itself is left without users.
void replace_node(Graph& graph, int id, std::span<const NodeOutput> with);
// The same, giving the replacement (which must be a new node with these outputs, at least those that somebody reads)
// the node's name, and removing the node.
void take_place(Graph& graph, int id, int replacement);
// Removes all that `sink` does not need, except the nodes in `keep`. Returns how many.
int remove_dead(Graph& graph, int sink, std::span<const NodeOutput> keep);
// Removes all nodes that none of `roots` is or needs. Returns how many.
int remove_dead(Graph& graph, std::span<const int> roots);
// Position of `attr` set to `value` in a list of attributes for `op`; throws Internal if the op has none of that name.
void set_by_name(const Op& op, std::vector<AttrValue>& attrs, std::string_view attr, AttrValue value);

// A graph in which every fed output is a Placeholder's and one node, the sink, reads the fetches and waits for the
// targets.
struct WorkGraph {
  Graph graph;
  std::vector<NodeOutput> feeds;  // in the order asked for
  int sink = -1;
};
// `infos`: what is known of each fed value; Placeholders are narrowed to it.
WorkGraph make_work_graph(const Graph& graph, std::span<const NodeOutput> feeds, std::span<const OutputInfo> infos,
                          std::span<const NodeOutput> fetches, std::span<const int> targets);
// What a graph says of shapes holds for the values that it computes. Where others are fed in their place, or more is
// known of what is fed than its Placeholder declares, what depends on them is inferred anew. `values`: of the feeds.
void infer_from_feeds(WorkGraph& work, std::span<const Tensor> values);

}  // namespace panto
