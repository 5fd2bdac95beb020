#include "panto/device/state.h"

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/core/tensor/variable_checks.h"

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

void find_variables(const KernelContext& c, DType wanted, int like, std::span<VariableResource*> found) {
  for (size_t i = 0; i < found.size(); ++i) {
    found[i] = &variable_of(c.in(static_cast<int>(i)));
    check_dtype(*found[i], wanted);
    if (like >= 0) check_shape(*found[i], found[i]->shape(), c, like);
  }
  for (size_t i = 0; i < found.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (found[i] == found[k]) {
        const auto& inputs = c.op().signature().inputs;
        invalid("{} and {}: expected two variables, got \"{}\" twice", inputs[k].name, inputs[i].name,
                found[i]->name());
      }
    }
  }
}

void expect_one_shape(const KernelContext& c, const VariableResource& variable, size_t i, const Shape& shape,
                      const Shape& first) {
  with_name(variable, [&] {
    const std::string& argument = c.op().signature().inputs[i].name;
    if (shape.rank() == 0) invalid("{}: expected a rank of at least 1, got shape []", argument);
    if (!(shape == first)) {
      invalid("{}: expected the shape {} of {}, got {}", argument, first.to_string(), c.op().signature().inputs[0].name,
              shape.to_string());
    }
  });
}

void read(KernelContext& c) {
  VariableResource& variable = variable_of(c.in(0));
  check_dtype(variable, c.type("dtype"));
  c.set_out(0, variable.read(c.device()));
}

void shape(KernelContext& c) {
  const Tensor value = variable_of(c.in(0)).read();
  Tensor out = allocate_tensor(cpu_device(), c.type("out_type"), Shape{static_cast<int64_t>(value.rank())});
  for (int k = 0; k < value.rank(); ++k) {
    if (c.type("out_type") == kInt64) {
      mutable_data<int64_t>(out)[k] = value.dim(k);
    } else {
      mutable_data<int32_t>(out)[k] = checked_cast<int32_t>(value.dim(k), "dimension");
    }
  }
  c.set_out(0, std::move(out));
}

void assign(KernelContext& c) {
  VariableResource& variable = variable_of(c.in(0));
  check_dtype(variable, c.type("dtype"));
  check_shape(variable, variable.shape(), c, 1);
  if (c.flag("validate_shape") && variable.initialized()) check_shape(variable, variable.read().shape(), c, 1);
  variable.assign(c.in(1));
}

}  // namespace panto::state
