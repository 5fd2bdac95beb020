// Registers kernels that are instantiated per element size for every plain dtype. Their ops' signatures leave quantized
// types out, as TensorFlow's kernels do.
#pragma once

#include "panto/device/cpu/kernel.h"

namespace panto {

template <class Maker>
struct UnquantizedKernel {
  explicit UnquantizedKernel(const char* op) noexcept { (add<1>(op), add<2>(op), add<4>(op), add<8>(op), add<16>(op)); }

 private:
  template <size_t Size>
  static void add(const char* op) noexcept {
    for (int i = 0; i < kDTypeSlots; ++i) {
      const auto type = static_cast<DType>(i);
      if (!dtypes::kPlain.contains(type) || dtype_size(type) != Size) continue;
      (void)CpuKernel(op, DTypeSet{type}, make_kernel<Maker, UnsignedOfSize<Size>>());
    }
  }
};

}  // namespace panto
