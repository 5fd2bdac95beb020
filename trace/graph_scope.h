// Building a graph by hand, as in TensorFlow 1: the tracer held open.
//
//   Graph g;
//   {
//     GraphScope in(g);
//     Tensor a = placeholder(kFloat32, {-1, 2}, "a");
//     Tensor b = named("b", relu(matmul(a, k)));
//   }
//   Session s(g);
//   auto r = s.run({{"a", x}}, {"b"});
//
// Ops called while the scope is open become nodes and give symbolic tensors. No order of effects is added: what must
// run before what is said with ControlDependencies. A Variable made inside is a node with an initializer; one made
// outside is used as it is (its value is read when the graph runs). Thread-safety: a scope belongs to the thread that
// made it.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor.h"
#include "panto/lib/graph/graph.h"

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
  std::shared_ptr<Impl> impl_;
};

// The graph of the innermost GraphScope or symbolic trace of this thread. Throws FailedPrecondition outside of one.
PANTO_EXPORT Graph& current_graph();

// A value that is fed when the graph runs. Inside a GraphScope or trace only.
PANTO_EXPORT Tensor placeholder(DType dtype, const PartialShape& shape = PartialShape(),
                                std::string_view name = "Placeholder");
// {} is a scalar's shape here, not an unknown one.
inline Tensor placeholder(DType dtype, std::initializer_list<int64_t> dims, std::string_view name = "Placeholder") {
  return placeholder(dtype, PartialShape(dims), name);
}

// A node that does nothing after all of these (by name) have run; returns its name, to be given to Session::run as a
// target. Throws NotFound for a name that is no node's.
PANTO_EXPORT std::string group(std::span<const std::string> nodes, std::string_view name = "group");
// A node that initializes every variable made in the open graph so far.
PANTO_EXPORT std::string global_variables_initializer(std::string_view name = "init");

// Nodes made while it lives run after these.
class PANTO_EXPORT ControlDependencies {
 public:
  explicit ControlDependencies(std::span<const Tensor> tensors);
  explicit ControlDependencies(std::span<const std::string> nodes);
  explicit ControlDependencies(std::initializer_list<std::string> nodes);
  ~ControlDependencies();
  ControlDependencies(const ControlDependencies&) = delete;
  ControlDependencies& operator=(const ControlDependencies&) = delete;

 private:
  std::vector<int> previous_;
};

// Names of the nodes with effects (assignments, prints) that were made in the open graph while it lives: what
// `minimize` groups into a training op.
class PANTO_EXPORT CollectEffects {
 public:
  CollectEffects();
  std::vector<std::string> names() const;

 private:
  size_t first_;
};

}  // namespace panto
