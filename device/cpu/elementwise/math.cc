// Kernels of unary elementwise arithmetic.
#include "panto/device/cpu/elementwise/loops.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/math/elementwise_ops.h"

namespace panto {
namespace {

const TableKernels<"CPU", Unary, types::common> unary_kernels(UnaryOps{});

}  // namespace
}  // namespace panto
