// Permutes vectors that have a number for each dimension of images to another layout.
#include <cstdint>
#include <string_view>

#include "panto/device/cpu/kernel.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

struct PermuteKernel {
  template <class T>
  static void run(KernelContext& c) {
    const std::string_view from = c.text("src_format"), to = c.text("dst_format");
    const Shape& shape = c.shape(0);
    const int64_t rows = shape.dim(0), columns = shape.rank() == 2 ? shape.dim(1) : 1;
    const bool whole = rows == static_cast<int64_t>(from.size());  // else there are rows for spatial dimensions only
    const auto counts = [whole](char letter) { return whole || (letter != 'N' && letter != 'C'); };
    const T* x = c.data<T>(0);
    T* y = c.out_data<T>(0);
    for (const char letter : to) {
      if (!counts(letter)) continue;
      const T* row = x;
      for (const char other : from) {
        if (other == letter) break;
        if (counts(other)) row += columns;
      }
      for (int64_t k = 0; k < columns; ++k) *y++ = row[k];
    }
  }
};

const CpuKernel permute_kernel("DataFormatVecPermute", types::of<"DataFormatVecPermute">{}, PermuteKernel{});

}  // namespace
}  // namespace panto
