// Identities, other types for the same bytes, and shape queries: no work for the GPU but copies.

#include "panto/device/cuda/kernel.h"
#include "panto/device/shape_kernels.h"
#include "panto/device/state.h"

namespace panto {
namespace {

using namespace kernels;

const CudaKernel placeholder_kernel("Placeholder", dtypes::kBytes, run_placeholder);
const CudaKernel placeholder_with_default_kernel("PlaceholderWithDefault", dtypes::kBytes, run_identity);
const CudaKernel ensure_shape_kernel("EnsureShape", dtypes::kBytes, run_identity);  // its shape function did the check
const CudaKernel prevent_gradient_kernel("PreventGradient", dtypes::kBytes, run_identity);
const CudaKernel identity_n_kernel("IdentityN", run_identity);
const CudaKernel custom_gradient_kernel("_CustomGradient", run_first_inputs);
const CudaKernel barrier_kernel("_OptimizationBarrier", run_first_inputs);
const CudaKernel no_op_kernel("NoOp", run_no_op);
const CudaKernel bitcast_kernel("Bitcast", dtypes::kNumeric | dtypes::kQuantized, run_bitcast);

const CudaKernel shape_kernel("Shape", dtypes::kBytes, run_shape);
const CudaKernel shape_n_kernel("ShapeN", dtypes::kBytes, run_shape);
const CudaKernel variable_shape_kernel("VariableShape", dtypes::kIndex, state::shape);
const CudaKernel broadcast_args_kernel("BroadcastArgs", dtypes::kIndex, run_broadcast_args);
const CudaKernel concat_offset_kernel("ConcatOffset", dtypes::kIndex, run_concat_offset);
const CudaKernel rank_kernel("Rank", dtypes::kBytes, run_rank);
const CudaKernel size_kernel("Size", dtypes::kBytes, run_size);
const CudaKernel broadcast_gradient_args_kernel("BroadcastGradientArgs", types::index{}, RunBroadcastGradientArgs{});

}  // namespace
}  // namespace panto
