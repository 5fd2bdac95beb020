// What fused kernels do to a result before anyone sees it.
#pragma once

#include <cstdint>

#include "panto/lib/ops/fused.h"

namespace panto::cpu {

// y = activation(y + bias), row by row; `bias` has one element for each column, or is null.
void apply_epilogue(const Epilogue& epilogue, const float* bias, int64_t rows, int64_t columns, float* y);

}  // namespace panto::cpu
