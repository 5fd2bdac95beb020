// Calls of functions of the host program (lib/ops/control/host_call.h).

#include "panto/lib/ops/control/host_call.h"

#include <string>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

void run_call(KernelContext& c) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) {
    // A separate handle, since the function may keep it.
    inputs.push_back(view_tensor(c.in(i), c.in(i).shape()));
  }
  const auto types = c.types("Tout");
  const StepScope scope(c.step());
  const std::vector<Tensor> outputs =
      call_host_function(std::string(c.text("token")), inputs, {types.begin(), types.end()});
  for (size_t k = 0; k < outputs.size(); ++k) {
    c.set_out(static_cast<int>(k), view_tensor(copy_to_device(outputs[k], c.device()), outputs[k].shape()));
  }
}

const CpuKernel py_func_kernel("PyFunc", run_call);
const CpuKernel stateless_kernel("PyFuncStateless", run_call);
const CpuKernel eager_kernel("EagerPyFunc", run_call);

}  // namespace
}  // namespace panto
