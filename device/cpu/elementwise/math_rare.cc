// Elementwise kernels of the types that are rare.
#include "panto/device/cpu/elementwise/loops.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/math/elementwise_ops.h"

namespace panto {
namespace {

const TableKernels<DeviceKind::kCpu, Unary, types::rare> unary_kernels(UnaryOps{});
const TableKernels<DeviceKind::kCpu, Binary, types::rare> binary_kernels(BinaryOps{});
const TableKernels<DeviceKind::kCpu, Binary, types::rare> comparison_kernels(ComparisonOps{});

}  // namespace
}  // namespace panto
