// Registers kernels that are instantiated per element size, for plain dtypes only. Their ops' signatures leave
// quantized types out, as TensorFlow's kernels do.
//
//   const UnquantizedKernel<"CPU", RunBandPart> band_part_kernel("MatrixBandPart");
#pragma once

#include "panto/device/kernel.h"

namespace panto {

template <LiteralName kKind, class Maker>
struct UnquantizedKernel {
  // For those dtypes of `set` that are plain.
  explicit UnquantizedKernel(const char* op, DTypeSet set = dtypes::kPlain) noexcept {
    (add<1>(op, set), add<2>(op, set), add<4>(op, set), add<8>(op, set), add<16>(op, set));
  }

 private:
  template <size_t Size>
  static void add(const char* op, DTypeSet set) noexcept {
    for (int i = 0; i < kDTypeSlots; ++i) {
      const auto type = static_cast<DType>(i);
      if (!set.contains(type) || !dtypes::kPlain.contains(type) || dtype_size(type) != Size) continue;
      (void)KernelObject<kKind>(op, DTypeSet{type}, make_kernel<Maker, UnsignedOfSize<Size>>());
    }
  }
};

}  // namespace panto
