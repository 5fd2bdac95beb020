// Kernels of the Fourier transforms over the last dimensions, one dimension after the other.
#include <complex>
#include <cstddef>
#include <cstdint>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/signal/fft_lines.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/fft_types.h"

namespace panto {
namespace {

using namespace cpu::fourier;

// ---- Of the last `kRank` dimensions -------------------------------------------------------------------------------

template <size_t kRank, Sign kSign>
struct Complex {
  template <class C>
  static void run(KernelContext& c) {
    if (c.numel(0) == 0) return;
    const Dims dims = dims_of(c.shape(0));
    const C* from = c.data<C>(0);
    C* to = c.out_data<C>(0);
    for (size_t k = dims.size(); k-- > dims.size() - kRank;) {
      transform(c, from, dims, to, dims, k, kSign);
      from = to;
    }
  }
};

// Transforms the last dimension first, because only half of it is kept.
template <size_t kRank>
struct RealForward {
  template <class T>
  static void run(KernelContext& c) {
    using C = std::complex<T>;
    if (c.out_numel(0) == 0) return;
    const Dims in = dims_of(c.shape(0)), out = dims_of(c.out_shape(0));
    const size_t last = in.size() - 1;
    Dims halved = in;
    halved[last] = out[last];
    const Scratch<C> between(c.device(), kRank == 1 ? 0 : count_of(halved));
    C* first = kRank == 1 ? c.out_data<C>(0) : between.data();
    transform_real(c, c.data<T>(0), in[last], first, count_of(in) / in[last], c.data<int32_t>(1)[kRank - 1]);
    Chain<C> chain(c, first, halved);
    for (size_t k = last; k-- > last + 1 - kRank;) {
      chain.go(k, out[k], Sign::kForward, k == last + 1 - kRank ? c.out_data<C>(0) : nullptr);
    }
  }
};

template <size_t kRank>
struct RealBackward {
  template <class C>
  static void run(KernelContext& c) {
    using T = typename C::value_type;
    if (c.out_numel(0) == 0) return;
    const Dims in = dims_of(c.shape(0)), out = dims_of(c.out_shape(0));
    const size_t last = in.size() - 1;
    Chain<C> chain(c, c.data<C>(0), in);
    for (size_t k = last + 1 - kRank; k < last; ++k) chain.go(k, out[k], Sign::kBackward);
    transform_to_real(c, chain.data(), in[last], c.out_data<T>(0), count_of(out) / out[last], out[last]);
  }
};

#define PANTO_FFT_KERNELS(rank, suffix)                                                                    \
  const CpuKernel fft##rank("FFT" suffix, types::of<"FFT" suffix>{}, Complex<rank, Sign::kForward>{});     \
  const CpuKernel ifft##rank("IFFT" suffix, types::of<"IFFT" suffix>{}, Complex<rank, Sign::kBackward>{}); \
  const CpuKernel rfft##rank("RFFT" suffix, types::of<"RFFT" suffix>{}, RealForward<rank>{});              \
  const CpuKernel irfft##rank("IRFFT" suffix, types::of<"IRFFT" suffix>{}, RealBackward<rank>{})

PANTO_FFT_KERNELS(1, "");
PANTO_FFT_KERNELS(2, "2D");
PANTO_FFT_KERNELS(3, "3D");
#undef PANTO_FFT_KERNELS

}  // namespace
}  // namespace panto
