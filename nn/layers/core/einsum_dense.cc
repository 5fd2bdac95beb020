#include "panto/nn/layers/core/einsum_dense.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"

namespace panto {

EinsumDense::EinsumDense(std::string equation, const Shape& kernel, EinsumDenseOptions options)
    : equation_(std::move(equation)), activation_(std::move(options.activation)) {
  std::erase(equation_, ' ');
  const size_t comma = equation_.find(','), arrow = equation_.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow ||
      equation_.find(',', comma + 1) != std::string::npos) {
    invalid("EinsumDense: expected an equation of two operands, \"ab,bc->ac\", got '{}'", equation_);
  }
  const std::string of_kernel = equation_.substr(comma + 1, arrow - comma - 1), result = equation_.substr(arrow + 2);
  if (of_kernel.find('.') != std::string::npos || static_cast<int>(of_kernel.size()) != kernel.rank()) {
    invalid("EinsumDense: expected a kernel of {} dimensions ('{}'), got {}", of_kernel.size(), of_kernel,
            kernel.to_string());
  }
  kernel_ = Variable(options.kernel_initializer(kernel, options.dtype), options.name + "/kernel");
  if (options.bias_axes.empty()) return;
  for (const char axis : options.bias_axes) {
    if (of_kernel.find(axis) != std::string::npos && result.find(axis) != std::string::npos) continue;
    invalid("EinsumDense: expected bias_axes that both the kernel '{}' and the result '{}' have, got '{}'", of_kernel,
            result, options.bias_axes);
  }
  // The bias's shape starts at its first own axis, so that it broadcasts; other axes after that are 1.
  std::vector<int64_t> dims;
  for (const char axis : result) {
    const bool own = options.bias_axes.find(axis) != std::string::npos;
    if (own) dims.push_back(kernel.dim(static_cast<int>(of_kernel.find(axis))));
    if (!own && !dims.empty()) dims.push_back(1);
  }
  bias_ = Variable(constant_initializer(0)(Shape(dims), options.dtype), options.name + "/bias");
}

Tensor EinsumDense::forward(const Tensor& x) const {
  Tensor y = einsum(equation_, x, kernel_.value());
  if (bias_.defined()) y = std::move(y) + bias_;
  return activation_ ? activation_(y) : y;
}

std::string EinsumDense::to_string() const {
  return fmt::format("EinsumDense({}, {})", whole(equation_), kernel_.shape().to_string());
}

}  // namespace panto
