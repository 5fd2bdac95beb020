#include "panto/lib/ops/math/elementwise_program.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/math/elementwise.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {

DType ElementwiseProgram::type_of(int value) const {
  const auto v = static_cast<size_t>(value);
  return is_input(value) ? inputs[v] : steps[v - inputs.size()].result;
}

bool may_be_step(const Op& op) {
  const Signature& s = op.signature();
  return op.has(Trait::kElementwise) && !s.inputs.empty() && s.inputs.size() <= 3 && s.outputs.size() == 1 &&
         !s.has_input_lists && !s.has_output_lists;
}

DType step_result(const Op& op, DType type, std::span<const DType> operands) {
  const Signature& s = op.signature();
  const int primary = op.primary_attr();
  // Cast reads any plain type; its result type selects the kernel.
  if (op.is(OpKind::kCast))
    return operands.size() == 1 && dtypes::kPlain.contains(operands[0]) && dtypes::kPlain.contains(type)
               ? type
               : DType::kInvalid;
  const auto declared = [&](const ArgDef& arg) {
    if (arg.type_attr < 0) return arg.dtype;
    return arg.type_attr == primary ? type : DType::kInvalid;
  };
  if (operands.size() != s.inputs.size()) return DType::kInvalid;
  if ((primary < 0) != (type == DType::kInvalid)) return DType::kInvalid;
  if (primary >= 0 && !s.attrs[static_cast<size_t>(primary)].allowed_types.contains(type)) return DType::kInvalid;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (declared(s.inputs[i]) != operands[i]) return DType::kInvalid;
  }
  return declared(s.outputs[0]);
}

PartialShape value_shape(const ElementwiseProgram& program, std::span<const PartialShape> inputs, int value) {
  std::vector<PartialShape> shapes(inputs.begin(), inputs.end());
  for (const ElementwiseStep& step : program.steps) {
    if (static_cast<int>(shapes.size()) > value) break;
    PartialShape shape = shapes[static_cast<size_t>(step.operands[0])];
    for (size_t k = 1; k < step.operands.size(); ++k) {
      const PartialShape& other = shapes[static_cast<size_t>(step.operands[k])];
      if (step.op->has(Trait::kBroadcasts)) {
        shape = broadcast_shapes(shape, other);
      } else {
        shapes::merge_equal(shape, other);
      }
    }
    shapes.push_back(std::move(shape));
  }
  return shapes[static_cast<size_t>(value)];
}

namespace {

std::span<const std::string> names(const CallView& call) {
  const AttrSlot& slot = call.slot("ops");
  return {static_cast<const std::string*>(slot.p), slot.n};
}

ElementwiseStep parse_step(const ElementwiseProgram& program, std::string_view name, DType type,
                           std::span<const int64_t>& operands) {
  ElementwiseStep step;
  step.op = &get_op(name);
  step.type = step.op->primary_attr() < 0 ? DType::kInvalid : type;
  const size_t at = program.steps.size();
  if (!may_be_step(*step.op)) {
    invalid("ops[{}]: expected an elementwise op of one to three tensors, got {}", at, name);
  }
  const size_t count = step.op->signature().inputs.size();
  if (operands.size() < count) invalid("operands: expected {} more for ops[{}], got {}", count, at, operands.size());
  SmallVector<DType, 3> types;
  for (size_t k = 0; k < count; ++k) {
    if (operands[k] < 0 || operands[k] >= program.num_values()) {
      invalid("operands: expected values in [0, {}) for ops[{}], got {}", program.num_values(), at, operands[k]);
    }
    step.operands.push_back(static_cast<int>(operands[k]));
    types.push_back(program.type_of(step.operands.back()));
  }
  operands = operands.subspan(count);
  step.result = step_result(*step.op, step.type, types);
  if (step.result == DType::kInvalid) {
    std::string got;
    for (DType t : types) got.append(got.empty() ? "" : ", ").append(dtype_name(t));
    invalid("ops[{}]: expected operands that {} of {} takes, got {}", at, name, dtype_name(type), got);
  }
  return step;
}

}  // namespace

ElementwiseProgram parse_elementwise_program(const CallView& call) {
  ElementwiseProgram program;
  const bool one = call.op().primary_attr() >= 0;  // whether there is one output, of the type that selects the kernel
  const DType primary = one ? call.type("T") : DType::kInvalid;
  const std::span<const DType> in = call.types("Tin"), types = call.types("types");
  const std::span<const DType> out = one ? std::span(&primary, 1) : call.types("Tout");
  const std::span<const std::string> ops = names(call);
  std::span<const int64_t> operands = call.integers("operands");
  const std::span<const int64_t> outputs = call.integers("outputs");
  program.inputs.assign(in.begin(), in.end());
  if (in.size() > 64) invalid("Tin: expected at most 64 inputs, got {}", in.size());
  if (!std::ranges::all_of(in, [](DType t) { return dtypes::kPlain.contains(t); })) {
    invalid("Tin: expected numbers or truth values, got another type");
  }
  if (types.size() != ops.size())
    invalid("types: expected {}, one for each of `ops`, got {}", ops.size(), types.size());
  for (size_t s = 0; s < ops.size(); ++s) program.steps.push_back(parse_step(program, ops[s], types[s], operands));
  if (!operands.empty()) invalid("operands: expected none beyond what `ops` take, got {} more", operands.size());
  if (outputs.size() != out.size()) {
    invalid("outputs: expected {}, got {}", out.size(), outputs.size());
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    const int64_t value = outputs[k];
    if (value < static_cast<int64_t>(in.size()) || value >= program.num_values()) {
      invalid("outputs[{}]: expected the value of a step, in [{}, {}), got {}", k, in.size(), program.num_values(),
              value);
    }
    if (std::ranges::count(outputs, value) != 1) invalid("outputs: expected each value once, got {} again", value);
    program.outputs.push_back(static_cast<int>(value));
    if (program.type_of(program.outputs.back()) != out[k]) {
      invalid("type of output {}: expected {}, got {}", k, dtype_name(program.type_of(program.outputs.back())),
              dtype_name(out[k]));
    }
  }
  return program;
}

}  // namespace panto
