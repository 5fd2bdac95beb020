// Cast between all types of numbers.
#include <complex>
#include <string>

#include "panto/device/cuda/elementwise/loops.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/math/convert.h"

namespace panto {
namespace {

using Convertible = TypeList<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                             uint32_t, uint64_t, bool, std::complex<float>, std::complex<double>>;

template <class To>
struct ConvertFn {
  template <class From>
  __device__ To operator()(From x) const {
    return convert<To>(x);
  }
};

template <class To, class From>
bool cast_if_from(KernelContext& c) {
  if (c.in(0).dtype() != dtype_of<From>) return false;
  cuda::elementwise<ConvertFn<To>>(c, std::make_index_sequence<1>{}, c.out_data<To>(0), c.data<From>(0));
  return true;
}

template <class To, class... From>
void cast(KernelContext& c, TypeList<From...>) {
  if (!(cast_if_from<To, From>(c) || ...)) {
    fail(Code::kUnimplemented,
         "x: expected a type that Cast has on GPUs, got " + std::string(dtype_name(c.in(0).dtype())));
  }
}

struct Cast {
  template <class To>
  static void run(KernelContext& c) {
    cast<To>(c, Convertible{});
  }
};
const CudaKernel cast_kernel("Cast", Convertible{}, Cast{});

}  // namespace
}  // namespace panto
