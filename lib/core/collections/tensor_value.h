// TensorValue: a tensor as the value of an element of a variant tensor. In datasets and queues, three such elements
// (indices, values, shape) represent a sparse tensor (SerializeSparse, DenseToSparseBatchDataset).
#pragma once

#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/collections/variant.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Immutable.
class PANTO_EXPORT TensorValue final : public VariantValue {
 public:
  explicit TensorValue(Tensor value);
  ~TensorValue() override;
  TensorValue(const TensorValue&) = default;
  TensorValue& operator=(const TensorValue&) = default;

  std::string_view kind() const noexcept override { return "Tensor"; }
  std::string to_string() const override;
  const Tensor& value() const noexcept { return value_; }

 private:
  Tensor value_;
};

PANTO_EXPORT Variant variant_of(const Tensor& value);
// Throws InvalidArgument for a variant that holds nothing, or something else.
PANTO_EXPORT const Tensor& tensor_in(const Variant& variant);
// A sparse tensor as a variant tensor [3].
PANTO_EXPORT Tensor sparse_variants(const Tensor& indices, const Tensor& values, const Tensor& shape);

}  // namespace panto
