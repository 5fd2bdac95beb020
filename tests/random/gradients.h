// A program's gradients: of the function that it was traced to, beside those of the eager program and beside finite
// differences.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "panto/tests/random/interpret.h"

namespace panto::random {

struct GradientMode {
  std::string name;
  std::function<bool(const Program&)> applies;
  // What is wrong; "" if nothing is.
  std::function<std::string(const Program&, std::span<const Tensor> inputs)> compare;
};
const std::vector<GradientMode>& gradient_modes();

}  // namespace panto::random
