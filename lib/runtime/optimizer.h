// The passes that rewrite a graph before it runs: one ordered list, which `pass_names` prints.
//
//   Graph smaller = optimize(graph, {graph.output("y")});
//   add_pass({.name = "mine", .run = [](PassContext& c) { ...; return changes; }}, "cse");   // after "cse"
//
// A pass works on a graph whose fetches and targets hang on one node, the sink: what it replaces by
// `graph.replace_output` is replaced for the fetches too. After a pass that changed anything the graph is validated and
// what the sink does not need is dropped. A pass that throws, or leaves a graph that is not valid, is undone and logged
// (those before it run again): giving up is its only failure. Passes keep results exact to the bit, except "matmul"
// (sums of products in another order). Thread-safety: all functions may be called from several threads at once.
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
  // Reads every fetch, in order, and waits for every target. Leave it alone, but for its inputs.
  int sink = -1;
  // Placeholders that are fed, and an abstract value for each value: dtype, shape, what a handle refers to. Leave them
  // alone.
  std::span<const NodeOutput> feeds;
  std::span<const Tensor> feed_values;
  // More nodes to leave alone: their names are asked for.
  std::span<const int> kept = {};
  // By id, of a graph with loops or conditionals, where nodes may run several times or not at all (Flow::contexts in
  // lib/graph/flow/flow.h). Leave them alone, too, where it is not 0, unless what you do with them needs no more than
  // `fixed_in_flow` and `run_together` say.
  std::span<const int> flow = {};

  bool fixed(int id) const { return context_of(id) != 0 || fixed_in_flow(id); }
  // What may be replaced by a node with the same inputs.
  bool fixed_in_flow(int id) const {
    if (id == sink) return true;
    for (int other : kept) {
      if (other == id) return true;
    }
    return graph.at(id).is(OpKind::kPlaceholder);  // every one that is needed is fed
  }
  // What runs once: where it is not fixed otherwise, a node of its name and outputs, and perhaps more, may take its
  // place.
  bool runs_once(int id) const { return context_of(id) == 0 && id != sink; }
  // Whether one node may compute both: where one of them runs, so does the other.
  bool run_together(int a, int b) const { return context_of(a) == context_of(b) && context_of(a) >= 0; }

 private:
  int context_of(int id) const { return static_cast<size_t>(id) < flow.size() ? flow[static_cast<size_t>(id)] : 0; }
};

struct Pass {
  std::string name;
  std::string doc;
  std::function<int(PassContext&)> run;  // returns how many nodes it changed; 0: the graph is as it was
  bool own_ops = false;                  // it makes ops that only this library has
};

// Adds a pass for the whole process, after the one called `after` ("": first). Throws NotFound, and AlreadyExists for a
// name that is taken.
PANTO_EXPORT void add_pass(Pass pass, std::string_view after);
// Opens a shared library (as load_library does) whose `extern "C" void panto_add_passes()` adds passes. Throws
// InvalidArgument where it adds none, and what load_library and add_pass throw.
PANTO_EXPORT void load_pass_library(const std::string& path);
// In the order in which they run.
PANTO_EXPORT std::vector<std::string> pass_names();

// How one pass went.
struct PassRun {
  std::string name;
  int changes = 0;
  double seconds = 0;
  std::string error;  // why it was undone; "" if it was not
};

// `passes`: "" all; "off" none; names: only these; names with "-": all but these. Throws InvalidArgument for unknown
// ones. `remake` gives the graph as it is at the call, with the same ids: asked for after a pass has failed.
PANTO_EXPORT std::vector<PassRun> run_passes(PassContext& context, std::string_view passes,
                                             const std::function<Graph()>& remake);
PANTO_EXPORT void check_passes(std::string_view passes);
// The same passes but for those that make ops of this library's own, as text for the functions here: what they leave
// may be written for others. Of those that are asked for by name: throws InvalidArgument, or leaves them out, too.
enum class PortablePasses : uint8_t { kRefuse, kLeaveOut };
PANTO_EXPORT std::string portable_passes(std::string_view passes, PortablePasses named = PortablePasses::kRefuse);

// An optimized copy that holds what `fetches` and `targets` (node ids) need, under the same names: of node `y` whose
// output was fetched there is still an output `y`. Placeholders stay. Without fetches and targets: all that the graph
// has (outputs that nobody reads; nodes without outputs that nobody waits for); a saved function is still that
// function.
PANTO_EXPORT Graph optimize(const Graph& graph, std::span<const NodeOutput> fetches = {},
                            std::span<const int> targets = {}, std::string_view passes = "",
                            std::vector<PassRun>* runs = nullptr);

// The same, and of the functions that nodes call too: branches, and what loops run. A function stays as it is that
// knows another only by name (it calls itself), holds an op that is not here, or was made ready for gradients; one that
// cannot be optimized stays too, and a run with its name says why. `runs`: of each pass the sum over all graphs.
PANTO_EXPORT Graph optimize_with_functions(const Graph& graph, std::span<const NodeOutput> fetches = {},
                                           std::span<const int> targets = {}, std::string_view passes = "",
                                           std::vector<PassRun>* runs = nullptr);

}  // namespace panto
