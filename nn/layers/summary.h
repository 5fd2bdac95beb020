// Hears what shapes layers give, for the table of them. Internal.
#pragma once

#include <string>
#include <typeinfo>

#include "panto/nn/layers/layer.h"

namespace panto {

// The name of a class, without namespaces.
std::string class_name(const std::type_info& type);
std::string class_name(const Layer& layer);

// The same for all copies of a layer.
const void* identity_of(const Layer& layer) noexcept;

// y, which the layer gave; noted where a table is being made.
Tensor heard(const Layer& layer, Tensor y);

}  // namespace panto
