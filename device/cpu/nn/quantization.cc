// Kernels of QuantizeAndDequantize.
#include <cmath>
#include <cstdint>
#include <limits>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/quantized/ranges.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

using quantized::Channels;

// The quantization of a range to integers in [least, most]: the scale is the largest factor for which both ends fit.
template <class T>
struct Scale {
  T low, high, factor, step;

  Scale(T from, T to, T least, T most) : low(from), high(to) {
    constexpr T kLargest = std::numeric_limits<T>::max();
    const T by_low = least * low > 0 ? least / low : kLargest;
    const T by_high = most * high > 0 ? most / high : kLargest;
    if (by_low < by_high) {
      factor = by_low;
      step = low / least;
      high = most * step;
    } else {
      factor = by_high;
      step = high / most;
      low = least * step;
    }
  }
};

// Finds the minimum and the maximum; both are NaN if an element is.
template <class T>
void find_range(const T* x, const Channels& channels, int64_t index, T& low, T& high) {
  low = std::numeric_limits<T>::infinity();
  high = -low;
  channels.for_rows(index, [&](int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i) {
      low = x[i] < low || std::isnan(x[i]) ? x[i] : low;
      high = x[i] > high || std::isnan(x[i]) ? x[i] : high;
    }
  });
}

struct Quantize {
  template <class T>
  static void run(KernelContext& c) {
    if (c.numel(0) == 0) return;
    const bool is_signed = c.flag("signed_input"), narrow = c.flag("narrow_range"), given = c.flag("range_given");
    const bool to_even = c.num_inputs() == 4 || c.text("round_mode") == "HALF_TO_EVEN";
    const int64_t bits = bits_of(c, is_signed);
    const int64_t least = is_signed ? -(int64_t{1} << (bits - 1)) + (narrow ? 1 : 0) : 0;
    const int64_t most = is_signed ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
    const T *x = c.data<T>(0), *lows = c.data<T>(1), *highs = c.data<T>(2);
    T* y = c.out_data<T>(0);
    const Channels channels(c.shape(0), c.integer("axis"));
    for (int64_t d = 0; d < channels.depth; ++d) {
      T low = lows[d], high = highs[d];
      if (!given) {
        find_range(x, channels, d, low, high);
      } else if (low > high) {
        invalid("input_min: expected at most input_max, which is {}, got {}", high, low);
      }
      const Scale<T> scale(low, high, static_cast<T>(least), static_cast<T>(most));
      channels.for_rows(d, [&](int64_t first, int64_t count) {
        cpu::parallel_ranges(count, count * static_cast<int64_t>(2 * sizeof(T)), [&](int64_t begin, int64_t end) {
          for (int64_t i = first + begin; i < first + end; ++i) {
            const T kept = !given ? x[i] : x[i] > scale.high ? scale.high : x[i] < scale.low ? scale.low : x[i];
            const T scaled = kept * scale.factor;
            y[i] = (to_even ? std::nearbyint(scaled) : std::floor(scaled + T{0.5})) * scale.step;
          }
        });
      });
    }
  }

 private:
  static int64_t bits_of(const KernelContext& c, bool is_signed) {
    if (c.num_inputs() == 3) return c.integer("num_bits");
    const int64_t bits = *c.data<int32_t>(3), largest = is_signed ? 61 : 62;
    if (bits < 1 || bits > largest) invalid("num_bits: expected 1 to {}, got {}", largest, bits);
    return bits;
  }
};

const CpuKernel v2_kernel("QuantizeAndDequantizeV2", types::of<"QuantizeAndDequantizeV2">{}, InWider<Quantize>{});
const CpuKernel v3_kernel("QuantizeAndDequantizeV3", types::of<"QuantizeAndDequantizeV3">{}, InWider<Quantize>{});
const CpuKernel v4_kernel("QuantizeAndDequantizeV4", types::of<"QuantizeAndDequantizeV4">{}, InWider<Quantize>{});

}  // namespace
}  // namespace panto
