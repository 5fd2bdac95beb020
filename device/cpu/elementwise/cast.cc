// Cast: the output type selects the kernel; a switch here selects the loop by the input type.
#include "panto/device/cpu/elementwise/cast.h"

#include <bit>
#include <complex>
#include <cstring>

#include "panto/device/cpu/elementwise/half_loops.h"
#include "panto/device/cpu/elementwise/loops.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/math/convert.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/text/format.h"

namespace panto::cpu {
namespace {

// Mantissa bits, without the implicit leading one.
template <class T>
constexpr int kMantissa = std::is_same_v<T, double>  ? 52
                          : std::is_same_v<T, float> ? 23
                          : std::is_same_v<T, Half>  ? 10
                                                     : 7;

template <class To, class From>
constexpr bool kMayTruncate = (std::is_same_v<From, float> || std::is_same_v<From, double>) &&
                              (std::is_same_v<To, float> || is_half_type<To>) && (kMantissa<To> < kMantissa<From>);

// Clears the mantissa bits that do not fit To.
template <class To, class From>
From truncated(From x) {
  using Bits = std::conditional_t<sizeof(From) == 8, uint64_t, uint32_t>;
  constexpr Bits kKeep = ~((Bits{1} << (kMantissa<From> - kMantissa<To>)) - 1);
  return std::bit_cast<From>(std::bit_cast<Bits>(x) & kKeep);
}

template <class To>
struct ConvertFn {
  template <class From>
  PANTO_FN To operator()(const From& x) const {
    return convert<To>(x);
  }
};
template <class To>
struct TruncateFn {
  template <class From>
  PANTO_FN To operator()(const From& x) const {
    return convert<To>(truncated<To>(x));
  }
};

// Casts of mixed precision are compiled for several instruction sets; all others only portably.
template <class To, class From>
constexpr bool kForThisMachine =
    (is_half_type<To> && std::is_same_v<From, float>) || (is_half_type<From> && std::is_same_v<To, float>);

template <class To, class From>
InnerLoopFn cast_loop_between(bool truncate) {
  if constexpr (kMayTruncate<To, From>) {
    if (truncate) return InnerLoop<TruncateFn<To>, To, From>::portable;
  }
#ifdef __x86_64__
  using Loop = InnerLoop<ConvertFn<To>, To, From>;
  if constexpr (std::is_same_v<To, float> && std::is_same_v<From, Half>) {
    if (isa() == Isa::kAvx512) return HalfLoop<WidenHalvesByAvx512, Loop>::run;
    if (has_half_instructions()) return HalfLoop<WidenHalves, Loop>::run;
  }
  if constexpr (std::is_same_v<To, Half> && std::is_same_v<From, float>) {
    if (isa() == Isa::kAvx512) return HalfLoop<RoundToHalvesByAvx512, Loop>::run;
    if (has_half_instructions()) return HalfLoop<RoundToHalves, Loop>::run;
  }
  // With AVX-512 the compiler's loops are as fast.
  if constexpr (std::is_same_v<To, float> && std::is_same_v<From, BFloat16>) {
    if (isa() == Isa::kAvx2 && has_half_instructions()) return HalfLoop<WidenBFloats, Loop>::run;
  }
  if constexpr (std::is_same_v<To, BFloat16> && std::is_same_v<From, float>) {
    if (isa() == Isa::kAvx2 && has_half_instructions()) return HalfLoop<RoundToBFloats, Loop>::run;
  }
#endif
  if constexpr (kForThisMachine<To, From>) return inner_loop_for_this_machine<InnerLoop<ConvertFn<To>, To, From>>();
  return InnerLoop<ConvertFn<To>, To, From>::portable;
}

template <class To>
InnerLoopFn cast_loop_to(DType from, bool truncate) {
  InnerLoopFn loop = nullptr;
  with_type(types::numbers{}, from, [&]<class From>() { loop = cast_loop_between<To, From>(truncate); });
  return loop;
}

template <class To>
void run_cast(KernelContext& c) {
  const DType from = c.in(0).dtype();
  if (from == dtype_of<To>) {
    // The output is the input's memory if the dispatcher donated it.
    if (c.out_data<To>(0) != c.data<To>(0)) {
      std::memcpy(c.out_data<To>(0), c.data<To>(0), static_cast<size_t>(c.out_numel(0)) * sizeof(To));
    }
    return;
  }
  const InnerLoopFn loop = cast_loop_to<To>(from, c.flag("Truncate"));
  if (loop == nullptr) {
    failf(Code::kUnimplemented, "x: expected numbers or booleans to make {}, got {}", dtype_name(dtype_of<To>),
          dtype_name(from));
  }
  const auto in_size = static_cast<uint32_t>(dtype_size(from));
  run_elementwise(c, {loop, 1, {in_size}, sizeof(To), in_size + static_cast<int64_t>(sizeof(To))});
}

struct RunCast {
  template <class T>
  static void run(KernelContext& c) {
    run_cast<T>(c);
  }
};
const CpuKernel cast_kernel("Cast", types::numbers{}, RunCast{});

// Other types can only be cast to themselves.
const CpuKernel copy_kernel("Cast",
                            TypeList<QInt8, QUint8, QInt16, QUint16, QInt32, std::string, ResourceHandle, Variant>{},
                            []<class T>(KernelContext& c) {
                              if (c.in(0).dtype() != dtype_of<T>) {
                                failf(Code::kUnimplemented, "x: expected {}, got {}", dtype_name(dtype_of<T>),
                                      dtype_name(c.in(0).dtype()));
                              }
                              for (int64_t i = 0; i < c.out_numel(0); ++i) c.out_data<T>(0)[i] = c.data<T>(0)[i];
                            });

}  // namespace

InnerLoopFn cast_inner_loop(DType to, DType from) {
  InnerLoopFn loop = nullptr;
  with_type(types::numbers{}, to, [&]<class To>() { loop = cast_loop_to<To>(from, false); });
  return loop;
}

}  // namespace panto::cpu
