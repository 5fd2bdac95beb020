// OptionalValue: the value in a variant tensor that the ops Optional... make and read: some tensors, or nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/collections/variant.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Immutable.
class PANTO_EXPORT OptionalValue final : public VariantValue {
 public:
  OptionalValue();  // nothing
  explicit OptionalValue(std::vector<Tensor> components);
  ~OptionalValue() override;
  OptionalValue(const OptionalValue&) = default;
  OptionalValue& operator=(const OptionalValue&) = default;

  std::string_view kind() const noexcept override { return "Optional"; }
  std::string to_string() const override;
  bool has_value() const noexcept { return has_value_; }
  const std::vector<Tensor>& components() const noexcept { return components_; }

 private:
  bool has_value_ = false;
  std::vector<Tensor> components_;
};

// A scalar variant tensor that holds it.
PANTO_EXPORT Tensor optional_tensor(OptionalValue value);
// The optional value in a scalar variant tensor. Throws InvalidArgument for anything else.
PANTO_EXPORT const OptionalValue& optional_of(const Tensor& handle);

}  // namespace panto
