// What the kernels of variables do on every device: the checks, reading and assigning, and an optimizer's step around
// the loop that a device has for it.
#pragma once

#include <array>
#include <mutex>
#include <span>
#include <tuple>
#include <utility>

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/resource.h"

namespace panto::state {

// Throws InvalidArgument unless the variable is of that type.
PANTO_EXPORT void check_dtype(const VariableResource& variable, DType wanted);
// Throws InvalidArgument unless input `like` has `shape`: what the variable is declared with, or its value's.
PANTO_EXPORT void check_shape(const VariableResource& variable, const PartialShape& shape, const KernelContext& c,
                              int like);
// Fills `found` with the variables that the first inputs refer to. Throws InvalidArgument unless they are different
// ones, of that type and declared with a shape that input `like` fits (-1: any).
PANTO_EXPORT void find_variables(const KernelContext& c, DType wanted, int like, std::span<VariableResource*> found);

// Throws InvalidArgument unless the value of a variable, input `i`, has the shape of that of input 0, of at least one
// dimension.
PANTO_EXPORT void expect_one_shape(const KernelContext& c, const VariableResource& variable, size_t i,
                                   const Shape& shape, const Shape& first);

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

// Calls change(first, second, ..., n) with the elements of the variables that the first `kCount` inputs refer to, as
// above.
template <class T, size_t kCount, class Change>
void update_together(KernelContext& c, int like, const Change& change) {
  std::array<VariableResource*, kCount> variables;
  find_variables(c, dtype_of<T>, like, variables);
  const auto lock = std::apply([](auto*... v) { return std::scoped_lock(v->mutex()...); }, variables);
  // Everything that can fail comes before the first write.
  std::array<Tensor, kCount> values;
  for (size_t i = 0; i < kCount; ++i) {
    values[i] = variables[i]->begin_update(c.device());
    check_shape(*variables[i], values[i].shape(), c, like);
  }
  std::apply([&](auto&... v) { change(mutable_data<T>(v)..., values[0].numel()); }, values);
  for (size_t i = 0; i < kCount; ++i) variables[i]->end_update(std::move(values[i]));
}

// The same for rows: calls change(shape, first, second, ...) with what the variables have in common, and their
// elements. `check` sees the shape before anything is changed.
template <class T, size_t kCount, class Check, class Change>
void update_rows_together(KernelContext& c, const Check& check, const Change& change) {
  std::array<VariableResource*, kCount> variables;
  find_variables(c, dtype_of<T>, -1, variables);
  const auto lock = std::apply([](auto*... v) { return std::scoped_lock(v->mutex()...); }, variables);
  std::array<Tensor, kCount> values;
  for (size_t i = 0; i < kCount; ++i) {
    values[i] = variables[i]->begin_update(c.device());
    expect_one_shape(c, *variables[i], i, values[i].shape(), values[0].shape());
  }
  check(values[0].shape());
  std::apply([&](auto&... v) { change(values[0].shape(), mutable_data<T>(v)...); }, values);
  for (size_t i = 0; i < kCount; ++i) variables[i]->end_update(std::move(values[i]));
}

}  // namespace panto::state
