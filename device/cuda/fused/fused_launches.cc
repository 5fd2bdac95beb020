#include "panto/device/cuda/fused/fused_launches.h"

#include <algorithm>
#include <cstddef>
#include <functional>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::cuda {

namespace {

bool overlap(const Tensor& a, const Tensor& b) {
  const auto* const begin_a = static_cast<const std::byte*>(a.impl()->data);
  const auto* const begin_b = static_cast<const std::byte*>(b.impl()->data);
  const std::less<const std::byte*> before;  // std::less orders addresses of different blocks too
  return before(begin_a, begin_b + b.nbytes()) && before(begin_b, begin_a + a.nbytes());
}

bool is_written_over(const KernelContext& c, const Tensor& input) {
  for (int k = 0; k < c.num_outputs(); ++k) {
    if (overlap(input, c.out(k))) return true;
  }
  return false;
}

}  // namespace

ElementwiseProgram gpu_program(const CallView& call) {
  ElementwiseProgram program = parse_elementwise_program(call);
  if (program.inputs.size() > kMostFusedInputs) {
    failf(Code::kUnimplemented, "Tin: expected at most {} inputs on a GPU, got {}", kMostFusedInputs,
          program.inputs.size());
  }
  return program;
}

FusedLaunches fused_launches(const KernelContext& c) {
  FusedLaunches launches;
  for (int i = 0; i < c.num_inputs(); ++i) launches.inputs.push_back(c.in(i));
  for (int k = 0; k < c.num_outputs(); ++k) {
    const auto alike = [&](const std::vector<int>& outputs) { return c.out_shape(outputs[0]) == c.out_shape(k); };
    const auto found = std::ranges::find_if(launches.outputs, alike);
    if (found == launches.outputs.end()) {
      launches.outputs.push_back({k});
    } else {
      found->push_back(k);
    }
  }
  for (Tensor& input : launches.inputs) {
    if (launches.outputs.size() == 1 || !is_written_over(c, input)) continue;
    const Tensor copy = allocate_tensor(c.device(), input.dtype(), input.shape());
    c.device().copy_within(copy.impl()->data, input.impl()->data, input.nbytes());
    input = copy;
  }
  return launches;
}

}  // namespace panto::cuda
