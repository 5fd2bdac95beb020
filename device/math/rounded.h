// Products that are rounded before they are added to anything.
//
//   const float at = rounded(x * scale) + offset;  // never a fused multiply-add, which rounds once
//
// For numbers that decide something (which pixel is read, which integer is nearest) and that others compute with two
// roundings. On x86 only code for AVX2 and wider has fused multiply-adds; elsewhere all code may.
#pragma once

#include "panto/device/math/vocabulary.h"

namespace panto {

template <class T>
PANTO_FN T rounded(T product) {
  // Emits no instruction, but hides the value's origin from the compiler. GPU code is compiled without contraction.
#if defined(__CUDA_ARCH__)
#elif defined(__FMA__)
  asm("" : "+x"(product));  // NOLINT(hicpp-no-assembler)
#elif defined(__aarch64__)
  asm("" : "+w"(product));  // NOLINT(hicpp-no-assembler)
#elif !defined(__x86_64__)
  asm("" : "+m"(product));  // NOLINT(hicpp-no-assembler)
#endif
  return product;
}

}  // namespace panto
