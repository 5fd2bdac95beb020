// How the work of one call of _FusedElementwise is shared between kernels: the host's part, which needs no CUDA.
#pragma once

#include <cstddef>
#include <vector>

#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/math/elementwise_program.h"

namespace panto::cuda {

// Inputs that a kernel takes: a bit for each tells whether it moves.
inline constexpr size_t kMostFusedInputs = 32;

// The call's program. Throws Unimplemented where it has more inputs than a kernel takes.
ElementwiseProgram gpu_program(const CallView& call);

struct FusedLaunches {
  std::vector<Tensor> inputs;             // what kernels read
  std::vector<std::vector<int>> outputs;  // of each kernel: those of one shape
};
// As a rule all outputs have one shape. Where they do not, an input in whose memory an output is made is copied: the
// next kernel reads it, too.
FusedLaunches fused_launches(const KernelContext& c);

}  // namespace panto::cuda
