// Reads a graph's variables in a session, and assigns them by nodes that it adds. Internal.
#pragma once

#include <string_view>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/runtime/session.h"

namespace panto {

class GraphValues {
 public:
  // Adds nodes to the open graph that assign fed values to its variables. Throws FailedPrecondition without an open
  // GraphScope, unless `variables` is empty.
  explicit GraphValues(std::vector<Variable> variables);

  const std::vector<Variable>& variables() const { return variables_; }
  // The values in the order of the variables. Throws FailedPrecondition for a variable without a value.
  std::vector<Tensor> read(Session& session) const;
  // Assigns the values that are defined.
  void assign(Session& session, const std::vector<Tensor>& values) const;

 private:
  std::vector<Variable> variables_;
  std::vector<Tensor> fed_;
  Fetches assigned_;
};

}  // namespace panto
