// Kernels of convolutions and their gradients.
#include <memory>
#include <optional>
#include <type_traits>

#include "panto/device/cpu/conv/conv_direct.h"
#include "panto/device/cpu/conv/prepared_convolution.h"
#include "panto/device/cpu/elementwise/as_floats.h"
#include "panto/device/cpu/fused/epilogue.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/math/convert.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

using cpu::ConvKind;
using cpu::ConvPlan;

// Signed integers are multiplied as unsigned ones: sums wrap.
template <class T>
using Factor = std::conditional_t<std::is_integral_v<T>, uint32_t, T>;

template <class T>
void convolve_directly(ConvKind kind, const Convolution& c, T* input, T* filter, T* output, int64_t filter_size,
                       Device& device) {
  using F = Factor<T>;
  const cpu::DirectConvolution<F> direct(c);
  F *in = reinterpret_cast<F*>(input), *weights = reinterpret_cast<F*>(filter), *out = reinterpret_cast<F*>(output);
  switch (kind) {
    case ConvKind::kForward: return direct.forward(in, weights, out);
    case ConvKind::kByInput: {
      const Tensor turned = allocate_tensor(device, dtype_of<T>, Shape{filter_size});
      return direct.by_input(in, weights, out, mutable_data<F>(turned));
    }
    case ConvKind::kByFilter: return direct.by_filter(in, weights, out);
  }
}

void finish_whole(const Convolution& c, const cpu::BoundEpilogue& epilogue, float* output) {
  const int64_t pixels = c.height.output * c.width.output;
  c.channels_first() ? epilogue.finish_all(output, c.batch, pixels) : epilogue.finish_all(output, c.batch * pixels, 1);
}

// Whether a plan is used. oneDNN is slow for depthwise gradients by filters wider than 3: for 5x5 and one image of
// 28x28x240 it takes 2.1 ms on one core with AVX2, ours 0.9; for 3x3 and 56x56x128 0.2 and 0.9.
bool is_planned(ConvKind kind, const Convolution& c) {
  const bool several = c.groups > 1 && c.in_channels == c.groups && c.out_channels > c.groups;  // see by_copies
  const bool direct = kind == ConvKind::kByFilter && c.groups > 1 && c.width.size > 3 &&
                      cpu::DirectConvolution<float>::is_channelwise(c);
  return !several && !direct && ConvPlan::fits(c);
}

// Convolves where the processor multiplies bfloat16. `written`: which of the tensors is, with `n` elements. Returns
// false if floats are as good, or if oneDNN has nothing but its reference. With AMX oneDNN 2.6 gives wrong numbers for
// some convolutions with strides, and for some gradients where windows skip pixels, have gaps, or are larger than the
// image.
bool convolve_bfloat16(ConvKind kind, const Convolution& c, void* const (&tensors)[3], int written, int64_t n,
                       Device& device) {
  if (!cpu::has_bfloat16() || c.groups > 1 || !ConvPlan::fits(c)) return false;
  const auto [input, filter, output] = tensors;
  const auto product = cpu::ConvProduct::of_tensors(kind, c);
  if (product && !cpu::is_small(*product)) {
    const auto plan = cpu::cached_gemm_plan(kBFloat16, *product);
    switch (kind) {
      case ConvKind::kForward: plan->run(input, filter, output); break;
      case ConvKind::kByInput: plan->run(output, filter, input); break;
      case ConvKind::kByFilter: plan->run(input, output, filter); break;
    }
    return true;
  }
  const auto trusted = [&](const WindowAxis& a) {
    return a.stride <= (kind == ConvKind::kForward ? 1 : a.size) && a.dilation == 1 && a.size <= a.input;
  };
  if (!trusted(c.height) || !trusted(c.width)) return false;
  cpu::PlannedConvolution planned = c;
  planned.bfloat16 = true;
  const auto plan = cpu::cached_conv_plan(kind, planned);
  if (plan->has_reference()) return false;
  const cpu::AsFloats<BFloat16> sums(nullptr, n, device);
  void* used[] = {input, filter, output};
  used[written] = sums.data();
  plan->run(used[0], used[1], used[2], device);
  sums.write(static_cast<BFloat16*>(tensors[written]));
  return true;
}

// Copies each channel of each pixel `times` times in a row; or, with kBack, sums the copies. Channels-first: copies
// planes.
template <bool kBack, class T>
void copy_channels(const Convolution& c, T* one, T* many, int64_t times) {
  const int64_t pixels = c.height.input * c.width.input, inner = c.channels_first() ? pixels : 1;
  const int64_t rows = c.channels_first() ? c.batch * c.in_channels : c.batch * pixels * c.in_channels;
  cpu::parallel_ranges(
      rows, rows * inner * times * static_cast<int64_t>(2 * sizeof(T)),
      [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          T *a = one + r * inner, *b = many + r * times * inner;
          if (inner == 1) {
            if constexpr (kBack) {
              T sum = b[0];
              for (int64_t t = 1; t < times; ++t) sum += b[t];
              *a = sum;
            } else {
              const T value = *a;
              for (int64_t t = 0; t < times; ++t) b[t] = value;
            }
            continue;
          }
          for (int64_t t = 0; t < times; ++t, b += inner) {
            if constexpr (kBack) {
              for (int64_t k = 0; k < inner; ++k) a[k] = t == 0 ? b[k] : a[k] + b[k];
            } else {
              std::copy_n(a, inner, b);
            }
          }
        }
      },
      1);
}

// `epilogue`: null except for forward convolutions.
template <class T>
void convolve(const KernelContext& call, ConvKind kind, const Convolution& c, T* input, T* filter, T* output,
              int64_t filter_size, const cpu::BoundEpilogue* epilogue);

// For depthwise convolutions with a multiplier: copies each input channel once per output channel, which makes it a
// depthwise convolution without a multiplier. Vectors of channels are fast for those.
template <class T>
void by_copies(const KernelContext& call, ConvKind kind, const Convolution& c, T* input, T* filter, T* output,
               int64_t filter_size, const cpu::BoundEpilogue* epilogue) {
  Convolution each = c;
  each.in_channels = each.groups = c.out_channels;
  const int64_t times = c.out_channels / c.in_channels;
  const Tensor made =
      allocate_tensor(call.device(), dtype_of<T>, Shape{c.batch, c.height.input, c.width.input, c.out_channels});
  T* copies = mutable_data<T>(made);
  if (kind != ConvKind::kByInput) copy_channels<false>(c, input, copies, times);
  convolve(call, kind, each, copies, filter, output, filter_size, epilogue);
  if (kind == ConvKind::kByInput) copy_channels<true>(c, input, copies, times);
}

template <class T>
void convolve(const KernelContext& call, ConvKind kind, const Convolution& c, T* input, T* filter, T* output,
              int64_t filter_size, const cpu::BoundEpilogue* epilogue) {
  Device& device = call.device();
  if constexpr (std::is_same_v<T, float>) {
    const auto* prepared = call.state<cpu::PreparedConvolution>();
    if (prepared != nullptr && prepared->plan->convolution() == cpu::PlannedConvolution(c)) {
      return prepared->plan->run(input, filter, output, device, prepared->filter.of(call.in(1)), epilogue);
    }
    if (is_planned(kind, c)) {
      return cpu::cached_conv_plan(kind, c)->run(input, filter, output, device, nullptr, epilogue);
    }
  }
  if constexpr (!std::is_integral_v<T>) {
    if (c.groups > 1 && c.in_channels == c.groups && c.out_channels > c.groups) {
      return by_copies(call, kind, c, input, filter, output, filter_size, epilogue);
    }
  }
  convolve_directly(kind, c, input, filter, output, filter_size, device);
  if constexpr (std::is_same_v<T, float>) {
    // The convolution is small, or far slower than another pass over its result.
    if (epilogue != nullptr) finish_whole(c, *epilogue, output);
  }
}

// The kernel of a convolution or one of its gradients. kFused: the following inputs belong to an epilogue. A depthwise
// filter [height, width, channels, multiplier] has its elements in the order of a filter with one group per channel,
// [height, width, 1, channels * multiplier].
template <ConvKind kKind, bool kFused = false, FilterKind kFilterKind = FilterKind::kOfGroups>
struct ConvolutionKernel {
  static constexpr int kInput = 0, kFilter = 1, kOutput = 2;

  static Convolution read(const CallView& c, const PartialShape& result) {
    const PartialShape& input = kKind == ConvKind::kByInput ? result : c.in(0).partial_shape();
    const PartialShape& filter = kKind == ConvKind::kByFilter ? result : c.in(1).partial_shape();
    return convolution_of(c, input, filter, kFilterKind);
  }

  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    if constexpr (std::is_same_v<T, float>) {
      if (!cpu::PreparedConvolution::is_possible(c)) return nullptr;
      const Convolution convolution = read(c, c.spec(0).shape);
      if (!is_planned(kKind, convolution)) return nullptr;
      return cpu::PreparedConvolution::make(c, cpu::cached_conv_plan(kKind, convolution));
    }
    return nullptr;
  }

  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.out_numel(0);
    if (n == 0) return;
    const Convolution convolution = read(c, c.out_shape(0));
    // The places of input, filter and output among the op's inputs. In place of the tensor that the kernel writes, the
    // op has its shape as an input. The kernel reads the other two.
    const int written = static_cast<int>(kKind == ConvKind::kForward   ? kOutput
                                         : kKind == ConvKind::kByInput ? kInput
                                                                       : kFilter);
    void* tensors[3];
    int64_t sizes[3];
    for (int i = 0; i < 3; ++i) {
      const bool out = i == written;
      tensors[i] = out ? static_cast<void*>(c.out(0).impl()->data) : c.in(i).impl()->data;
      sizes[i] = out ? n : c.numel(i);
    }
    std::optional<cpu::BoundEpilogue> epilogue;
    if constexpr (kFused) epilogue.emplace(c, convolution.out_channels);
    if (sizes[kInput] == 0 || sizes[kOutput] == 0) {
      std::fill_n(static_cast<T*>(tensors[written]), n, T{});  // empty sums
      if constexpr (kFused) finish_whole(convolution, *epilogue, static_cast<T*>(tensors[written]));
      return;
    }
    if constexpr (is_half_type<T>) {
      const auto floats = [&](int i) {
        return cpu::AsFloats<T>(i == written ? nullptr : static_cast<const T*>(tensors[i]), sizes[i], c.device());
      };
      if constexpr (std::is_same_v<T, BFloat16>) {
        if (convolve_bfloat16(kKind, convolution, tensors, written, n, c.device())) return;
      }
      const cpu::AsFloats<T> input = floats(kInput), filter = floats(kFilter), output = floats(kOutput);
      convolve(c, kKind, convolution, input.data(), filter.data(), output.data(), sizes[kFilter], nullptr);
      (written == 0 ? input : written == 1 ? filter : output).write(static_cast<T*>(tensors[written]));
    } else {
      convolve(c, kKind, convolution, static_cast<T*>(tensors[0]), static_cast<T*>(tensors[1]),
               static_cast<T*>(tensors[2]), sizes[kFilter], epilogue ? &*epilogue : nullptr);
    }
  }
};

const CpuKernel conv_kernel("Conv2D", TypeList<Half, BFloat16, float, double, int32_t>{},
                            ConvolutionKernel<ConvKind::kForward>{});
const CpuKernel fused_conv_kernel("_FusedConv2D", TypeList<float>{}, ConvolutionKernel<ConvKind::kForward, true>{});
const CpuKernel by_input_kernel("Conv2DBackpropInput", TypeList<Half, BFloat16, float, double, int32_t>{},
                                ConvolutionKernel<ConvKind::kByInput>{});
const CpuKernel by_filter_kernel("Conv2DBackpropFilter", TypeList<Half, BFloat16, float, double>{},
                                 ConvolutionKernel<ConvKind::kByFilter>{});

using Fractions = TypeList<Half, BFloat16, float, double>;
template <ConvKind kKind>
using DepthwiseKernel = ConvolutionKernel<kKind, false, FilterKind::kDepthwise>;
const CpuKernel fused_depthwise_kernel("_FusedDepthwiseConv2dNative", TypeList<float>{},
                                       ConvolutionKernel<ConvKind::kForward, true, FilterKind::kDepthwise>{});
const CpuKernel depthwise_kernel("DepthwiseConv2dNative", Fractions{}, DepthwiseKernel<ConvKind::kForward>{});
const CpuKernel depthwise_by_input_kernel("DepthwiseConv2dNativeBackpropInput", Fractions{},
                                          DepthwiseKernel<ConvKind::kByInput>{});
const CpuKernel depthwise_by_filter_kernel("DepthwiseConv2dNativeBackpropFilter", Fractions{},
                                           DepthwiseKernel<ConvKind::kByFilter>{});

}  // namespace
}  // namespace panto
