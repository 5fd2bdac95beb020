#include "panto/device/cpu/conv/conv_panels.h"

#include <algorithm>
#include <cstring>

#include "panto/device/cpu/conv/conv_sizes.h"
#include "panto/device/cpu/gemm/pack_four.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/scratch.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::cpu {
namespace {

constexpr int kBytes = 32;  // of a vector
constexpr int kLanes = 8;
constexpr int kVectors = 2;
constexpr int64_t kChannels = kVectors * kLanes;  // of a panel
constexpr int kWindows = 6;                       // at once: 12 sums, two vectors of the filter and an element
constexpr int64_t kMostTaps = 64;                 // elements of a window in one channel
constexpr int64_t kLeastChannels = 8;             // of the input: fewer do not make up for finding each element
constexpr int64_t kLeastTile = 4 * kWindows;      // windows
constexpr int64_t kFewWindows = 128;
constexpr int64_t kSmallFilter = 64 * 1024;   // elements that stay in the second cache beside a tile of windows
constexpr int64_t kTileElements = 64 * 1024;  // of the windows of a tile then

int64_t taps_of(const Convolution& c) { return c.height.size * c.width.size; }
int64_t panel_size(const Convolution& c) { return taps_of(c) * c.in_channels * kChannels; }
int64_t panels_of(const Convolution& c) { return ceil_div(c.out_channels, kChannels); }

// Panel `p` of a filter [height, width, in, out], padded with zeros.
void pack_panel(const Convolution& c, const float* filter, int64_t p, float* to) {
  const int64_t first = p * kChannels, width = std::min(kChannels, c.out_channels - first);
  const int64_t rows = taps_of(c) * c.in_channels;
  for (int64_t r = 0; r < rows; ++r, to += kChannels) {
    const float* from = filter + r * c.out_channels + first;
    if (width == kChannels) {
      std::memcpy(to, from, kChannels * sizeof(float));
    } else {
      std::copy_n(from, width, to);
      std::fill_n(to + width, kChannels - width, 0.f);
    }
  }
}

#ifdef __x86_64__

// The addresses of the elements of windows [first, first + count): those of window w for tap t are at
// starts[t * kWindows + w]. Padding is read from `zeros`.
void find_windows(const Convolution& c, const float* input, const float* zeros, int64_t first, int count,
                  const float** starts) {
  const WindowAxis &h = c.height, &w = c.width;
  for (int i = 0; i < count; ++i) {
    const int64_t window = first + i, row = window / w.output;
    const int64_t left = w.begin(window % w.output), top = h.begin(row % h.output);
    const float* image = input + row / h.output * h.input * w.input * c.in_channels;
    const float** to = starts + i;
    for (int64_t a = 0; a < h.size; ++a) {
      const int64_t y = top + a * h.dilation;
      const bool row_inside = y >= 0 && y < h.input;
      for (int64_t b = 0; b < w.size; ++b, to += kWindows) {
        const int64_t x = left + b * w.dilation;
        *to = row_inside && x >= 0 && x < w.input ? image + (y * w.input + x) * c.in_channels : zeros;
      }
    }
  }
}

// The panel that comes next, of which each group of windows asks memory for a part: a panel that comes from beyond the
// second cache would take longer to read than to multiply.
struct Ahead {
  const char* at;
  int64_t step;  // bytes for each row of the panel that is read
};

// Sums of kCount windows, in kVectors vectors of a panel's channels; the first `width` of them are written.
template <int kCount>
[[PANTO_AVX2]] void add_up(int64_t taps, int64_t channels, const float* const* starts, const float* panel, Ahead ahead,
                           float* out, int64_t out_step, int64_t width) {
  using V = Vector<float, kBytes>::type;
  using Loose = Vector<float, kBytes>::loose;
  V sum[kCount][kVectors] = {};
  for (int64_t t = 0; t < taps; ++t, starts += kWindows) {
    const float* from[kCount];
#pragma GCC unroll 6
    for (int i = 0; i < kCount; ++i) from[i] = starts[i];
    for (int64_t k = 0; k < channels; ++k, panel += kChannels, ahead.at += ahead.step) {
      __builtin_prefetch(ahead.at, 0, 2);
      V right[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) right[v] = *reinterpret_cast<const Loose*>(panel + v * kLanes);
#pragma GCC unroll 6
      for (int i = 0; i < kCount; ++i) {
        const float left = from[i][k];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sum[i][v] += left * right[v];
      }
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < kCount; ++i) {
    float* to = out + i * out_step;
    if (width == kChannels) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) *reinterpret_cast<Loose*>(to + v * kLanes) = sum[i][v];
    } else {
      float values[kChannels];
      std::memcpy(values, sum[i], sizeof(values));
      std::copy_n(values, width, to);
    }
  }
}

using AddUp = void (*)(int64_t, int64_t, const float* const*, const float*, Ahead, float*, int64_t, int64_t);
constexpr AddUp kAddUp[] = {add_up<1>, add_up<2>, add_up<3>, add_up<4>, add_up<5>, add_up<6>};

// Windows [first, last) of one panel, which begins at output channel `channel`. `next`: the panel after it.
void add_up_tile(const Convolution& c, const float* input, const float* zeros, const float* panel, const float* next,
                 int64_t channel, int64_t first, int64_t last, float* output) {
  const int64_t width = std::min(kChannels, c.out_channels - channel);
  const int64_t bytes = panel_size(c) * static_cast<int64_t>(sizeof(float));
  const int64_t groups = ceil_div(last - first, kWindows), rows = taps_of(c) * c.in_channels;
  const int64_t step = ceil_div(bytes, groups * rows);
  Ahead ahead{reinterpret_cast<const char*>(next), step};
  const float* starts[kMostTaps * kWindows];
  for (int64_t w = first; w < last; w += kWindows) {
    const int count = static_cast<int>(std::min<int64_t>(kWindows, last - w));
    find_windows(c, input, zeros, w, count, starts);
    kAddUp[count - 1](taps_of(c), c.in_channels, starts, panel, ahead, output + w * c.out_channels + channel,
                      c.out_channels, width);
    ahead.at += step * rows;
    throw_if_cancelled();
  }
}

#endif

}  // namespace

bool has_panels(const Convolution& c) {
#ifdef __x86_64__
  // Single pixels that are all read are the rows of a product of matrices. That is as fast, where there are many rows
  // to make up for packing the filter in each run.
  const bool product = taps_of(c) == 1 && c.height.output == c.height.input && c.width.output == c.width.input &&
                       windows_of(c) > kFewWindows;
  return isa() == Isa::kAvx2 && !product && c.groups == 1 && !c.channels_first() && c.in_channels >= kLeastChannels &&
         c.out_channels >= kLanes && taps_of(c) <= kMostTaps;
#else
  static_cast<void>(c);
  return false;
#endif
}

Tensor pack_panels(const Convolution& c, const float* filter, Device& device) {
  const Tensor packed = allocate_tensor(device, kFloat32, Shape{checked_mul(panels_of(c), panel_size(c))});
  auto* const to = mutable_data<float>(packed);
  parallel_ranges(
      panels_of(c), packed.numel() * int64_t{8},
      [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) pack_panel(c, filter, p, to + p * panel_size(c));
      },
      1);
  return packed;
}

void convolve_by_panels(const Convolution& c, const float* input, const float* filter, float* output, Device& device,
                        const float* packed, const BoundEpilogue* epilogue) {
#ifdef __x86_64__
  const int64_t panels = panels_of(c), windows = windows_of(c), size = panel_size(c);
  // A filter that fits the cache is read for some windows after the others; of a larger one each panel is read for all
  // windows, and fits the cache.
  const bool small = panels * size <= kSmallFilter;
  const int64_t together = small ? panels : 1, groups = ceil_div(panels, together);
  const int64_t wanted = std::max(ceil_div(4 * tiles_for_processors(), groups),
                                  small ? windows * taps_of(c) * c.in_channels / kTileElements : 1);
  const int64_t tiles = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, windows / kLeastTile));
  const int64_t rows = ceil_div(ceil_div(windows, tiles), kWindows) * kWindows;
  // Where a panel is read by one task only, the task packs it, and it stays in the cache.
  Tensor made;
  if (packed == nullptr && tiles > 1) {
    made = pack_panels(c, filter, device);
    packed = made.data<float>().data();
  }
  const Scratch<float> zeros(device, c.in_channels);
  std::fill_n(zeros.data(), c.in_channels, 0.f);
  parallel_ranges(
      groups * tiles, work_of(c),
      [&](int64_t begin, int64_t end) {
        const Scratch<float> own(device, packed == nullptr ? size : 0);
        for (int64_t task = begin; task < end; ++task) {
          const int64_t first_panel = task / tiles * together, last_panel = std::min(panels, first_panel + together);
          const int64_t first = task % tiles * rows, last = std::min(windows, first + rows);
          if (first >= last) continue;
          for (int64_t p = first_panel; p < last_panel; ++p) {
            if (packed == nullptr) pack_panel(c, filter, p, own.data());
            const float* panel = packed == nullptr ? own.data() : packed + p * size;
            const float* next = packed == nullptr || p + 1 == panels ? panel : panel + size;
            add_up_tile(c, input, zeros.data(), panel, next, p * kChannels, first, last, output);
          }
          if (epilogue != nullptr) {
            const int64_t channel = first_panel * kChannels;
            epilogue->finish_rows(output, first * c.out_channels + channel, last - first, channel,
                                  std::min(last_panel * kChannels, c.out_channels) - channel, c.out_channels);
          }
        }
      },
      1);
#else
  static_cast<void>(c), static_cast<void>(input), static_cast<void>(filter), static_cast<void>(output);
  static_cast<void>(device), static_cast<void>(packed), static_cast<void>(epilogue);
#endif
}

}  // namespace panto::cpu
