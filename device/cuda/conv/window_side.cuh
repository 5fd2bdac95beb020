// One dimension along which windows slide (lib/ops/nn/window.h), in the form for kernels.
#pragma once

#include <algorithm>
#include <string>

#include "panto/device/cuda/elementwise/loops.cuh"
#include "panto/lib/ops/nn/window.h"

namespace panto::cuda {

using SmallDivisor = Divisor<uint32_t>;

// Returns the quotient; sets `rest` to the remainder.
__device__ inline uint32_t divide(const SmallDivisor& by, uint32_t n, uint32_t& rest) {
  const uint32_t quotient = by.quotient(n);
  rest = n - quotient * by.value();
  return quotient;
}

// All sizes, and positions including padding, are below 2^31.
struct Side {
  int input, size, stride, dilation, before;
  SmallDivisor by_size, by_stride, by_input;

  explicit Side(const WindowAxis& a)
      : input(static_cast<int>(a.input)),
        size(static_cast<int>(a.size)),
        stride(static_cast<int>(a.stride)),
        dilation(static_cast<int>(a.dilation)),
        before(static_cast<int>(a.before)),
        by_size(a.size),
        by_stride(a.stride),
        by_input(a.input) {}

  // Returns the place of element i of the window at `position`; places outside [0, input) are padding.
  __device__ int at(int position, int i) const { return position * stride - before + i * dilation; }
  __device__ bool inside(int at) const { return static_cast<unsigned>(at) < static_cast<unsigned>(input); }
  // Returns the position, relative to `first`, of the window in [first, first + count) whose element i is at `at`; -1
  // if there is none.
  __device__ int window(int at, int i, int first, int count) const {
    const int begin = at + before - i * dilation;
    if (begin < 0) return -1;
    uint32_t rest;
    const int position = static_cast<int>(divide(by_stride, static_cast<uint32_t>(begin), rest)) - first;
    return rest == 0 && static_cast<unsigned>(position) < static_cast<unsigned>(count) ? position : -1;
  }
};

// A side with its number of windows. Sizes are below 2^30, so that no position overflows 32 bits; throws Unimplemented
// for larger ones. The input may be empty: then all windows are padding.
struct WindowSide : Side {
  int output;

  explicit WindowSide(const WindowAxis& a) : Side(checked(a)), output(static_cast<int>(a.output)) {
    input = static_cast<int>(a.input);
  }

 private:
  static WindowAxis checked(WindowAxis a) {
    for (const int64_t v : {a.input, a.extent(), a.before, a.output, a.output * a.stride}) {
      if (v >= 1 << 30) {
        fail(Code::kUnimplemented, "window: expected sizes below 2^30 on a GPU, got " + std::to_string(v));
      }
    }
    a.input = std::max<int64_t>(1, a.input);  // it becomes a divisor
    return a;
  }
};

}  // namespace panto::cuda
