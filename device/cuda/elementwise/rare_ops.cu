// Elementwise kernels of rarely used ops, for the common types only: each further type costs seconds to compile.
#include "panto/device/cuda/elementwise/loops.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/math/elementwise_ops.h"

namespace panto {
namespace {

const TableKernels<"GPU", CudaUnary, types::common> unary_kernels(RareUnaryOps{});
const TableKernels<"GPU", CudaBinary, types::common> binary_kernels(RareBinaryOps{});

}  // namespace
}  // namespace panto
