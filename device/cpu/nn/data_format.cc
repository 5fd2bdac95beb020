// Permutes vectors that have a number for each dimension of images to another layout.
#include <algorithm>
#include <cstdint>

#include "panto/device/cpu/kernel.h"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/data_format.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

struct PermuteKernel {
  template <class T>
  static void run(KernelContext& c) {
    const PermutedRows rows = permuted_rows(c);
    const int64_t n = c.shape(0).dim(0), columns = c.numel(0) / std::max<int64_t>(n, 1);
    for (int64_t k = 0; k < n; ++k) {
      std::copy_n(c.data<T>(0) + rows.from[k] * columns, columns, c.out_data<T>(0) + k * columns);
    }
  }
};

const CpuKernel permute_kernel("DataFormatVecPermute", types::of<"DataFormatVecPermute">{}, PermuteKernel{});

}  // namespace
}  // namespace panto
