// Elementwise kernels of rarely called ops.
#include "panto/device/cpu/elementwise/loops.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/math/elementwise_ops.h"

namespace panto {
namespace {

const TableKernels<"CPU", Unary, types::numbers> unary_kernels(RareUnaryOps{});
const TableKernels<"CPU", Binary, types::numbers> binary_kernels(RareBinaryOps{});

}  // namespace
}  // namespace panto
