// Text of tensors: the values as NumPy prints arrays, "[[1. 2.]\n [3. 4.]]", and the types, "float32[2,2]".
#pragma once

#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

struct PrintOptions {
  int precision = 8;         // digits after the point, at most
  int64_t threshold = 1000;  // arrays with more elements are summarised with "..."
  int64_t edge_items = 3;    // elements at each end of a summarised dimension
  int line_width = 75;
};

// Copies the tensor from a device if needed. On META "<symbolic float32[?,2]>"; for an undefined handle "<undefined>".
PANTO_EXPORT std::string print(const Tensor& t, const PrintOptions& options = {});

// "float32[2,?]": the text for a tensor without its values, in errors and listings.
PANTO_EXPORT std::string type_text(DType dtype, const PartialShape& shape);

}  // namespace panto
