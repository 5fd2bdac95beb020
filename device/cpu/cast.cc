// Cast: the kernel is chosen by the type that is made, the type that is read is switched here.
#include <bit>
#include <complex>
#include <cstring>

#include "panto/device/convert.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/lib/base/format.h"

namespace panto {
namespace {

// Bits of the mantissa, without the leading one that is not stored.
template <class T>
constexpr int kMantissa = std::is_same_v<T, double>  ? 52
                          : std::is_same_v<T, float> ? 23
                          : std::is_same_v<T, Half>  ? 10
                                                     : 7;

template <class To, class From>
constexpr bool kMayTruncate = (std::is_same_v<From, float> || std::is_same_v<From, double>) &&
                              (std::is_same_v<To, float> || is_half_type<To>) && (kMantissa<To> < kMantissa<From>);

// Without the mantissa's bits that To has no room for.
template <class To, class From>
From truncated(From x) {
  using Bits = std::conditional_t<sizeof(From) == 8, uint64_t, uint32_t>;
  constexpr Bits kKeep = ~((Bits{1} << (kMantissa<From> - kMantissa<To>)) - 1);
  return std::bit_cast<From>(std::bit_cast<Bits>(x) & kKeep);
}

template <class To, class From>
void cast_loop(KernelContext& c, bool truncate) {
  const From* in = c.data<From>(0);
  To* out = c.out_data<To>(0);
  const int64_t n = c.out_numel(0);
  const auto work = n * static_cast<int64_t>(sizeof(To) + sizeof(From));
  if constexpr (kMayTruncate<To, From>) {
    if (truncate) {
      cpu::parallel_ranges(n, work, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = convert<To>(truncated<To>(in[i]));
      });
      return;
    }
  }
  cpu::parallel_ranges(n, work, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = convert<To>(in[i]);
  });
}

template <class To>
void run_cast(KernelContext& c) {
  const DType from = c.in(0).dtype();
  if (from == dtype_of<To>) {
    // In place if the dispatcher found that nobody else needs the input.
    if (c.out_data<To>(0) != c.data<To>(0)) {
      std::memcpy(c.out_data<To>(0), c.data<To>(0), static_cast<size_t>(c.out_numel(0)) * sizeof(To));
    }
    return;
  }
  const bool truncate = c.flag("Truncate");
  switch (from) {
    case kFloat32: return cast_loop<To, float>(c, truncate);
    case kFloat64: return cast_loop<To, double>(c, truncate);
    case kFloat16: return cast_loop<To, Half>(c, truncate);
    case kBFloat16: return cast_loop<To, BFloat16>(c, truncate);
    case kInt8: return cast_loop<To, int8_t>(c, truncate);
    case kInt16: return cast_loop<To, int16_t>(c, truncate);
    case kInt32: return cast_loop<To, int32_t>(c, truncate);
    case kInt64: return cast_loop<To, int64_t>(c, truncate);
    case kUint8: return cast_loop<To, uint8_t>(c, truncate);
    case kUint16: return cast_loop<To, uint16_t>(c, truncate);
    case kUint32: return cast_loop<To, uint32_t>(c, truncate);
    case kUint64: return cast_loop<To, uint64_t>(c, truncate);
    case kBool: return cast_loop<To, bool>(c, truncate);
    case kComplex64: return cast_loop<To, std::complex<float>>(c, truncate);
    case kComplex128: return cast_loop<To, std::complex<double>>(c, truncate);
    default:
      failf(Code::kUnimplemented, "x: expected numbers or booleans to make {}, got {}", dtype_name(dtype_of<To>),
            dtype_name(from));
  }
}

using Plain = TypeList<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                       uint64_t, bool, std::complex<float>, std::complex<double>>;
const CpuKernel cast_kernel("Cast", Plain{}, []<class T>(KernelContext& c) { run_cast<T>(c); });

// Other types only become themselves.
const CpuKernel copy_kernel("Cast", TypeList<std::string, ResourceHandle, Variant>{}, []<class T>(KernelContext& c) {
  if (c.in(0).dtype() != dtype_of<T>) {
    failf(Code::kUnimplemented, "x: expected {}, got {}", dtype_name(dtype_of<T>), dtype_name(c.in(0).dtype()));
  }
  for (int64_t i = 0; i < c.out_numel(0); ++i) c.out_data<T>(0)[i] = c.data<T>(0)[i];
});

}  // namespace
}  // namespace panto
