// Convolutions and their gradients by definition, for every size and element type: the cases that oneDNN is not used
// for. The innermost loop is over output channels; it is vectorised if they are the last dimension.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "panto/device/cpu/elementwise/inner_loop.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/parallel.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/ops/nn/window.h"

namespace panto::cpu {

// The strides of an image tensor.
struct ImageStrides {
  int64_t image, row, column, channel;

  ImageStrides(bool channels_first, int64_t height, int64_t width, int64_t channels)
      : image(height * width * channels),
        row(channels_first ? width : width * channels),
        column(channels_first ? 1 : channels),
        channel(channels_first ? height * width : 1) {}
};

// T: any type with + and *. Use the unsigned type for signed integers, so that they wrap.
template <class T>
class DirectConvolution {
 public:
  explicit DirectConvolution(const Convolution& c)
      : c_(c),
        in_(c.channels_first(), c.height.input, c.width.input, c.in_channels),
        out_(c.channels_first(), c.height.output, c.width.output, c.out_channels),
        group_in_(c.in_channels / c.groups),
        group_out_(c.out_channels / c.groups),
        channelwise_(group_in_ == 1 && group_out_ == 1) {}

  void forward(const T* input, const T* filter, T* output) const {
    over_rows(c_.height.output, [&](int64_t n, int64_t y) {
      for (int64_t x = 0; x < c_.width.output; ++x) {
        T* to = output + n * out_.image + y * out_.row + x * out_.column;
        for (int64_t k = 0; k < c_.out_channels; ++k) to[k * out_.channel] = T{};
        for_window(y, x, [&](int64_t in_y, int64_t in_x, const int64_t tap) {
          const T* from = input + n * in_.image + in_y * in_.row + in_x * in_.column;
          const T* weights = filter + tap * group_in_ * c_.out_channels;
          if (channelwise_) return add_products(c_.groups, from, in_.channel, weights, 1, to, out_.channel);
          for (int64_t g = 0; g < c_.groups; ++g) {
            for (int64_t i = 0; i < group_in_; ++i) {
              add_scaled(group_out_, from[(g * group_in_ + i) * in_.channel],
                         weights + i * c_.out_channels + g * group_out_, 1, to + g * group_out_ * out_.channel,
                         out_.channel);
            }
          }
        });
      }
    });
  }

  // Writes the gradient to `input`. `turned` is scratch for a filter with its two channel dimensions swapped.
  void by_input(T* input, const T* filter, const T* output, T* turned) const {
    for (int64_t tap = 0; tap < c_.height.size * c_.width.size; ++tap) {
      const int64_t first = tap * group_in_ * c_.out_channels;
      for (int64_t k = 0; k < c_.out_channels; ++k) {
        for (int64_t i = 0; i < group_in_; ++i) {
          turned[first + k * group_in_ + i] = filter[first + i * c_.out_channels + k];
        }
      }
    }
    over_rows(c_.height.input, [&](int64_t n, int64_t in_y) {
      for (int64_t in_x = 0; in_x < c_.width.input; ++in_x) {
        T* to = input + n * in_.image + in_y * in_.row + in_x * in_.column;
        for (int64_t i = 0; i < c_.in_channels; ++i) to[i * in_.channel] = T{};
        for_windows_over(in_y, in_x, [&](int64_t y, int64_t x, int64_t tap) {
          const T* from = output + n * out_.image + y * out_.row + x * out_.column;
          const T* weights = turned + tap * group_in_ * c_.out_channels;
          if (channelwise_) return add_products(c_.groups, from, out_.channel, weights, 1, to, in_.channel);
          for (int64_t k = 0; k < c_.out_channels; ++k) {
            add_scaled(group_in_, from[k * out_.channel], weights + k * group_in_, 1,
                       to + k / group_out_ * group_in_ * in_.channel, in_.channel);
          }
        });
      }
    });
  }

  // Whether each channel is convolved by itself and channels are the last dimension.
  static bool is_channelwise(const Convolution& c) {
    return c.in_channels == c.groups && c.out_channels == c.groups && !c.channels_first();
  }

  // Writes the gradient to `filter`.
  void by_filter(const T* input, T* filter, const T* output) const {
    if (is_channelwise(c_)) return channels_by_filter(input, filter, output);
    const int64_t rows = c_.height.size * c_.width.size * group_in_;
    parallel_ranges(
        rows, work(),
        [&](int64_t begin, int64_t end) {
          multiversioned([&] {
            for (int64_t r = begin; r < end; ++r) filter_row(input, filter + r * c_.out_channels, output, r);
          });
        },
        1);
  }

 private:
  int64_t work() const {
    const double all = static_cast<double>(c_.batch) * static_cast<double>(c_.height.output) *
                       static_cast<double>(c_.width.output) * static_cast<double>(c_.height.size) *
                       static_cast<double>(c_.width.size) * static_cast<double>(group_in_) *
                       static_cast<double>(c_.out_channels) * sizeof(T);
    return all < 0x1p62 ? static_cast<int64_t>(all) : int64_t{1} << 62;
  }

  template <class Body>
  void over_rows(int64_t height, const Body& body) const {
    parallel_ranges(
        c_.batch * height, work(),
        [&](int64_t begin, int64_t end) {
          multiversioned([&] {
            for (int64_t r = begin; r < end; ++r) body(r / height, r % height);
          });
        },
        1);
  }

  // to[k] += factor * from[k] for n channels.
  [[gnu::always_inline]] static void add_scaled(int64_t n, T factor, const T* from, int64_t from_step, T* to,
                                                int64_t to_step) {
    if (from_step == 1 && to_step == 1) {
      PANTO_INDEPENDENT
      for (int64_t k = 0; k < n; ++k) to[k] += factor * from[k];
    } else {
      for (int64_t k = 0; k < n; ++k) to[k * to_step] += factor * from[k * from_step];
    }
  }

  // to[k] += a[k] * b[k] for n channels.
  [[gnu::always_inline]] static void add_products(int64_t n, const T* a, int64_t a_step, const T* b, int64_t b_step,
                                                  T* to, int64_t to_step) {
    if (a_step == 1 && b_step == 1 && to_step == 1) {
      PANTO_INDEPENDENT
      for (int64_t k = 0; k < n; ++k) to[k] += a[k] * b[k];
    } else {
      for (int64_t k = 0; k < n; ++k) to[k * to_step] += a[k * a_step] * b[k * b_step];
    }
  }

  // Calls body(row, column of the input, index of the filter's element) for the elements of the window at (y, x) that
  // are not padding.
  template <class Body>
  [[gnu::always_inline]] void for_window(int64_t y, int64_t x, const Body& body) const {
    const WindowAxis &h = c_.height, &w = c_.width;
    for (int64_t i = h.first(y); i < h.last(y); ++i) {
      for (int64_t j = w.first(x); j < w.last(x); ++j) {
        body(h.begin(y) + i * h.dilation, w.begin(x) + j * w.dilation, i * w.size + j);
      }
    }
  }

  // The position of the window whose element i lies at `at`; -1 if there is none.
  static int64_t window_at(const WindowAxis& a, int64_t at, int64_t i) {
    const int64_t begin = at + a.before - i * a.dilation;
    return begin < 0 || begin % a.stride != 0 || begin / a.stride >= a.output ? -1 : begin / a.stride;
  }
  // Calls body(y, x of a window, index of the filter's element) for all windows that cover an element of the input.
  template <class Body>
  [[gnu::always_inline]] void for_windows_over(int64_t in_y, int64_t in_x, const Body& body) const {
    for (int64_t i = 0; i < c_.height.size; ++i) {
      const int64_t y = window_at(c_.height, in_y, i);
      if (y < 0) continue;
      for (int64_t j = 0; j < c_.width.size; ++j) {
        const int64_t x = window_at(c_.width, in_x, j);
        if (x >= 0) body(y, x, i * c_.width.size + j);
      }
    }
  }

  // Each task takes some channels of some rows of the output and adds to sums of its own; these are added in order
  // afterwards. The number of parts depends on sizes only.
  void channels_by_filter(const T* input, T* filter, const T* output) const {
    constexpr int64_t kChannels = 64, kParts = 16;
    const int64_t channels = c_.in_channels, rows = c_.batch * c_.height.output;
    const int64_t taps = c_.height.size * c_.width.size, size = taps * channels;
    const int64_t blocks = ceil_div(channels, kChannels), parts = std::min(rows, ceil_div(kParts, blocks));
    // The sums of a block of channels lie together, so that few of their addresses are a power of two apart.
    std::vector<T> sums(static_cast<size_t>(parts * blocks * taps * kChannels));
    parallel_ranges(
        parts * blocks, work(),
        [&](int64_t begin, int64_t end) {
          multiversioned([&] {
            for (int64_t u = begin; u < end; ++u) {
              const int64_t part = u / blocks, first = u % blocks * kChannels;
              const int64_t count = std::min(kChannels, channels - first);
              T* to = sums.data() + u * taps * kChannels;
              for (int64_t r = rows * part / parts; r < rows * (part + 1) / parts; ++r) {
                const T* image = input + r / c_.height.output * in_.image + first;
                const T* row = output + r / c_.height.output * out_.image + r % c_.height.output * out_.row + first;
                throw_if_cancelled();
                for (int64_t x = 0; x < c_.width.output; ++x, row += out_.column) {
                  for_window(r % c_.height.output, x, [&](int64_t in_y, int64_t in_x, int64_t tap) {
                    add_products(count, image + in_y * in_.row + in_x * in_.column, 1, row, 1, to + tap * kChannels, 1);
                  });
                }
              }
            }
          });
        },
        1);
    std::fill_n(filter, size, T{});
    for (int64_t u = 0; u < parts * blocks; ++u) {
      const int64_t first = u % blocks * kChannels, count = std::min(kChannels, channels - first);
      for (int64_t tap = 0; tap < taps; ++tap) {
        const T* from = sums.data() + (u * taps + tap) * kChannels;
        for (int64_t k = 0; k < count; ++k) filter[tap * channels + first + k] += from[k];
      }
    }
  }

  // Computes row r of the filter's gradient: one tap of the window and one input channel of each group.
  [[gnu::always_inline]] void filter_row(const T* input, T* row, const T* output, int64_t r) const {
    const WindowAxis &h = c_.height, &w = c_.width;
    const int64_t tap = r / group_in_, channel = r % group_in_;
    const int64_t i = tap / w.size, j = tap % w.size;
    std::fill_n(row, c_.out_channels, T{});
    for (int64_t n = 0; n < c_.batch; ++n) {
      throw_if_cancelled();
      for (int64_t y = 0; y < h.output; ++y) {
        if (i < h.first(y) || i >= h.last(y)) continue;
        const T* in_row = input + n * in_.image + (h.begin(y) + i * h.dilation) * in_.row;
        const T* out_row = output + n * out_.image + y * out_.row;
        for (int64_t x = 0; x < w.output; ++x) {
          if (j < w.first(x) || j >= w.last(x)) continue;
          const T* from = in_row + (w.begin(x) + j * w.dilation) * in_.column;
          if (channelwise_) {
            add_products(c_.groups, from, in_.channel, out_row + x * out_.column, out_.channel, row, 1);
            continue;
          }
          for (int64_t g = 0; g < c_.groups; ++g) {
            add_scaled(group_out_, from[(g * group_in_ + channel) * in_.channel],
                       out_row + x * out_.column + g * group_out_ * out_.channel, out_.channel, row + g * group_out_,
                       1);
          }
        }
      }
    }
  }

  const Convolution c_;
  const ImageStrides in_, out_;
  const int64_t group_in_, group_out_;
  const bool channelwise_;  // each channel by itself: the innermost loop is over groups
};

}  // namespace panto::cpu
