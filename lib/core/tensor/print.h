// Text of tensors: their values as NumPy prints arrays, "[[1. 2.]\n [3. 4.]]", and their types, "float32[2,2]".
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

// Copies from a device; on META "<symbolic float32[?,2]>"; of an undefined handle "<undefined>".
PANTO_EXPORT std::string print(const Tensor& t, const PrintOptions& options = {});

// "float32[2,?]": what errors and listings say of a tensor without its values.
PANTO_EXPORT std::string type_text(DType dtype, const PartialShape& shape);

}  // namespace panto
