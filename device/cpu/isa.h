// Which instruction sets kernels may use, beyond the baseline of the architecture.
#pragma once

#include <cstdint>
#include <type_traits>

namespace panto::cpu {

// The types for which loops are compiled for several instruction sets. Other types are rare: one portable loop keeps
// the library small and quick to compile.
template <class... T>
inline constexpr bool kIsWide = ((std::is_floating_point_v<T> || std::is_same_v<T, int32_t> ||
                                  std::is_same_v<T, int64_t> || std::is_same_v<T, bool>) &&
                                 ...);

enum class Isa { kPortable, kAvx2, kAvx512 };  // kAvx2: AVX2 and FMA; kAvx512: F, BW, DQ and VL as well

// The highest instruction set of this machine, or a lower one that the environment variable PANTO_CPU names
// ("portable", "avx2"). Constant for the life of the process; may be called before main.
Isa isa() noexcept;

// Whether isa() includes instructions for products of bfloat16 (AVX-512 BF16).
bool has_bfloat16() noexcept;

#ifdef __x86_64__
// Function attributes that select an instruction set.
#define PANTO_AVX2 gnu::target("avx2,fma")
#ifdef __clang__
#define PANTO_AVX512 gnu::target("avx512f,avx512bw,avx512dq,avx512vl,fma")
#else
// For most processors g++ prefers 256-bit vectors, because the first processors with AVX-512 lowered their clock for
// it.
#define PANTO_AVX512 gnu::target("avx512f,avx512bw,avx512dq,avx512vl,fma,prefer-vector-width=512")
#endif

template <class Body>
[[PANTO_AVX2, gnu::flatten]] void run_with_avx2(const Body& body) {
  body();
}
template <class Body>
[[PANTO_AVX512, gnu::flatten]] void run_with_avx512(const Body& body) {
  body();
}
#endif

// Runs body() compiled for this machine's instruction set: everything that it calls is inlined, if its definition is
// visible. For loops that take far longer than the nanosecond of checking isa().
template <class Body>
void multiversioned(const Body& body) {
#ifdef __x86_64__
  if (isa() >= Isa::kAvx512) return run_with_avx512(body);
  if (isa() >= Isa::kAvx2) return run_with_avx2(body);
#endif
  body();
}

// The same; body(bytes) is told the size of vectors, a std::integral_constant.
template <class Body>
void with_vectors(const Body& body) {
#ifdef __x86_64__
  if (isa() >= Isa::kAvx512) {
    return run_with_avx512([&]() __attribute__((always_inline)) { body(std::integral_constant<int, 64>{}); });
  }
  if (isa() >= Isa::kAvx2) {
    return run_with_avx2([&]() __attribute__((always_inline)) { body(std::integral_constant<int, 32>{}); });
  }
#endif
  body(std::integral_constant<int, 16>{});
}

// Runs body() with multiply-adds where `multiversioned` has them, for loops too short for wide vectors: results have
// the same bits.
template <class Body>
void with_fused_products(const Body& body) {
#ifdef __x86_64__
  if (isa() >= Isa::kAvx2) return run_with_avx2(body);
#endif
  body();
}

// Runs body() multiversioned if kIsWide<T>, else the portable version.
template <class T, class Body>
void multiversioned_for(const Body& body) {
  if constexpr (kIsWide<T>) {
    multiversioned(body);
  } else {
    body();
  }
}

}  // namespace panto::cpu
