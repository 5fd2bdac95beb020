// What the kernels of variables do on every device: the checks, reading and assigning, and an optimizer's step around
// the loop that a device has for it.
#pragma once

#include <array>
#include <mutex>
#include <utility>

#include "panto/lib/core/call.h"
#include "panto/lib/core/resource.h"

namespace panto::state {

// Throws InvalidArgument unless the variable is of that type.
PANTO_EXPORT void check_dtype(const VariableResource& variable, DType wanted);
// Throws InvalidArgument unless input `like` has `shape`: what the variable is declared with, or its value's.
PANTO_EXPORT void check_shape(const VariableResource& variable, const PartialShape& shape, const KernelContext& c,
                              int like);
// The variables that inputs 0 to 2 refer to. Throws InvalidArgument unless they are three, of that type and declared
// with a shape that input `like` fits.
PANTO_EXPORT std::array<VariableResource*, 3> three_variables(const KernelContext& c, DType wanted, int like);

// ReadVariableOp.
PANTO_EXPORT void read(KernelContext& c);
// AssignVariableOp.
PANTO_EXPORT void assign(KernelContext& c);

// Calls change(values, n) with the elements of the variable, input 0, which nobody else sees. Input `like` has its
// shape.
template <class T, class Change>
void update(KernelContext& c, int like, const Change& change) {
  VariableResource& variable = variable_of(c.in(0));
  check_dtype(variable, dtype_of<T>);
  check_shape(variable, variable.shape(), c, like);
  variable.update(c.device(), [&](Tensor& value) {
    check_shape(variable, value.shape(), c, like);
    change(mutable_data<T>(value), value.numel());
  });
}

// Calls change(first, second, third, n) with the elements of the variables that inputs 0 to 2 refer to, as above.
template <class T, class Change>
void update_three(KernelContext& c, int like, const Change& change) {
  const std::array<VariableResource*, 3> variables = three_variables(c, dtype_of<T>, like);
  const std::scoped_lock lock(variables[0]->mutex(), variables[1]->mutex(), variables[2]->mutex());
  // Everything that can fail comes before the first write.
  Tensor values[3];
  for (size_t i = 0; i < 3; ++i) {
    values[i] = variables[i]->begin_update(c.device());
    check_shape(*variables[i], values[i].shape(), c, like);
  }
  change(mutable_data<T>(values[0]), mutable_data<T>(values[1]), mutable_data<T>(values[2]), values[0].numel());
  for (size_t i = 0; i < 3; ++i) variables[i]->end_update(std::move(values[i]));
}

}  // namespace panto::state
