#include "panto/device/cpu/conv/conv_product.h"

#include <algorithm>

#include "panto/device/cpu/conv/conv_sizes.h"
#include "panto/device/cpu/elementwise/inner_loop.h"
#include "panto/device/cpu/fused/epilogue.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/parallel.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::cpu {
namespace {

// Making the matrix pays if the filter does not stay in the cache and is read for few windows.
constexpr int64_t kFilter = 256 * 1024;  // elements
constexpr int64_t kWindows = 4;          // per output channel

int64_t window_elements(const Convolution& c) { return c.height.size * c.width.size * c.in_channels; }

bool single_pixels(const Convolution& c) {
  const auto single = [](const WindowAxis& a) { return a.size == 1 && a.before == 0 && a.after == 0; };
  return single(c.height) && single(c.width);
}

// Whether the matrix of windows is the images themselves.
bool images_serve(const Convolution& c) {
  return single_pixels(c) && c.height.output == c.height.input && c.width.output == c.width.input;
}

GemmSize size_of(ConvKind kind, const Convolution& c) {
  const int64_t windows = windows_of(c), elements = window_elements(c), features = c.out_channels;
  switch (kind) {
    case ConvKind::kForward: return {.m = windows, .n = features, .k = elements};
    case ConvKind::kByInput: return {.m = windows, .n = elements, .k = features, .transpose_b = true};
    case ConvKind::kByFilter: return {.m = elements, .n = features, .k = windows, .transpose_a = true};
  }
  return {};
}

}  // namespace

bool ConvProduct::fits(const Convolution& c) {
  if (c.groups != 1 || c.channels_first()) return false;
  if (single_pixels(c)) return true;
  return window_elements(c) * c.out_channels >= kFilter && windows_of(c) <= kWindows * c.out_channels;
}

std::optional<GemmSize> ConvProduct::of_tensors(ConvKind kind, const Convolution& c) {
  if (c.groups != 1 || c.channels_first() || !images_serve(c)) return std::nullopt;
  return size_of(kind, c);
}

ConvProduct::ConvProduct(ConvKind kind, const Convolution& c)
    : kind_(kind), conv_(c), product_(kFloat32, size_of(kind, c)) {}

void ConvProduct::gather(const float* images, float* windows) const {
  const Convolution& c = conv_;
  const int64_t channels = c.in_channels, rows = c.height.output, columns = c.width.output;
  parallel_ranges(
      c.batch * rows, windows_of(c) * window_elements(c) * static_cast<int64_t>(sizeof(float)),
      [&](int64_t begin, int64_t end) {
        float* to = windows + begin * columns * window_elements(c);
        for (int64_t row = begin; row < end; ++row) {
          const float* image = images + row / rows * c.height.input * c.width.input * channels;
          for (int64_t column = 0; column < columns; ++column) {
            for (int64_t i = 0; i < c.height.size; ++i) {
              const int64_t y = c.height.begin(row % rows) + i * c.height.dilation;
              for (int64_t j = 0; j < c.width.size; ++j, to += channels) {
                const int64_t x = c.width.begin(column) + j * c.width.dilation;
                const bool inside = y >= 0 && y < c.height.input && x >= 0 && x < c.width.input;
                if (inside) {
                  std::copy_n(image + (y * c.width.input + x) * channels, channels, to);
                } else {
                  std::fill_n(to, channels, 0.f);
                }
              }
            }
          }
        }
      },
      1);
}

// Each row of an image is summed by one thread, in order.
void ConvProduct::scatter(const float* windows, float* images) const {
  const Convolution& c = conv_;
  const int64_t channels = c.in_channels, rows = c.height.input, columns = c.width.output;
  const int64_t elements = window_elements(c);
  parallel_ranges(
      c.batch * rows, windows_of(c) * elements * static_cast<int64_t>(sizeof(float)),
      [&](int64_t begin, int64_t end) {
        multiversioned([&] {
          for (int64_t row = begin; row < end; ++row) {
            float* to = images + row * c.width.input * channels;
            std::fill_n(to, c.width.input * channels, 0.f);
            for (int64_t i = 0; i < c.height.size; ++i) {
              // The row of windows whose row `i` lies here.
              const int64_t shifted = row % rows + c.height.before - i * c.height.dilation;
              const int64_t y = shifted / c.height.stride;
              if (shifted < 0 || shifted % c.height.stride != 0 || y >= c.height.output) continue;
              const float* from = windows + (row / rows * c.height.output + y) * columns * elements;
              for (int64_t column = 0; column < columns; ++column, from += elements) {
                for (int64_t j = 0; j < c.width.size; ++j) {
                  const int64_t x = c.width.begin(column) + j * c.width.dilation;
                  if (x < 0 || x >= c.width.input) continue;
                  const float* more = from + (i * c.width.size + j) * channels;
                  float* sums = to + x * channels;
                  PANTO_INDEPENDENT
                  for (int64_t k = 0; k < channels; ++k) sums[k] += more[k];
                }
              }
            }
          }
        });
      },
      1);
}

void ConvProduct::run(float* input, float* filter, float* output, Device& device, const PackedFactor* packed,
                      const BoundEpilogue* epilogue) const {
  Tensor made;
  float* windows = input;
  if (!images_serve(conv_)) {
    made = allocate_tensor(device, kFloat32, Shape{windows_of(conv_), window_elements(conv_)});
    windows = mutable_data<float>(made);
    if (kind_ != ConvKind::kByInput) gather(input, windows);
  }
  switch (kind_) {
    case ConvKind::kForward: {
      const auto finish = [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
        const int64_t channels = conv_.out_channels;
        epilogue->finish_rows(output, row * channels + column, rows, column, columns, channels);
      };
      return product_.run(windows, filter, output, epilogue != nullptr ? TileCallback(finish) : TileCallback(), packed);
    }
    case ConvKind::kByFilter: return product_.run(windows, output, filter);
    case ConvKind::kByInput:
      product_.run(output, filter, windows, {}, packed);
      if (windows != input) scatter(windows, input);
  }
}

}  // namespace panto::cpu
