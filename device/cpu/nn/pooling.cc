// Kernels of pools and their gradients.
//
// If channels are the last dimension, the innermost loop is over channels, which vectorises. Channels-first images
// count as more images of one channel. Rows of a volume are counted over all its depths.
#include <algorithm>
#include <cstdint>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/elementwise/inner_loop.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/op_kernels.h"
#include "panto/device/pool.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

constexpr int64_t kLanes = 64;  // channels that a gradient computes at a time

// A row of the output, counted over all depths, and the planes and rows of the image in its windows that are not
// padding.
struct PoolRow {
  int64_t number;
  int64_t first_plane, last_plane, first, last;
};

struct Pool : PoolShape {
  using PoolShape::PoolShape;

  int64_t out_rows() const { return depth.output * height.output; }
  PoolRow row(int64_t number) const {
    const int64_t z = number / height.output, y = number % height.output;
    return {number, depth.begin(z) + depth.first(z), depth.begin(z) + depth.last(z), height.begin(y) + height.first(y),
            height.begin(y) + height.last(y)};
  }

  // Calls body(offset of an element in the image, its index) for the elements of the window at x in the row that are
  // not padding.
  template <class Body>
  [[gnu::always_inline]] void for_window(const PoolRow& row, int64_t x, const Body& body) const {
    const int64_t first_x = width.begin(x) + width.first(x), last_x = width.begin(x) + width.last(x);
    int32_t number = 0;
    for (int64_t h = row.first_plane; h < row.last_plane; ++h) {
      for (int64_t i = row.first; i < row.last; ++i) {
        const int64_t at = (h * height.input + i) * width.input;
        for (int64_t j = first_x; j < last_x; ++j) body((at + j) * lanes, number++);
      }
    }
  }
  int64_t count(const PoolRow& row, int64_t x) const {
    const auto length = [](int64_t first, int64_t last) { return std::max<int64_t>(0, last - first); };
    return length(row.first_plane, row.last_plane) * length(row.first, row.last) *
           length(width.first(x), width.last(x));
  }

  // Calls body(image, row of the output, counted over all depths).
  template <class T, class Body>
  void over_rows(int64_t element_bytes, const Body& body) const {
    parallel<T>(images * out_rows(), element_bytes, [&](int64_t r) { body(r / out_rows(), row(r % out_rows())); });
  }
  // Calls body(image, first lane, lanes). Gradients are shared by lanes, not by rows, because windows overlap.
  template <class T, class Body>
  void over_lanes(int64_t element_bytes, const Body& body) const {
    const int64_t blocks = ceil_div(lanes, kLanes);
    parallel<T>(images * blocks, element_bytes, [&](int64_t u) {
      const int64_t first = u % blocks * kLanes;
      body(u / blocks, first, std::min(kLanes, lanes - first));
    });
  }

 private:
  template <class T, class Body>
  void parallel(int64_t n, int64_t element_bytes, const Body& body) const {
    const int64_t work = images * (in_image() + out_image()) * element_bytes;
    cpu::parallel_ranges(
        n, work,
        [&](int64_t begin, int64_t end) {
          cpu::multiversioned_for<T>([&] {
            for (int64_t i = begin; i < end; ++i) body(i);
          });
        },
        1);
  }
};

struct MaxPoolKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Pool p(c, c.shape(0));
    const T* in = c.data<T>(0);
    T* out = c.out_data<T>(0);
    p.over_rows<T>(sizeof(T), [&](int64_t n, const PoolRow& row) {
      for (int64_t x = 0; x < p.width.output; ++x) {
        T* to = out + n * p.out_image() + (row.number * p.width.output + x) * p.lanes;
        std::fill_n(to, p.lanes, lowest<T>());
        p.for_window(row, x, [&](int64_t at, int32_t) {
          const T* from = in + n * p.in_image() + at;
          PANTO_INDEPENDENT
          for (int64_t k = 0; k < p.lanes; ++k) to[k] = beats(from[k], to[k]) ? from[k] : to[k];
        });
      }
    });
  }
};

// Calls body(chosen, row of the output, x) for every window of an image. chosen[k] is the index of the window's largest
// element in lane k, or -1 for a window that covers padding only.
template <class T, class Body>
[[gnu::always_inline]] inline void for_largest(const Pool& p, const T* image, int64_t lanes, const Body& body) {
  T best[kLanes];
  int32_t chosen[kLanes];
  for (int64_t r = 0; r < p.out_rows(); ++r) {
    const PoolRow row = p.row(r);
    for (int64_t x = 0; x < p.width.output; ++x) {
      std::fill_n(chosen, lanes, -1);
      bool first = true;
      p.for_window(row, x, [&](int64_t at, int32_t number) {
        const T* from = image + at;
        if (first) {
          std::copy_n(from, lanes, best);
          std::fill_n(chosen, lanes, number);
          first = false;
          return;
        }
        PANTO_INDEPENDENT
        for (int64_t k = 0; k < lanes; ++k) {
          const bool better = beats(from[k], best[k]);
          best[k] = better ? from[k] : best[k];
          chosen[k] = better ? number : chosen[k];
        }
      });
      body(chosen, row, x);
    }
  }
}

template <class T>
void clear(const Pool& p, T* image, int64_t lanes) {
  const int64_t elements = p.depth.input * p.height.input * p.width.input;
  for (int64_t i = 0; i < elements; ++i) std::fill_n(image + i * p.lanes, lanes, T{});
}

struct MaxPoolGradKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Pool p(c, c.shape(0));
    const T *in = c.data<T>(0), *dy = c.data<T>(2);
    T* dx = c.out_data<T>(0);
    p.over_lanes<T>(3 * sizeof(T), [&](int64_t n, int64_t lane, int64_t lanes) {
      T* to = dx + n * p.in_image() + lane;
      clear(p, to, lanes);
      for_largest(p, in + n * p.in_image() + lane, lanes, [&](const int32_t* chosen, const PoolRow& row, int64_t x) {
        const T* from = dy + n * p.out_image() + (row.number * p.width.output + x) * p.lanes + lane;
        p.for_window(row, x, [&](int64_t at, int32_t number) {
          PANTO_INDEPENDENT
          for (int64_t k = 0; k < lanes; ++k) {
            to[at + k] = k::add(to[at + k], chosen[k] == number ? from[k] : T{});
          }
        });
      });
    });
  }
};

struct MaxPoolGradGradKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Pool p(c, c.shape(0));
    const T *in = c.data<T>(0), *ddx = c.data<T>(2);
    T* out = c.out_data<T>(0);
    p.over_lanes<T>(3 * sizeof(T), [&](int64_t n, int64_t lane, int64_t lanes) {
      const T* from = ddx + n * p.in_image() + lane;
      for_largest(p, in + n * p.in_image() + lane, lanes, [&](const int32_t* chosen, const PoolRow& row, int64_t x) {
        T* to = out + n * p.out_image() + (row.number * p.width.output + x) * p.lanes + lane;
        std::fill_n(to, lanes, T{});
        p.for_window(row, x, [&](int64_t at, int32_t number) {
          PANTO_INDEPENDENT
          for (int64_t k = 0; k < lanes; ++k) to[k] = chosen[k] == number ? from[at + k] : to[k];
        });
      });
    });
  }
};

struct AvgPoolKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Pool p(c, c.shape(0));
    const T* in = c.data<T>(0);
    T* out = c.out_data<T>(0);
    p.over_rows<T>(sizeof(T), [&](int64_t n, const PoolRow& row) {
      for (int64_t x = 0; x < p.width.output; ++x) {
        T* to = out + n * p.out_image() + (row.number * p.width.output + x) * p.lanes;
        std::fill_n(to, p.lanes, T{});
        p.for_window(row, x, [&](int64_t at, int32_t) {
          const T* from = in + n * p.in_image() + at;
          PANTO_INDEPENDENT
          for (int64_t k = 0; k < p.lanes; ++k) to[k] += from[k];
        });
        const T count = static_cast<T>(p.count(row, x));
        for (int64_t k = 0; k < p.lanes; ++k) to[k] /= count;
      }
    });
  }
};

struct AvgPoolGradKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Pool p(c, c.out_shape(0));
    const T* dy = c.data<T>(1);
    T* dx = c.out_data<T>(0);
    p.over_lanes<T>(2 * sizeof(T), [&](int64_t n, int64_t lane, int64_t lanes) {
      T* to = dx + n * p.in_image() + lane;
      clear(p, to, lanes);
      T part[kLanes];
      for (int64_t r = 0; r < p.out_rows(); ++r) {
        const PoolRow row = p.row(r);
        for (int64_t x = 0; x < p.width.output; ++x) {
          const T* from = dy + n * p.out_image() + (row.number * p.width.output + x) * p.lanes + lane;
          const T count = static_cast<T>(p.count(row, x));
          for (int64_t k = 0; k < lanes; ++k) part[k] = from[k] / count;
          p.for_window(row, x, [&](int64_t at, int32_t) {
            PANTO_INDEPENDENT
            for (int64_t k = 0; k < lanes; ++k) to[at + k] += part[k];
          });
        }
      }
    });
  }
};

// Also returns the position. As in TensorFlow, a NaN is the maximum only if it comes first.
struct MaxPoolWithArgmaxKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Pool p(c, c.shape(0));
    p.expect_positions_fit(c);
    const bool of_batch = c.flag("include_batch_in_index");
    c.out(1).dtype() == kInt32 ? find<T>(c, p, of_batch, c.out_data<int32_t>(1))
                               : find<T>(c, p, of_batch, c.out_data<int64_t>(1));
  }

 private:
  template <class T, class Index>
  static void find(KernelContext& c, const Pool& p, bool of_batch, Index* where) {
    const T* in = c.data<T>(0);
    T* out = c.out_data<T>(0);
    cpu::parallel_ranges(
        p.images * p.out_rows(), p.images * (p.in_image() + p.out_image()) * 16,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t n = i / p.out_rows();
            const PoolRow row = p.row(i % p.out_rows());
            for (int64_t x = 0; x < p.width.output; ++x) {
              const int64_t first = n * p.out_image() + (row.number * p.width.output + x) * p.lanes;
              for (int64_t k = 0; k < p.lanes; ++k) {
                int64_t best = -1;
                const T* image = in + n * p.in_image() + k;
                p.for_window(row, x, [&](int64_t at, int32_t) {
                  if (best < 0 || image[at] > image[best]) best = at;
                });
                out[first + k] = image[best];
                where[first + k] = static_cast<Index>(best + k + (of_batch ? n * p.in_image() : 0));
              }
            }
          }
        },
        1);
  }
};

// Calls body(i, position) for each pooled element i: its position in the whole input. argmax[i] is the position in its
// image or, with include_batch_in_index, in all images.
template <class Body>
void for_positions(KernelContext& c, int64_t pooled, int64_t whole, const Body& body) {
  const int64_t images = c.shape(0).dim(0);
  const bool of_batch = c.flag("include_batch_in_index");
  const int64_t each = images == 0 ? 0 : pooled / images, limit = of_batch || images == 0 ? whole : whole / images;
  const auto go = [&](const auto* argmax) {
    for (int64_t i = 0; i < pooled; ++i) {
      const int64_t at = argmax[i];
      if (at < 0 || at >= limit) {
        invalid("argmax: expected at least 0 and less than the number of elements {}, got {}", limit, at);
      }
      body(i, at + (of_batch ? 0 : i / each * limit));
    }
  };
  c.in(2).dtype() == kInt32 ? go(c.data<int32_t>(2)) : go(c.data<int64_t>(2));
}

struct MaxPoolGradWithArgmaxKernel {
  template <class T>
  static void run(KernelContext& c) {
    const T* dy = c.data<T>(1);
    T* out = c.out_data<T>(0);
    std::fill_n(out, c.out_numel(0), T{});
    for_positions(c, c.numel(1), c.out_numel(0), [&](int64_t i, int64_t at) { out[at] = k::add(out[at], dy[i]); });
  }
};

struct MaxPoolGradGradWithArgmaxKernel {
  template <class T>
  static void run(KernelContext& c) {
    const T* ddx = c.data<T>(1);
    T* out = c.out_data<T>(0);
    for_positions(c, c.out_numel(0), c.numel(1), [&](int64_t i, int64_t at) { out[i] = ddx[at]; });
  }
};

// The input and its gradient may have different types; both are computed as float here.
struct MaxPool3DGradKernel {
  template <class T>
  static void run(KernelContext& c) {
    run_in_wider<float>(
        c, types::halves{}, [](const auto* from, auto* to, int64_t n) { cpu::convert_elements(from, to, n); },
        [](KernelContext& wider) { MaxPoolGradKernel::run<float>(wider); });
  }
};

const CpuKernel max_pool_kernel("MaxPool", types::of<"MaxPool">{}, InWider<MaxPoolKernel>{});
const CpuKernel max_pool_grad_kernel("MaxPoolGrad", types::of<"MaxPoolGrad">{}, InWider<MaxPoolGradKernel>{});
const CpuKernel max_pool_grad_grad_kernel("MaxPoolGradGrad", types::of<"MaxPoolGradGrad">{},
                                          InWider<MaxPoolGradGradKernel>{});
const CpuKernel avg_pool_kernel("AvgPool", types::of<"AvgPool">{}, InWider<AvgPoolKernel>{});
const CpuKernel avg_pool_grad_kernel("AvgPoolGrad", types::of<"AvgPoolGrad">{}, InWider<AvgPoolGradKernel>{});

const CpuKernel with_argmax_kernel("MaxPoolWithArgmax", types::of<"MaxPoolWithArgmax">{},
                                   InWider<MaxPoolWithArgmaxKernel>{});
const CpuKernel grad_with_argmax_kernel("MaxPoolGradWithArgmax", types::of<"MaxPoolGradWithArgmax">{},
                                        InWider<MaxPoolGradWithArgmaxKernel>{});
const CpuKernel grad_grad_with_argmax_kernel("MaxPoolGradGradWithArgmax", types::of<"MaxPoolGradGradWithArgmax">{},
                                             InWider<MaxPoolGradGradWithArgmaxKernel>{});

const CpuKernel max_pool_3d_kernel("MaxPool3D", types::of<"MaxPool3D">{}, InWider<MaxPoolKernel>{});
const CpuKernel max_pool_3d_grad_kernel("MaxPool3DGrad", types::of<"MaxPool3DGrad">{}, MaxPool3DGradKernel{});
const CpuKernel max_pool_3d_grad_grad_kernel("MaxPool3DGradGrad", types::of<"MaxPool3DGradGrad">{},
                                             InWider<MaxPoolGradGradKernel>{});
const CpuKernel avg_pool_3d_kernel("AvgPool3D", types::of<"AvgPool3D">{}, InWider<AvgPoolKernel>{});
const CpuKernel avg_pool_3d_grad_kernel("AvgPool3DGrad", types::of<"AvgPool3DGrad">{}, InWider<AvgPoolGradKernel>{});

}  // namespace
}  // namespace panto
