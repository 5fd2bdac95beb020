// Which instructions kernels may use, beyond those that every machine of this architecture has.
#pragma once

#include <cstdint>
#include <type_traits>

namespace panto::cpu {

// The types that loops are compiled for several instruction sets for. Of the others, which are rare, there is one loop
// for all machines: it is a matter of the size of the library, and of the time to compile it.
template <class... T>
inline constexpr bool kIsWide = ((std::is_floating_point_v<T> || std::is_same_v<T, int32_t> ||
                                  std::is_same_v<T, int64_t> || std::is_same_v<T, bool>) &&
                                 ...);

enum class Isa { kPortable, kAvx2, kAvx512 };  // kAvx2: AVX2 and FMA; kAvx512: F, BW, DQ and VL as well

// The highest that this machine has, or that which the environment variable PANTO_CPU ("portable", "avx2") names where
// it is lower. The same for the life of the process; may be asked before main.
Isa isa() noexcept;

// Whether that has an instruction for products of bfloat16 (AVX-512 BF16).
bool has_bfloat16() noexcept;

#ifdef __x86_64__
// Attributes of a function that is compiled for an instruction set.
#define PANTO_AVX2 gnu::target("avx2,fma")
#ifdef __clang__
#define PANTO_AVX512 gnu::target("avx512f,avx512bw,avx512dq,avx512vl,fma")
#else
// For most processors g++ prefers vectors of half the width, which was a matter of the clock of the first that had
// them.
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

// Runs body(), compiled for this machine: whatever it calls is inlined, as far as the compiler sees its text. For loops
// that take far longer than the nanosecond of asking.
template <class Body>
void multiversioned(const Body& body) {
#ifdef __x86_64__
  if (isa() >= Isa::kAvx512) return run_with_avx512(body);
  if (isa() >= Isa::kAvx2) return run_with_avx2(body);
#endif
  body();
}

// The same where T is a type that loops are compiled for several instruction sets for, else body() for every machine.
template <class T, class Body>
void multiversioned_for(const Body& body) {
  if constexpr (kIsWide<T>) {
    multiversioned(body);
  } else {
    body();
  }
}

}  // namespace panto::cpu
