// The innermost loop of elementwise kernels: one functor over n consecutive elements, compiled once for each
// instruction set. Kernels (loops.h) and fused programs call the same functions, so their results have the same bits.
//
// A function attribute selects the instruction set, not compiler options for a file. Everything below is inlined into
// an entry function with the attribute, so no inline function compiled for AVX2 can be linked into portable code.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "panto/device/cpu/elementwise/kernel_loop.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/stream.h"
#include "panto/device/fault.h"
#include "panto/device/math/functors.h"
#ifdef __x86_64__
#include <immintrin.h>

#include "panto/device/cpu/elementwise/vector_math_avx512.h"
#endif

// Iterations are independent, which the compiler cannot know: an output may share memory with an input, element for
// element.
#ifdef __clang__
#define PANTO_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define PANTO_ONE_VECTOR PANTO_INDEPENDENT
#else
#define PANTO_INDEPENDENT _Pragma("GCC ivdep")
// For a loop of one vector's length. g++ would unroll a short loop and then vectorise only part of it.
#define PANTO_ONE_VECTOR _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
#endif

namespace panto::cpu {

// Flags in bits of `moves` that stand for no input.
//
// kNontemporal: results are written past the caches (device/cpu/stream.h). The output shares memory with no input; the
// caller must call stream_fence().
inline constexpr unsigned kNontemporal = 1u << 31;
// With kNontemporal: bit kPrefetch + i is set if input i comes from memory and is to be prefetched.
inline constexpr unsigned kPrefetch = 8;

// How a loop reads an input: consecutive elements, or always the same one.
template <bool kMoves, class T>
struct Reader {
  const T* data;
  int64_t ahead;  // elements
  explicit Reader(const void* first, bool far)
      : data(static_cast<const T*>(first)), ahead(far ? kReadAhead / static_cast<int64_t>(sizeof(T)) : 0) {}
  [[gnu::always_inline]] const T& operator()(int64_t i) const { return data[i]; }
  // Called once per cache line of the result. Without `far` it prefetches the current position.
  [[gnu::always_inline]] void prefetch(int64_t i) const { __builtin_prefetch(data + i + ahead); }
};
template <class T>
struct Reader<false, T> {
  const T value;
  explicit Reader(const void* first, bool) : value(*static_cast<const T*>(first)) {}
  [[gnu::always_inline]] const T& operator()(int64_t) const { return value; }
  [[gnu::always_inline]] void prefetch(int64_t) const {}
};

// A bool mask beside wider elements, read as bytes: g++ does not widen elements loaded as bool.
template <bool kMoves>
struct MaskReader : Reader<kMoves, uint8_t> {
  using Reader<kMoves, uint8_t>::Reader;
  [[gnu::always_inline]] bool operator()(int64_t i) const { return Reader<kMoves, uint8_t>::operator()(i) != 0; }
};
template <bool kMoves, class T, class Out>
using ReaderFor =
    std::conditional_t<std::is_same_v<T, bool> && (sizeof(Out) > 1), MaskReader<kMoves>, Reader<kMoves, T>>;

// Whether F's loops over these types are compiled for several instruction sets.
template <class F, class... T>
inline constexpr bool kVectorises = kIsWide<T...>;
template <class F, class... T>
  requires(F::kScalar)
inline constexpr bool kVectorises<F, T...> = false;
template <class F, class... T>
  requires(F::kOfStorage)
inline constexpr bool kVectorises<F, T...> = (std::is_arithmetic_v<T> && ...);

template <class F, class... In>
inline constexpr bool kMayFault = std::is_base_of_v<Faulty, F> && (std::is_integral_v<In> && ...);

// Whether F has a bounded version (device/math/functors.h) and all inputs are float, its type.
template <class F, class... In>
concept Bounded = (std::is_same_v<In, float> && ...) && requires(In... x) {
  { F::Bounded::holds(x...) } -> std::same_as<bool>;
};

// Writes elements [begin, end) with ordinary stores.
struct Stored {
  template <class F, class Out, class... Readers>
  [[gnu::always_inline]] static void write(Out* out, int64_t begin, int64_t end, F& f, const Readers&... in) {
    PANTO_INDEPENDENT
    for (int64_t i = begin; i < end; ++i) out[i] = f(in(i)...);
  }
};

#ifdef __x86_64__
// Functors of sixteen floats, value(__m512...), for which intrinsics beat the compiler's code for F on AVX-512.
template <class F>
struct InVectors {};
template <>
struct InVectors<ExpFn> {
  [[PANTO_AVX512, gnu::always_inline]] static __m512 value(__m512 x) { return avx512::exp(x); }
};
template <>
struct InVectors<ErfFn> {
  [[PANTO_AVX512, gnu::always_inline]] static __m512 value(__m512 x) { return avx512::erf(x); }
};
template <class F, class Out, class... In>
inline constexpr bool kInVectors =
    (std::is_same_v<Out, float> && ... && std::is_same_v<In, float>) && requires { &InVectors<F>::value; };

// Loads elements [i, i + 16) of an input, those with a bit in `which`.
[[PANTO_AVX512, gnu::always_inline]] inline __m512 vector_of(const Reader<true, float>& in, int64_t i,
                                                             __mmask16 which) {
  return _mm512_maskz_loadu_ps(which, in.data + i);
}
[[PANTO_AVX512, gnu::always_inline]] inline __m512 vector_of(const Reader<true, float>& in, int64_t i) {
  return _mm512_loadu_ps(in.data + i);
}
template <class... Which>
[[PANTO_AVX512, gnu::always_inline]] inline __m512 vector_of(const Reader<false, float>& in, int64_t, Which...) {
  return _mm512_set1_ps(in.value);
}

// Like Stored, for a functor with InVectors.
struct VectorsStored {
  template <class F, class... Readers>
  [[PANTO_AVX512]] static void write(float* out, int64_t begin, int64_t end, F&, const Readers&... in) {
    for (; begin + 16 <= end; begin += 16) {
      _mm512_storeu_ps(out + begin, InVectors<F>::value(vector_of(in, begin)...));
    }
    if (begin == end) return;
    const auto rest = static_cast<__mmask16>((1u << (end - begin)) - 1);
    _mm512_mask_storeu_ps(out + begin, rest, InVectors<F>::value(vector_of(in, begin, rest)...));
  }
};

// Writes whole cache lines from registers past the caches: g++ turns the loop over `line` into vectors without an array
// in memory. Measured for 16M floats on two Zen 4 cores, which store half a line a cycle: exp 2.3 ms, through the
// first-level cache 2.9.
struct LinesAvx512 {
  template <class F, class Out, class... Readers>
  [[PANTO_AVX512]] static void write(Out* out, int64_t begin, int64_t end, F& f, const Readers&... in) {
    constexpr int64_t kLine = 64 / sizeof(Out);
    for (int64_t i = begin; i < end; i += kLine) {
      (in.prefetch(i), ...);
      if constexpr (requires { InVectors<F>::value(vector_of(in, i)...); }) {
        _mm512_stream_ps(out + i, InVectors<F>::value(vector_of(in, i)...));
      } else {
        Out line[kLine];
        PANTO_ONE_VECTOR
        for (int64_t l = 0; l < kLine; ++l) line[l] = f(in(i + l)...);
        _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i), _mm512_loadu_si512(line));
      }
    }
  }
};
struct LinesAvx2 {
  template <class F, class Out, class... Readers>
  [[PANTO_AVX2]] static void write(Out* out, int64_t begin, int64_t end, F& f, const Readers&... in) {
    constexpr int64_t kHalf = 32 / sizeof(Out);
    for (int64_t i = begin; i < end; i += kHalf) {
      if (i % (2 * kHalf) == 0) (in.prefetch(i), ...);
      Out half[kHalf];
      PANTO_ONE_VECTOR
      for (int64_t l = 0; l < kHalf; ++l) half[l] = f(in(i + l)...);
      _mm256_stream_si256(reinterpret_cast<__m256i*>(out + i),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(half)));
    }
  }
};
#endif

// `kMay`: a bit for each input that may move; the others are read as a single element, whatever `moves` says.
template <unsigned kMay, class F, class Out, class... In>
struct PartlyStridedLoop {
 private:
  using Indices = std::index_sequence_for<In...>;

  // Blocks with all elements in the bounded domain take a loop of their own, which vectorises.
  template <class Writer, class... Readers>
  [[gnu::always_inline]] static void blocks(Out* out, int64_t n, const Readers&... in) {
    constexpr int64_t kBlock = 512;
    const auto bounded = [](auto... x) __attribute__((always_inline)) { return F::Bounded::value(x...); };
    F any;
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, n);
      uint32_t beyond = 0;
      for (int64_t i = begin; i < end; ++i) beyond |= F::Bounded::holds(in(i)...) ? 0u : 1u;
      if (beyond == 0) [[likely]] {
        Writer::write(out, begin, end, bounded, in...);
      } else {
        Writer::write(out, begin, end, any, in...);
      }
    }
  }

  template <class Writer, class... Readers>
  [[gnu::always_inline]] static uint32_t loop(Out* out, int64_t n, const Readers&... in) {
    if constexpr (Bounded<F, In...>) {
      blocks<Writer>(out, n, in...);
      return 0;
    } else {
      F f;
      Writer::write(out, 0, n, f, in...);
      if constexpr (kMayFault<F, In...>) {
        return static_cast<uint32_t>(f.fault);
      } else {
        return 0;
      }
    }
  }

  // Tries the variants in turn, beginning with the one in which all inputs of kMay move.
  template <class Writer, unsigned kMoves, size_t... I>
  [[gnu::always_inline]] static uint32_t variant(unsigned moves, Out* out, int64_t n, const void* const* in,
                                                 std::index_sequence<I...> indices) {
    if constexpr (kMoves == 0) {
      return loop<Writer>(out, n, ReaderFor<false, In, Out>(in[I], false)...);
    } else {
      if ((moves & kMay) == kMoves) {
        return loop<Writer>(out, n, ReaderFor < (kMoves >> I & 1u) != 0, In,
                            Out > (in[I], (moves >> (kPrefetch + I) & 1u) != 0)...);
      }
      return variant<Writer, ((kMoves - 1) & kMay)>(moves, out, n, in, indices);
    }
  }
  template <class Writer>
  [[gnu::always_inline]] static uint32_t run(unsigned moves, void* out, int64_t n, const void* const* in) {
    return variant<Writer, kMay>(moves, static_cast<Out*>(out), n, in, Indices{});
  }

  // Pointers to the inputs from element `begin` on.
  struct From {
    const void* in[sizeof...(In)];
    From(unsigned moves, const void* const* all, int64_t begin) : From(moves, all, begin, Indices{}) {}
    template <size_t... I>
    From(unsigned moves, const void* const* all, int64_t begin, std::index_sequence<I...>)
        : in{static_cast<const In*>(all[I]) + ((moves >> I & 1u) != 0 ? begin : 0)...} {}
    template <size_t... I>
    void read_ahead(unsigned moves, int64_t n, std::index_sequence<I...>) const {
      ((((moves >> I & moves >> (kPrefetch + I) & 1u) != 0) ? cpu::read_ahead(static_cast<const In*>(in[I]), n)
                                                            : void()),
       ...);
    }
  };

  // Computes pieces in the first-level cache and copies them past the caches.
  static uint32_t by_pieces(InnerLoopFn loop, unsigned moves, void* out, int64_t n, const void* const* in) {
    constexpr int64_t kMost = kStreamPiece / static_cast<int64_t>(sizeof(Out));
    alignas(64) std::byte piece[kStreamPiece];
    uint32_t found = 0;
    for (int64_t begin = 0; begin < n; begin += kMost) {
      const int64_t count = std::min(kMost, n - begin);
      const From from(moves, in, begin);
      from.read_ahead(moves, count, Indices{});
      if (const uint32_t fault = loop(moves & ~kNontemporal, piece, count, from.in); fault != 0) [[unlikely]]
        found = fault;
      stream_copy(reinterpret_cast<std::byte*>(static_cast<Out*>(out) + begin), piece,
                  static_cast<size_t>(count) * sizeof(Out));
    }
    return found;
  }

  template <class Writer>
  [[gnu::always_inline]] static uint32_t nontemporal(InnerLoopFn loop, unsigned moves, void* out, int64_t n,
                                                     const void* const* in) {
    // Whole lines are written directly only if no input type is wider than the output's.
    if constexpr (std::is_floating_point_v<Out> && ((sizeof(In) <= sizeof(Out)) && ...)) {
      constexpr int64_t kLine = 64 / sizeof(Out);
      if (reinterpret_cast<uintptr_t>(out) % 64 == 0) [[likely]] {
        const int64_t lines = n / kLine * kLine;
        const uint32_t fault = run<Writer>(moves, out, lines, in);
        if (lines == n) [[likely]]
          return fault;
        return fault |
               loop(moves & ~kNontemporal, static_cast<Out*>(out) + lines, n - lines, From(moves, in, lines).in);
      }
    }
    return by_pieces(loop, moves, out, n, in);
  }

 public:
  static uint32_t portable(unsigned moves, void* out, int64_t n, const void* const* in) {
    if ((moves & kNontemporal) != 0) [[unlikely]]
      return by_pieces(portable, moves, out, n, in);
    return run<Stored>(moves, out, n, in);
  }
#ifdef __x86_64__
  [[PANTO_AVX2]] static uint32_t avx2(unsigned moves, void* out, int64_t n, const void* const* in) {
    if ((moves & kNontemporal) != 0) [[unlikely]]
      return nontemporal<LinesAvx2>(avx2, moves, out, n, in);
    return run<Stored>(moves, out, n, in);
  }
  [[PANTO_AVX512]] static uint32_t avx512(unsigned moves, void* out, int64_t n, const void* const* in) {
    if ((moves & kNontemporal) != 0) [[unlikely]]
      return nontemporal<LinesAvx512>(avx512, moves, out, n, in);
    return run<std::conditional_t<kInVectors<F, Out, In...>, VectorsStored, Stored>>(moves, out, n, in);
  }
#endif
};

template <class F, class Out, class... In>
using InnerLoop = PartlyStridedLoop<(1u << sizeof...(In)) - 1, F, Out, In...>;

// Returns the inner loop R for this machine. `Portable`: the loop for machines without AVX2, if another.
template <class R, class Portable = R>
InnerLoopFn inner_loop_for_this_machine() {
#ifdef __x86_64__
  if (isa() >= Isa::kAvx512) return R::avx512;
  if (isa() >= Isa::kAvx2) return R::avx2;
#endif
  return Portable::portable;
}

}  // namespace panto::cpu
