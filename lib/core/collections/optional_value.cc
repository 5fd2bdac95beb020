#include "panto/lib/core/collections/optional_value.h"

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {

OptionalValue::OptionalValue() = default;
OptionalValue::OptionalValue(std::vector<Tensor> components) : has_value_(true), components_(std::move(components)) {}
OptionalValue::~OptionalValue() = default;

std::string OptionalValue::to_string() const {
  if (!has_value_) return "optional without a value";
  std::string text;
  for (const Tensor& t : components_) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", dtype_name(t.dtype()), t.partial_shape().to_string());
  }
  return "optional of " + text;
}

Tensor optional_tensor(OptionalValue value) {
  Tensor t = allocate_tensor(cpu_device(), kVariant, Shape{});
  mutable_data<Variant>(t)->value = std::make_shared<OptionalValue>(std::move(value));
  return t;
}

const OptionalValue& optional_of(const Tensor& handle) {
  if (handle.dtype() != kVariant || handle.is_meta() || handle.impl()->numel != 1) {
    invalid("optional: expected a variant scalar, got {}{}", dtype_name(handle.dtype()),
            handle.partial_shape().to_string());
  }
  const auto& variant = *static_cast<const Variant*>(handle.impl()->data);
  const auto* optional = dynamic_cast<const OptionalValue*>(variant.value.get());
  if (optional == nullptr) {
    invalid("optional: expected a variant that holds an Optional, got {}",
            variant.value == nullptr ? "nothing" : variant.value->kind());
  }
  return *optional;
}

}  // namespace panto
