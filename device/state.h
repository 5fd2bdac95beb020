// The kernels of variables, shared by all devices: checks, reading, assigning, and the frame of an optimizer's update,
// around which each device puts its own loop.
#pragma once

#include <array>
#include <mutex>
#include <span>
#include <tuple>
#include <utility>

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/resource.h"

namespace panto::state {

// Throws InvalidArgument unless the variable has dtype `wanted`.
PANTO_EXPORT void check_dtype(const VariableResource& variable, DType wanted);
// Throws InvalidArgument unless input `like` has `shape`, which is the variable's declared shape or its value's.
PANTO_EXPORT void check_shape(const VariableResource& variable, const PartialShape& shape, const KernelContext& c,
                              int like);
// Fills `found` with the variables that the first inputs refer to. Throws InvalidArgument unless they are distinct,
// have dtype `wanted` and are declared with a shape that fits input `like` (-1: any).
PANTO_EXPORT void find_variables(const KernelContext& c, DType wanted, int like, std::span<VariableResource*> found);

// Throws InvalidArgument unless `shape`, that of the variable at input `i`, equals `first`, that of the variable at
// input 0, and has at least one dimension.
PANTO_EXPORT void expect_one_shape(const KernelContext& c, const VariableResource& variable, size_t i,
                                   const Shape& shape, const Shape& first);

// ReadVariableOp.
PANTO_EXPORT void read(KernelContext& c);
// VariableShape. The result is in host memory.
PANTO_EXPORT void shape(KernelContext& c);
// AssignVariableOp.
PANTO_EXPORT void assign(KernelContext& c);

// Calls change(values, n) with the elements of the variable at input 0. Readers that hold its old value do not see the
// change. Input `like` must have the variable's shape.
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

// Calls change(first, second, ..., n) with the elements of the variables at the first `kCount` inputs, as update()
// does.
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

// The same for updates of rows: calls change(shape, first, second, ...) with the common shape of the variables and
// their elements. `check` is called with the shape before anything is changed.
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
