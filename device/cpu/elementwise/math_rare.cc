// Elementwise kernels for the rare types.
#include "panto/device/cpu/elementwise/loops.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/math/elementwise_ops.h"

namespace panto {
namespace {

const TableKernels<"CPU", Unary, types::rare> unary_kernels(UnaryOps{});
const TableKernels<"CPU", Binary, types::rare> binary_kernels(BinaryOps{});
const TableKernels<"CPU", Binary, types::rare> comparison_kernels(ComparisonOps{});

}  // namespace
}  // namespace panto
