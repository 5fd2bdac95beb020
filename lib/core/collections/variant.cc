#include "panto/lib/core/collections/variant.h"

namespace panto {

VariantValue::VariantValue() = default;
VariantValue::~VariantValue() = default;

}  // namespace panto
