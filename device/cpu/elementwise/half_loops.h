// Conversions between 16-bit types and float32, written with intrinsics because the compiler does not vectorise them.
// Results equal those of Half and BFloat16 bit for bit.
#pragma once

#ifdef __x86_64__
#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "panto/device/cpu/elementwise/inner_loop.h"
#include "panto/lib/core/tensor/half.h"

namespace panto::cpu {

// F16C: all processors with AVX2 have it, except for some virtual ones.
inline bool has_half_instructions() noexcept { return isa() >= Isa::kAvx2 && __builtin_cpu_supports("f16c"); }

// Each functor converts elements, kVector at a time, until fewer are left (those for AVX-512: until none is) or until
// those that it does not convert. It returns how many it has converted.

// Stops at a NaN: the instruction makes a signalling NaN quiet, while Half leaves it as it is.
struct WidenHalves {
  using In = Half;
  using Out = float;
  static constexpr int64_t kVector = 8;

  [[gnu::target("avx2,f16c")]] static int64_t convert(const Half* in, float* out, int64_t n, bool stream) {
    int64_t i = 0;
    for (; i + kVector <= n; i += kVector) {
      const __m256 made = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i)));
      if (_mm256_movemask_ps(_mm256_cmp_ps(made, made, _CMP_UNORD_Q)) != 0) [[unlikely]]
        break;
      stream ? _mm256_stream_ps(out + i, made) : _mm256_storeu_ps(out + i, made);
    }
    return i;
  }
};

// The lanes of a vector of sixteen that `left` elements fill.
inline constexpr __mmask16 kAllLanes = 0xffff;
inline __mmask16 lanes_of(int64_t left) {
  return left < 16 ? static_cast<__mmask16>((1U << static_cast<unsigned>(left)) - 1) : kAllLanes;
}

struct WidenHalvesByAvx512 {
  using In = Half;
  using Out = float;
  static constexpr int64_t kVector = 16;

  [[gnu::target("avx512f,avx512bw,avx512vl")]] static int64_t convert(const Half* in, float* out, int64_t n,
                                                                      bool stream) {
    int64_t i = 0;
    for (; i < n; i += kVector) {
      const __mmask16 lanes = lanes_of(n - i);
      const __m256i words = _mm256_maskz_loadu_epi16(lanes, in + i);
      const __m256i sizes = _mm256_and_si256(words, _mm256_set1_epi16(0x7fff));
      if (_mm256_cmpgt_epi16_mask(sizes, _mm256_set1_epi16(0x7c00)) != 0) [[unlikely]]
        break;
      // All lanes by a mask: g++ 12 warns that the intrinsic without one reads undefined values.
      const __m512 made = _mm512_maskz_cvtph_ps(kAllLanes, words);
      stream&& lanes == kAllLanes ? _mm512_stream_ps(out + i, made) : _mm512_mask_storeu_ps(out + i, lanes, made);
    }
    return std::min(i, n);
  }
};

struct RoundToHalves {
  using In = float;
  using Out = Half;
  static constexpr int64_t kVector = 8;

  [[gnu::target("avx2,f16c")]] static int64_t convert(const float* in, Half* out, int64_t n, bool stream) {
    int64_t i = 0;
    for (; i + kVector <= n; i += kVector) {
      const __m128i made = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      auto* to = reinterpret_cast<__m128i*>(out + i);
      stream ? _mm_stream_si128(to, made) : _mm_storeu_si128(to, made);
    }
    return i;
  }
};
struct RoundToHalvesByAvx512 {
  using In = float;
  using Out = Half;
  static constexpr int64_t kVector = 16;

  [[gnu::target("avx512f,avx512bw,avx512vl")]] static int64_t convert(const float* in, Half* out, int64_t n,
                                                                      bool stream) {
    for (int64_t i = 0; i < n; i += kVector) {
      const __mmask16 lanes = lanes_of(n - i);
      const __m256i made = _mm512_maskz_cvtps_ph(kAllLanes, _mm512_maskz_loadu_ps(lanes, in + i),
                                                 _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      stream&& lanes == kAllLanes ? _mm256_stream_si256(reinterpret_cast<__m256i*>(out + i), made)
                                  : _mm256_mask_storeu_epi16(out + i, lanes, made);
    }
    return n;
  }
};

struct WidenBFloats {
  using In = BFloat16;
  using Out = float;
  static constexpr int64_t kVector = 8;

  [[gnu::target("avx2")]] static int64_t convert(const BFloat16* in, float* out, int64_t n, bool stream) {
    int64_t i = 0;
    for (; i + kVector <= n; i += kVector) {
      const __m256i words = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i)));
      const __m256 made = _mm256_castsi256_ps(_mm256_slli_epi32(words, 16));
      stream ? _mm256_stream_ps(out + i, made) : _mm256_storeu_ps(out + i, made);
    }
    return i;
  }
};
struct RoundToBFloats {
  using In = float;
  using Out = BFloat16;
  static constexpr int64_t kVector = 16;

  // The result is in the low half of each word. The sum could overflow only for a NaN.
  [[gnu::target("avx2"), gnu::always_inline]] static inline __m256i rounded(__m256 x) {
    const __m256i bits = _mm256_castps_si256(x), high = _mm256_srli_epi32(bits, 16);
    const __m256i half = _mm256_add_epi32(_mm256_set1_epi32(0x7fff), _mm256_and_si256(high, _mm256_set1_epi32(1)));
    return _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
  }
  [[gnu::target("avx2")]] static int64_t convert(const float* in, BFloat16* out, int64_t n, bool stream) {
    int64_t i = 0;
    for (; i + kVector <= n; i += kVector) {
      const __m256 first = _mm256_loadu_ps(in + i), second = _mm256_loadu_ps(in + i + 8);
      if (_mm256_movemask_ps(_mm256_cmp_ps(first, second, _CMP_UNORD_Q)) != 0) [[unlikely]]
        break;  // a NaN must stay NaN
      const __m256i pairs = _mm256_packus_epi32(rounded(first), rounded(second));
      const __m256i made = _mm256_permute4x64_epi64(pairs, 0b11011000);
      auto* to = reinterpret_cast<__m256i*>(out + i);
      stream ? _mm256_stream_si256(to, made) : _mm256_storeu_si256(to, made);
    }
    return i;
  }
};

// An InnerLoopFn. `Loop`: the fallback for cases without vectors.
template <class C, class Loop>
struct HalfLoop {
  static uint32_t run(unsigned moves, void* out, int64_t n, const void* const* in) {
    using Out = typename C::Out;
    const bool stream = (moves & kNontemporal) != 0;
    constexpr uintptr_t kAligned = std::min<uintptr_t>(64, C::kVector * sizeof(Out));
    if ((moves & 1u) == 0 || (stream && reinterpret_cast<uintptr_t>(out) % kAligned != 0)) {
      return Loop::portable(moves, out, n, in);
    }
    const auto* from = static_cast<const typename C::In*>(in[0]);
    auto* to = static_cast<Out*>(out);
    for (int64_t i = 0; i < n;) {
      i += C::convert(from + i, to + i, n - i, stream);
      for (const int64_t last = std::min(n, i + C::kVector); i < last; ++i) to[i] = static_cast<Out>(from[i]);
    }
    return 0;
  }
};

}  // namespace panto::cpu
#endif
