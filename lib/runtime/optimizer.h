// The passes that rewrite a graph before it runs: one ordered list, which `pass_names` prints.
//
//   Graph smaller = optimize(graph, {graph.output("y")});
//   add_pass({.name = "mine", .run = [](PassContext& c) { ...; return changes; }}, "cse");   // after "cse"
//
// In the graph that a pass works on, one node, the sink, reads all fetches and waits for all targets, so
// `graph.replace_output` also replaces fetches. After a pass that changed the graph, the graph is validated and nodes
// that the sink does not need are removed. A pass that throws, or leaves an invalid graph, is undone and logged: the
// graph is made again and the passes before it run again. Passes keep results exact to the bit, except "matmul" (it
// changes the order of sums of products). Thread-safety: all functions may be called from several threads at once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

struct PassContext {
  Graph& graph;
  // Reads every fetch, in order, and waits for every target. A pass may change its inputs only.
  int sink = -1;
  // Placeholders that are fed, and the abstract value of each: dtype, shape, what a handle refers to. A pass must not
  // change them.
  std::span<const NodeOutput> feeds;
  std::span<const Tensor> feed_values;
  // More nodes that a pass must not change: users ask for them by name.
  std::span<const int> kept = {};
  // By node id, for graphs with loops or conditionals, in which nodes may run several times or not at all
  // (Flow::contexts in lib/graph/flow/flow.h). A pass must not change nodes with a context other than 0, unless
  // `fixed_in_flow` and `run_together` are all that the change depends on.
  std::span<const int> flow = {};

  bool fixed(int id) const { return context_of(id) != 0 || fixed_in_flow(id); }
  // False for nodes that may be replaced by a node with the same inputs.
  bool fixed_in_flow(int id) const {
    if (id == sink) return true;
    for (int other : kept) {
      if (other == id) return true;
    }
    return graph.at(id).is(OpKind::kPlaceholder);  // every Placeholder that is needed is fed
  }
  // Whether the node runs exactly once. If it is not fixed for another reason, a node with its name and outputs, and
  // possibly more outputs, may replace it.
  bool runs_once(int id) const { return context_of(id) == 0 && id != sink; }
  // Whether one node may compute both: whenever one of them runs, the other runs too.
  bool run_together(int a, int b) const { return context_of(a) == context_of(b) && context_of(a) >= 0; }

 private:
  int context_of(int id) const { return static_cast<size_t>(id) < flow.size() ? flow[static_cast<size_t>(id)] : 0; }
};

struct Pass {
  std::string name;
  std::string doc;
  std::function<int(PassContext&)> run;  // returns how many nodes it changed; 0: the graph is as it was
  bool own_ops = false;                  // it creates ops that only this library has
};

// Adds a pass for the whole process, after the pass `after` ("": first). Throws NotFound if there is no such pass,
// AlreadyExists if the name is taken.
PANTO_EXPORT void add_pass(Pass pass, std::string_view after);
// Opens a shared library (as load_library does) whose `extern "C" void panto_add_passes()` adds passes. Throws
// InvalidArgument if it adds none, and what load_library and add_pass throw.
PANTO_EXPORT void load_pass_library(const std::string& path);
// Names of all passes, in the order in which they run.
PANTO_EXPORT std::vector<std::string> pass_names();

// The result of one pass.
struct PassRun {
  std::string name;
  int changes = 0;
  double seconds = 0;
  std::string error;  // why it was undone; "" if it succeeded
};

// `passes`: "" all; "off" none; names: only these; names with "-": all but these. Throws InvalidArgument for unknown
// names. `remake` must return the graph as it was when run_passes was called, with the same ids; it is called after a
// pass has failed.
PANTO_EXPORT std::vector<PassRun> run_passes(PassContext& context, std::string_view passes,
                                             const std::function<Graph()>& remake);
PANTO_EXPORT void check_passes(std::string_view passes);
// Removes from `passes` those that create ops of this library's own (Pass::own_ops), so that the result can be saved
// for other programs. Returns text for the functions here. `named` says what happens to such a pass that `passes` asks
// for by name: throw InvalidArgument, or leave it out.
enum class PortablePasses : uint8_t { kRefuse, kLeaveOut };
PANTO_EXPORT std::string portable_passes(std::string_view passes, PortablePasses named = PortablePasses::kRefuse);

// Returns an optimized copy with the nodes that `fetches` and `targets` (node ids) need. Names are kept: if output `y`
// was fetched, the copy has an output `y`. Placeholders stay. Without fetches and targets, everything is kept (outputs
// that no node reads, and nodes without outputs that no node waits for); a saved function stays a function.
PANTO_EXPORT Graph optimize(const Graph& graph, std::span<const NodeOutput> fetches = {},
                            std::span<const int> targets = {}, std::string_view passes = "",
                            std::vector<PassRun>* runs = nullptr);

// The same, and optimizes the functions that nodes call: branches, and conditions and bodies of loops. A function stays
// unchanged if it refers to another function by name only (it calls itself), holds an op that is not registered, or was
// prepared for gradients. A function that cannot be optimized stays unchanged too, and an entry of `runs` with its name
// says why. `runs` has the sums over all graphs for each pass.
PANTO_EXPORT Graph optimize_with_functions(const Graph& graph, std::span<const NodeOutput> fetches = {},
                                           std::span<const int> targets = {}, std::string_view passes = "",
                                           std::vector<PassRun>* runs = nullptr);

}  // namespace panto
