// The value of an element of a variant tensor: of a C++ type that has no dtype, such as a list.
#pragma once

#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Immutable while several variants or tensors share it.
class PANTO_EXPORT VariantValue {
 public:
  VariantValue();
  VariantValue(const VariantValue&) = default;
  VariantValue(VariantValue&&) = default;
  VariantValue& operator=(const VariantValue&) = default;
  VariantValue& operator=(VariantValue&&) = default;
  virtual ~VariantValue();

  // "TensorList", ...: for messages about values of the wrong kind.
  virtual std::string_view kind() const noexcept = 0;
  // The printed form: "list of 3 float32[2]".
  virtual std::string to_string() const = 0;
};

}  // namespace panto
