// GraphScope: builds a graph by calling ops, as in TensorFlow 1.
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
// Ops called while the scope is open become nodes and return symbolic tensors. Effects are not ordered automatically:
// use ControlDependencies. A Variable made inside is a node with an initializer; a Variable made outside is used as it
// is (its value is read when the graph runs). Thread-safety: a scope belongs to the thread that made it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
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

// Whether ops and variables of this thread become part of a GraphScope's graph: false eagerly, and inside a trace,
// where variables must be made before the trace.
PANTO_EXPORT bool in_graph_scope();

// A value that is fed when the graph runs. Inside a GraphScope or trace only.
PANTO_EXPORT Tensor placeholder(DType dtype, const PartialShape& shape = PartialShape(),
                                std::string_view name = "Placeholder");
// {} is a scalar's shape here, not an unknown one.
PANTO_EXPORT Tensor placeholder(DType dtype, std::initializer_list<Dim> dims, std::string_view name = "Placeholder");

// Sets the graph's seed: random nodes without a seed, made in the open graph from now on, draw the same numbers in
// every new session, as TensorFlow's do after tf.compat.v1.set_random_seed(seed). Without it, each session draws
// different numbers. Throws FailedPrecondition outside of a graph.
PANTO_EXPORT void set_graph_seed(int64_t seed);

// Adds a no-op that waits for all elements: group({step, "other", average}). Throws NotFound for an unknown name,
// InvalidArgument for elements of another graph.
PANTO_EXPORT Operation group(const GraphElements& elements, std::string_view name = "group");
// Adds a node that initializes every variable made in the open graph so far, except local ones.
PANTO_EXPORT Operation global_variables_initializer(std::string_view name = "init");
// The same for local variables (VariableUse::kLocal), and for the given variables. Throws InvalidArgument for a
// variable that was not made in the open graph.
PANTO_EXPORT Operation local_variables_initializer(std::string_view name = "init_local");
PANTO_EXPORT Operation variables_initializer(const std::vector<Variable>& variables, std::string_view name = "init");
// Older names of TensorFlow: initialize_all_variables(), initialize_local_variables(), initialize_variables({w, b}).
inline Operation initialize_all_variables(std::string_view name = "init") { return global_variables_initializer(name); }
inline Operation initialize_local_variables(std::string_view name = "init") {
  return local_variables_initializer(name);
}
inline Operation initialize_variables(const std::vector<Variable>& variables, std::string_view name = "init") {
  return variables_initializer(variables, name);
}

// Adds elements to a collection of the open graph; `get_collection` returns them.
//
//   add_to_collection("losses", penalty);
//   session.run(get_collection(graph, "losses"))
//
// Throws as `group`.
PANTO_EXPORT void add_to_collection(std::string_view key, const GraphElements& elements);
// The elements added under that key, in order: tensors and operations by their names. If `scope` is not empty, only
// elements whose names begin with it. The key "variables" returns the graph's variables, "trainable_variables" those
// that optimizers train, "local_variables" the local ones, besides what was added there. The elements can be fetched,
// grouped and waited for.
PANTO_EXPORT std::vector<GraphElement> get_collection(const Graph& graph, std::string_view key,
                                                      std::string_view scope = "");

// The elements of a collection of the open graph as tensors, to compute with. Throws InvalidArgument if a node without
// outputs is among them.
PANTO_EXPORT std::vector<Tensor> collected_tensors(std::string_view key, std::string_view scope = "");
// Tensor "x" or "x:0" of the open graph. Throws NotFound for an unknown name, OutOfRange for an output that the node
// does not have.
PANTO_EXPORT Tensor get_tensor_by_name(std::string_view name);

// The floating variables made in the open graph so far whose names begin with `scope`, except auxiliary ones of layers
// and optimizers (running statistics, moments). An optimizer trains these by default.
PANTO_EXPORT std::vector<Variable> trainable_variables(std::string_view scope = "");
// All variables except local ones.
PANTO_EXPORT std::vector<Variable> global_variables(std::string_view scope = "");
PANTO_EXPORT std::vector<Variable> local_variables(std::string_view scope = "");
// The variable of this name that was made in the open graph, if there is one.
PANTO_EXPORT std::optional<Variable> find_variable(std::string_view name);

// Nodes made while an instance lives run after `elements`.
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

// Collects nodes with effects (assignments, prints) that are made in the open graph while an instance lives; `minimize`
// groups them into a training op.
class PANTO_EXPORT CollectEffects {
 public:
  CollectEffects();
  std::vector<Operation> operations() const;

 private:
  size_t first_;
};

}  // namespace panto
