#include "panto/lib/core/collections/ragged_value.h"

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {

RaggedValue::RaggedValue(std::vector<Tensor> row_splits, Tensor values)
    : row_splits_(std::move(row_splits)), values_(std::move(values)) {}
RaggedValue::~RaggedValue() = default;

std::string RaggedValue::to_string() const {
  return fmt::format("ragged tensor of {}{} with {} ragged dimension{}", dtype_name(values_.dtype()),
                     values_.partial_shape().to_string(), row_splits_.size(), row_splits_.size() == 1 ? "" : "s");
}

Tensor ragged_tensor(RaggedValue value) {
  Tensor t = allocate_tensor(cpu_device(), kVariant, Shape{});
  mutable_data<Variant>(t)->value = std::make_shared<RaggedValue>(std::move(value));
  return t;
}

const RaggedValue& ragged_of(const Variant& variant, int64_t i) {
  const auto* ragged = dynamic_cast<const RaggedValue*>(variant.value.get());
  if (ragged == nullptr) {
    invalid("encoded_ragged: expected variants that hold a RaggedTensor, got {} at {}",
            variant.value == nullptr ? "nothing" : variant.value->kind(), i);
  }
  return *ragged;
}

}  // namespace panto
