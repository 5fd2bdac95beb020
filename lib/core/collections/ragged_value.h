// RaggedValue: the value in a variant tensor that RaggedTensorToVariant makes: a ragged tensor, or one of its rows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/collections/variant.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Immutable.
class PANTO_EXPORT RaggedValue final : public VariantValue {
 public:
  // `row_splits`: for each ragged dimension, the outermost first, a vector of the positions where rows begin, and the
  // end. Empty: the value is just `values`.
  RaggedValue(std::vector<Tensor> row_splits, Tensor values);
  ~RaggedValue() override;

  std::string_view kind() const noexcept override { return "RaggedTensor"; }
  std::string to_string() const override;
  const std::vector<Tensor>& row_splits() const noexcept { return row_splits_; }
  const Tensor& values() const noexcept { return values_; }

 private:
  std::vector<Tensor> row_splits_;
  Tensor values_;
};

// A scalar variant tensor that holds it.
PANTO_EXPORT Tensor ragged_tensor(RaggedValue value);
// The ragged value in element `i` of a variant tensor. Throws InvalidArgument if the element is empty or holds anything
// else.
PANTO_EXPORT const RaggedValue& ragged_of(const Variant& variant, int64_t i);

}  // namespace panto
