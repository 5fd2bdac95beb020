// The innermost loop of elementwise kernels: one functor over n consecutive elements, compiled once for each
// instruction set. Kernels (loops.h) and fused programs call the same functions, so their results are the same bits.
//
// Instruction sets are chosen by a function attribute, not by compiler options for a file: everything below is inlined
// into an entrance that has the attribute, so no inline function compiled for AVX2 can be linked into portable code.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "panto/device/cpu/level.h"
#include "panto/device/fault.h"
#include "panto/device/functors.h"

// An output may share its memory with an input, element for element: no iteration depends on another, which the
// compiler cannot know.
#ifdef __clang__
#define PANTO_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define PANTO_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace panto::cpu {

// How a loop reads an input: consecutive elements, or always the same one.
template <bool kMoves, class T>
struct Reader {
  const T* data;
  explicit Reader(const void* first) : data(static_cast<const T*>(first)) {}
  [[gnu::always_inline]] const T& operator()(int64_t i) const { return data[i]; }
};
template <class T>
struct Reader<false, T> {
  const T value;
  explicit Reader(const void* first) : value(*static_cast<const T*>(first)) {}
  [[gnu::always_inline]] const T& operator()(int64_t) const { return value; }
};

// A mask beside wider elements, as bytes: g++ does not widen what is loaded as bool.
template <bool kMoves>
struct MaskReader {
  const uint8_t* data;
  explicit MaskReader(const void* first) : data(static_cast<const uint8_t*>(first)) {}
  [[gnu::always_inline]] bool operator()(int64_t i) const { return data[kMoves ? i : 0] != 0; }
};
template <bool kMoves, class T, class Out>
using ReaderFor =
    std::conditional_t<std::is_same_v<T, bool> && (sizeof(Out) > 1), MaskReader<kMoves>, Reader<kMoves, T>>;

// Wider vectors make a difference for numbers only.
template <class... T>
inline constexpr bool kVectorises = (std::is_arithmetic_v<T> && ...);

template <class F, class... In>
inline constexpr bool kMayFault = std::is_base_of_v<Faulty, F> && (std::is_integral_v<In> && ...);

// Whether F has a part for some arguments (device/functors.h), and the inputs are of the type for it.
template <class F, class... In>
concept Bounded = (std::is_same_v<In, float> && ...) && requires(In... x) {
  { F::Bounded::holds(x...) } -> std::same_as<bool>;
};

// `kMay`: a bit for each input that may move; the others are read as one element, whatever the caller says.
template <unsigned kMay, class F, class Out, class... In>
struct PartlyMovingRow {
 private:
  using Indices = std::index_sequence_for<In...>;

  // Blocks whose elements are all within the bounds have a loop of their own, which vectorises.
  template <class... Readers>
  [[gnu::always_inline]] static void blocks(Out* out, int64_t n, const Readers&... in) {
    constexpr int64_t kBlock = 512;
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, n);
      uint32_t beyond = 0;
      for (int64_t i = begin; i < end; ++i) beyond |= F::Bounded::holds(in(i)...) ? 0u : 1u;
      if (beyond == 0) [[likely]] {
        PANTO_INDEPENDENT
        for (int64_t i = begin; i < end; ++i) out[i] = F::Bounded::value(in(i)...);
      } else {
        PANTO_INDEPENDENT
        for (int64_t i = begin; i < end; ++i) out[i] = F{}(in(i)...);
      }
    }
  }

  template <class... Readers>
  [[gnu::always_inline]] static uint32_t loop(Out* out, int64_t n, const Readers&... in) {
    if constexpr (Bounded<F, In...>) {
      blocks(out, n, in...);
      return 0;
    } else {
      F f;
      PANTO_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) out[i] = f(in(i)...);
      if constexpr (kMayFault<F, In...>) {
        return static_cast<uint32_t>(f.fault);
      } else {
        return 0;
      }
    }
  }

  // Tries the variants from the one in which all that may move does.
  template <unsigned kMoves, size_t... I>
  [[gnu::always_inline]] static uint32_t variant(unsigned moves, Out* out, int64_t n, const void* const* in,
                                                 std::index_sequence<I...> indices) {
    if constexpr (kMoves == 0) {
      return loop(out, n, ReaderFor<false, In, Out>(in[I])...);
    } else {
      if (moves == kMoves) return loop(out, n, ReaderFor < (kMoves >> I & 1u) != 0, In, Out > (in[I])...);
      return variant<((kMoves - 1) & kMay)>(moves, out, n, in, indices);
    }
  }

 public:
  static uint32_t portable(unsigned moves, void* out, int64_t n, const void* const* in) {
    return variant<kMay>(moves & kMay, static_cast<Out*>(out), n, in, Indices{});
  }
#ifdef __x86_64__
  [[PANTO_AVX2]] static uint32_t avx2(unsigned moves, void* out, int64_t n, const void* const* in) {
    return variant<kMay>(moves & kMay, static_cast<Out*>(out), n, in, Indices{});
  }
  [[PANTO_AVX512]] static uint32_t avx512(unsigned moves, void* out, int64_t n, const void* const* in) {
    return variant<kMay>(moves & kMay, static_cast<Out*>(out), n, in, Indices{});
  }
#endif
};

template <class F, class Out, class... In>
using Row = PartlyMovingRow<(1u << sizeof...(In)) - 1, F, Out, In...>;

}  // namespace panto::cpu
