#include "panto/device/cpu/conv/conv_narrow_groups.h"

#include <algorithm>

#include "panto/device/cpu/conv/conv_sizes.h"
#include "panto/device/cpu/gemm/pack_four.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/parallel.h"

namespace panto::cpu {
namespace {

constexpr int kWideGroup = 4;   // channels per group, or 1
constexpr int64_t kLanes = 16;  // of the widest vectors
constexpr int kPixels = 6;      // summed at once, or kFewPixels, or one
constexpr int kFewPixels = 2;

template <int kBytes>
using Floats = typename Vector<float, kBytes>::type;
template <int kBytes>
using LooseFloats = typename Vector<float, kBytes>::loose;

// In each group of kGroup lanes: sum += (lane kAt of `read`) * weight. Vectors are passed by reference: the calling
// convention for vectors by value depends on the instruction set.
template <int kGroup, int kAt, class V>
[[gnu::always_inline]] inline void add_spread(const V& read, const V& weight, V& sum) {
  if constexpr (kGroup == 1) {
    sum += read * weight;
  } else if constexpr (sizeof(V) == 16) {
    sum += __builtin_shufflevector(read, read, kAt, kAt, kAt, kAt) * weight;
  } else if constexpr (sizeof(V) == 32) {
    sum += __builtin_shufflevector(read, read, kAt, kAt, kAt, kAt, 4 + kAt, 4 + kAt, 4 + kAt, 4 + kAt) * weight;
  } else {
    sum += __builtin_shufflevector(read, read, kAt, kAt, kAt, kAt, 4 + kAt, 4 + kAt, 4 + kAt, 4 + kAt, 8 + kAt, 8 + kAt,
                                   8 + kAt, 8 + kAt, 12 + kAt, 12 + kAt, 12 + kAt, 12 + kAt) *
           weight;
  }
}

// The rows of windows that lie in the image, for one row of the output.
struct Window {
  const Convolution& c;
  const float* input;
  const float* filter;  // from the first of these rows on
  int64_t at;           // where that row begins in the input
  int64_t rows;

  int64_t pixel() const { return c.in_channels; }
  int64_t row_step() const { return c.height.dilation * c.width.input * pixel(); }
};

// Computes kCount pixels of kVectors vectors of channels, from column x on. In each row of their windows the taps
// [first, last) lie in the image.
template <int kGroup, int kBytes, int kVectors, int kCount>
[[gnu::always_inline]] inline void pixels(const Window& window, int64_t x, int64_t first, int64_t last, int64_t channel,
                                          float* to) {
  using V = Floats<kBytes>;
  using Loose = LooseFloats<kBytes>;
  constexpr int64_t kEach = kBytes / sizeof(float);
  const Convolution& c = window.c;
  const WindowAxis& w = c.width;
  const int64_t step = w.stride * window.pixel();
  V sum[kCount][kVectors] = {};
  int64_t row = window.at + w.begin(x) * window.pixel() + channel;
  const float* row_weights = window.filter + channel;
  for (int64_t i = 0; i < window.rows; ++i) {
    for (int64_t j = first; j < last; ++j) {
      const float* from = window.input + (row + j * w.dilation * window.pixel());
      const float* weights = row_weights + j * kGroup * c.out_channels;
      V weight[kVectors][kGroup];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 4
        for (int k = 0; k < kGroup; ++k) {
          weight[v][k] = *reinterpret_cast<const Loose*>(weights + k * c.out_channels + v * kEach);
        }
      }
#pragma GCC unroll 8
      for (int p = 0; p < kCount; ++p) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          const V read = *reinterpret_cast<const Loose*>(from + p * step + v * kEach);
          add_spread<kGroup, 0>(read, weight[v][0], sum[p][v]);
          if constexpr (kGroup == kWideGroup) {
            add_spread<kGroup, 1>(read, weight[v][1], sum[p][v]);
            add_spread<kGroup, 2>(read, weight[v][2], sum[p][v]);
            add_spread<kGroup, 3>(read, weight[v][3], sum[p][v]);
          }
        }
      }
    }
    row += window.row_step();
    row_weights += w.size * kGroup * c.out_channels;
  }
#pragma GCC unroll 8
  for (int p = 0; p < kCount; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) *reinterpret_cast<Loose*>(to + p * c.out_channels + v * kEach) = sum[p][v];
  }
}

// The same for all channels: kVectors vectors at once, and then kLanes channels at once.
template <int kGroup, int kBytes, int kVectors, int kCount>
[[gnu::always_inline]] inline void all_channels(const Window& window, int64_t x, int64_t first, int64_t last,
                                                float* to) {
  constexpr int64_t kEach = kBytes / sizeof(float);
  constexpr int kLess = std::min(kVectors, static_cast<int>(kLanes / kEach));
  const int64_t channels = window.c.out_channels;
  int64_t channel = 0;
  for (; channel + kVectors * kEach <= channels; channel += kVectors * kEach) {
    pixels<kGroup, kBytes, kVectors, kCount>(window, x, first, last, channel, to + channel);
  }
  for (; channel < channels; channel += kLess * kEach) {
    pixels<kGroup, kBytes, kLess, kCount>(window, x, first, last, channel, to + channel);
  }
}

// Computes a row of the output. kVectors: for several pixels; a single one has kAlone, so that sums need not wait for
// each other.
template <int kGroup, int kBytes, int kVectors, int kAlone>
[[gnu::always_inline]] inline void row(const Window& window, float* to) {
  const WindowAxis& w = window.c.width;
  const auto inside = [&](int64_t x, int count) {
    return x + count <= w.output && w.first(x) == 0 && w.last(x + count - 1) == w.size;
  };
  for (int64_t x = 0; x < w.output;) {
    float* const at = to + x * window.c.out_channels;
    if (inside(x, kPixels)) {
      all_channels<kGroup, kBytes, kVectors, kPixels>(window, x, 0, w.size, at);
      x += kPixels;
    } else if (inside(x, kFewPixels)) {
      all_channels<kGroup, kBytes, kVectors, kFewPixels>(window, x, 0, w.size, at);
      x += kFewPixels;
    } else {
      all_channels<kGroup, kBytes, kAlone, 1>(window, x, w.first(x), w.last(x), at);
      ++x;
    }
  }
}

using RowFn = void (*)(const Window&, float*);

void portable(const Window& window, float* to) { row<kWideGroup, 16, 1, 1>(window, to); }
void depthwise_portable(const Window& window, float* to) { row<1, 16, 2, 4>(window, to); }
#ifdef __x86_64__
[[PANTO_AVX2]] void with_avx2(const Window& window, float* to) { row<kWideGroup, 32, 1, 1>(window, to); }
[[PANTO_AVX512]] void with_avx512(const Window& window, float* to) { row<kWideGroup, 64, 1, 1>(window, to); }
[[PANTO_AVX2]] void depthwise_with_avx2(const Window& window, float* to) { row<1, 32, 2, 4>(window, to); }
[[PANTO_AVX512]] void depthwise_with_avx512(const Window& window, float* to) { row<1, 64, 4, 4>(window, to); }
#endif

RowFn choose(bool depthwise) {
#ifdef __x86_64__
  if (depthwise && isa() >= Isa::kAvx512) return depthwise_with_avx512;
  if (depthwise && isa() >= Isa::kAvx2) return depthwise_with_avx2;
  if (isa() >= Isa::kAvx512) return with_avx512;
  if (isa() >= Isa::kAvx2) return with_avx2;
#endif
  return depthwise ? depthwise_portable : portable;
}

bool is_depthwise(const Convolution& c) { return c.in_channels == c.groups; }

}  // namespace

bool has_narrow_groups(const Convolution& c) {
  const bool fits = is_depthwise(c) || c.in_channels == c.groups * kWideGroup;
  return fits && c.out_channels == c.in_channels && c.out_channels % kLanes == 0 && !c.channels_first();
}

void convolve_narrow_groups(const Convolution& c, const float* input, const float* filter, float* output,
                            const BoundEpilogue* epilogue) {
  const RowFn run = choose(is_depthwise(c));
  const WindowAxis &h = c.height, &w = c.width;
  const int64_t out_row = w.output * c.out_channels, taps = filter_elements(c) / h.size;
  parallel_ranges(
      c.batch * h.output, work_of(c),
      [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const int64_t image = r / h.output, y = r % h.output, first = h.first(y);
          const int64_t at = (image * h.input + h.begin(y) + first * h.dilation) * w.input * c.in_channels;
          run({c, input, filter + std::min(first, h.size) * taps, at, h.last(y) - first}, output + r * out_row);
          if (epilogue != nullptr) {
            epilogue->finish_rows(output, r * out_row, w.output, 0, c.out_channels, c.out_channels);
          }
        }
      },
      1);
}

}  // namespace panto::cpu
