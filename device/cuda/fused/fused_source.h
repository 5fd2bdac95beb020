// Generates the source of a kernel that computes a program of elementwise ops (lib/ops/math/elementwise_program.h) in
// one loop: the counterpart of device/cpu/fused/fused_program.h. Its steps call the functors of the separate kernels,
// so results are bit-identical.
#pragma once

#include <span>
#include <string>

#include "panto/lib/ops/math/elementwise_program.h"

namespace panto::cuda {

// How a kernel finds its inputs' elements (device/cuda/elementwise/elements.cuh).
enum class Indexing : uint8_t { kStraight, kMapped, kMappedWide };

struct FusedKernel {
  std::vector<int> outputs;  // indices of the program's outputs that the kernel computes
  Indexing indexing = Indexing::kStraight;
  int pack = 1;  // elements that a thread reads at once
};

// Returns how many elements of the widest input or output fit into 16 bytes; at least 1.
int pack_of(const ElementwiseProgram& program);

// Returns source that defines the extern "C" kernel `fused(int64_t n, Pointers, How, Fault*)`. Pointers has the
// addresses of all the program's inputs, then of the kernel's outputs. Throws Unimplemented for ops and types that have
// no functor on GPUs.
std::string fused_source(const ElementwiseProgram& program, const FusedKernel& kernel);

}  // namespace panto::cuda
