// Reference variables of TensorFlow 1 (VariableV2, Assign ...): become resource variables when a graph is read.
//
// A reference is a variable's storage on an edge: a consumer that takes it as a reference may change it; a consumer
// that takes it as a value reads it when it runs, that is after everything that it waits for. Here an edge has the
// handle and the node after which the variable has the value that the edge promises; each consumer of the value gets a
// ReadVariableOp of its own. Internal.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/files/import/adapters.h"
#include "panto/lib/graph/graph.h"

namespace panto {

struct Reference {
  NodeOutput handle;
  Tensor abstract_value;       // of the handle: has the variable's dtype and shape
  int after = -1;              // a node that changes the variable; -1: none
  std::string temporary = {};  // the name of a TemporaryVariable; "": it is not one
};

// The spec for a helper node of another node: `name`, which must be free, and everything else as in `like`.
NodeSpec node_like(const NodeSpec& like, std::string name);

// Adds the handle for the variable `like`, which has the attributes of VarHandleOp. The variable's name is `like.name`,
// unless the attributes give one.
Reference add_variable_handle(Graph& graph, NodeSpec like, std::string name);

// Reads the variable after `reference.after` and `controls`.
struct ReadValue {
  NodeOutput output;
  Tensor abstract_value;
};
ReadValue add_read(Graph& graph, const Reference& reference, NodeSpec spec, std::span<const int> controls);

}  // namespace panto
