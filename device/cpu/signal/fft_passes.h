// Passes of Fourier transforms on vectors of the instruction set that the function is
// compiled for.
#pragma once

#include <cstdint>
#include <numbers>
#include <utility>

#include "panto/device/cpu/signal/fft_plan.h"
#include "panto/device/cpu/vector.h"

namespace panto::cpu {

// The inputs and outputs of a pass at one position. Inputs lie `from_step` apart and outputs `to_step`; element q of
// each input contributes to element q of each output.
template <class T>
struct Lines {
  const T *re, *im;
  T *out_re, *out_im;
  int64_t from_step, to_step;
};

// A table of complex factors, each at its place in both arrays.
template <class T>
struct Factors {
  const T *re, *im;
};
template <class T>
Factors<T> factors(const RootTable<T>& table) {
  return {table.re.data(), table.im.data()};
}

// Vectors of complex numbers.
template <class V>
struct ComplexVector {
  V re, im;
};

template <class V>
[[gnu::always_inline]] inline void dft_of_2(ComplexVector<V>& a, ComplexVector<V>& b) {
  const ComplexVector<V> x = a;
  a = {x.re + b.re, x.im + b.im};
  b = {x.re - b.re, x.im - b.im};
}

template <class V>
[[gnu::always_inline]] inline void dft_of_4(ComplexVector<V>& a, ComplexVector<V>& b, ComplexVector<V>& c,
                                            ComplexVector<V>& d) {
  dft_of_2(a, c);
  dft_of_2(b, d);
  dft_of_2(a, b);
  const ComplexVector<V> x = c, y = d;
  c = b;
  b = {x.re + y.im, x.im - y.re};
  d = {x.re - y.im, x.im + y.re};
}

// The transform of kCount vectors, in place.
template <int kCount, class T, class V>
[[gnu::always_inline]] inline void dft(ComplexVector<V>* x) {
  if constexpr (kCount == 2) {
    dft_of_2(x[0], x[1]);
  } else if constexpr (kCount == 3) {
    constexpr T kHalf = T(0.5), kHigh = std::numbers::sqrt3_v<T> / 2;
    const V s_re = x[1].re + x[2].re, s_im = x[1].im + x[2].im;
    const V d_re = kHigh * (x[1].re - x[2].re), d_im = kHigh * (x[1].im - x[2].im);
    const V m_re = x[0].re - kHalf * s_re, m_im = x[0].im - kHalf * s_im;
    x[0] = {x[0].re + s_re, x[0].im + s_im};
    x[1] = {m_re + d_im, m_im - d_re};
    x[2] = {m_re - d_im, m_im + d_re};
  } else if constexpr (kCount == 4) {
    dft_of_4(x[0], x[1], x[2], x[3]);
  } else if constexpr (kCount == 5) {
    // Cosines and sines of a fifth and two fifths of a turn.
    constexpr T kC1 = T(0.30901699437494742410), kC2 = T(-0.80901699437494742410);
    constexpr T kS1 = T(0.95105651629515357212), kS2 = T(0.58778525229247312917);
    const V p_re = x[1].re + x[4].re, p_im = x[1].im + x[4].im;
    const V m_re = x[1].re - x[4].re, m_im = x[1].im - x[4].im;
    const V u_re = x[2].re + x[3].re, u_im = x[2].im + x[3].im;
    const V v_re = x[2].re - x[3].re, v_im = x[2].im - x[3].im;
    const V e_re = x[0].re + kC1 * p_re + kC2 * u_re, e_im = x[0].im + kC1 * p_im + kC2 * u_im;
    const V f_re = x[0].re + kC2 * p_re + kC1 * u_re, f_im = x[0].im + kC2 * p_im + kC1 * u_im;
    const V g_re = kS1 * m_re + kS2 * v_re, g_im = kS1 * m_im + kS2 * v_im;
    const V h_re = kS2 * m_re - kS1 * v_re, h_im = kS2 * m_im - kS1 * v_im;
    x[0] = {x[0].re + p_re + u_re, x[0].im + p_im + u_im};
    x[1] = {e_re + g_im, e_im - g_re};
    x[2] = {f_re + h_im, f_im - h_re};
    x[3] = {f_re - h_im, f_im + h_re};
    x[4] = {e_re - g_im, e_im + g_re};
  } else {
    static_assert(kCount == 8);
    dft_of_4(x[0], x[2], x[4], x[6]);
    dft_of_4(x[1], x[3], x[5], x[7]);
    // Now x[2 k] is element k of the even half's transform, x[2 k + 1] that of the odd half's.
    constexpr T kEighth = std::numbers::sqrt2_v<T> / 2;  // cosine and sine of an eighth of a turn
    const V a_re = x[3].re + x[3].im, a_im = x[3].im - x[3].re;
    const V b_re = x[7].im - x[7].re, b_im = x[7].re + x[7].im;
    const ComplexVector<V> e0 = x[0], e1 = x[2], e2 = x[4], e3 = x[6], o0 = x[1], o2 = x[5];
    x[0] = {e0.re + o0.re, e0.im + o0.im};
    x[4] = {e0.re - o0.re, e0.im - o0.im};
    x[1] = {e1.re + kEighth * a_re, e1.im + kEighth * a_im};
    x[5] = {e1.re - kEighth * a_re, e1.im - kEighth * a_im};
    x[2] = {e2.re + o2.im, e2.im - o2.re};
    x[6] = {e2.re - o2.im, e2.im + o2.re};
    x[3] = {e3.re + kEighth * b_re, e3.im - kEighth * b_im};
    x[7] = {e3.re - kEighth * b_re, e3.im + kEighth * b_im};
  }
}

template <class V, class W>
[[gnu::always_inline]] inline void multiply(ComplexVector<V>& x, const W& w_re, const W& w_im) {
  x = {x.re * w_re - x.im * w_im, x.re * w_im + x.im * w_re};
}

// Transforms kFirst * kSecond inputs of kLines elements: first those that lie kSecond inputs apart, then the
// results of neighbours. `inner` has the factors between both, [kSecond, kFirst]. take(k, q, x) gives the vector of
// input k whose first element is q, put(k, q, x) stores that of an output; all inputs are taken before an output is
// stored that has the same q.
template <int kBytes, int64_t kLines, int kFirst, int kSecond, class T, class Take, class Put>
[[gnu::always_inline]] inline void transform_chunk(const Factors<T>& inner, const Take& take, const Put& put) {
  using Complex = ComplexVector<typename Vector<T, kBytes>::type>;
  constexpr int64_t kWidth = kBytes / sizeof(T);
  if constexpr (kSecond == 1) {
    for (int64_t q = 0; q < kLines; q += kWidth) {
      Complex x[kFirst];
#pragma GCC unroll 8
      for (int64_t a = 0; a < kFirst; ++a) take(a, q, x[a]);
      dft<kFirst, T>(x);
#pragma GCC unroll 8
      for (int64_t a = 0; a < kFirst; ++a) put(a, q, x[a]);
    }
  } else {
    alignas(64) T between_re[kFirst * kSecond * kLines], between_im[kFirst * kSecond * kLines];
    for (int64_t b = 0; b < kSecond; ++b) {
      for (int64_t q = 0; q < kLines; q += kWidth) {
        Complex x[kFirst];
#pragma GCC unroll 8
        for (int64_t a = 0; a < kFirst; ++a) take(a * kSecond + b, q, x[a]);
        dft<kFirst, T>(x);
#pragma GCC unroll 8
        for (int64_t a = 0; a < kFirst; ++a) {
          const int64_t k = b * kFirst + a;
          if (a > 0) multiply(x[a], inner.re[k], inner.im[k]);
          store(x[a].re, between_re + k * kLines + q);
          store(x[a].im, between_im + k * kLines + q);
        }
      }
    }
    for (int64_t a = 0; a < kFirst; ++a) {
      for (int64_t q = 0; q < kLines; q += kWidth) {
        Complex x[kSecond];
#pragma GCC unroll 8
        for (int64_t b = 0; b < kSecond; ++b) {
          const int64_t k = (b * kFirst + a) * kLines + q;
          load(between_re + k, x[b].re);
          load(between_im + k, x[b].im);
        }
        dft<kSecond, T>(x);
#pragma GCC unroll 8
        for (int64_t b = 0; b < kSecond; ++b) put(a + kFirst * b, q, x[b]);
      }
    }
  }
}

// The same of any odd number of inputs, at most kMostPrime: inputs k and radix - k have the same cosines and opposite
// sines. `roots` has exp(-2 pi i j k / radix) for j and k from 1 to radix / 2.
template <int kBytes, int64_t kLines, class T, class Take, class Put>
[[gnu::always_inline]] inline void transform_odd(int64_t radix, const Factors<T>& roots, const Take& take,
                                                 const Put& put) {
  using Complex = ComplexVector<typename Vector<T, kBytes>::type>;
  constexpr int64_t kWidth = kBytes / sizeof(T), kMost = kMostPrime / 2;
  const int64_t half = radix / 2;
  for (int64_t q = 0; q < kLines; q += kWidth) {
    Complex first, sum, sums[kMost], differences[kMost];
    take(0, q, first);
    sum = first;
    for (int64_t j = 0; j < half; ++j) {
      Complex a, b;
      take(j + 1, q, a);
      take(radix - j - 1, q, b);
      sums[j] = {a.re + b.re, a.im + b.im};
      differences[j] = {a.re - b.re, a.im - b.im};
      sum = {sum.re + sums[j].re, sum.im + sums[j].im};
    }
    put(0, q, sum);
    for (int64_t k = 0; k < half; ++k) {
      Complex even = first, odd{};
      for (int64_t j = 0; j < half; ++j) {
        const T c = roots.re[k * half + j], s = roots.im[k * half + j];
        even = {even.re + c * sums[j].re, even.im + c * sums[j].im};
        odd = {odd.re + s * differences[j].im, odd.im + s * differences[j].re};
      }
      Complex x{even.re - odd.re, even.im + odd.im}, y{even.re + odd.re, even.im - odd.im};
      put(k + 1, q, x);
      put(radix - k - 1, q, y);
    }
  }
}

// A pass over elements [begin, end) of its lines, a multiple of kLines. It reads blocks j, j + rest, j + 2 rest ... of
// `step` neighbours and writes its results side by side; so after the last pass everything is in order. Where rest is
// 1, results may lie where the inputs do.
template <int kBytes, int64_t kLines, class T>
[[gnu::always_inline]] inline void run_pass(const FftPass<T>& pass, const Lines<T>& x, int64_t step, int64_t begin,
                                            int64_t end) {
  using Complex = ComplexVector<typename Vector<T, kBytes>::type>;
  const Factors<T> inner = factors(pass.inner);
  const auto over_chunks = [&](const auto& transform) __attribute__((always_inline)) {
    for (int64_t j = 0; j < pass.rest; ++j) {
      const T *w_re = pass.between.re.data() + j * pass.radix, *w_im = pass.between.im.data() + j * pass.radix;
      for (int64_t chunk = begin; chunk < end; chunk += kLines) {
        const int64_t from = j * step + chunk, to = j * pass.radix * step + chunk;
        transform(
            [&](int64_t k, int64_t q, Complex& v) __attribute__((always_inline)) {
              load(x.re + from + k * x.from_step + q, v.re);
              load(x.im + from + k * x.from_step + q, v.im);
            },
            [&](int64_t k, int64_t q, Complex& v) __attribute__((always_inline)) {
              if (j > 0) multiply(v, w_re[k], w_im[k]);
              store(v.re, x.out_re + to + k * x.to_step + q);
              store(v.im, x.out_im + to + k * x.to_step + q);
            });
      }
    }
  };
  const auto with = [&]<int kFirst, int kSecond>(std::integer_sequence<int, kFirst, kSecond>)
                        __attribute__((always_inline)) {
                          over_chunks([&](const auto& take, const auto& put) __attribute__((always_inline)) {
                            transform_chunk<kBytes, kLines, kFirst, kSecond>(inner, take, put);
                          });
                        };
  switch (pass.radix) {
    case 2: return with(std::integer_sequence<int, 2, 1>{});
    case 3: return with(std::integer_sequence<int, 3, 1>{});
    case 4: return with(std::integer_sequence<int, 4, 1>{});
    case 5: return with(std::integer_sequence<int, 5, 1>{});
    case 8: return with(std::integer_sequence<int, 8, 1>{});
    case 9: return with(std::integer_sequence<int, 3, 3>{});
    case 15: return with(std::integer_sequence<int, 5, 3>{});
    case 16: return with(std::integer_sequence<int, 4, 4>{});
    case 25: return with(std::integer_sequence<int, 5, 5>{});
    case 32: return with(std::integer_sequence<int, 8, 4>{});
    case 64: return with(std::integer_sequence<int, 8, 8>{});
    default:
      return over_chunks([&](const auto& take, const auto& put) __attribute__((always_inline)) {
        if constexpr (kLines > 1) {
          transform_odd<kBytes, kLines>(pass.radix, inner, take, put);
        } else {
          // One number in a vector: sums over plain numbers may be compiled to products that are not fused.
          constexpr int kSmall = 16;
          using Small = ComplexVector<typename Vector<T, kSmall>::type>;
          transform_odd<kSmall, kSmall / sizeof(T)>(
              pass.radix, inner,
              [&](int64_t k, int64_t q, Small& v) __attribute__((always_inline)) {
                Complex x;
                take(k, q, x);
                v = Small{};
                v.re[0] = x.re;
                v.im[0] = x.im;
              },
              [&](int64_t k, int64_t q, Small& v) __attribute__((always_inline)) {
                Complex x{v.re[0], v.im[0]};
                put(k, q, x);
              });
        }
      });
  }
}

}  // namespace panto::cpu
