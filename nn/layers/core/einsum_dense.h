// Dense by einsum: products over any dimensions.
#pragma once

#include <string>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

struct EinsumDenseOptions {
  std::string bias_axes = {};       // the result's dimensions that have biases of their own: "bd"; empty: no bias
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
// The kernel's shape is given; a bias has the sizes that the kernel has. It starts at zero.
class PANTO_EXPORT EinsumDense final : public BuiltInLayer {
 public:
  // Throws InvalidArgument for an equation that is none of two operands, a kernel of another rank than the equation
  // says, and axes of biases that are not both the result's and the kernel's.
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
