#include "panto/device/state.h"

#include "panto/lib/base/format.h"
#include "panto/lib/core/variable_checks.h"

namespace panto::state {

namespace {

template <class Body>
void with_name(const VariableResource& variable, const Body& body) {
  with_context([&] { return fmt::format("variable \"{}\"", variable.name()); }, body);
}

}  // namespace

void check_dtype(const VariableResource& variable, DType wanted) {
  with_name(variable, [&] { expect_variable_dtype(variable.dtype(), wanted); });
}

void check_shape(const VariableResource& variable, const PartialShape& shape, const KernelContext& c, int like) {
  if (shape.compatible_with(c.shape(like))) return;
  const std::string& argument = c.op().signature().inputs[static_cast<size_t>(like)].name;
  with_name(variable, [&] { expect_variable_shape(shape, c.shape(like), argument); });
}

std::array<VariableResource*, 3> three_variables(const KernelContext& c, DType wanted, int like) {
  const std::array<VariableResource*, 3> found = {&variable_of(c.in(0)), &variable_of(c.in(1)), &variable_of(c.in(2))};
  for (const VariableResource* variable : found) {
    check_dtype(*variable, wanted);
    check_shape(*variable, variable->shape(), c, like);
  }
  for (size_t i = 0; i < found.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (found[i] == found[k]) {
        invalid("var, m and v: expected three variables, got \"{}\" twice", found[i]->name());
      }
    }
  }
  return found;
}

void read(KernelContext& c) {
  VariableResource& variable = variable_of(c.in(0));
  check_dtype(variable, c.type("dtype"));
  c.set_out(0, variable.read(c.device()));
}

void assign(KernelContext& c) {
  VariableResource& variable = variable_of(c.in(0));
  check_dtype(variable, c.type("dtype"));
  check_shape(variable, variable.shape(), c, 1);
  if (c.flag("validate_shape") && variable.initialized()) check_shape(variable, variable.read().shape(), c, 1);
  variable.assign(c.in(1));
}

}  // namespace panto::state
