// Records the shapes of layers' outputs, for the summary table. Internal.
#pragma once

#include <string>
#include <typeinfo>

#include "panto/nn/layers/layer.h"

namespace panto {

// The name of a class, without namespaces.
std::string class_name(const std::type_info& type);
std::string class_name(const Layer& layer);

// An identity that all copies of a layer share.
const void* identity_of(const Layer& layer) noexcept;

// Returns y, the layer's output, after recording it if a table is being made.
Tensor heard(const Layer& layer, Tensor y);

}  // namespace panto
