// Fourier transforms of lines of complex numbers as they lie in tensors, real and imaginary parts in turns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "panto/device/cpu/signal/fft_passes.h"
#include "panto/device/cpu/signal/fft_plan.h"
#include "panto/device/cpu/signal/fft_tiles.h"
#include "panto/device/cpu/vector.h"

namespace panto::cpu {

// Transforms a line from x to y, which may be x, seen as a matrix [kFirst1 * kSecond1, kFirst2 * kSecond2]: its
// columns, then its rows. `inner1` and `inner2` are those of the two passes (FftPass), `turned` has the factors between
// them, of the matrix's shape. `work` has two elements for each of the line's.
template <int kBytes, int kFirst1, int kSecond1, int kFirst2, int kSecond2, class T>
[[gnu::always_inline]] inline void transform_line(const T* x, T* y, const Scaling<T>& scaling, const Factors<T>& inner1,
                                                  const Factors<T>& turned, const Factors<T>& inner2, T* work) {
  using V = typename Vector<T, kBytes>::type;
  using Complex = ComplexVector<V>;
  using Both = Turns<kBytes, T>;
  constexpr int64_t kColumns = kFirst1 * kSecond1, kRows = kFirst2 * kSecond2;
  T *work_re = work, *work_im = work + kColumns * kRows;
  for (int64_t j = 0; j < kRows; j += kLinesTogether<T>) {
    transform_chunk<kBytes, kLinesTogether<T>, kFirst1, kSecond1>(
        inner1,
        [&](int64_t k, int64_t q, Complex& to) __attribute__((always_inline)) {
          Both::take(x + 2 * (k * kRows + j + q), to.re, to.im);
          to.im *= scaling.sign;
        },
        [&](int64_t k, int64_t q, Complex& from) __attribute__((always_inline)) {
          const int64_t to = k * kRows + j + q;
          V w_re, w_im;
          load(turned.re + to, w_re);
          load(turned.im + to, w_im);
          multiply(from, w_re, w_im);
          store(from.re, work_re + to);
          store(from.im, work_im + to);
        });
  }
  alignas(64) T rows_re[kRows * kLinesTogether<T>], rows_im[kRows * kLinesTogether<T>];
  for (int64_t k1 = 0; k1 < kColumns; k1 += kLinesTogether<T>) {
    constexpr std::integral_constant<int64_t, kLinesTogether<T>> kLines;
    turn<kBytes>(work_re + k1 * kRows, kRows, kLines, kRows, rows_re);
    turn<kBytes>(work_im + k1 * kRows, kRows, kLines, kRows, rows_im);
    transform_chunk<kBytes, kLinesTogether<T>, kFirst2, kSecond2>(
        inner2,
        [&](int64_t j, int64_t q, Complex& to) __attribute__((always_inline)) {
          load(rows_re + j * kLinesTogether<T> + q, to.re);
          load(rows_im + j * kLinesTogether<T> + q, to.im);
        },
        [&](int64_t k, int64_t q, Complex& from) __attribute__((always_inline)) {
          from = {from.re * scaling.scale, from.im * (scaling.sign * scaling.scale)};
          Both::put(from.re, from.im, y + 2 * (k * kColumns + k1 + q));
        });
  }
}

// For k in [begin, end): combine(a, b, w, y), each real and imaginary part, of elements k and half - k of x and root k;
// vectors of them, or numbers. edge(k) does what has no whole vector behind it, the first element and those from `half`
// on: it calls combine itself.
template <int kBytes, class T, class Combine, class Edge>
[[gnu::always_inline]] inline void combine_mirrored(const T* x, const Factors<T>& w, int64_t half, int64_t begin,
                                                    int64_t end, T* y, const Combine& combine, const Edge& edge) {
  using Both = Turns<kBytes, T>;
  for (int64_t k = begin; k < end;) {
    if (k > 0 && k + Both::kWidth <= std::min(end, half)) {
      typename Vector<T, kBytes>::type a_re, a_im, b_re, b_im, c, s, re, im;
      Both::take(x + 2 * k, a_re, a_im);
      Both::take(x + 2 * (half - k + 1 - Both::kWidth), b_re, b_im);
      Both::reverse(b_re);
      Both::reverse(b_im);
      load(w.re + k, c);
      load(w.im + k, s);
      combine(a_re, a_im, b_re, b_im, c, s, re, im);
      Both::put(re, im, y + 2 * k);
      k += Both::kWidth;
    } else {
      edge(k);
      ++k;
    }
  }
}

// Elements [begin, end) of the transform of 2 * half real numbers, of half + 1 in all: y, from that of half pairs of
// them, z. It is the transform of the even numbers plus i times that of the odd ones; symmetry separates the two. `w`
// has the roots of 2 * half.
template <int kBytes, class T>
[[gnu::always_inline]] inline void separate_halves(const T* z, const Factors<T>& w, int64_t half, int64_t begin,
                                                   int64_t end, T* y) {
  const auto separate = [](const auto& a_re, const auto& a_im, const auto& b_re, const auto& b_im, const auto& c,
                           const auto& s, auto& re, auto& im) __attribute__((always_inline)) {
    const auto even_re = (a_re + b_re) / 2, even_im = (a_im - b_im) / 2;
    const auto odd_re = (a_im + b_im) / 2, odd_im = (b_re - a_re) / 2;
    re = even_re + odd_re * c - odd_im * s;
    im = even_im + odd_re * s + odd_im * c;
  };
  combine_mirrored<kBytes>(z, w, half, begin, end, y, separate, [&](int64_t k) __attribute__((always_inline)) {
    const int64_t a = k == half ? 0 : k, b = k == 0 ? 0 : half - k;
    separate(z[2 * a], z[2 * a + 1], z[2 * b], z[2 * b + 1], w.re[k], w.im[k], y[2 * k], y[2 * k + 1]);
  });
}

// Back: pairs [begin, end) of `half`, z, from the half + 1 elements of x. Ignores imaginary parts of the first and the
// last one. Results are twice as large.
template <int kBytes, class T>
[[gnu::always_inline]] inline void join_halves(const T* x, const Factors<T>& w, int64_t half, int64_t begin,
                                               int64_t end, T* z) {
  const auto join = [](const auto& a_re, const auto& a_im, const auto& b_re, const auto& b_im, const auto& c,
                       const auto& s, auto& re, auto& im) __attribute__((always_inline)) {
    const auto even_re = a_re + b_re, even_im = a_im - b_im;
    const auto odd_re = a_re - b_re, odd_im = a_im + b_im;
    re = even_re + odd_re * s - odd_im * c;
    im = even_im + odd_re * c + odd_im * s;
  };
  combine_mirrored<kBytes>(x, w, half, begin, end, z, join, [&](int64_t k) __attribute__((always_inline)) {
    const int64_t b = half - k;
    const T zero = 0;
    join(x[2 * k], k == 0 ? zero : x[2 * k + 1], x[2 * b], k == 0 ? zero : x[2 * b + 1], w.re[k], w.im[k], z[2 * k],
         z[2 * k + 1]);
  });
}

}  // namespace panto::cpu
