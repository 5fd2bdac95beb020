#include <algorithm>
#include <cstdint>

#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/signal/fft_plan.h"
#include "panto/device/cpu/signal/fft_tiles.h"

namespace panto::cpu {

namespace {

// square(j, q) for the whole squares of `count` elements and `lines` lines; returns the number of elements in them. Two
// squares that share lines of the cache come one after the other: where a line's length is a power of two, few of the
// lines' pieces are in the cache at once.
template <class T, class Body>
[[gnu::always_inline]] inline int64_t whole_squares(int64_t count, int64_t lines, const Body& square) {
  constexpr int64_t kLanes = Square<T>::kLanes, kElements = Square<T>::kElements;
  int64_t j = 0;
  for (; j + 2 * kElements <= count; j += 2 * kElements) {
    for (int64_t q = 0; q < lines; q += kLanes) {
      square(j, q);
      square(j + kElements, q);
    }
  }
  for (; j + kElements <= count; j += kElements) {
    for (int64_t q = 0; q < lines; q += kLanes) square(j, q);
  }
  return j;
}

}  // namespace

template <class T>
void take_lines(const T* x, int64_t line_step, int64_t element_step, int64_t columns, int64_t count, T* re, T* im) {
  multiversioned([&] {
    const auto take = [](const T* from, int64_t n, T* to_re, T* to_im) __attribute__((always_inline)) {
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        to_re[i] = from[2 * i];
        to_im[i] = from[2 * i + 1];
      }
    };
    if (columns == 1 && element_step == 2) return take(x, count, re, im);
    if (line_step == 2 && columns == kLinesTogether<T>) {
      for (int64_t j = 0; j < count; ++j) {
        take(x + j * element_step, kLinesTogether<T>, re + j * kLinesTogether<T>, im + j * kLinesTogether<T>);
      }
      return;
    }
    constexpr int64_t kLanes = Square<T>::kLanes;
    const int64_t whole_lines = element_step == 2 ? columns / kLanes * kLanes : 0;
    const int64_t whole =
        whole_squares<T>(count, whole_lines, [&](int64_t j, int64_t q) __attribute__((always_inline)) {
          Square<T>::take(x + q * line_step + 2 * j, line_step, re + j * columns + q, im + j * columns + q, columns);
        });
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t q = j < whole ? whole_lines : 0; q < columns; ++q) {
        re[j * columns + q] = x[q * line_step + j * element_step];
        im[j * columns + q] = x[q * line_step + j * element_step + 1];
      }
    }
  });
}

template <class T>
void put_lines(const T* re, const T* im, int64_t columns, int64_t count, T scale, T* y, int64_t line_step,
               int64_t element_step) {
  multiversioned([&] {
    const auto put = [scale](const T* from_re, const T* from_im, int64_t n, T* to) __attribute__((always_inline)) {
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        to[2 * i] = from_re[i] * scale;
        to[2 * i + 1] = from_im[i] * scale;
      }
    };
    if (columns == 1 && element_step == 2) return put(re, im, count, y);
    if (line_step == 2 && columns == kLinesTogether<T>) {
      for (int64_t j = 0; j < count; ++j) {
        put(re + j * kLinesTogether<T>, im + j * kLinesTogether<T>, kLinesTogether<T>, y + j * element_step);
      }
      return;
    }
    constexpr int64_t kLanes = Square<T>::kLanes;
    const int64_t whole_lines = element_step == 2 ? columns / kLanes * kLanes : 0;
    const int64_t whole =
        whole_squares<T>(count, whole_lines, [&](int64_t j, int64_t q) __attribute__((always_inline)) {
          Square<T>::put(re + j * columns + q, im + j * columns + q, columns, scale, y + q * line_step + 2 * j,
                         line_step);
        });
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t q = j < whole ? whole_lines : 0; q < columns; ++q) {
        y[q * line_step + j * element_step] = re[j * columns + q] * scale;
        y[q * line_step + j * element_step + 1] = im[j * columns + q] * scale;
      }
    }
  });
}

template void take_lines(const float*, int64_t, int64_t, int64_t, int64_t, float*, float*);
template void put_lines(const float*, const float*, int64_t, int64_t, float, float*, int64_t, int64_t);
template void take_lines(const double*, int64_t, int64_t, int64_t, int64_t, double*, double*);
template void put_lines(const double*, const double*, int64_t, int64_t, double, double*, int64_t, int64_t);

}  // namespace panto::cpu
