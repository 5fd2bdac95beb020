// A program of elementwise ops, computed in one loop instead of one loop per op. `_FusedElementwise` stores it in its
// attributes.
//
// Values are numbered: the call's inputs first, then one per step. A step applies an op to earlier values.
#pragma once

#include <vector>

#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/call/call.h"

namespace panto {

struct ElementwiseStep {
  const Op* op = nullptr;
  DType type = DType::kInvalid;  // selects the kernel; kInvalid for ops without a type attribute
  SmallVector<int, 3> operands;  // values
  DType result = DType::kInvalid;
};

struct PANTO_EXPORT ElementwiseProgram {
  std::vector<DType> inputs;
  std::vector<ElementwiseStep> steps;
  std::vector<int> outputs;  // values, each of a step

  int num_values() const { return static_cast<int>(inputs.size() + steps.size()); }
  DType type_of(int value) const;
  bool is_input(int value) const { return value < static_cast<int>(inputs.size()); }
  int value_of_step(size_t step) const { return static_cast<int>(inputs.size() + step); }
};

// Whether the op can be a step: elementwise, with one to three inputs and one output, none of them a list.
PANTO_EXPORT bool may_be_step(const Op& op);
// The type of `op`'s output for inputs of types `operands`; kInvalid if it does not take them.
PANTO_EXPORT DType step_result(const Op& op, DType type, std::span<const DType> operands);

// The shape of a value for inputs of these shapes. Throws InvalidArgument if shapes do not broadcast.
PartialShape value_shape(const ElementwiseProgram& program, std::span<const PartialShape> inputs, int value);

// Parses attributes `Tin`, `ops`, `types`, `operands`, `outputs` and, if there are several outputs, `Tout`. Throws
// InvalidArgument if they do not describe a program.
PANTO_EXPORT ElementwiseProgram parse_elementwise_program(const CallView& call);

}  // namespace panto
