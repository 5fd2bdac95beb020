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

// Whether what this thread makes are nodes and variables of a graph that is built by hand: false eagerly, and inside a
// function that is traced, where variables are made before the trace.
PANTO_EXPORT bool in_graph_scope();

// A value that is fed when the graph runs. Inside a GraphScope or trace only.
PANTO_EXPORT Tensor placeholder(DType dtype, const PartialShape& shape = PartialShape(),
                                std::string_view name = "Placeholder");
// {} is a scalar's shape here, not an unknown one.
PANTO_EXPORT Tensor placeholder(DType dtype, std::initializer_list<Dim> dims, std::string_view name = "Placeholder");

// Random nodes that are made in the open graph from now on, and have no seed of their own, draw the numbers that
// TensorFlow's draw after tf.compat.v1.set_random_seed(seed): the same in every new session. Without it each session
// draws others. Throws FailedPrecondition outside of a graph.
PANTO_EXPORT void set_graph_seed(int64_t seed);

// A node that does nothing after all of these have run: group({step, "other", average}). Throws NotFound for a name
// that is no node's, InvalidArgument for what is not of the open graph.
PANTO_EXPORT Operation group(const GraphElements& elements, std::string_view name = "group");
// A node that initializes every variable made in the open graph so far, but for local ones.
PANTO_EXPORT Operation global_variables_initializer(std::string_view name = "init");
// The same of local ones (VariableUse::kLocal), and of these. Throws InvalidArgument for a variable that was not made
// in the open graph.
PANTO_EXPORT Operation local_variables_initializer(std::string_view name = "init_local");
PANTO_EXPORT Operation variables_initializer(const std::vector<Variable>& variables, std::string_view name = "init");
// What TensorFlow called them before: initialize_all_variables(), initialize_local_variables(),
// initialize_variables({w, b}).
inline Operation initialize_all_variables(std::string_view name = "init") { return global_variables_initializer(name); }
inline Operation initialize_local_variables(std::string_view name = "init") {
  return local_variables_initializer(name);
}
inline Operation initialize_variables(const std::vector<Variable>& variables, std::string_view name = "init") {
  return variables_initializer(variables, name);
}

// Puts them into a collection of the open graph, where `get_collection` finds them again.
//
//   add_to_collection("losses", penalty);
//   session.run(get_collection(graph, "losses"))
//
// Throws as `group`.
PANTO_EXPORT void add_to_collection(std::string_view key, const GraphElements& elements);
// What was added by that key, in that order: tensors and operations by their names; if `scope` is not empty, only those
// whose names begin so. "variables": the variables of the graph, "trainable_variables": those that optimizers train,
// whatever else was added there; "local_variables". Can be fetched, grouped and waited for.
PANTO_EXPORT std::vector<GraphElement> get_collection(const Graph& graph, std::string_view key,
                                                      std::string_view scope = "");

// What is in a collection of the open graph as tensors, to compute with. Throws InvalidArgument where a node without
// outputs is in it.
PANTO_EXPORT std::vector<Tensor> collected_tensors(std::string_view key, std::string_view scope = "");
// "x" or "x:0" of the open graph. Throws NotFound, and OutOfRange for an output that the node does not have.
PANTO_EXPORT Tensor get_tensor_by_name(std::string_view name);

// The floating variables made in the open graph so far whose names begin with `scope`, but for what layers and
// optimizers keep beside them (running statistics, moments): what an optimizer trains that was not told which.
PANTO_EXPORT std::vector<Variable> trainable_variables(std::string_view scope = "");
// All but local ones.
PANTO_EXPORT std::vector<Variable> global_variables(std::string_view scope = "");
PANTO_EXPORT std::vector<Variable> local_variables(std::string_view scope = "");
// The one that was made in the open graph under this name, if there is.
PANTO_EXPORT std::optional<Variable> find_variable(std::string_view name);

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
