// Reference variables of TensorFlow 1 (VariableV2, Assign ...), which become resource variables when a graph is read.
//
// A reference is a variable's storage on an edge: what takes it as a reference may change it, and what takes it as a
// value reads it when it runs, that is when all that it waits for has run. Here an edge has a handle and the node after
// which the variable is as the edge promises; each reader as a value gets a ReadVariableOp of its own. Internal.
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
  Tensor abstract_value;       // of the handle: it knows the variable's dtype and shape
  int after = -1;              // a node that has changed the variable; -1: none
  std::string temporary = {};  // what a TemporaryVariable is called; "": it is none
};

// A node that is made for another: its name, which must be free, and all else that it has from there.
NodeSpec node_like(const NodeSpec& like, std::string name);

// The handle that stands for the variable `like`, whose attributes are those of VarHandleOp. `like.name` is the
// variable's name where it has no other.
Reference add_variable_handle(Graph& graph, NodeSpec like, std::string name);

// The value of the variable, read when `reference.after` and `controls` have run.
struct ReadValue {
  NodeOutput output;
  Tensor abstract_value;
};
ReadValue add_read(Graph& graph, const Reference& reference, NodeSpec spec, std::span<const int> controls);

}  // namespace panto
