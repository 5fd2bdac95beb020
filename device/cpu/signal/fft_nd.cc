// Kernels of the Fourier transforms over any dimensions, one after the other; lines are cut or padded with zeros.
#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/signal/fft_lines.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/fft_types.h"

namespace panto {
namespace {

using namespace cpu::fourier;

// One of `axes` and its length.
struct Line {
  size_t axis;
  int64_t length;
};
std::vector<Line> lines_of(const KernelContext& c) {
  const int64_t rank = c.shape(0).rank();
  std::vector<Line> lines;
  for (int64_t k = 0; k < c.numel(2); ++k) {
    const int64_t axis = c.data<int32_t>(2)[k];
    lines.push_back({static_cast<size_t>(axis < 0 ? axis + rank : axis), c.data<int32_t>(1)[k]});
  }
  return lines;
}

// Calls f(offset of a line's first element, stride) for all lines of dimension `axis`.
template <class F>
void for_each_line(const Dims& dims, size_t axis, const F& f) {
  const Dimension d(dims, axis);
  for (int64_t o = 0; o < d.outer; ++o) {
    for (int64_t i = 0; i < d.inner; ++i) f(o * d.length * d.inner + i, d.inner);
  }
}

template <Sign kSign>
struct Complex {
  template <class C>
  static void run(KernelContext& c) {
    const auto lines = lines_of(c);
    C* out = c.out_data<C>(0);
    if (c.numel(0) == 0) return void(std::fill_n(out, c.out_numel(0), C(0)));
    if (lines.empty()) return void(std::copy_n(c.data<C>(0), c.numel(0), out));
    Chain<C> chain(c, c.data<C>(0), dims_of(c.shape(0)));
    for (size_t k = lines.size(); k-- > 0;) chain.go(lines[k].axis, lines[k].length, kSign, k == 0 ? out : nullptr);
  }
};

struct ToHalf {
  template <class T>
  static void run(KernelContext& c) {
    using C = std::complex<T>;
    C* out = c.out_data<C>(0);
    if (c.numel(0) == 0) return void(std::fill_n(out, c.out_numel(0), C(0)));
    const auto lines = lines_of(c);
    const Line real = lines.back();
    const Dims in = dims_of(c.shape(0));
    Dims halved = in;
    halved[real.axis] = real.length / 2 + 1;
    const bool alone = lines.size() == 1;
    const Scratch<C> between(c.device(), alone ? 0 : count_of(halved));
    C* first = alone ? out : between.data();
    if (real.axis + 1 == in.size() && in.back() >= real.length) {
      transform_real(c, c.data<T>(0), in.back(), first, count_of(in) / in.back(), real.length);
    } else {
      halves(c, in, real, first, halved);
    }
    Chain<C> chain(c, first, halved);
    for (size_t k = lines.size() - 1; k-- > 0;) {
      chain.go(lines[k].axis, lines[k].length, Sign::kForward, k == 0 ? out : nullptr);
    }
  }

 private:
  // Transforms the real lines as complex ones and keeps half of each.
  template <class T>
  static void halves(const KernelContext& c, const Dims& in, const Line& real, std::complex<T>* to,
                     const Dims& halved) {
    using C = std::complex<T>;
    const Scratch<C> wide(c.device(), c.numel(0));
    std::copy_n(c.data<T>(0), c.numel(0), wide.data());
    Chain<C> chain(c, wide.data(), in);
    chain.go(real.axis, real.length, Sign::kForward);
    const Dimension all(in, real.axis), kept(halved, real.axis);
    for (int64_t o = 0; o < all.outer; ++o) {
      std::copy_n(chain.data() + o * real.length * all.inner, kept.length * all.inner,
                  to + o * kept.length * all.inner);
    }
  }
};

struct FromHalf {
  template <class C>
  static void run(KernelContext& c) {
    using T = typename C::value_type;
    T* out = c.out_data<T>(0);
    if (c.numel(0) == 0) return void(std::fill_n(out, c.out_numel(0), T(0)));
    const auto lines = lines_of(c);
    const Line real = lines.back();
    Dims dims = dims_of(c.shape(0));
    Chain<C> chain(c, c.data<C>(0), dims);
    for (size_t k = 0; k + 1 < lines.size(); ++k) {
      chain.go(lines[k].axis, lines[k].length, Sign::kBackward);
      dims[lines[k].axis] = lines[k].length;
    }
    if (real.axis + 1 == dims.size() && dims.back() >= real.length / 2 + 1) {
      transform_to_real(c, chain.data(), dims.back(), out, count_of(dims) / dims.back(), real.length);
    } else {
      wholes(c, chain.data(), dims, real, out);
    }
  }

 private:
  // Completes the lines with their conjugate halves, transforms them as complex lines and keeps the real parts.
  template <class T>
  static void wholes(const KernelContext& c, const std::complex<T>* from, const Dims& dims, const Line& real, T* out) {
    using C = std::complex<T>;
    Dims whole = dims;
    whole[real.axis] = real.length;
    const int64_t n = real.length, there = dims[real.axis];
    const Scratch<C> lines(c.device(), count_of(whole));
    std::vector<int64_t> starts;
    for_each_line(dims, real.axis, [&](int64_t first, int64_t) { starts.push_back(first); });
    size_t line = 0;
    for_each_line(whole, real.axis, [&](int64_t first, int64_t step) {
      const C* x = from + starts[line++];
      for (int64_t k = 0; k <= n / 2; ++k) {
        C z = k < there ? x[k * step] : C(0);
        if (k == 0 || 2 * k == n) z = z.real();
        lines.data()[first + k * step] = z;
        if (k > 0) lines.data()[first + (n - k) * step] = std::conj(z);
      }
    });
    transform(c, lines.data(), whole, lines.data(), whole, real.axis, Sign::kBackward);
    for (int64_t i = 0; i < c.out_numel(0); ++i) out[i] = lines.data()[i].real();
  }
};

const CpuKernel fft("FFTND", types::of<"FFTND">{}, Complex<Sign::kForward>{});
const CpuKernel ifft("IFFTND", types::of<"IFFTND">{}, Complex<Sign::kBackward>{});
const CpuKernel rfft("RFFTND", types::of<"RFFTND">{}, ToHalf{});
const CpuKernel irfft("IRFFTND", types::of<"IRFFTND">{}, FromHalf{});

}  // namespace
}  // namespace panto
