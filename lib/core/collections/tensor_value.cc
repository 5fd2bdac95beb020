#include "panto/lib/core/collections/tensor_value.h"

#include <memory>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {

TensorValue::TensorValue(Tensor value) : value_(std::move(value)) {}
TensorValue::~TensorValue() = default;

std::string TensorValue::to_string() const {
  return fmt::format("tensor {}{}", dtype_name(value_.dtype()), value_.partial_shape().to_string());
}

Variant variant_of(const Tensor& value) { return {std::make_shared<TensorValue>(value)}; }

const Tensor& tensor_in(const Variant& variant) {
  const auto* held = dynamic_cast<const TensorValue*>(variant.value.get());
  if (held == nullptr) {
    invalid("variant: expected one that holds a tensor, got {}",
            variant.value == nullptr ? "nothing" : variant.value->kind());
  }
  return held->value();
}

Tensor sparse_variants(const Tensor& indices, const Tensor& values, const Tensor& shape) {
  Tensor t = allocate_tensor(cpu_device(), kVariant, Shape{3});
  auto* to = mutable_data<Variant>(t);
  *to++ = variant_of(indices);
  *to++ = variant_of(values);
  *to = variant_of(shape);
  return t;
}

}  // namespace panto
