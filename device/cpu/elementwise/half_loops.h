// Conversions between 16-bit types and float32, written with intrinsics because the compiler does not vectorise them.
// Results equal those of Half and BFloat16 bit for bit.
#pragma once

#ifdef __x86_64__
#include <immintrin.h>

#include <cstdint>

#include "panto/device/cpu/elementwise/inner_loop.h"
#include "panto/lib/core/tensor/half.h"

namespace panto::cpu {

// F16C: all processors with AVX2 have it, except for some virtual ones.
inline bool has_half_instructions() noexcept { return isa() >= Isa::kAvx2 && __builtin_cpu_supports("f16c"); }

// Each functor converts kVector elements, or returns false; then the caller converts them one by one.

// Returns false for a NaN: the instruction makes a signalling NaN quiet, while Half leaves it as it is.
struct WidenHalves {
  using In = Half;
  using Out = float;
  static constexpr int64_t kVector = 8;

  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline bool convert(const Half* in, float* out, bool stream) {
    const __m256 made = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in)));
    if (_mm256_movemask_ps(_mm256_cmp_ps(made, made, _CMP_UNORD_Q)) != 0) [[unlikely]]
      return false;
    stream ? _mm256_stream_ps(out, made) : _mm256_storeu_ps(out, made);
    return true;
  }
};
struct RoundToHalves {
  using In = float;
  using Out = Half;
  static constexpr int64_t kVector = 8;

  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline bool convert(const float* in, Half* out, bool stream) {
    const __m128i made = _mm256_cvtps_ph(_mm256_loadu_ps(in), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    auto* to = reinterpret_cast<__m128i*>(out);
    stream ? _mm_stream_si128(to, made) : _mm_storeu_si128(to, made);
    return true;
  }
};

struct WidenBFloats {
  using In = BFloat16;
  using Out = float;
  static constexpr int64_t kVector = 8;

  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline bool convert(const BFloat16* in, float* out,
                                                                              bool stream) {
    const __m256i words = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in)));
    const __m256 made = _mm256_castsi256_ps(_mm256_slli_epi32(words, 16));
    stream ? _mm256_stream_ps(out, made) : _mm256_storeu_ps(out, made);
    return true;
  }
};
struct RoundToBFloats {
  using In = float;
  using Out = BFloat16;
  static constexpr int64_t kVector = 16;

  // The result is in the low half of each word. The sum could overflow only for a NaN.
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline __m256i rounded(__m256 x) {
    const __m256i bits = _mm256_castps_si256(x), high = _mm256_srli_epi32(bits, 16);
    const __m256i half = _mm256_add_epi32(_mm256_set1_epi32(0x7fff), _mm256_and_si256(high, _mm256_set1_epi32(1)));
    return _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
  }
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline bool convert(const float* in, BFloat16* out,
                                                                              bool stream) {
    const __m256 first = _mm256_loadu_ps(in), second = _mm256_loadu_ps(in + 8);
    if (_mm256_movemask_ps(_mm256_cmp_ps(first, second, _CMP_UNORD_Q)) != 0) [[unlikely]]
      return false;  // a NaN must stay NaN
    const __m256i pairs = _mm256_packus_epi32(rounded(first), rounded(second));
    const __m256i made = _mm256_permute4x64_epi64(pairs, 0b11011000);
    auto* to = reinterpret_cast<__m256i*>(out);
    stream ? _mm256_stream_si256(to, made) : _mm256_storeu_si256(to, made);
    return true;
  }
};

// An InnerLoopFn. `Loop`: the fallback for cases without vectors.
template <class C, class Loop>
struct HalfLoop {
  [[gnu::target("avx2,f16c")]] static uint32_t run(unsigned moves, void* out, int64_t n, const void* const* in) {
    constexpr int64_t kVector = C::kVector;
    const bool stream = (moves & kNontemporal) != 0;
    constexpr uintptr_t kAligned = kVector * sizeof(typename C::Out);
    if ((moves & 1u) == 0 || (stream && reinterpret_cast<uintptr_t>(out) % kAligned != 0)) {
      return Loop::portable(moves, out, n, in);
    }
    const auto* from = static_cast<const typename C::In*>(in[0]);
    auto* to = static_cast<typename C::Out*>(out);
    int64_t i = 0;
    for (; i + kVector <= n; i += kVector) {
      if (C::convert(from + i, to + i, stream)) [[likely]]
        continue;
      for (int64_t j = i; j < i + kVector; ++j) to[j] = static_cast<typename C::Out>(from[j]);
    }
    for (; i < n; ++i) to[i] = static_cast<typename C::Out>(from[i]);
    return 0;
  }
};

}  // namespace panto::cpu
#endif
