// Kernels of QuantizeV2, Dequantize and the requantizing ops.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/quantized/ranges.h"
#include "panto/lib/core/tensor/half.h"

namespace panto {
namespace {

using namespace quantized;  // NOLINT(google-build-using-namespace): of this file

// Calls f(begin, end) in parallel for ranges of n elements of `bytes` bytes each.
template <class F>
void over(int64_t n, int64_t bytes, const F& f) {
  cpu::parallel_ranges(n, n * bytes, f);
}

// ---- QuantizeV2 -----------------------------------------------------------------------------------------------------

struct Quantize {
  template <class Q>
  static void run(KernelContext& c) {
    using Int = IntOf<Q>;
    const QuantizedMode mode = QuantizedMode::of_quantize(c);
    const Channels channels(c.shape(0), c.integer("axis"));
    const float *x = c.data<float>(0), *low = c.data<float>(1), *high = c.data<float>(2);
    Int* y = c.out_data<Int>(0);
    for (int64_t k = 0; k < c.numel(1); ++k) {
      if (high[k] < low[k]) {
        invalid("max_range: expected at least min_range, which is {}, got {}", low[k], high[k]);
      }
      const Quantizer<Int> quantizer(mode, {low[k], high[k]});
      c.out_data<float>(1)[k] = quantizer.range().low;
      c.out_data<float>(2)[k] = quantizer.range().high;
      channels.for_rows(k, [&](int64_t first, int64_t count) {
        over(count, 8, [&](int64_t begin, int64_t end) {
          for (int64_t i = first + begin; i < first + end; ++i) y[i] = quantizer(x[i]);
        });
      });
    }
  }
};
const CpuKernel quantize_kernel("QuantizeV2", AllBits{}, Quantize{});

// ---- Dequantize -----------------------------------------------------------------------------------------------------

template <class Int, class Out>
void dequantize(KernelContext& c) {
  const QuantizedMode mode(c);
  const Channels channels(c.shape(0), c.integer("axis"));
  const Int* x = c.data<Int>(0);
  Out* y = c.out_data<Out>(0);
  for (int64_t k = 0; k < c.numel(1); ++k) {
    const Dequantizer<Int> number(mode, {c.data<float>(1)[k], c.data<float>(2)[k]});
    channels.for_rows(k, [&](int64_t first, int64_t count) {
      over(count, 8, [&](int64_t begin, int64_t end) {
        for (int64_t i = first + begin; i < first + end; ++i) y[i] = Out(number(x[i]));
      });
    });
  }
}

struct Dequantize {
  template <class Q>
  static void run(KernelContext& c) {
    c.type("dtype") == kBFloat16 ? dequantize<IntOf<Q>, BFloat16>(c) : dequantize<IntOf<Q>, float>(c);
  }
};
const CpuKernel dequantize_kernel("Dequantize", AllBits{}, Dequantize{});

// ---- Requantize -----------------------------------------------------------------------------------------------------

// Requantizes sums to quint8 as TensorFlow does: in fixed point with 16 fractional bits.
void to_unsigned(const int32_t* x, int64_t n, Range from, Range to, uint8_t* y) {
  const float in_width = from.high - from.low, out_width = to.high - to.low;
  const bool flat = out_width == 0;
  const float per_width = flat ? 0 : static_cast<float>(255.0 / static_cast<double>(out_width));
  const auto middle = static_cast<float>(static_cast<double>(from.low + from.high) / 2.0);
  constexpr double kLimit = 0x1p62;
  const auto fixed = [&](double v) { return static_cast<int64_t>(std::clamp(v, -kLimit, kLimit)); };
  const int64_t scale =
      flat ? 0 : fixed(255.0 * 65536 * static_cast<double>(in_width) / static_cast<double>(out_width));
  const int64_t offset =
      fixed(static_cast<double>(middle * per_width * 65536.0F)) -
      (flat ? 0 : fixed(65536 * (static_cast<double>(to.low) * 255.0) / static_cast<double>(out_width))) + (1 << 15);
  over(n, 8, [&](int64_t begin, int64_t end) {
    // Such a scale could overflow int64, with which TensorFlow returns meaningless integers.
    if (std::abs(scale) > (int64_t{1} << 31)) {
      for (int64_t i = begin; i < end; ++i) {
        const __int128 v = (((static_cast<__int128>(x[i]) * scale) >> 32) + offset) >> 16;
        y[i] = static_cast<uint8_t>(std::clamp<__int128>(v, 0, 255));
      }
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      const int64_t v = (((x[i] * scale) >> 32) + offset) >> 16;
      y[i] = static_cast<uint8_t>(std::clamp<int64_t>(v, 0, 255));
    }
  });
}

void to_signed(const int32_t* x, int64_t n, Range from, Range to, int8_t* y) {
  const StepsOf<int32_t> number(from);
  const NearestOf<int8_t> nearest(to);
  over(n, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = nearest(number(x[i]));
  });
}

// Returns the range of the values that occur; its low end is at most 0.
Range used(const KernelContext& c) {
  const int64_t n = c.numel(0);
  const Range r = range_in(c, 1);
  if (n == 0) return {0, 0};
  const auto [least, most] = std::minmax_element(c.data<int32_t>(0), c.data<int32_t>(0) + n);
  const StepsOf<int32_t> number(r);
  return {std::min(0.0F, number(*least)), number(*most)};
}

struct Requantize {
  template <class Q>
  static void run(KernelContext& c) {
    const Range from = range_in(c, 1), to = range_in(c, 3);
    if (to.low > 0) invalid("requested_output_min: expected at most 0, got {}", to.low);
    if (to.high < to.low) {
      invalid("requested_output_max: expected at least requested_output_min, which is {}, got {}", to.low, to.high);
    }
    const DType out = c.type("out_type");
    if (out == kQUint8) {
      to_unsigned(c.data<int32_t>(0), c.numel(0), from, to, c.out_data<uint8_t>(0));
    } else if (out == kQInt8) {
      to_signed(c.data<int32_t>(0), c.numel(0), from, to, c.out_data<int8_t>(0));
    } else {
      failf(Code::kUnimplemented, "out_type: expected quint8 or qint8, got {}", dtype_name(out));
    }
    put_range(c, to);
  }
};
const CpuKernel requantize_kernel("Requantize", TypeList<QInt32>{}, Requantize{});

// ---- RequantizePerChannel -------------------------------------------------------------------------------------------

// The formula is that of TensorFlow's kernel (tensorflow/core/kernels/mkl/mkl_requantize_per_channel_op.cc), in
// float32.
template <class Int>
void by_channel(KernelContext& c, float most) {
  const int32_t* x = c.data<int32_t>(0);
  const float *low = c.data<float>(1), *high = c.data<float>(2);
  const float asked = std::max(std::fabs(*c.data<float>(3)), std::fabs(*c.data<float>(4)));
  const int64_t channels = c.numel(1);
  std::vector<float> scales(static_cast<size_t>(channels));
  for (size_t i = 0; i < scales.size(); ++i) {
    scales[i] = most * (std::max(std::fabs(low[i]), std::fabs(high[i])) / asked / 0x1p31F);
  }
  Int* y = c.out_data<Int>(0);
  over(channels == 0 ? 0 : c.numel(0) / channels, 8 * channels, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin * channels; row < end * channels; row += channels) {
      for (int64_t i = 0; i < channels; ++i) {
        const float v = static_cast<float>(x[row + i]) * scales[static_cast<size_t>(i)];
        y[row + i] = clamped<Int>(static_cast<double>(std::nearbyint(v)));
      }
    }
  });
}

struct RequantizePerChannel {
  template <class Q>
  static void run(KernelContext& c) {
    const Range to = range_in(c, 3);
    const DType out = c.type("out_type");
    if (out == kQInt8) {
      if (!(to.low < 0)) invalid("requested_output_min: expected less than 0 for qint8, got {}", to.low);
      by_channel<int8_t>(c, 127);
    } else if (out == kQUint8) {
      by_channel<uint8_t>(c, 255);
    } else {
      failf(Code::kUnimplemented, "out_type: expected quint8 or qint8, got {}", dtype_name(out));
    }
    put_range(c, to);
  }
};
const CpuKernel per_channel_kernel("RequantizePerChannel", TypeList<QInt32>{}, RequantizePerChannel{});

const CpuKernel range_kernel("RequantizationRange", TypeList<QInt32>{}, []<class Q>(KernelContext& c) {
  const Range r = used(c);
  *c.out_data<float>(0) = r.low;
  *c.out_data<float>(1) = r.high;
});

const CpuKernel shrink_kernel("QuantizeDownAndShrinkRange", TypeList<QInt32>{}, []<class Q>(KernelContext& c) {
  if (c.type("out_type") != kQUint8) {
    failf(Code::kUnimplemented, "out_type: expected quint8, got {}", dtype_name(c.type("out_type")));
  }
  const Range to = used(c);
  to_unsigned(c.data<int32_t>(0), c.numel(0), range_in(c, 1), to, c.out_data<uint8_t>(0));
  put_range(c, to);
});

}  // namespace
}  // namespace panto
