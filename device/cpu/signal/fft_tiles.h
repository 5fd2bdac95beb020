// Squares of numbers in which lines of Fourier transforms are transposed. For functions that `multiversioned` compiles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "panto/device/cpu/vector.h"

namespace panto::cpu {

// Lines that are transformed side by side: as many as fill 64 bytes.
template <class T>
constexpr int64_t kLinesTogether = 64 / sizeof(T);

// body() for full tiles with a number that the compiler knows, for others with theirs.
template <class T, class Body>
[[gnu::always_inline]] inline void with_lines(int64_t lines, const Body& body) {
  if (lines == kLinesTogether<T>) {
    body(std::integral_constant<int64_t, kLinesTogether<T>>{});
  } else {
    body(lines);
  }
}

// Vectors of 32 bytes, and what is done with `kLanes` of them. Compilers do not find these shuffles in plain loops.
template <class T>
struct Square;

template <>
struct Square<float> {
  using V = Vector<float, 32>::loose;
  static constexpr int64_t kLanes = 8;
  static constexpr int64_t kElements = 4;  // complex ones in a vector

  // kElements complex numbers of each of kLanes lines, `step` apart: element j of line q becomes re[j to_step + q] and
  // im[j to_step + q].
  [[gnu::always_inline]] static void take(const float* x, int64_t step, float* re, float* im, int64_t to_step) {
    V pairs_re[4], pairs_im[4];
    for (int64_t i = 0; i < 4; ++i) {
      const V a = at(x + 2 * i * step), b = at(x + (2 * i + 1) * step);
      pairs_re[i] = __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14);
      pairs_im[i] = __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15);
    }
    take_part(pairs_re, re, to_step);
    take_part(pairs_im, im, to_step);
  }

  // The way back, times `scale`.
  [[gnu::always_inline]] static void put(const float* re, const float* im, int64_t from_step, float scale, float* y,
                                         int64_t step) {
    V half_re[4], half_im[4];  // elements 0 and 2 of lines 0 to 3, then 1 and 3, then the same of lines 4 to 7
    put_part(re, from_step, scale, half_re);
    put_part(im, from_step, scale, half_im);
    for (int64_t i = 0; i < 2; ++i) {
      const V *r = half_re + 2 * i, *m = half_im + 2 * i;
      const V low02 = __builtin_shufflevector(r[0], m[0], 0, 8, 1, 9, 4, 12, 5, 13);
      const V low13 = __builtin_shufflevector(r[1], m[1], 0, 8, 1, 9, 4, 12, 5, 13);
      const V high02 = __builtin_shufflevector(r[0], m[0], 2, 10, 3, 11, 6, 14, 7, 15);
      const V high13 = __builtin_shufflevector(r[1], m[1], 2, 10, 3, 11, 6, 14, 7, 15);
      float* to = y + 4 * i * step;
      at(to) = __builtin_shufflevector(low02, low13, 0, 1, 8, 9, 4, 5, 12, 13);
      at(to + step) = __builtin_shufflevector(low02, low13, 2, 3, 10, 11, 6, 7, 14, 15);
      at(to + 2 * step) = __builtin_shufflevector(high02, high13, 0, 1, 8, 9, 4, 5, 12, 13);
      at(to + 3 * step) = __builtin_shufflevector(high02, high13, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }

 private:
  [[gnu::always_inline]] static const V& at(const float* x) { return *reinterpret_cast<const V*>(x); }
  [[gnu::always_inline]] static V& at(float* x) { return *reinterpret_cast<V*>(x); }

  [[gnu::always_inline]] static void take_part(const V* pairs, float* to, int64_t to_step) {
    const V even03 = __builtin_shufflevector(pairs[0], pairs[1], 0, 2, 8, 10, 4, 6, 12, 14);
    const V odd03 = __builtin_shufflevector(pairs[0], pairs[1], 1, 3, 9, 11, 5, 7, 13, 15);
    const V even47 = __builtin_shufflevector(pairs[2], pairs[3], 0, 2, 8, 10, 4, 6, 12, 14);
    const V odd47 = __builtin_shufflevector(pairs[2], pairs[3], 1, 3, 9, 11, 5, 7, 13, 15);
    at(to) = __builtin_shufflevector(even03, even47, 0, 1, 2, 3, 8, 9, 10, 11);
    at(to + to_step) = __builtin_shufflevector(odd03, odd47, 0, 1, 2, 3, 8, 9, 10, 11);
    at(to + 2 * to_step) = __builtin_shufflevector(even03, even47, 4, 5, 6, 7, 12, 13, 14, 15);
    at(to + 3 * to_step) = __builtin_shufflevector(odd03, odd47, 4, 5, 6, 7, 12, 13, 14, 15);
  }
  [[gnu::always_inline]] static void put_part(const float* from, int64_t from_step, float scale, V* half) {
    const V a = at(from) * scale, b = at(from + from_step) * scale;
    const V c = at(from + 2 * from_step) * scale, d = at(from + 3 * from_step) * scale;
    half[0] = __builtin_shufflevector(a, c, 0, 1, 2, 3, 8, 9, 10, 11);
    half[1] = __builtin_shufflevector(b, d, 0, 1, 2, 3, 8, 9, 10, 11);
    half[2] = __builtin_shufflevector(a, c, 4, 5, 6, 7, 12, 13, 14, 15);
    half[3] = __builtin_shufflevector(b, d, 4, 5, 6, 7, 12, 13, 14, 15);
  }
};

template <>
struct Square<double> {
  using V = Vector<double, 32>::loose;
  static constexpr int64_t kLanes = 4;
  static constexpr int64_t kElements = 2;

  [[gnu::always_inline]] static void take(const double* x, int64_t step, double* re, double* im, int64_t to_step) {
    const V a = at(x), b = at(x + step), c = at(x + 2 * step), d = at(x + 3 * step);
    const V re_ab = __builtin_shufflevector(a, b, 0, 4, 2, 6), im_ab = __builtin_shufflevector(a, b, 1, 5, 3, 7);
    const V re_cd = __builtin_shufflevector(c, d, 0, 4, 2, 6), im_cd = __builtin_shufflevector(c, d, 1, 5, 3, 7);
    at(re) = __builtin_shufflevector(re_ab, re_cd, 0, 1, 4, 5);
    at(re + to_step) = __builtin_shufflevector(re_ab, re_cd, 2, 3, 6, 7);
    at(im) = __builtin_shufflevector(im_ab, im_cd, 0, 1, 4, 5);
    at(im + to_step) = __builtin_shufflevector(im_ab, im_cd, 2, 3, 6, 7);
  }
  [[gnu::always_inline]] static void put(const double* re, const double* im, int64_t from_step, double scale, double* y,
                                         int64_t step) {
    const V re0 = at(re) * scale, re1 = at(re + from_step) * scale;
    const V im0 = at(im) * scale, im1 = at(im + from_step) * scale;
    const V re_ab = __builtin_shufflevector(re0, re1, 0, 1, 4, 5),
            re_cd = __builtin_shufflevector(re0, re1, 2, 3, 6, 7);
    const V im_ab = __builtin_shufflevector(im0, im1, 0, 1, 4, 5),
            im_cd = __builtin_shufflevector(im0, im1, 2, 3, 6, 7);
    at(y) = __builtin_shufflevector(re_ab, im_ab, 0, 4, 2, 6);
    at(y + step) = __builtin_shufflevector(re_ab, im_ab, 1, 5, 3, 7);
    at(y + 2 * step) = __builtin_shufflevector(re_cd, im_cd, 0, 4, 2, 6);
    at(y + 3 * step) = __builtin_shufflevector(re_cd, im_cd, 1, 5, 3, 7);
  }

 private:
  [[gnu::always_inline]] static const V& at(const double* x) { return *reinterpret_cast<const V*>(x); }
  [[gnu::always_inline]] static V& at(double* x) { return *reinterpret_cast<V*>(x); }
};

// Vectors of numbers in turns, and apart.
template <int kBytes, class T>
struct Turns {
  using V = typename Vector<T, kBytes>::type;
  static constexpr int kWidth = kBytes / static_cast<int>(sizeof(T));

  [[gnu::always_inline]] static void take(const T* from, V& re, V& im) {
    V a, b;
    load(from, a);
    load(from + kWidth, b);
    split(a, b, re, im, std::make_integer_sequence<int, kWidth>{});
  }
  [[gnu::always_inline]] static void put(const V& re, const V& im, T* to) {
    join(re, im, to, std::make_integer_sequence<int, kWidth>{});
  }
  [[gnu::always_inline]] static void reverse(V& x) { reverse(x, std::make_integer_sequence<int, kWidth>{}); }

 private:
  template <int... kPlaces>
  [[gnu::always_inline]] static void reverse(V& x, std::integer_sequence<int, kPlaces...>) {
    x = __builtin_shufflevector(x, x, (kWidth - 1 - kPlaces)...);
  }
  template <int... kPlaces>
  [[gnu::always_inline]] static void split(const V& a, const V& b, V& re, V& im,
                                           std::integer_sequence<int, kPlaces...>) {
    re = __builtin_shufflevector(a, b, (2 * kPlaces)...);
    im = __builtin_shufflevector(a, b, (2 * kPlaces + 1)...);
  }
  template <int... kPlaces>
  [[gnu::always_inline]] static void join(const V& re, const V& im, T* to, std::integer_sequence<int, kPlaces...>) {
    const V low = __builtin_shufflevector(re, im, (kPlaces / 2 + kPlaces % 2 * kWidth)...);
    const V high = __builtin_shufflevector(re, im, (kWidth / 2 + kPlaces / 2 + kPlaces % 2 * kWidth)...);
    store(low, to);
    store(high, to + kWidth);
  }
};

// Squares of kBytes / sizeof(T) rows and columns.
template <int kBytes, class T>
struct TurnedSquare {
  using V = typename Vector<T, kBytes>::type;
  static constexpr int kWidth = kBytes / static_cast<int>(sizeof(T));

  // to[j to_step + q] = from[q step + j].
  [[gnu::always_inline]] static void turn(const T* from, int64_t step, T* to, int64_t to_step) {
    for (int64_t j = 0; j < kWidth; j += kPiece) {
      // Vector i has 16 bytes of each of the rows i, i + kPiece, i + 2 kPiece ...; shuffles within them do the rest.
      V x[kPiece];
#pragma GCC unroll 4
      for (int64_t i = 0; i < kPiece; ++i) gather<kBytes>(from + i * step + j, step, x[i]);
      if constexpr (kPiece == 4) {
        V even[4];
        pairs<0>(x[0], x[2], even[0], kPlaces);
        pairs<1>(x[0], x[2], even[1], kPlaces);
        pairs<0>(x[1], x[3], even[2], kPlaces);
        pairs<1>(x[1], x[3], even[3], kPlaces);
        pairs<0>(even[0], even[2], x[0], kPlaces);
        pairs<1>(even[0], even[2], x[1], kPlaces);
        pairs<0>(even[1], even[3], x[2], kPlaces);
        pairs<1>(even[1], even[3], x[3], kPlaces);
      } else {
        const V a = x[0], b = x[1];
        pairs<0>(a, b, x[0], kPlaces);
        pairs<1>(a, b, x[1], kPlaces);
      }
#pragma GCC unroll 4
      for (int64_t i = 0; i < kPiece; ++i) store(x[i], to + (j + i) * to_step);
    }
  }

 private:
  static constexpr int kPiece = 16 / static_cast<int>(sizeof(T));
  static constexpr std::make_integer_sequence<int, kWidth> kPlaces{};

  template <int kSize>
  [[gnu::always_inline]] static void gather(const T* from, int64_t step, typename Vector<T, kSize>::type& to) {
    if constexpr (kSize == 16) {
      load(from, to);
    } else {
      typename Vector<T, kSize / 2>::type low, high;
      gather<kSize / 2>(from, step, low);
      gather<kSize / 2>(from + kSize / 32 * kPiece * step, step, high);
      concatenate(low, high, to, std::make_integer_sequence<int, kSize / static_cast<int>(sizeof(T))>{});
    }
  }
  template <class Half, class Whole, int... kAll>
  [[gnu::always_inline]] static void concatenate(const Half& low, const Half& high, Whole& to,
                                                 std::integer_sequence<int, kAll...>) {
    to = __builtin_shufflevector(low, high, kAll...);
  }
  // The lower or upper half of each piece of a and b in turns.
  template <int kUpper, int... kAll>
  [[gnu::always_inline]] static void pairs(const V& a, const V& b, V& to, std::integer_sequence<int, kAll...>) {
    to = __builtin_shufflevector(
        a, b, (kAll / kPiece * kPiece + kUpper * kPiece / 2 + kAll % kPiece / 2 + kAll % 2 * kWidth)...);
  }
};

// [rows, columns], whose rows lie `step` apart, as [columns, rows]: to[j rows + q] = from[q step + j].
template <int kBytes, class T, class Rows, class Columns>
[[gnu::always_inline]] inline void turn(const T* from, int64_t step, Rows rows, Columns columns, T* to) {
  constexpr int64_t kWidth = kBytes / sizeof(T);
  const int64_t whole_rows = rows / kWidth * kWidth, whole_columns = columns / kWidth * kWidth;
  for (int64_t j = 0; j < whole_columns; j += kWidth) {
    for (int64_t q = 0; q < whole_rows; q += kWidth) {
      TurnedSquare<kBytes, T>::turn(from + q * step + j, step, to + j * rows + q, rows);
    }
  }
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t q = j < whole_columns ? whole_rows : 0; q < rows; ++q) to[j * rows + q] = from[q * step + j];
  }
}

}  // namespace panto::cpu
