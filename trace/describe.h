// Describes values for a person at a prompt, as NumPy or IPython would, with dtype, shape and device.
//
//   describe(x)   [[1. 2.]
//                  [3. 4.]]  float32[2,2], CPU:0
//
// `panto/repl.h` does the same for standard types and containers.
#pragma once

#include <exception>
#include <string>

#include "panto/autograd/tape.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/core/tensor/dtype.h"
#include "panto/lib/core/tensor/shape.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/graph/graph.h"
#include "panto/trace/function.h"

namespace panto {

// The elements as in `print`, then dtype, shape and device. Copies the tensor from its device.
PANTO_EXPORT std::string describe(const Tensor& t);
// "k = " and the value; if there is no value (META, or not initialized), dtype and shape.
PANTO_EXPORT std::string describe(const Variable& v);
// Signature and node count.
PANTO_EXPORT std::string describe(const Function& f);
// Counts of nodes and ops, inputs and outputs; `Graph::to_string` lists every node.
PANTO_EXPORT std::string describe(const Graph& g);
PANTO_EXPORT std::string describe(const GradientTape& tape);
PANTO_EXPORT std::string describe(const Op& op);
PANTO_EXPORT std::string describe(const Device& device);
PANTO_EXPORT std::string describe(const PartialShape& shape);
PANTO_EXPORT std::string describe(const TensorSpec& spec);
PANTO_EXPORT std::string describe(DType dtype);
// The type's name and `what()`; for an Error, its code and message.
PANTO_EXPORT std::string describe(const std::exception& error);

}  // namespace panto
