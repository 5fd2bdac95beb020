#include "panto/lib/core/tensor/variant.h"

namespace panto {

VariantValue::VariantValue() = default;
VariantValue::~VariantValue() = default;

}  // namespace panto
