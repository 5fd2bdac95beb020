// Splits a call of _FusedElementwise into kernel launches: the host's part, which needs no CUDA.
#pragma once

#include <cstddef>
#include <vector>

#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/math/elementwise_program.h"

namespace panto::cuda {

// The most inputs of a kernel: a 32-bit mask has a bit for each.
inline constexpr size_t kMostFusedInputs = 32;

// Returns the call's program. Throws Unimplemented if it has more inputs than a kernel takes.
ElementwiseProgram gpu_program(const CallView& call);

struct FusedLaunches {
  std::vector<Tensor> inputs;             // the tensors that kernels read
  std::vector<std::vector<int>> outputs;  // by kernel: the outputs of one shape
};
// Usually all outputs have one shape, and one kernel computes them. If not, an input whose memory is reused for an
// output is copied, as later kernels read it too.
FusedLaunches fused_launches(const KernelContext& c);

}  // namespace panto::cuda
