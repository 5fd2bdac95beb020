// Building a graph by hand, as in TensorFlow 1: the tracer held open.
//
//   Graph g;
//   {
//     GraphScope in(g);
//     Tensor a = placeholder(kFloat32, {-1, 2}, "a");
//     Tensor b = named("b", relu(matmul(a, k)));
//   }
//   Session s(g);
//   Tensor b = s.run("b", {{"a", x}});
//
// Ops called while the scope is open become nodes and give symbolic tensors. No order of effects is added: what must
// run before what is said with ControlDependencies. A Variable made inside is a node with an initializer; one made
// outside is used as it is (its value is read when the graph runs). Thread-safety: a scope belongs to the thread that
// made it.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/base/shared_impl.h"
#include "panto/lib/core/op/operation.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/graph/graph_element.h"

namespace panto {

class PANTO_EXPORT GraphScope {
 public:
  // A graph may be opened again later: tensors made earlier still stand for their nodes. The graph must outlive the
  // scope.
  explicit GraphScope(Graph& graph);
  ~GraphScope();
  GraphScope(const GraphScope&) = delete;
  GraphScope& operator=(const GraphScope&) = delete;

 private:
  struct Impl;
  SharedImpl<Impl> impl_;
};

// The graph of the innermost GraphScope or symbolic trace of this thread. Throws FailedPrecondition outside of one.
PANTO_EXPORT Graph& current_graph();

// A value that is fed when the graph runs. Inside a GraphScope or trace only.
PANTO_EXPORT Tensor placeholder(DType dtype, const PartialShape& shape = PartialShape(),
                                std::string_view name = "Placeholder");
// {} is a scalar's shape here, not an unknown one.
PANTO_EXPORT Tensor placeholder(DType dtype, std::initializer_list<Dim> dims, std::string_view name = "Placeholder");

// A node that does nothing after all of these have run: group({step, "other", average}). Throws NotFound for a name
// that is no node's, InvalidArgument for what is not of the open graph.
PANTO_EXPORT Operation group(const GraphElements& elements, std::string_view name = "group");
// A node that initializes every variable made in the open graph so far.
PANTO_EXPORT Operation global_variables_initializer(std::string_view name = "init");

// Puts them into a collection of the open graph, where `get_collection` finds them again.
//
//   add_to_collection("losses", penalty);
//   session.run(get_collection(graph, "losses"))
//
// Throws as `group`.
PANTO_EXPORT void add_to_collection(std::string_view key, const GraphElements& elements);
// What was added by that key, in that order: tensors and operations by their names; if `scope` is not empty, only those
// whose names begin so. "variables": the variables of the graph, "trainable_variables": those that optimizers train,
// whatever else was added there. Can be fetched, grouped and waited for.
PANTO_EXPORT std::vector<GraphElement> get_collection(const Graph& graph, std::string_view key,
                                                      std::string_view scope = "");

// The floating variables made in the open graph so far, but for what layers and optimizers keep beside them (running
// statistics, moments): what an optimizer trains that was not told which.
PANTO_EXPORT std::vector<Variable> trainable_variables();

// Nodes made while it lives run after these.
class PANTO_EXPORT ControlDependencies {
 public:
  // Throws as `group` does.
  explicit ControlDependencies(const GraphElements& elements);
  ~ControlDependencies();
  ControlDependencies(const ControlDependencies&) = delete;
  ControlDependencies& operator=(const ControlDependencies&) = delete;

 private:
  std::vector<int> previous_;
};

// The nodes with effects (assignments, prints) that were made in the open graph while it lives: what `minimize` groups
// into a training op.
class PANTO_EXPORT CollectEffects {
 public:
  CollectEffects();
  std::vector<Operation> operations() const;

 private:
  size_t first_;
};

}  // namespace panto
