#include "panto/device/state.h"

#include "panto/lib/base/format.h"

namespace panto::state {

void check_dtype(const VariableResource& variable, DType wanted) {
  if (variable.dtype() != wanted) [[unlikely]] {
    invalid("variable \"{}\": expected one of {}, got {}", variable.name(), dtype_name(wanted),
            dtype_name(variable.dtype()));
  }
}

void check_shape(const VariableResource& variable, const Tensor& value, const Shape& wanted) {
  if (!(value.shape() == wanted)) {
    invalid("variable \"{}\": expected the shape of its value, {}, got {}", variable.name(), value.shape().to_string(),
            wanted.to_string());
  }
}

std::array<VariableResource*, 3> three_variables(const KernelContext& c, DType wanted) {
  const std::array<VariableResource*, 3> found = {&variable_of(c.in(0)), &variable_of(c.in(1)), &variable_of(c.in(2))};
  for (size_t i = 0; i < found.size(); ++i) {
    check_dtype(*found[i], wanted);
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
  if (c.flag("validate_shape") && variable.initialized()) check_shape(variable, variable.read(), c.shape(1));
  variable.assign(c.in(1));
}

}  // namespace panto::state
