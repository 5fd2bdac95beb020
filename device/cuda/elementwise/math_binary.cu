// Elementwise arithmetic kernels of two tensors.
#include "panto/device/cuda/elementwise/loops.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/math/elementwise_ops.h"

namespace panto {
namespace {

const TableKernels<"GPU", CudaBinary, types::numbers> binary_kernels(BinaryOps{});

}  // namespace
}  // namespace panto
