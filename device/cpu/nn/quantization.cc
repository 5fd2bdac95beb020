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
    const quantized::RoundTripMode mode(c);
    const int64_t bits = mode.given_bits();
    if (bits < 1 || bits > mode.most_bits()) invalid("num_bits: expected 1 to {}, got {}", mode.most_bits(), bits);
    const T *x = c.data<T>(0), *lows = c.data<T>(1), *highs = c.data<T>(2);
    T* y = c.out_data<T>(0);
    const Channels channels(c.shape(0), c.integer("axis"));
    for (int64_t d = 0; d < channels.depth; ++d) {
      T low = lows[d], high = highs[d];
      if (!mode.given) {
        find_range(x, channels, d, low, high);
      } else if (low > high) {
        invalid("input_min: expected at most input_max, which is {}, got {}", high, low);
      }
      const quantized::RoundTrip<T> round_trip(mode, bits, low, high);
      channels.for_rows(d, [&](int64_t first, int64_t count) {
        cpu::parallel_ranges(count, count * static_cast<int64_t>(2 * sizeof(T)), [&](int64_t begin, int64_t end) {
          for (int64_t i = first + begin; i < first + end; ++i) y[i] = round_trip(x[i]);
        });
      });
    }
  }
};

const CpuKernel v2_kernel("QuantizeAndDequantizeV2", types::of<"QuantizeAndDequantizeV2">{}, InWider<Quantize>{});
const CpuKernel v3_kernel("QuantizeAndDequantizeV3", types::of<"QuantizeAndDequantizeV3">{}, InWider<Quantize>{});
const CpuKernel v4_kernel("QuantizeAndDequantizeV4", types::of<"QuantizeAndDequantizeV4">{}, InWider<Quantize>{});

}  // namespace
}  // namespace panto
