// Elementwise kernels of one tensor.
#include "panto/device/cuda/elementwise/loops.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/math/elementwise_ops.h"

namespace panto {
namespace {

const TableKernels<"GPU", CudaUnary, types::numbers> unary_kernels(UnaryOps{});

}  // namespace
}  // namespace panto
