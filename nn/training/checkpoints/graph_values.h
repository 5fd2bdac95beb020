// Values of a graph's variables in a session: read, and assigned by nodes that were made for it. Internal.
#pragma once

#include <string_view>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/runtime/session.h"

namespace panto {

class GraphValues {
 public:
  // Of variables of the graph whose GraphScope is open: adds nodes that assign what is fed. Throws FailedPrecondition
  // where none is. No variables: none is needed.
  explicit GraphValues(std::vector<Variable> variables);

  const std::vector<Variable>& variables() const { return variables_; }
  // In the order of the variables. Throws FailedPrecondition for one without a value.
  std::vector<Tensor> read(Session& session) const;
  // All, or those whose tensor is defined.
  void assign(Session& session, const std::vector<Tensor>& values) const;

 private:
  std::vector<Variable> variables_;
  std::vector<Tensor> fed_;
  Fetches assigned_;
};

}  // namespace panto
