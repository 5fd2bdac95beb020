// MirrorPad (pads with the elements next to the edge, mirrored) and its gradient.
#include <algorithm>
#include <vector>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/vocabulary.h"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/mirror.h"
#include "panto/device/unquantized.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/array_types.h"

namespace panto {
namespace {

// For each dimension of the padded tensor, the offset into the inner tensor that each index maps to.
class Mirror {
 public:
  Mirror(const KernelContext& c, const Shape& inner, const Shape& padded) {
    const int64_t apart = not_mirrored(c);
    offsets_.resize(static_cast<size_t>(padded.rank()));
    int64_t stride = 1;
    for (int i = padded.rank(); i-- > 0;) {
      const int64_t before = host_integer(c.in(1), int64_t{2} * i), size = inner.dim(i);
      for (int64_t k = 0; k < padded.dim(i); ++k) {
        offsets_[static_cast<size_t>(i)].push_back(mirrored(k - before, size, apart) * stride);
      }
      stride *= size;
    }
    if (offsets_.empty()) offsets_.push_back({0});  // a scalar is a row of one
  }

  const std::vector<int64_t>& in_row() const { return offsets_.back(); }
  // Returns the inner tensor's offset for the first element of row `r` of the padded tensor.
  int64_t row(int64_t r) const {
    int64_t offset = 0;
    for (size_t i = offsets_.size() - 1; i-- > 0;) {
      const auto size = static_cast<int64_t>(offsets_[i].size());
      offset += offsets_[i][static_cast<size_t>(r % size)];
      r /= size;
    }
    return offset;
  }

 private:
  std::vector<std::vector<int64_t>> offsets_;
};

struct RunMirrorPad {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Mirror mirror(c, c.shape(0), c.out_shape(0));
    const std::vector<int64_t>& columns = mirror.in_row();
    const auto n = static_cast<int64_t>(columns.size());
    const T* x = c.data<T>(0);
    T* y = c.out_data<T>(0);
    cpu::parallel_ranges(
        c.out_numel(0) / n, c.out_numel(0) * static_cast<int64_t>(2 * sizeof(T)),
        [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) {
            const T* from = x + mirror.row(r);
            T* to = y + r * n;
            for (const int64_t column : columns) *to++ = from[column];
          }
        },
        1);
  }
};

struct RunMirrorPadGrad {
  template <class T>
  static void run(KernelContext& c) {
    T* dx = c.out_data<T>(0);
    std::fill_n(dx, c.out_numel(0), T{});
    if (c.numel(0) == 0) return;
    const Mirror mirror(c, c.out_shape(0), c.shape(0));
    const std::vector<int64_t>& columns = mirror.in_row();
    const T* dy = c.data<T>(0);
    const int64_t rows = c.numel(0) / static_cast<int64_t>(columns.size());
    // Sequential, because several elements add to one place.
    for (int64_t r = 0; r < rows; ++r) {
      T* to = dx + mirror.row(r);
      for (const int64_t column : columns) {
        to[column] = k::add(to[column], *dy);
        ++dy;
      }
    }
  }
};

const UnquantizedKernel<"CPU", RunMirrorPad> mirror_pad_kernel("MirrorPad");
const CpuKernel mirror_pad_string_kernel("MirrorPad", TypeList<std::string>{}, RunMirrorPad{});
const CpuKernel mirror_pad_grad_kernel("MirrorPadGrad", types::of<"MirrorPadGrad">{}, InWider<RunMirrorPadGrad>{});

}  // namespace
}  // namespace panto
