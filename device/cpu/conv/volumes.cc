// Kernels of Conv3D and its gradients.
//
// Floats use oneDNN (conv_plan.h) where it is faster. All others are products of matrices: a matrix with one row per
// window, which holds the window's elements, times the filter, which already is such a matrix. The matrix is built for
// some rows of the output at a time, to stay in the cache; how many depends on sizes only. Channels-first volumes are
// transposed.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "panto/device/cpu/conv/onednn.h"
#include "panto/device/cpu/conv/prepared_convolution.h"
#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/elementwise/inner_loop.h"
#include "panto/device/cpu/gemm/gemm.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

using cpu::ConvKind;
using cpu::GemmSize;

constexpr int64_t kRowBytes = int64_t{4} << 20;  // of windows that are gathered at a time
constexpr int64_t kLargeFilter = 256 * 1024;     // elements,
constexpr int64_t kFewWindows = 4;               // windows per output channel
constexpr int64_t kFewChannels = 8;

template <class T>
class VolumeProduct {
 public:
  VolumeProduct(ConvKind kind, const VolumeConvolution& c, Device& device)
      : kind_(kind),
        c_(c),
        device_(device),
        elements_(checked_mul(c.depth.size * c.height.size * c.width.size, c.in_channels, "window")),
        rows_(c.batch * c.depth.output * c.height.output) {
    const int64_t row_bytes =
        checked_mul(checked_mul(c.width.output, elements_, "windows"), static_cast<int64_t>(sizeof(T)), "windows");
    each_ = std::clamp<int64_t>(kRowBytes / row_bytes, 1, rows_);
  }

  // All tensors have channels last. Gradients write `input` (its gradient) or `filter` and read the others.
  void run(T* input, T* filter, T* output) const {
    const Tensor made = allocate_tensor(device_, dtype_of<T>, Shape{each_ * c_.width.output, elements_});
    T* windows = mutable_data<T>(made);
    const int64_t filter_size = elements_ * c_.out_channels;
    Tensor part;
    if (kind_ == ConvKind::kByInput) std::fill_n(input, c_.batch * volume(), T{});
    if (kind_ == ConvKind::kByFilter) {
      std::fill_n(filter, filter_size, T{});
      part = allocate_tensor(device_, dtype_of<T>, Shape{filter_size});
    }
    for (int64_t first = 0; first < rows_; first += each_) {
      const int64_t count = std::min(each_, rows_ - first);
      T* out = output + first * c_.width.output * c_.out_channels;
      if (kind_ != ConvKind::kByInput) gather(first, count, input, windows);
      const auto product = cpu::cached_gemm_plan(dtype_of<T>, size_of(count * c_.width.output));
      switch (kind_) {
        case ConvKind::kForward: product->run(windows, filter, out); break;
        case ConvKind::kByInput:
          product->run(out, filter, windows);
          scatter(first, count, windows, input);
          break;
        case ConvKind::kByFilter: {
          T* sums = mutable_data<T>(part);
          product->run(windows, out, sums);
          cpu::parallel_ranges(filter_size, filter_size * static_cast<int64_t>(3 * sizeof(T)),
                               [&](int64_t begin, int64_t end) { add(end - begin, sums + begin, filter + begin); });
        }
      }
    }
  }

 private:
  int64_t volume() const { return c_.depth.input * c_.height.input * c_.width.input * c_.in_channels; }
  int64_t work(int64_t count) const {
    return count * c_.width.output * elements_ * static_cast<int64_t>(2 * sizeof(T));
  }

  GemmSize size_of(int64_t windows) const {
    const int64_t features = c_.out_channels;
    switch (kind_) {
      case ConvKind::kForward: return {.m = windows, .n = features, .k = elements_};
      case ConvKind::kByInput: return {.m = windows, .n = elements_, .k = features, .transpose_b = true};
      case ConvKind::kByFilter: return {.m = elements_, .n = features, .k = windows, .transpose_a = true};
    }
    return {};
  }

  [[gnu::always_inline]] static void add(int64_t n, const T* more, T* sums) {
    PANTO_INDEPENDENT
    for (int64_t k = 0; k < n; ++k) sums[k] += more[k];
  }

  // Gathers the windows of rows [first, first + count) of the output, counted over all depths and volumes.
  void gather(int64_t first, int64_t count, const T* input, T* windows) const {
    const WindowAxis &d = c_.depth, &h = c_.height, &w = c_.width;
    const int64_t channels = c_.in_channels;
    cpu::parallel_ranges(
        count, work(count),
        [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) {
            const int64_t row = first + r, y = row % h.output, z = row / h.output % d.output;
            const T* from = input + row / h.output / d.output * volume();
            T* to = windows + r * w.output * elements_;
            for (int64_t x = 0; x < w.output; ++x) {
              for (int64_t i = 0; i < d.size; ++i) {
                const int64_t in_z = d.begin(z) + i * d.dilation;
                for (int64_t j = 0; j < h.size; ++j) {
                  const int64_t in_y = h.begin(y) + j * h.dilation;
                  const bool inside = in_z >= 0 && in_z < d.input && in_y >= 0 && in_y < h.input;
                  const T* line = from + (inside ? (in_z * h.input + in_y) * w.input * channels : 0);
                  const int64_t first_x = w.begin(x);
                  if (inside && w.dilation == 1 && first_x >= 0 && first_x + w.size <= w.input) {  // all at once
                    std::copy_n(line + first_x * channels, w.size * channels, to);
                    to += w.size * channels;
                    continue;
                  }
                  for (int64_t k = 0; k < w.size; ++k, to += channels) {
                    const int64_t in_x = w.begin(x) + k * w.dilation;
                    if (inside && in_x >= 0 && in_x < w.input) {
                      std::copy_n(line + in_x * channels, channels, to);
                    } else {
                      std::fill_n(to, channels, T{});
                    }
                  }
                }
              }
            }
          }
        },
        1);
  }

  // The position of the window whose element i lies at `at`; -1 if there is none.
  static int64_t window_at(const WindowAxis& a, int64_t at, int64_t i) {
    const int64_t begin = at + a.before - i * a.dilation;
    return begin < 0 || begin % a.stride != 0 || begin / a.stride >= a.output ? -1 : begin / a.stride;
  }

  // Adds these windows to the input's gradient. Each of its rows is summed by one thread, in order.
  void scatter(int64_t first, int64_t count, const T* windows, T* input) const {
    const WindowAxis &d = c_.depth, &h = c_.height, &w = c_.width;
    const int64_t channels = c_.in_channels, in_rows = d.input * h.input, out_rows = d.output * h.output;
    const int64_t first_volume = first / out_rows, last_volume = (first + count - 1) / out_rows;
    cpu::parallel_ranges(
        (last_volume - first_volume + 1) * in_rows, work(count),
        [&](int64_t begin, int64_t end) {
          cpu::multiversioned([&] {
            for (int64_t r = begin; r < end; ++r) {
              const int64_t n = first_volume + r / in_rows, in_z = r % in_rows / h.input, in_y = r % h.input;
              T* to = input + n * volume() + (in_z * h.input + in_y) * w.input * channels;
              for (int64_t i = 0; i < d.size; ++i) {
                const int64_t z = window_at(d, in_z, i);
                if (z < 0) continue;
                for (int64_t j = 0; j < h.size; ++j) {
                  const int64_t y = window_at(h, in_y, j);
                  const int64_t row = (n * d.output + z) * h.output + y - first;
                  if (y < 0 || row < 0 || row >= count) continue;
                  const T* from = windows + (row * w.output) * elements_ + (i * h.size + j) * w.size * channels;
                  for (int64_t x = 0; x < w.output; ++x, from += elements_) {
                    if (const int64_t begin_x = w.begin(x); w.dilation == 1) {  // all at once
                      const int64_t k = w.first(x), many = w.last(x) - k;
                      if (many > 0) add(many * channels, from + k * channels, to + (begin_x + k) * channels);
                      continue;
                    }
                    for (int64_t k = w.first(x); k < w.last(x); ++k) {
                      add(channels, from + k * channels, to + (w.begin(x) + k * w.dilation) * channels);
                    }
                  }
                }
              }
            }
          });
        },
        1);
  }

  const ConvKind kind_;
  const VolumeConvolution c_;
  Device& device_;
  const int64_t elements_;  // per window
  const int64_t rows_;      // of the output, over all depths and volumes
  int64_t each_;            // rows at a time
};

// Transposes [batch, channels, positions] to [batch, positions, channels], or back.
template <class T>
void turn(const T* from, int64_t batch, int64_t rows, int64_t columns, T* to) {
  const int64_t n = rows * columns;
  cpu::parallel_ranges(
      batch * columns, batch * n * static_cast<int64_t>(2 * sizeof(T)),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T* column = from + i / columns * n + i % columns;
          T* row = to + i * rows;
          for (int64_t k = 0; k < rows; ++k) row[k] = column[k * columns];
        }
      },
      1);
}

// Whether oneDNN, whose vectors hold channels, is faster for a convolution of volumes. It copies the filter, which
// costs time if there are few windows; and it is given whole planes, of which there must be enough for all processors.
// Times by products and by oneDNN, of 3x3x3 windows and one 8x28x28 volume with 64 channels, on one Zen 4 core: 15.2
// and 10.9 ms, its gradients 17.8 and 11.6, 15.5 and 12.0 ms; of 3 channels, 16x64x64 to 32, 6.9 and 3.3 ms, by the
// input 13.3 and 100. With AVX2 only, gradients by the filter take 16 and 23 ms, convolutions with stride two 7.7 and
// 11.6 ms.
bool suits_onednn(ConvKind kind, const cpu::PlannedConvolution& c) {
  const int64_t windows = c.batch * c.depth.output * c.out_pixels();
  if (cpu::filter_elements(c) >= kLargeFilter && windows <= kFewWindows * c.out_channels) return false;
  if (c.batch * c.depth.output < cpu::tiles_for_processors()) return false;
  const bool few_channels = c.in_channels < kFewChannels;
  if (kind == ConvKind::kByInput && few_channels) return false;
  if (cpu::onednn_has_avx512()) return true;
  if (kind == ConvKind::kByFilter && !few_channels) return false;
  if (c.channels_first()) return true;  // products would need transposed volumes
  return c.depth.stride * c.height.stride * c.width.stride == 1 && c.height.size * c.width.size > 1;
}

// Returns null if products are faster.
std::shared_ptr<const cpu::ConvPlan> plan_of(ConvKind kind, const cpu::PlannedConvolution& c) {
  if (!cpu::ConvPlan::fits(c) || (c.volumes && !suits_onednn(kind, c))) return nullptr;
  auto plan = cpu::cached_conv_plan(kind, c);
  return c.volumes && plan->has_reference() ? nullptr : plan;
}

template <ConvKind kKind>
struct VolumeKernel {
  static VolumeConvolution read(const CallView& c, const PartialShape& result) {
    return volume_convolution_of(c, kKind == ConvKind::kByInput ? result : c.in(0).partial_shape(),
                                 kKind == ConvKind::kByFilter ? result : c.in(1).partial_shape());
  }

  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    if constexpr (std::is_same_v<T, float>) {
      if (!cpu::PreparedConvolution::is_possible(c)) return nullptr;
      auto plan = plan_of(kKind, read(c, c.spec(0).shape));
      if (plan != nullptr) return cpu::PreparedConvolution::make(c, std::move(plan));
    }
    return nullptr;
  }

  // Returns whether a plan computed it.
  static bool run_planned(const KernelContext& call, const VolumeConvolution& volumes, float* input, float* filter,
                          float* output) {
    const cpu::PlannedConvolution c = volumes;
    const auto* prepared = call.state<cpu::PreparedConvolution>();
    if (prepared != nullptr && prepared->plan->convolution() == c) {
      prepared->plan->run(input, filter, output, call.device(), prepared->filter.of(call.in(1)));
      return true;
    }
    const auto plan = plan_of(kKind, c);
    if (plan != nullptr) plan->run(input, filter, output, call.device());
    return plan != nullptr;
  }

  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.out_numel(0);
    if (n == 0) return;
    const VolumeConvolution v = read(c, c.out_shape(0));
    constexpr int kWritten = kKind == ConvKind::kByInput ? 0 : kKind == ConvKind::kByFilter ? 1 : 2;
    T* data[3];
    for (int i = 0; i < 3; ++i) data[i] = static_cast<T*>(i == kWritten ? c.out(0).impl()->data : c.in(i).impl()->data);
    const int64_t in_size = kWritten == 0 ? n : c.numel(0), out_size = kWritten == 2 ? n : c.numel(2);
    if (in_size == 0 || out_size == 0) {
      std::fill_n(data[kWritten], n, T{});  // empty sums
      return;
    }
    if constexpr (std::is_same_v<T, float>) {
      if (run_planned(c, v, data[0], data[1], data[2])) return;
    }
    const VolumeProduct<T> product(kKind, v, c.device());
    if (!v.channels_first()) return product.run(data[0], data[1], data[2]);
    const Tensor in = allocate_tensor(c.device(), dtype_of<T>, Shape{in_size});
    const Tensor out = allocate_tensor(c.device(), dtype_of<T>, Shape{out_size});
    T *in_last = mutable_data<T>(in), *out_last = mutable_data<T>(out);
    const int64_t in_places = in_size / v.batch / v.in_channels, out_places = out_size / v.batch / v.out_channels;
    if (kWritten != 0) turn(data[0], v.batch, v.in_channels, in_places, in_last);
    if (kWritten != 2) turn(data[2], v.batch, v.out_channels, out_places, out_last);
    product.run(in_last, data[1], out_last);
    if (kWritten == 0) turn(in_last, v.batch, in_places, v.in_channels, data[0]);
    if (kWritten == 2) turn(out_last, v.batch, out_places, v.out_channels, data[2]);
  }
};

const CpuKernel conv_kernel("Conv3D", types::of<"Conv3D">{}, InWider<VolumeKernel<ConvKind::kForward>>{});
const CpuKernel by_input_kernel("Conv3DBackpropInputV2", types::of<"Conv3DBackpropInputV2">{},
                                InWider<VolumeKernel<ConvKind::kByInput>>{});
const CpuKernel by_filter_kernel("Conv3DBackpropFilterV2", types::of<"Conv3DBackpropFilterV2">{},
                                 InWider<VolumeKernel<ConvKind::kByFilter>>{});

}  // namespace
}  // namespace panto
