// Dense by einsum: products over any dimensions. See EinsumDense for examples.
#pragma once

#include <string>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

struct EinsumDenseOptions {
  std::string bias_axes = {};       // dimensions of the result that have separate biases: "bd"; empty: no bias
  Activation activation = nullptr;  // none
  Initializer kernel_initializer = glorot_uniform();
  std::string name = "einsum_dense";  // of the variables: "einsum_dense/kernel", "einsum_dense/bias"
  DType dtype = kFloat32;
};

// activation(einsum(equation, x, kernel) + bias), as Keras's:
//
//   EinsumDense("abc,cd->abd", {64, 128}, {.bias_axes = "d"})         // Dense of sequences
//   EinsumDense("...x,xy->...y", {64, 128})
//   EinsumDense("abc,cde->abde", {64, 8, 16}, {.bias_axes = "de"})    // in heads
//
// The kernel's shape is given; the bias takes its sizes from the kernel. It starts at zero.
class PANTO_EXPORT EinsumDense final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless the equation has two operands, the kernel has the rank in the equation, and the bias
  // axes are axes of both the result and the kernel.
  EinsumDense(std::string equation, const Shape& kernel, EinsumDenseOptions options = {});
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override { return {kernel_, bias_}; }
  std::string to_string() const override;
  const Variable& kernel() const { return kernel_; }
  const Variable& bias() const { return bias_; }  // undefined without bias_axes

 private:
  std::string equation_;
  Activation activation_;
  Variable kernel_, bias_;
};

}  // namespace panto
