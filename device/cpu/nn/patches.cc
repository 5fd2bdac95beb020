// Kernels of ops over windows of images: patches, and morphology.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/dilation.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/vocabulary.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/nn/window.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

// Copies elements as bytes. Padding is zero, which is all zero bytes in every type.
void copy_patches(const KernelContext& c, const WindowAxis& depth, const WindowAxis& height, const WindowAxis& width) {
  if (c.out_numel(0) == 0) return;
  const Shape& in = c.shape(0);
  const auto element = static_cast<int64_t>(c.in(0).nbytes()) / std::max<int64_t>(1, c.numel(0));
  const int64_t pixel = in.dim(in.rank() - 1) * element;  // in bytes
  const int64_t plane = height.input * width.input * pixel, volume = depth.input * plane;
  const auto* from = static_cast<const char*>(c.in(0).impl()->data);
  auto* to = static_cast<char*>(c.out(0).impl()->data);
  const int64_t row = width.output * depth.size * height.size * width.size * pixel;
  const int64_t rows = in.dim(0) * depth.output * height.output;
  cpu::parallel_ranges(
      rows, rows * row,
      [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const int64_t y = r % height.output, z = r / height.output % depth.output;
          const char* image = from + r / height.output / depth.output * volume;
          char* out = to + r * row;
          for (int64_t x = 0; x < width.output; ++x) {
            for (int64_t h = 0; h < depth.size; ++h) {
              const int64_t in_z = depth.place(z, h);
              for (int64_t i = 0; i < height.size; ++i) {
                const int64_t in_y = height.place(y, i);
                for (int64_t j = 0; j < width.size; ++j, out += pixel) {
                  const int64_t in_x = width.place(x, j);
                  if (in_z >= 0 && in_y >= 0 && in_x >= 0) {
                    std::memcpy(out, image + in_z * plane + (in_y * width.input + in_x) * pixel,
                                static_cast<size_t>(pixel));
                  } else {
                    std::memset(out, 0, static_cast<size_t>(pixel));
                  }
                }
              }
            }
          }
        }
      },
      1);
}

const CpuKernel image_patches("ExtractImagePatches", dtypes::kPlain, [](KernelContext& c) {
  const Windows w = image_patches_of(c, c.shape(0));
  copy_patches(c, {.input = 1, .output = 1}, w.height, w.width);
});
const CpuKernel volume_patches("ExtractVolumePatches", dtypes::kReal, [](KernelContext& c) {
  const VolumeWindows w = volume_patches_of(c, c.shape(0));
  copy_patches(c, w.depth, w.height, w.width);
});

// ---- Morphology -----------------------------------------------------------------------------------------------------

struct DilationKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Dilation<T> d(c);
    T* out = c.out_data<T>(0);
    cpu::parallel_ranges(
        c.out_numel(0) / d.channels, d.work(),
        [&](int64_t begin, int64_t end) {
          for (int64_t p = begin; p < end; ++p) {
            const int64_t x = p % d.width.output, y = p / d.width.output % d.height.output;
            const int64_t n = p / d.width.output / d.height.output;
            for (int64_t k = 0; k < d.channels; ++k) out[p * d.channels + k] = convert<T>(d.largest(n, y, x, k).sum);
          }
        },
        1);
  }
};

// Each task computes the sums of one channel, and, for the gradient by input, of one image.
template <bool kOfFilter>
struct DilationBackpropKernel {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t size = c.out_numel(0);
    if (size == 0) return;
    const Dilation<T> d(c);
    const T* dy = c.data<T>(2);
    T* out = c.out_data<T>(0);
    const int64_t parts = kOfFilter ? 1 : d.images, each = size / parts;
    cpu::parallel_ranges(
        parts * d.channels, d.work(),
        [&](int64_t begin, int64_t end) {
          std::vector<Compute<T>> sums(static_cast<size_t>(each / d.channels));
          for (int64_t p = begin; p < end; ++p) {
            const int64_t part = p / d.channels, k = p % d.channels;
            std::ranges::fill(sums, Compute<T>{});
            for (int64_t n = kOfFilter ? 0 : part; n < (kOfFilter ? d.images : part + 1); ++n) {
              for (int64_t y = 0; y < d.height.output; ++y) {
                for (int64_t x = 0; x < d.width.output; ++x) {
                  const auto best = d.largest(n, y, x, k);
                  auto& to = sums[static_cast<size_t>((kOfFilter ? best.tap : best.in) / d.channels)];
                  to = k::add(to, convert<Compute<T>>(dy[d.out_at(n, y, x, k)]));
                }
              }
            }
            T* to = out + part * each + k;
            for (size_t i = 0; i < sums.size(); ++i) to[static_cast<int64_t>(i) * d.channels] = convert<T>(sums[i]);
          }
        },
        1);
  }
};

const CpuKernel dilation_kernel("Dilation2D", types::of<"Dilation2D">{}, DilationKernel{});
const CpuKernel dilation_by_input("Dilation2DBackpropInput", types::of<"Dilation2DBackpropInput">{},
                                  DilationBackpropKernel<false>{});
const CpuKernel dilation_by_filter("Dilation2DBackpropFilter", types::of<"Dilation2DBackpropFilter">{},
                                   DilationBackpropKernel<true>{});

}  // namespace
}  // namespace panto
