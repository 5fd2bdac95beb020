// Kernels of pools and their gradients.
//
// The innermost loop is over channels where they are the last dimension, which is vectorised. Images with channels
// first are as many images of one channel.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/elementwise/inner_loop.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/op_kernels.h"
#include "panto/device/pool.h"
#include "panto/lib/base/checked.h"

namespace panto {
namespace {

constexpr int64_t kLanes = 64;  // channels that a gradient treats at a time

struct Pool : PoolShape {
  using PoolShape::PoolShape;

  // body(offset of an element of the image, its number) for those of the window at (y, x) that are not padding.
  template <class Body>
  [[gnu::always_inline]] void for_window(int64_t y, int64_t x, const Body& body) const {
    const int64_t first_x = width.begin(x) + width.first(x), last_x = width.begin(x) + width.last(x);
    int32_t number = 0;
    for (int64_t i = height.first(y), last_y = height.last(y); i < last_y; ++i) {
      const int64_t row = (height.begin(y) + i) * width.input;
      for (int64_t j = first_x; j < last_x; ++j) body((row + j) * lanes, number++);
    }
  }
  int64_t count(int64_t y, int64_t x) const {
    return std::max<int64_t>(0, height.last(y) - height.first(y)) *
           std::max<int64_t>(0, width.last(x) - width.first(x));
  }

  // body(image, y) for all rows of the output.
  template <class T, class Body>
  void over_rows(int64_t element_bytes, const Body& body) const {
    parallel<T>(images * height.output, element_bytes, [&](int64_t r) { body(r / height.output, r % height.output); });
  }
  // body(image, first lane, lanes): windows overlap, so that gradients of an image's rows cannot be shared.
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
    p.over_rows<T>(sizeof(T), [&](int64_t n, int64_t y) {
      for (int64_t x = 0; x < p.width.output; ++x) {
        T* to = out + n * p.out_image() + (y * p.width.output + x) * p.lanes;
        std::fill_n(to, p.lanes, lowest<T>());
        p.for_window(y, x, [&](int64_t at, int32_t) {
          const T* from = in + n * p.in_image() + at;
          PANTO_INDEPENDENT
          for (int64_t k = 0; k < p.lanes; ++k) to[k] = beats(from[k], to[k]) ? from[k] : to[k];
        });
      }
    });
  }
};

// Calls body(chosen, y, x) for every window of an image: chosen[k] is the number of the window's largest element in
// lane k, -1 for a window of padding only.
template <class T, class Body>
[[gnu::always_inline]] inline void for_largest(const Pool& p, const T* image, int64_t lanes, const Body& body) {
  T best[kLanes];
  int32_t chosen[kLanes];
  for (int64_t y = 0; y < p.height.output; ++y) {
    for (int64_t x = 0; x < p.width.output; ++x) {
      std::fill_n(chosen, lanes, -1);
      bool first = true;
      p.for_window(y, x, [&](int64_t at, int32_t number) {
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
      body(chosen, y, x);
    }
  }
}

template <class T>
void clear(const Pool& p, T* image, int64_t lanes) {
  for (int64_t i = 0; i < p.height.input * p.width.input; ++i) std::fill_n(image + i * p.lanes, lanes, T{});
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
      for_largest(p, in + n * p.in_image() + lane, lanes, [&](const int32_t* chosen, int64_t y, int64_t x) {
        const T* from = dy + n * p.out_image() + (y * p.width.output + x) * p.lanes + lane;
        p.for_window(y, x, [&](int64_t at, int32_t number) {
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
      for_largest(p, in + n * p.in_image() + lane, lanes, [&](const int32_t* chosen, int64_t y, int64_t x) {
        T* to = out + n * p.out_image() + (y * p.width.output + x) * p.lanes + lane;
        std::fill_n(to, lanes, T{});
        p.for_window(y, x, [&](int64_t at, int32_t number) {
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
    p.over_rows<T>(sizeof(T), [&](int64_t n, int64_t y) {
      for (int64_t x = 0; x < p.width.output; ++x) {
        T* to = out + n * p.out_image() + (y * p.width.output + x) * p.lanes;
        std::fill_n(to, p.lanes, T{});
        p.for_window(y, x, [&](int64_t at, int32_t) {
          const T* from = in + n * p.in_image() + at;
          PANTO_INDEPENDENT
          for (int64_t k = 0; k < p.lanes; ++k) to[k] += from[k];
        });
        const T count = static_cast<T>(p.count(y, x));
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
      for (int64_t y = 0; y < p.height.output; ++y) {
        for (int64_t x = 0; x < p.width.output; ++x) {
          const T* from = dy + n * p.out_image() + (y * p.width.output + x) * p.lanes + lane;
          const T count = static_cast<T>(p.count(y, x));
          for (int64_t k = 0; k < lanes; ++k) part[k] = from[k] / count;
          p.for_window(y, x, [&](int64_t at, int32_t) {
            PANTO_INDEPENDENT
            for (int64_t k = 0; k < lanes; ++k) to[at + k] += part[k];
          });
        }
      }
    });
  }
};

const CpuKernel max_pool_kernel("MaxPool", types::of<"MaxPool">{}, InWider<MaxPoolKernel>{});
const CpuKernel max_pool_grad_kernel("MaxPoolGrad", types::of<"MaxPoolGrad">{}, InWider<MaxPoolGradKernel>{});
const CpuKernel max_pool_grad_grad_kernel("MaxPoolGradGrad", types::of<"MaxPoolGradGrad">{},
                                          InWider<MaxPoolGradGradKernel>{});
const CpuKernel avg_pool_kernel("AvgPool", types::of<"AvgPool">{}, InWider<AvgPoolKernel>{});
const CpuKernel avg_pool_grad_kernel("AvgPoolGrad", types::of<"AvgPoolGrad">{}, InWider<AvgPoolGradKernel>{});

}  // namespace
}  // namespace panto
