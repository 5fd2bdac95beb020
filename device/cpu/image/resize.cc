// Kernels of resized images and their gradients.
#include "panto/device/cpu/image/resize.h"

#include <cstring>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/elementwise/inner_loop.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/convert.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/image_types.h"

namespace panto {
namespace {

std::vector<int64_t> nearest_places(const ResizeAxis& a, bool align_corners) {
  return cpu::all_places(a.to, [&](int64_t i) { return nearest_place(a, align_corners, i); });
}
std::vector<Cubic> bicubic_places(const ResizeAxis& a) {
  return cpu::all_places(a.to, [&](int64_t i) { return bicubic_place(a, i); });
}

// The original pixels that one resized pixel covers, and how much of each.
struct Cover {
  std::vector<int64_t> index;
  std::vector<float> weight;
};
std::vector<Cover> area_places(const ResizeAxis& a) {
  return cpu::all_places(a.to, [&](int64_t i) {
    const AreaSpan span = area_span(a, i);
    Cover cover;
    for (int64_t k = span.first; k < span.last; ++k) {
      cover.index.push_back(a.inside(k));
      cover.weight.push_back(span.share(k));
    }
    return cover;
  });
}

// Calls body(image, row) for all rows of the resized images.
template <class T, class Body>
void over_rows(const Resize& r, int64_t taps, const Body& body) {
  cpu::parallel_ranges(
      r.images * r.height.to, r.images * r.height.to * r.width.to * r.channels * taps * 4,
      [&](int64_t begin, int64_t end) {
        cpu::multiversioned_for<T>([&] {
          for (int64_t i = begin; i < end; ++i) body(i / r.height.to, i % r.height.to);
        });
      },
      1);
}
// For gradients: several rows add to one row, so one thread handles a whole image.
template <class Body>
void over_images(const Resize& r, int64_t taps, const Body& body) {
  cpu::parallel_ranges(
      r.images, r.images * r.height.to * r.width.to * r.channels * taps * 4,
      [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n) body(n);
      },
      1);
}

template <class T>
[[gnu::always_inline]] inline float as_float(T x) {
  return convert<float>(x);
}

struct BilinearKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Resize r(c, c.shape(0), c.out_shape(0));
    const T* in = c.data<T>(0);
    float* out = c.out_data<float>(0);
    if (r.height.from == r.height.to && r.width.from == r.width.to) {  // exact for infinities too
      for (int64_t i = 0; i < c.out_numel(0); ++i) out[i] = as_float(in[i]);
      return;
    }
    const auto rows = cpu::bilinear_places(r.height), columns = cpu::bilinear_places(r.width);
    if (r.channels < kFewChannels && r.width.from * r.channels < std::numeric_limits<int32_t>::max()) {
      return few_channels(r, rows, columns, in, out);
    }
    over_rows<T>(r, 4, [&](int64_t n, int64_t y) {
      const Between& row = rows[static_cast<size_t>(y)];
      const T *top = in + r.original(n, row.lower, 0), *bottom = in + r.original(n, row.upper, 0);
      float* to = out + r.resized(n, y, 0);
      for (int64_t x = 0; x < r.width.to; ++x, to += r.channels) {
        const Between& column = columns[static_cast<size_t>(x)];
        const int64_t left = column.lower * r.channels, right = column.upper * r.channels;
        PANTO_INDEPENDENT
        for (int64_t k = 0; k < r.channels; ++k) {
          const float top_left = as_float(top[left + k]), bottom_left = as_float(bottom[left + k]);
          const float above = top_left + (as_float(top[right + k]) - top_left) * column.way;
          const float below = bottom_left + (as_float(bottom[right + k]) - bottom_left) * column.way;
          to[k] = above + (below - above) * row.way;
        }
      }
    });
  }

 private:
  // With fewer channels, vectors along channels do not pay. Instead rows are stretched first, then the two rows next to
  // a row of the result are mixed. The results are identical.
  static constexpr int64_t kFewChannels = 8;
  template <class T>
  static void few_channels(const Resize& r, const std::vector<Between>& rows, const std::vector<Between>& columns,
                           const T* in, float* out) {
    const int64_t width = r.width.to * r.channels;
    std::vector<int32_t> left(static_cast<size_t>(width)), right(left.size());
    std::vector<float> way(left.size());
    for (size_t i = 0; i < left.size(); ++i) {
      const Between& column = columns[i / static_cast<size_t>(r.channels)];
      const auto channel = static_cast<int64_t>(i) % r.channels;
      left[i] = static_cast<int32_t>(column.lower * r.channels + channel);
      right[i] = static_cast<int32_t>(column.upper * r.channels + channel);
      way[i] = column.way;
    }
    const auto stretch = [&](const T* from, float* to) {
      PANTO_INDEPENDENT
      for (int64_t i = 0; i < width; ++i) {
        const float low = as_float(from[left[static_cast<size_t>(i)]]);
        to[i] = low + (as_float(from[right[static_cast<size_t>(i)]]) - low) * way[static_cast<size_t>(i)];
      }
    };
    cpu::parallel_ranges(
        r.images * r.height.to, r.images * r.height.to * width * 16,
        [&](int64_t begin, int64_t end) {
          std::vector<float> lower(static_cast<size_t>(width)), upper(lower.size());
          int64_t in_lower = -1, in_upper = -1;  // source rows of `lower` and `upper`, as offsets
          cpu::multiversioned_for<T>([&] {
            for (int64_t i = begin; i < end; ++i) {
              const Between& row = rows[static_cast<size_t>(i % r.height.to)];
              const int64_t low = r.original(i / r.height.to, row.lower, 0);
              const int64_t high = r.original(i / r.height.to, row.upper, 0);
              if (low == in_upper && low != in_lower) {
                lower.swap(upper);
                std::swap(in_lower, in_upper);
              }
              if (low != in_lower) stretch(in + low, lower.data());
              if (high != in_upper) stretch(in + high, upper.data());
              in_lower = low;
              in_upper = high;
              float* to = out + i * width;
              PANTO_INDEPENDENT
              for (int64_t k = 0; k < width; ++k) to[k] = lower[k] + (upper[k] - lower[k]) * row.way;
            }
          });
        },
        16);
  }
};

struct BilinearGradKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Resize r(c, c.out_shape(0), c.shape(0));
    const auto* dy = c.data<float>(0);
    T* out = c.out_data<T>(0);
    std::fill_n(out, c.out_numel(0), T{});
    const auto rows = cpu::bilinear_places(r.height), columns = cpu::bilinear_places(r.width);
    over_images(r, 4, [&](int64_t n) {
      for (int64_t y = 0; y < r.height.to; ++y) {
        const Between& row = rows[static_cast<size_t>(y)];
        T *top = out + r.original(n, row.lower, 0), *bottom = out + r.original(n, row.upper, 0);
        const float* from = dy + r.resized(n, y, 0);
        for (int64_t x = 0; x < r.width.to; ++x, from += r.channels) {
          const Between& column = columns[static_cast<size_t>(x)];
          const int64_t left = column.lower * r.channels, right = column.upper * r.channels;
          const float above = 1 - row.way, before = 1 - column.way;
          for (int64_t k = 0; k < r.channels; ++k) {
            top[left + k] += static_cast<T>(from[k] * above * before);
            top[right + k] += static_cast<T>(from[k] * above * column.way);
            bottom[left + k] += static_cast<T>(from[k] * row.way * before);
            bottom[right + k] += static_cast<T>(from[k] * row.way * column.way);
          }
        }
      }
    });
  }
};

// Copies pixels as bytes, whatever their type.
void nearest(KernelContext& c) {
  if (c.out_numel(0) == 0) return;
  const Resize r(c, c.shape(0), c.out_shape(0));
  const auto rows = nearest_places(r.height, c.flag("align_corners"));
  const auto columns = nearest_places(r.width, c.flag("align_corners"));
  const auto bytes = static_cast<int64_t>(c.in(0).nbytes()) / c.numel(0), pixel = bytes * r.channels;
  const auto* in = static_cast<const char*>(c.in(0).impl()->data);
  auto* out = static_cast<char*>(c.out(0).impl()->data);
  over_rows<uint8_t>(r, 1, [&](int64_t n, int64_t y) {
    const char* from = in + r.original(n, rows[static_cast<size_t>(y)], 0) * bytes;
    char* to = out + r.resized(n, y, 0) * bytes;
    for (int64_t x = 0; x < r.width.to; ++x, to += pixel) {
      std::memcpy(to, from + columns[static_cast<size_t>(x)] * pixel, static_cast<size_t>(pixel));
    }
  });
}

struct NearestGradKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Resize r(c, c.out_shape(0), c.shape(0));
    const T* dy = c.data<T>(0);
    T* out = c.out_data<T>(0);
    std::fill_n(out, c.out_numel(0), T{});
    const auto rows = nearest_places(r.height, c.flag("align_corners"));
    const auto columns = nearest_places(r.width, c.flag("align_corners"));
    over_images(r, 1, [&](int64_t n) {
      for (int64_t y = 0; y < r.height.to; ++y) {
        T* row = out + r.original(n, rows[static_cast<size_t>(y)], 0);
        const T* from = dy + r.resized(n, y, 0);
        for (int64_t x = 0; x < r.width.to; ++x, from += r.channels) {
          T* to = row + columns[static_cast<size_t>(x)] * r.channels;
          for (int64_t k = 0; k < r.channels; ++k) to[k] = k::add(to[k], from[k]);
        }
      }
    });
  }
};

struct BicubicKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Resize r(c, c.shape(0), c.out_shape(0));
    const T* in = c.data<T>(0);
    float* out = c.out_data<float>(0);
    const auto rows = bicubic_places(r.height), columns = bicubic_places(r.width);
    over_rows<T>(r, 16, [&](int64_t n, int64_t y) {
      const Cubic& row = rows[static_cast<size_t>(y)];
      const T* from[4];
      for (int i = 0; i < 4; ++i) from[i] = in + r.original(n, row.index[i], 0);
      float* to = out + r.resized(n, y, 0);
      for (int64_t x = 0; x < r.width.to; ++x, to += r.channels) {
        const Cubic& column = columns[static_cast<size_t>(x)];
        for (int64_t k = 0; k < r.channels; ++k) {
          float sum = 0;
          for (int j = 0; j < 4; ++j) {
            const int64_t at = column.index[j] * r.channels + k;
            float in_column = 0;
            for (int i = 0; i < 4; ++i) in_column += as_float(from[i][at]) * row.weight[i];
            sum += in_column * column.weight[j];
          }
          to[k] = sum;
        }
      }
    });
  }
};

struct BicubicGradKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Resize r(c, c.out_shape(0), c.shape(0));
    const auto* dy = c.data<float>(0);
    T* out = c.out_data<T>(0);
    std::fill_n(out, c.out_numel(0), T{});
    const auto rows = bicubic_places(r.height), columns = bicubic_places(r.width);
    over_images(r, 16, [&](int64_t n) {
      for (int64_t y = 0; y < r.height.to; ++y) {
        const Cubic& row = rows[static_cast<size_t>(y)];
        const float* from = dy + r.resized(n, y, 0);
        for (int64_t x = 0; x < r.width.to; ++x, from += r.channels) {
          const Cubic& column = columns[static_cast<size_t>(x)];
          for (int i = 0; i < 4; ++i) {
            T* line = out + r.original(n, row.index[i], 0);
            for (int j = 0; j < 4; ++j) {
              T* to = line + column.index[j] * r.channels;
              const float weight = row.weight[i] * column.weight[j];
              for (int64_t k = 0; k < r.channels; ++k) to[k] += static_cast<T>(from[k] * weight);
            }
          }
        }
      }
    });
  }
};

struct AreaKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Resize r(c, c.shape(0), c.out_shape(0), false);
    const T* in = c.data<T>(0);
    float* out = c.out_data<float>(0);
    const auto rows = area_places(r.height), columns = area_places(r.width);
    const float whole = 1 / (r.height.scale * r.width.scale);
    const int64_t taps = c.numel(0) / std::max<int64_t>(1, c.out_numel(0)) + 1;
    over_rows<T>(r, taps, [&](int64_t n, int64_t y) {
      const Cover& row = rows[static_cast<size_t>(y)];
      float* to = out + r.resized(n, y, 0);
      for (int64_t x = 0; x < r.width.to; ++x, to += r.channels) {
        const Cover& column = columns[static_cast<size_t>(x)];
        for (int64_t k = 0; k < r.channels; ++k) {
          float sum = 0;
          for (size_t i = 0; i < row.index.size(); ++i) {
            const T* from = in + r.original(n, row.index[i], 0) + k;
            float of_row = 0;
            for (size_t j = 0; j < column.index.size(); ++j) {
              of_row += as_float(from[column.index[j] * r.channels]) * column.weight[j];
            }
            sum += of_row * row.weight[i];
          }
          to[k] = sum * whole;
        }
      }
    });
  }
};

const CpuKernel bilinear_kernel("ResizeBilinear", types::of<"ResizeBilinear">{}, BilinearKernel{});
const CpuKernel bilinear_grad_kernel("ResizeBilinearGrad", types::of<"ResizeBilinearGrad">{},
                                     InWider<BilinearGradKernel>{});
const CpuKernel nearest_kernel("ResizeNearestNeighbor", dtypes::kReal - DTypeSet{kUint32, kUint64}, nearest);
const CpuKernel nearest_grad_kernel("ResizeNearestNeighborGrad", types::of<"ResizeNearestNeighborGrad">{},
                                    InWider<NearestGradKernel>{});
const CpuKernel bicubic_kernel("ResizeBicubic", types::of<"ResizeBicubic">{}, BicubicKernel{});
const CpuKernel bicubic_grad_kernel("ResizeBicubicGrad", types::of<"ResizeBicubicGrad">{}, BicubicGradKernel{});
const CpuKernel area_kernel("ResizeArea", types::of<"ResizeArea">{}, AreaKernel{});

}  // namespace
}  // namespace panto
