// Transposes lines of Fourier transforms in square tiles. For functions that `multiversioned` compiles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace panto::cpu {

// Lines that are transformed side by side: as many as fill 64 bytes.
template <class T>
constexpr int64_t kLinesTogether = 64 / sizeof(T);

// Calls body(lines); for a full tile the number is a compile-time constant.
template <class T, class Body>
[[gnu::always_inline]] inline void with_lines(int64_t lines, const Body& body) {
  if (lines == kLinesTogether<T>) {
    body(std::integral_constant<int64_t, kLinesTogether<T>>{});
  } else {
    body(lines);
  }
}

// Transposes [rows, columns], whose rows lie `step` apart, to [columns, rows]: to[j rows + q] = from[q step + j]. Works
// in squares, so that each cache line is read and written in one go.
template <class T, class Rows>
[[gnu::always_inline]] inline void turn(const T* from, int64_t step, Rows rows, int64_t columns, T* to) {
  for (int64_t first = 0; first < columns; first += kLinesTogether<T>) {
    with_lines<T>(std::min(kLinesTogether<T>, columns - first), [&](auto width) __attribute__((always_inline)) {
      alignas(64) T square[kLinesTogether<T>][kLinesTogether<T>];
      for (int64_t q = 0; q < rows; ++q) {
        for (int64_t j = 0; j < width; ++j) square[q][j] = from[q * step + first + j];
      }
      for (int64_t j = 0; j < width; ++j) {
        for (int64_t q = 0; q < rows; ++q) to[(first + j) * rows + q] = square[q][j];
      }
    });
  }
}

}  // namespace panto::cpu
