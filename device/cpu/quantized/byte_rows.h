// Products of a few rows of 8-bit integers and a matrix of them, which is read as it is: to pack it would take longer
// than to multiply by it.
#pragma once

#include <cstdint>

#include "panto/device/cpu/quantized/byte_gemm.h"

namespace panto::cpu {

// c[m, n] = a[m, k] b[k, n], on all threads, as `byte_gemm` gives it. Returns false, and writes nothing, where this way
// is not for the factors: a has more than a few rows, b's columns do not lie side by side, or the processor has no
// AVX2.
bool byte_gemm_of_few_rows(int64_t m, int64_t n, int64_t k, const ByteMatrix& a, const ByteMatrix& b, int32_t* c);

}  // namespace panto::cpu
