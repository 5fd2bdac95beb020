// Kernels of quantized images.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "panto/device/cpu/image/resize.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/quantized/byte_gemm.h"
#include "panto/device/cpu/quantized/ranges.h"
#include "panto/device/pool.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/ops/nn/window.h"

namespace panto {
namespace {

using namespace quantized;  // NOLINT(google-build-using-namespace): of this file

// ---- Convolution ----------------------------------------------------------------------------------------------------

struct Images {
  const uint8_t* data;
  Convolution windows;
  int64_t rows() const { return windows.batch * windows.height.output * windows.width.output; }
  int64_t depth() const { return windows.height.size * windows.width.size * windows.in_channels; }

  // Calls f(row, at, from) for each pixel of the windows [first, last). Each window is a row of `depth` elements and
  // the pixel's channels begin at `at` in it; `from` is null for a pixel outside the image.
  template <class F>
  void pieces(int64_t first, int64_t last, const F& f) const {
    const WindowAxis &h = windows.height, &w = windows.width;
    const int64_t channels = windows.in_channels;
    for (int64_t r = first; r < last; ++r) {
      const int64_t x = r % w.output, y = r / w.output % h.output, image = r / w.output / h.output;
      for (int64_t i = 0; i < h.size; ++i) {
        const int64_t line = h.begin(y) + i * h.dilation;
        for (int64_t j = 0; j < w.size; ++j) {
          const int64_t column = w.begin(x) + j * w.dilation;
          const bool inside = line >= 0 && line < h.input && column >= 0 && column < w.input;
          f(r, (i * w.size + j) * channels,
            inside ? data + ((image * h.input + line) * w.input + column) * channels : nullptr);
        }
      }
    }
  }
};

// Copies as many windows as fit into a cache to the rows of a matrix, and multiplies it by the filter.
void convolve(const Images& images, bool is_signed, int64_t zero, const cpu::PackedBytes& filter, int32_t* out) {
  constexpr int64_t kRows = 96;
  const int64_t depth = images.depth(), columns = filter.columns();
  const auto padding = static_cast<uint8_t>(zero);
  cpu::parallel_ranges(
      ceil_div(images.rows(), kRows), images.rows() * columns * std::max<int64_t>(1, depth / 16),
      [&](int64_t begin, int64_t end) {
        std::vector<uint8_t> patches(static_cast<size_t>(std::min(kRows, images.rows()) * depth));
        for (int64_t u = begin; u < end; ++u) {
          const int64_t first = u * kRows, last = std::min(first + kRows, images.rows());
          images.pieces(first, last, [&](int64_t row, int64_t at, const uint8_t* from) {
            uint8_t* to = patches.data() + (row - first) * depth + at;
            from != nullptr ? void(std::memcpy(to, from, static_cast<size_t>(images.windows.in_channels)))
                            : void(std::memset(to, padding, static_cast<size_t>(images.windows.in_channels)));
          });
          filter.multiply(last - first, {patches.data(), depth, 1, is_signed, zero}, out + first * columns);
        }
      },
      1);
}

// For inputs in which no byte represents 0, the value of the padding: element by element.
template <class A, class B>
void convolve_plainly(const Images& images, int64_t zero, const B* filter, int64_t filter_zero, int64_t columns,
                      int32_t* out) {
  const int64_t channels = images.windows.in_channels;
  cpu::parallel_ranges(
      images.rows(), images.rows() * columns * images.depth(),
      [&](int64_t begin, int64_t end) {
        std::fill(out + begin * columns, out + end * columns, 0);
        images.pieces(begin, end, [&](int64_t row, int64_t at, const uint8_t* from) {
          if (from == nullptr) return;
          for (int64_t k = 0; k < channels; ++k) {
            const auto v = static_cast<uint32_t>(static_cast<A>(from[k]) - zero);
            const B* line = filter + (at + k) * columns;
            for (int64_t j = 0; j < columns; ++j) {
              int32_t& sum = out[row * columns + j];
              sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + v * static_cast<uint32_t>(line[j] - filter_zero));
            }
          }
        });
      },
      1);
}

struct Conv {
  template <class Q>
  static void run(KernelContext& c) {
    expect_types(c, "Tfilter", "out_type");
    const Range input = range_in(c, 2), filter = range_in(c, 4);
    with_second<IntOf<Q>>(c.type("Tfilter"), [&]<class A, class B>() {
      put_range(c, range_of_products<A, B>(input, filter));
      if (c.out_numel(0) == 0) return;
      const Images images{c.data<uint8_t>(0), convolution_of(c, c.shape(0), c.shape(1))};
      const int64_t zero = unclamped_integer<A>(0, input), filter_zero = unclamped_integer<B>(0, filter);
      const int64_t columns = images.windows.out_channels;
      if (zero < kLowest<A> || zero > kHighest<A>) {
        return convolve_plainly<A, B>(images, zero, c.data<B>(1), filter_zero, columns, c.out_data<int32_t>(0));
      }
      const cpu::PackedBytes packed(images.depth(), columns,
                                    {c.data<uint8_t>(1), columns, 1, kLowest<B> < 0, filter_zero});
      convolve(images, kLowest<A> < 0, zero, packed, c.out_data<int32_t>(0));
    });
  }
};
const CpuKernel conv_kernel("QuantizedConv2D", EightBits{}, Conv{});

// ---- Pools ----------------------------------------------------------------------------------------------------------

// Calls start(), each(channels of a pixel) and finish(channels of the output) for each window.
template <class Int, class Sum, class Start, class Each, class Finish>
void pool(KernelContext& c, const Start& start, const Each& each, const Finish& finish) {
  put_range(c, range_in(c, 1));
  if (c.out_numel(0) == 0) return;
  const PoolShape p(c, c.shape(0));
  const Int* in = c.data<Int>(0);
  Int* out = c.out_data<Int>(0);
  const int64_t rows = p.images * p.height.output;
  cpu::parallel_ranges(
      rows, (p.images * (p.in_image() + p.out_image())) * int64_t{sizeof(Int)},
      [&](int64_t begin, int64_t end) {
        std::vector<Sum> sums(static_cast<size_t>(p.lanes));
        for (int64_t r = begin; r < end; ++r) {
          const int64_t y = r % p.height.output;
          const Int* image = in + r / p.height.output * p.in_image();
          const int64_t first_y = p.height.begin(y) + p.height.first(y), last_y = p.height.begin(y) + p.height.last(y);
          for (int64_t x = 0; x < p.width.output; ++x) {
            const int64_t first_x = p.width.begin(x) + p.width.first(x), last_x = p.width.begin(x) + p.width.last(x);
            std::fill(sums.begin(), sums.end(), start);
            for (int64_t i = first_y; i < last_y; ++i) {
              for (int64_t j = first_x; j < last_x; ++j) {
                const Int* from = image + (i * p.width.input + j) * p.lanes;
                for (int64_t k = 0; k < p.lanes; ++k) {
                  sums[static_cast<size_t>(k)] = each(sums[static_cast<size_t>(k)], from[k]);
                }
              }
            }
            const int64_t count = std::max<int64_t>(1, (last_y - first_y) * (last_x - first_x));
            Int* to = out + (r * p.width.output + x) * p.lanes;
            for (int64_t k = 0; k < p.lanes; ++k) to[k] = finish(sums[static_cast<size_t>(k)], count);
          }
        }
      },
      1);
}

const CpuKernel max_pool_kernel("QuantizedMaxPool", AllBits{}, []<class Q>(KernelContext& c) {
  using Int = IntOf<Q>;
  pool<Int, Int>(
      c, std::numeric_limits<Int>::lowest(), [](Int a, Int b) { return std::max(a, b); },
      [](Int a, int64_t) { return a; });
});
const CpuKernel avg_pool_kernel("QuantizedAvgPool", AllBits{}, []<class Q>(KernelContext& c) {
  using Int = IntOf<Q>;
  pool<Int, int64_t>(
      c, int64_t{0}, [](int64_t a, Int b) { return a + b; },
      [](int64_t a, int64_t count) { return static_cast<Int>(a / count); });
});

// ---- Normalization --------------------------------------------------------------------------------------------------

struct InstanceNorm {
  template <class Q>
  static void run(KernelContext& c) {
    using Int = IntOf<Q>;
    expect_wide(c, 1);
    const Shape& shape = c.shape(0);
    const int64_t images = shape.dim(0), pixels = shape.dim(1) * shape.dim(2), channels = shape.dim(3);
    const FloatSteps<Int> number(range_in(c, 1));
    const Int* x = c.data<Int>(0);
    std::vector<float> normal(static_cast<size_t>(c.numel(0)));
    float low = std::numeric_limits<float>::infinity(), high = -low;
    for (int64_t n = 0; n < images && pixels > 0; ++n) {
      for (int64_t k = 0; k < channels; ++k) {
        const int64_t first = n * pixels * channels + k;
        double sum = 0, squares = 0;
        for (int64_t p = 0; p < pixels; ++p) sum += static_cast<double>(number(x[first + p * channels]));
        const auto mean = static_cast<float>(sum / static_cast<double>(pixels));
        for (int64_t p = 0; p < pixels; ++p) {
          const float v = number(x[first + p * channels]) - mean;
          squares += static_cast<double>(v * v);
        }
        const auto variance = static_cast<float>(squares / static_cast<double>(pixels));
        const float factor = 1 / std::sqrt(variance + c.real("variance_epsilon"));
        for (int64_t p = 0; p < pixels; ++p) {
          const float v = (number(x[first + p * channels]) - mean) * factor;
          normal[static_cast<size_t>(first + p * channels)] = v;
          low = std::min(low, v);
          high = std::max(high, v);
        }
      }
    }
    Range r{c.real("given_y_min"), c.real("given_y_max")};
    if (!c.flag("output_range_given")) {
      if (c.numel(0) == 0) low = high = 0;
      r = {low, std::max(high, low + c.real("min_separation"))};
    }
    const FloatNearest<Int> nearest(r);
    std::transform(normal.begin(), normal.end(), c.out_data<Int>(0), nearest);
    put_range(c, r);
  }
};
const CpuKernel instance_norm_kernel("QuantizedInstanceNorm", AllBits{}, InstanceNorm{});

// Fixed-point arithmetic with steps of 2^-11, as in TensorFlow.
struct BatchNorm {
  template <class Q>
  static void run(KernelContext& c) {
    using Int = IntOf<Q>;
    if (c.type("out_type") != kQInt32) {
      failf(Code::kUnimplemented, "out_type: expected qint32, got {}", dtype_name(c.type("out_type")));
    }
    constexpr Range kFixed{-(1 << 20), 1 << 20};
    put_range(c, kFixed);
    const NearestOf<int32_t> fixed(kFixed);
    const int64_t channels = c.numel(3);
    if (channels == 0) return;
    const auto numbers = [&](int i) {
      return [x = c.data<Int>(i), n = StepsOf<Int>(range_in(c, i + 1))](int64_t k) { return n(x[k]); };
    };
    const auto mean = numbers(3), variance = numbers(6), beta = numbers(9), gamma = numbers(12);
    std::vector<int32_t> scales, offsets;
    for (int64_t k = 0; k < channels; ++k) {
      float scale = 1.0F / std::sqrt(variance(k) + c.real("variance_epsilon"));
      if (c.flag("scale_after_normalization")) scale *= gamma(k);
      scales.push_back(fixed(scale));
      offsets.push_back(fixed(rounded(-mean(k) * scale) + beta(k)));
    }
    const int32_t one = fixed(1.0F);
    int32_t in_fixed[256];  // a table of all 8-bit integers
    const StepsOf<Int> number(range_in(c, 1));
    for (int q = 0; q < 256; ++q) in_fixed[q] = fixed(number(static_cast<Int>(static_cast<uint8_t>(q))));
    const auto* x = c.data<uint8_t>(0);
    int32_t* y = c.out_data<int32_t>(0);
    cpu::parallel_ranges(
        c.numel(0) / channels, c.numel(0) * 8,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin * channels; i < end * channels; i += channels) {
            for (int64_t k = 0; k < channels; ++k) {
              const auto at = static_cast<size_t>(k);
              const auto product =
                  static_cast<int32_t>(static_cast<uint32_t>(in_fixed[x[i + k]]) * static_cast<uint32_t>(scales[at]));
              y[i + k] =
                  static_cast<int32_t>(static_cast<uint32_t>(product / one) + static_cast<uint32_t>(offsets[at]));
            }
          }
        },
        1);
  }
};
const CpuKernel batch_norm_kernel("QuantizedBatchNormWithGlobalNormalization", EightBits{}, BatchNorm{});

// ---- Other sizes ----------------------------------------------------------------------------------------------------

// Interpolates between four pixels with weights of kBits bits.
template <int kBits>
int32_t fixed_mean(int64_t top_left, int64_t top_right, int64_t bottom_left, int64_t bottom_right, int64_t x,
                   int64_t y) {
  constexpr int64_t kOne = int64_t{1} << kBits;
  const int64_t top = top_left * kOne + (top_right - top_left) * x;
  const int64_t bottom = bottom_left * kOne + (bottom_right - bottom_left) * x;
  const int64_t sum = top + (bottom - top) / kOne * y;
  return static_cast<int32_t>((sum + kOne / 2) / kOne);
}

struct ResizeBilinear {
  template <class T>
  static void run(KernelContext& c) {
    put_range(c, range_in(c, 2));
    const Resize r(c, c.shape(0), c.out_shape(0));
    const auto* in = c.data<T>(0);
    T* out = c.out_data<T>(0);
    if (c.shape(0) == c.out_shape(0)) {
      std::copy_n(in, c.numel(0), out);
      return;
    }
    const std::vector<Between> rows = cpu::bilinear_places(r.height), columns = cpu::bilinear_places(r.width);
    const int64_t from = r.height.from, width = r.width.from, channels = r.channels;
    cpu::parallel_ranges(
        r.images * r.height.to, c.out_numel(0) * 16,
        [&](int64_t begin, int64_t end) {
          for (int64_t line = begin; line < end; ++line) {
            const Between& y = rows[static_cast<size_t>(line % r.height.to)];
            const T* image = in + line / r.height.to * from * width * channels;
            T* to = out + line * r.width.to * channels;
            for (const Between& x : columns) {
              const T *top_left = image + (y.lower * width + x.lower) * channels,
                      *top_right = image + (y.lower * width + x.upper) * channels,
                      *bottom_left = image + (y.upper * width + x.lower) * channels,
                      *bottom_right = image + (y.upper * width + x.upper) * channels;
              for (int64_t k = 0; k < channels; ++k) {
                *to++ = mean(top_left[k], top_right[k], bottom_left[k], bottom_right[k], x.way, y.way);
              }
            }
          }
        },
        1);
  }

 private:
  static float mean(float top_left, float top_right, float bottom_left, float bottom_right, float x, float y) {
    const float top = top_left + rounded((top_right - top_left) * x);
    const float bottom = bottom_left + rounded((bottom_right - bottom_left) * x);
    return top + rounded((bottom - top) * y);
  }
  static QUint8 mean(QUint8 a, QUint8 b, QUint8 c, QUint8 d, float x, float y) {
    return QUint8(static_cast<uint8_t>(fixed_mean<7>(a.value, b.value, c.value, d.value, static_cast<int64_t>(x * 128),
                                                     static_cast<int64_t>(y * 128))));
  }
  static QInt32 mean(QInt32 a, QInt32 b, QInt32 c, QInt32 d, float x, float y) {
    constexpr float kOne = 1 << 30;
    const auto in_float = [](QInt32 q) { return static_cast<int64_t>(static_cast<float>(q.value)); };
    return QInt32(fixed_mean<30>(in_float(a), in_float(b), in_float(c), in_float(d), static_cast<int64_t>(x * kOne),
                                 static_cast<int64_t>(y * kOne)));
  }
};
const CpuKernel resize_kernel("QuantizedResizeBilinear", TypeList<QUint8, QInt32, float>{}, ResizeBilinear{});

}  // namespace
}  // namespace panto
