// Optionals, held by variant scalars (lib/core/collections/optional_value.h).
#include "panto/lib/core/collections/optional_value.h"

#include "panto/device/cpu/kernel.h"
#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

void run_from_value(KernelContext& c) {
  std::vector<Tensor> components;
  for (int i = 0; i < c.num_inputs(); ++i) components.push_back(c.in(i));
  c.set_out(0, optional_tensor(OptionalValue(std::move(components))));
}

void run_none(KernelContext& c) { c.set_out(0, optional_tensor(OptionalValue())); }

void run_has_value(KernelContext& c) { *c.out_data<bool>(0) = optional_of(c.in(0)).has_value(); }

void run_get_value(KernelContext& c) {
  const OptionalValue& optional = optional_of(c.in(0));
  if (!optional.has_value()) fail(Code::kInvalidArgument, "optional: expected one with a value, got none");
  const std::vector<Tensor>& components = optional.components();
  if (components.size() != static_cast<size_t>(c.num_outputs())) {
    invalid("optional: expected {} components, got {}", c.num_outputs(), components.size());
  }
  for (int k = 0; k < c.num_outputs(); ++k) {
    const Tensor& t = components[static_cast<size_t>(k)];
    const OutputSpec& spec = c.spec(k);
    if (t.dtype() != spec.dtype || !t.partial_shape().compatible_with(spec.shape)) {
      invalid("component {}: expected {}{}, got {}{}", k, dtype_name(spec.dtype), spec.shape.to_string(),
              dtype_name(t.dtype()), t.partial_shape().to_string());
    }
    c.set_out(k, is_plain(t.dtype()) ? view_tensor(t, t.shape()) : t);
  }
}

const CpuKernel from_value_kernel("OptionalFromValue", run_from_value);
const CpuKernel none_kernel("OptionalNone", run_none);
const CpuKernel has_value_kernel("OptionalHasValue", run_has_value);
const CpuKernel get_value_kernel("OptionalGetValue", run_get_value);

}  // namespace
}  // namespace panto
