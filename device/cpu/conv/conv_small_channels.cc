#include "panto/device/cpu/conv/conv_small_channels.h"

#include <algorithm>
#include <vector>

#include "panto/device/cpu/conv/onednn.h"
#include "panto/device/cpu/gemm/pack_four.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/parallel.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/small_vector.h"

namespace panto::cpu {
namespace {

constexpr int64_t kFew = 4;
constexpr int64_t kTurnedBytes = 256 * 1024;  // of the transposed rows that a window covers; fits a second-level cache
constexpr int64_t kTogether = 32;             // input rows per range; the first one transposes several rows
// Pixels of one channel that are summed at once. Fewer channels take more pixels, so that there are enough sums to hide
// the latency of additions.
constexpr int64_t kMostPixels = 64;
template <int kChannels>
constexpr int kVectors = kChannels <= 2 ? 4 : 2;

struct Few {
  const Convolution& c;
  const float* output;
  std::vector<float> weights;  // by row of the window, output channel, column of the window, channel
  int64_t left, length;        // of a transposed row of one channel: zeros before the first pixel, and all floats

  Few(const Convolution& c, const float* filter, const float* output) : c(c), output(output), left(left_of(c)) {
    length = length_of(c);
    weights.reserve(checked_cast<size_t>(c.height.size * c.width.size * c.in_channels * c.out_channels));
    for (int64_t i = 0; i < c.height.size; ++i) {
      for (int64_t k = 0; k < c.out_channels; ++k) {
        for (int64_t j = 0; j < c.width.size; ++j) {
          const float* from = filter + (i * c.width.size + j) * c.in_channels * c.out_channels + k;
          for (int64_t channel = 0; channel < c.in_channels; ++channel) {
            weights.push_back(from[channel * c.out_channels]);
          }
        }
      }
    }
  }
  static int64_t left_of(const Convolution& c) { return c.width.extent() - 1 - c.width.before; }
  static int64_t length_of(const Convolution& c) {
    const int64_t pixels = ceil_div(c.width.input, kMostPixels) * kMostPixels;
    return std::max(left_of(c) + c.width.output, c.width.extent() - 1 + pixels);
  }

  // Transposed rows are kept in a ring of as many slots as a window covers rows.
  int64_t turned_row() const { return c.out_channels * length; }
  int64_t slot(int64_t y) const { return y % c.height.extent(); }
  int64_t turned_floats() const { return c.height.extent() * turned_row(); }
};

// Transposes row `from` of the output's gradient: channel after channel.
[[gnu::always_inline]] inline void turn(const Few& f, const float* from, float* turned) {
  const int64_t channels = f.c.out_channels;
  int64_t x = 0;
  for (; x + 4 <= f.c.width.output; x += 4) {
    pack_four<float>({from + x * channels, 1, channels}, channels, f.length, turned + f.left + x);
  }
  for (; x < f.c.width.output; ++x) {
    for (int64_t k = 0; k < channels; ++k) turned[k * f.length + f.left + x] = from[x * channels + k];
  }
}

// One row of the window, for a row of the input: the transposed row of the output that it reads, and its weights.
struct Tap {
  const float* turned;
  const float* weights;
};

// Computes `count` pixels of the input's gradient.
template <int kBytes, int kChannels>
[[gnu::always_inline]] inline void pixels(const Few& f, const SmallVector<Tap, 8>& taps, int64_t x, int64_t count,
                                          float* to) {
  using V = typename Vector<float, kBytes>::type;
  using Loose = typename Vector<float, kBytes>::loose;
  constexpr int kLanes = kBytes / 4, kMany = kVectors<kChannels>;
  const WindowAxis& w = f.c.width;
  V sum[kChannels][kMany] = {};
  for (const Tap& tap : taps) {
    const float* weights = tap.weights;
    for (int64_t k = 0; k < f.c.out_channels; ++k) {
      const float* from = tap.turned + k * f.length + x + w.extent() - 1;
      for (int64_t j = 0; j < w.size; ++j, from -= w.dilation, weights += kChannels) {
        V read[kMany];
#pragma GCC unroll 4
        for (int v = 0; v < kMany; ++v) read[v] = *reinterpret_cast<const Loose*>(from + v * kLanes);
#pragma GCC unroll 4
        for (int channel = 0; channel < kChannels; ++channel) {
#pragma GCC unroll 4
          for (int v = 0; v < kMany; ++v) sum[channel][v] += weights[channel] * read[v];
        }
      }
    }
  }
  float made[kChannels][kMany * kLanes];
#pragma GCC unroll 4
  for (int channel = 0; channel < kChannels; ++channel) {
#pragma GCC unroll 4
    for (int v = 0; v < kMany; ++v) *reinterpret_cast<Loose*>(made[channel] + v * kLanes) = sum[channel][v];
  }
  for (int64_t p = 0; p < count; ++p) {
#pragma GCC unroll 4
    for (int channel = 0; channel < kChannels; ++channel) to[p * kChannels + channel] = made[channel][p];
  }
}

// Computes rows [begin, end) of all images.
template <int kBytes, int kChannels>
[[gnu::always_inline]] inline void rows(const Few& f, float* input, int64_t begin, int64_t end) {
  constexpr int64_t kAtOnce = kVectors<kChannels> * kBytes / 4;
  const Convolution& c = f.c;
  const WindowAxis &h = c.height, &w = c.width;
  const int64_t floats = f.turned_floats();
  auto* turned = static_cast<float*>(dnnl_scratchpad(static_cast<size_t>(floats) * sizeof(float)));
  std::fill_n(turned, floats, 0.F);
  SmallVector<int64_t, 8> in_slot(static_cast<size_t>(h.extent()));  // the row of all outputs that is in each slot
  std::fill(in_slot.begin(), in_slot.end(), int64_t{-1});
  for (int64_t r = begin; r < end; ++r) {
    const int64_t image = r / h.input, row = r % h.input;
    SmallVector<Tap, 8> taps;
    for (int64_t i = 0; i < h.size; ++i) {
      const int64_t y = row + h.before - i * h.dilation;
      if (y < 0 || y >= h.output) continue;
      const int64_t slot = f.slot(y), wanted = image * h.output + y;
      float* at = turned + slot * f.turned_row();
      if (in_slot[static_cast<size_t>(slot)] != wanted) {
        turn(f, f.output + wanted * w.output * c.out_channels, at);
        in_slot[static_cast<size_t>(slot)] = wanted;
      }
      taps.push_back({at, f.weights.data() + i * c.out_channels * w.size * kChannels});
    }
    float* to = input + r * w.input * kChannels;
    for (int64_t x = 0; x < w.input; x += kAtOnce) {
      pixels<kBytes, kChannels>(f, taps, x, std::min(kAtOnce, w.input - x), to + x * kChannels);
    }
  }
}

template <int kChannels>
void portable(const Few& f, float* input, int64_t begin, int64_t end) {
  rows<16, kChannels>(f, input, begin, end);
}
#ifdef __x86_64__
template <int kChannels>
[[PANTO_AVX2]] void with_avx2(const Few& f, float* input, int64_t begin, int64_t end) {
  rows<32, kChannels>(f, input, begin, end);
}
template <int kChannels>
[[PANTO_AVX512]] void with_avx512(const Few& f, float* input, int64_t begin, int64_t end) {
  rows<64, kChannels>(f, input, begin, end);
}
#endif

using RowsFn = void (*)(const Few& f, float* input, int64_t begin, int64_t end);

template <int kChannels>
RowsFn choose() {
#ifdef __x86_64__
  if (isa() >= Isa::kAvx512) return with_avx512<kChannels>;
  if (isa() >= Isa::kAvx2) return with_avx2<kChannels>;
#endif
  return portable<kChannels>;
}

}  // namespace

bool has_few_channels(const Convolution& c) {
  if (c.in_channels > kFew || c.groups != 1 || c.channels_first() || c.height.stride != 1 || c.width.stride != 1) {
    return false;
  }
  if (c.width.before >= c.width.extent()) return false;
  const double bytes = static_cast<double>(c.height.extent()) * static_cast<double>(c.out_channels) *
                       static_cast<double>(Few::length_of(c)) * sizeof(float);
  return bytes <= kTurnedBytes;
}

void gradient_by_few_channels(const Convolution& c, float* input, const float* filter, const float* output) {
  static const RowsFn by_channels[kFew] = {choose<1>(), choose<2>(), choose<3>(), choose<4>()};
  const RowsFn run = by_channels[c.in_channels - 1];
  const Few few(c, filter, output);
  const int64_t rows = c.batch * c.height.input;
  // Multiplications, as vectors, in bytes that could be moved meanwhile.
  const double work = static_cast<double>(few.weights.size()) * static_cast<double>(c.width.input * rows) / 4;
  parallel_ranges(
      rows, static_cast<int64_t>(std::min(work, 0x1p62)),
      [&](int64_t begin, int64_t end) { run(few, input, begin, end); }, kTogether);
}

}  // namespace panto::cpu
