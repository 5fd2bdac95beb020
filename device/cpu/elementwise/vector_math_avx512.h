// exp and erf of sixteen floats, with tables in registers: AVX-512 looks up sixteen numbers in one instruction, which
// no compiler does for a table in memory. They replace device/math/vector_math.h in row loops
// (device/cpu/elementwise/inner_loop.h) compiled for AVX-512. Cycles for sixteen floats on Zen 4, here and for the
// portable functions compiled by g++: exp 9.0 and 14.7, erf 12.7 and 22.6.
//
// Largest error over all floats, measured against double (tests/device/cpu/vector_math_test.cc): exp 1.0 ulp, erf 2.2
// ulp. Special values as in vector_math.h.
#pragma once

#ifdef __x86_64__
#include <immintrin.h>

#include "panto/device/cpu/isa.h"

namespace panto::cpu::avx512 {

// All lanes. Intrinsics with a mask compute the same as those without; g++ 12 warns about the latter, that they read
// undefined values.
inline constexpr __mmask16 kAll = 0xffff;

// e^x = 2^(n / 16) e^r with n the integer next to 16 x / ln(2), so that |r| <= ln(2) / 32. 2^(n / 16) is a table entry,
// selected by the last four bits of n, times a power of two. e^r - 1 = r (1 + r (a + b r)), where a and b minimise the
// largest relative error, 2^-29.
[[PANTO_AVX512, gnu::always_inline]] inline __m512 exp(__m512 x) {
  alignas(64) static constexpr float kPowers[] = {
      1.F,         1.04427373F, 1.09050775F, 1.13878858F, 1.18920708F, 1.24185777F, 1.29683959F, 1.35425556F,
      1.41421354F, 1.47682619F, 1.54221082F, 1.61049032F, 1.68179286F, 1.75625217F, 1.8340081F,  1.91520655F};
  // Below -104 the result is 0. It is not computed there: underflow takes the processor a hundred cycles a vector, and
  // in attention half of all numbers may be -1e9. NaN is not less.
  const __mmask16 is_some = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-104.F), _CMP_NLT_UQ);
  // Outside of [-110, 100] the result is 0 or infinity anyway. The order of min and max keeps a NaN.
  x = _mm512_maskz_min_ps(kAll, _mm512_set1_ps(100.F), _mm512_maskz_max_ps(kAll, _mm512_set1_ps(-110.F), x));
  const __m512 round = _mm512_set1_ps(12582912.F);  // 1.5 * 2^23: adding to it rounds to an integer
  const __m512 shifted = _mm512_fmadd_ps(x, _mm512_set1_ps(23.0831207F), round);
  const __m512 n = _mm512_sub_ps(shifted, round);
  // ln(2) / 16 as the sum of two numbers; the first has so few bits that its multiples are exact.
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0x1.62ep-5F), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(1.99663656e-06F), r);
  const __m512 power = _mm512_maskz_permutexvar_ps(kAll, _mm512_castps_si512(shifted), _mm512_load_ps(kPowers));
  __m512 p = _mm512_fmadd_ps(r, _mm512_set1_ps(0.16667038F), _mm512_set1_ps(0.5000162F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.F));
  p = _mm512_fmadd_ps(_mm512_mul_ps(power, r), p, power);
  // Times 2^floor(n / 16).
  return _mm512_maskz_scalef_ps(is_some, p, _mm512_mul_ps(n, _mm512_set1_ps(0.0625F)));
}

// Looks up one of 32 numbers for each lane, by the last five bits of `which`.
[[PANTO_AVX512, gnu::always_inline]] inline __m512 look_up(const float (&table)[32], __m512i which) {
  return _mm512_permutex2var_ps(_mm512_load_ps(table), which, _mm512_load_ps(table + 16));
}

// A polynomial of degree four in the distance from the closest multiple of 1/8. Each polynomial minimises the largest
// relative error; its coefficients were rounded one after the other.
[[PANTO_AVX512, gnu::always_inline]] inline __m512 erf(__m512 x) {
  alignas(64) static constexpr float kCoefficients[5][32] = {
      {0.F,          0.140316203F, 0.276326388F, 0.404116899F, 0.520499885F, 0.623240888F, 0.711155653F, 0.784075081F,
       0.842700779F, 0.888388216F, 0.92290014F,  0.948170066F, 0.966105163F, 0.978443742F, 0.986671686F, 0.99199003F,
       0.995322287F, 0.997345984F, 0.998537302F, 0.999217033F, 0.999593019F, 0.999794602F, 0.999899387F, 0.999952137F,
       0.999977887F, 0.999990106F, 0.999995708F, 0.999998212F, 0.999999285F, 0.999999702F, 0.999999881F, 0.99999994F},
      {1.12837911F,     1.11088479F,     1.06001377F,     0.980352759F,   0.87878257F,     0.763499558F,
       0.642931104F,    0.524745047F,    0.415107489F,    0.318273962F,   0.236521125F,    0.170359775F,
       0.118930288F,    0.0804722607F,   0.0527749956F,   0.0335458256F,  0.0206669867F,   0.0123408204F,
       0.00714231934F,  0.00400647754F,  0.00217828411F,  0.0011478751F,  0.000586277223F, 0.000290228287F,
       0.000139252981F, 6.47586858e-05F, 2.91887154e-05F, 1.2751434e-05F, 5.39926987e-06F, 2.21585356e-06F,
       8.8139717e-07F,  3.3982613e-07F},
      {2.10129492e-05F,  -0.138856038F,    -0.264999986F,    -0.36761421F,     -0.439404309F,    -0.47719577F,
       -0.482232034F,    -0.459184557F,    -0.415091366F,    -0.358036727F,    -0.295669407F,    -0.23423548F,
       -0.178427756F,    -0.13078481F,     -0.0923860148F,   -0.0628428534F,   -0.0413773917F,   -0.0262499191F,
       -0.0161068775F,   -0.00945834909F,  -0.00538819795F,  -0.00296897744F,  -0.00163087854F,  -0.000818892673F,
       -0.000371227361F, -0.000207126592F, -0.000117813361F, -9.85023653e-05F, -7.57980233e-05F, -2.14230613e-06F,
       7.8980911e-06F,   3.36121193e-05F},
      {-0.377310604F,   -0.358224034F,   -0.308787614F,   -0.234729216F,   -0.146449357F,   -0.0557602048F,
       0.0266431309F,   0.0927434638F,   0.138156399F,    0.162274122F,    0.167400017F,    0.157845825F,
       0.138721108F,    0.114835173F,    0.0901703462F,   0.067465879F,    0.0482486337F,   0.0330633707F,
       0.0217459258F,   0.0137473755F,   0.00836229417F,  0.00489879446F,  0.00276588625F,  0.00150593009F,
       0.000791145721F, 0.000401164318F, 0.000196802968F, 9.32206385e-05F, 4.26168881e-05F, 1.88238009e-05F,
       8.04151387e-06F, 3.30119042e-06F},
      {0.0210894179F,   0.0672910959F,   0.125967979F,   0.162348762F,   0.185901061F,    0.178130805F,
       0.158148021F,    0.119438365F,    0.0659854338F,  0.0235547442F,  -0.00224307296F, -0.0323140025F,
       -0.0366743729F,  -0.0452652611F,  -0.0406577848F, -0.0561382286F, -0.0237354245F,  -0.0201646909F,
       -0.0100372946F,  -0.0274864174F,  -0.0231627375F, -0.0166021511F, 0.0014145195F,   -0.00580312265F,
       -0.0129231364F,  0.000639791251F, 0.00557988556F, 0.0140503319F,  0.0144921448F,   -0.00153844396F,
       -0.00288077025F, -0.00894427579F},
  };
  const __m512 sign = _mm512_set1_ps(-0.F);
  const __m512 size =
      _mm512_maskz_min_ps(kAll, _mm512_set1_ps(3.93F), _mm512_andnot_ps(sign, x));  // where the result is 1
  const __m512 round = _mm512_set1_ps(1572864.F);  // 1.5 * 2^20: adding to it rounds to a multiple of 1/8
  const __m512 shifted = _mm512_add_ps(size, round);
  const __m512 r = _mm512_sub_ps(size, _mm512_sub_ps(shifted, round));
  const __m512i which = _mm512_castps_si512(shifted);
  __m512 p = look_up(kCoefficients[4], which);
  for (int k = 3; k >= 0; --k) p = _mm512_fmadd_ps(p, r, look_up(kCoefficients[k], which));
  constexpr int kSelect = 0xca;  // per bit: the first ? the second : the third
  return _mm512_castsi512_ps(
      _mm512_ternarylogic_epi32(_mm512_castps_si512(sign), _mm512_castps_si512(x), _mm512_castps_si512(p), kSelect));
}

}  // namespace panto::cpu::avx512
#endif
