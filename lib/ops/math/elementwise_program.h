// A program of elementwise ops, as `_FusedElementwise` carries it in its attributes: what one loop computes instead of
// one loop for each op.
//
// Values are numbered: the call's inputs first, then one for each step. A step applies an op to values before it.
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

// What an op of a program may be: elementwise, with one to three inputs and one output, none of them a list.
PANTO_EXPORT bool may_be_step(const Op& op);
// The type of `op`'s output where its inputs have these types; kInvalid if it does not take them.
PANTO_EXPORT DType step_result(const Op& op, DType type, std::span<const DType> operands);

// The shape of a value, where the inputs have these. Throws InvalidArgument where they do not broadcast.
PartialShape value_shape(const ElementwiseProgram& program, std::span<const PartialShape> inputs, int value);

// From `Tin`, `ops`, `types`, `operands`, `outputs` and, where there is more than one, `Tout`. Throws InvalidArgument
// where they do not make a program.
PANTO_EXPORT ElementwiseProgram parse_elementwise_program(const CallView& call);

}  // namespace panto
