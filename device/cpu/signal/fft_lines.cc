#include <algorithm>
#include <cstdint>

#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/signal/fft_plan.h"
#include "panto/device/cpu/signal/fft_tiles.h"

namespace panto::cpu {

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
    if (element_step != 2 || columns != kLinesTogether<T>) {
      for (int64_t j = 0; j < count; ++j) {
        for (int64_t q = 0; q < columns; ++q) {
          re[j * columns + q] = x[q * line_step + j * element_step];
          im[j * columns + q] = x[q * line_step + j * element_step + 1];
        }
      }
      return;
    }
    for (int64_t first = 0; first < count; first += kLinesTogether<T>) {
      with_lines<T>(std::min(kLinesTogether<T>, count - first), [&](auto width) __attribute__((always_inline)) {
        alignas(64) T part_re[kLinesTogether<T>][kLinesTogether<T>], part_im[kLinesTogether<T>][kLinesTogether<T>];
        for (int64_t q = 0; q < kLinesTogether<T>; ++q) {
          take(x + q * line_step + 2 * first, width, part_re[q], part_im[q]);
        }
        for (int64_t j = 0; j < width; ++j) {
          for (int64_t q = 0; q < kLinesTogether<T>; ++q) re[(first + j) * kLinesTogether<T> + q] = part_re[q][j];
          for (int64_t q = 0; q < kLinesTogether<T>; ++q) im[(first + j) * kLinesTogether<T> + q] = part_im[q][j];
        }
      });
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
    if (element_step != 2 || columns != kLinesTogether<T>) {
      for (int64_t j = 0; j < count; ++j) {
        for (int64_t q = 0; q < columns; ++q) {
          y[q * line_step + j * element_step] = re[j * columns + q] * scale;
          y[q * line_step + j * element_step + 1] = im[j * columns + q] * scale;
        }
      }
      return;
    }
    for (int64_t first = 0; first < count; first += kLinesTogether<T>) {
      with_lines<T>(std::min(kLinesTogether<T>, count - first), [&](auto width) __attribute__((always_inline)) {
        alignas(64) T part_re[kLinesTogether<T>][kLinesTogether<T>], part_im[kLinesTogether<T>][kLinesTogether<T>];
        for (int64_t q = 0; q < kLinesTogether<T>; ++q) {
          for (int64_t j = 0; j < width; ++j) part_re[q][j] = re[(first + j) * kLinesTogether<T> + q];
          for (int64_t j = 0; j < width; ++j) part_im[q][j] = im[(first + j) * kLinesTogether<T> + q];
        }
        for (int64_t q = 0; q < kLinesTogether<T>; ++q) {
          put(part_re[q], part_im[q], width, y + q * line_step + 2 * first);
        }
      });
    }
  });
}

template void take_lines(const float*, int64_t, int64_t, int64_t, int64_t, float*, float*);
template void put_lines(const float*, const float*, int64_t, int64_t, float, float*, int64_t, int64_t);
template void take_lines(const double*, int64_t, int64_t, int64_t, int64_t, double*, double*);
template void put_lines(const double*, const double*, int64_t, int64_t, double, double*, int64_t, int64_t);

}  // namespace panto::cpu
