// MirrorPad and its gradient.
#include "panto/device/cuda/array/pick.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/math/convert.h"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/mirror.h"
#include "panto/device/unquantized.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/array_types.h"

namespace panto {
namespace {

// The dimensions of the padded tensor that have more than one element, innermost first.
template <class Index>
struct Mirror {
  using Int = std::make_signed_t<Index>;
  struct Dim {
    Int inner, padded, before;  // sizes, and the number of elements padded before
    Int inner_stride, padded_stride;
  };
  int rank = 0;
  Int apart;
  Dim dim[cuda::kMostDims<Index>];
  cuda::Divisor<Index> inner[cuda::kMostDims<Index>], padded[cuda::kMostDims<Index>];

  Mirror(const KernelContext& c, const Shape& from, const Shape& to) : apart(not_mirrored(c)) {
    Int inner_stride = 1, padded_stride = 1;
    for (int i = to.rank(); i-- > 0;) {
      if (to.dim(i) == 1) continue;
      const auto before = static_cast<Int>(host_integer(c.in(1), int64_t{2} * i));
      const Dim d = {static_cast<Int>(from.dim(i)), static_cast<Int>(to.dim(i)), before, inner_stride, padded_stride};
      inner[rank] = cuda::Divisor<Index>(d.inner);
      padded[rank] = cuda::Divisor<Index>(d.padded);
      dim[rank++] = d;
      inner_stride *= d.inner;
      padded_stride *= d.padded;
    }
  }

  // Returns the inner tensor's element for element i of the padded one.
  __device__ int64_t operator()(int64_t i) const {
    Index rest = static_cast<Index>(i);
    Int at = 0;
    for (int d = 0; d < rank; ++d) {
      const Index next = padded[d].quotient(rest);
      const auto k = static_cast<Int>(rest - next * padded[d].value());
      at += mirrored(k - dim[d].before, dim[d].inner, apart) * dim[d].inner_stride;
      rest = next;
    }
    return at;
  }
};

// Adds up an inner element's gradients in the order of the padded tensor, as the CPU does.
template <class T, class Index>
struct AddMirrored {
  using Int = std::make_signed_t<Index>;
  Mirror<Index> mirror;
  const T* dy;
  T* dx;

  __device__ void operator()(int64_t i) const {
    // Along each dimension up to three elements of the padded tensor are this one.
    constexpr int kMost = cuda::kMostDims<Index>;
    Int places[kMost][3];
    int counts[kMost], chosen[kMost];
    Index rest = static_cast<Index>(i);
    Int at = 0;
    for (int d = 0; d < mirror.rank; ++d) {
      const auto& dim = mirror.dim[d];
      const Index next = mirror.inner[d].quotient(rest);
      const auto k = static_cast<Int>(rest - next * mirror.inner[d].value());
      rest = next;
      int n = 0;
      const auto add = [&](Int place) { places[d][n++] = place * dim.padded_stride; };
      const Int low = dim.before + mirror.apart - 1 - k;
      const Int high = dim.before + 2 * dim.inner - 1 - mirror.apart - k;
      if (low >= 0 && low < dim.before) add(low);
      add(dim.before + k);
      if (high >= dim.before + dim.inner && high < dim.padded) add(high);
      counts[d] = n;
      chosen[d] = 0;
      at += places[d][0];
    }
    Compute<T> sum{};
    while (true) {
      sum = k::add(sum, convert<Compute<T>>(dy[at]));
      int d = 0;
      while (d < mirror.rank && chosen[d] + 1 == counts[d]) {
        at += places[d][0] - places[d][chosen[d]];
        chosen[d++] = 0;
      }
      if (d == mirror.rank) break;
      at += places[d][chosen[d] + 1] - places[d][chosen[d]];
      ++chosen[d];
    }
    dx[i] = convert<T>(sum);
  }
};

struct RunMirrorPad {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.out_numel(0);
    if (n == 0) return;
    cuda::with_index(n, [&]<class Index>() {
      const Mirror<Index> mirror(c, c.shape(0), c.out_shape(0));
      cuda::pick<T>(cuda::device_of(c), n, mirror, c.data<T>(0), nullptr, c.out_data<T>(0));
    });
  }
};

struct RunMirrorPadGrad {
  template <class T>
  static void run(KernelContext& c) {
    if (c.numel(0) == 0) return;  // then there is nothing to mirror, either
    cuda::with_index(c.numel(0), [&]<class Index>() {
      const Mirror<Index> mirror(c, c.out_shape(0), c.shape(0));
      cuda::for_each_index(cuda::device_of(c), c.out_numel(0),
                           AddMirrored<T, Index>{mirror, c.data<T>(0), c.out_data<T>(0)});
    });
  }
};

const UnquantizedKernel<"GPU", RunMirrorPad> mirror_pad_kernel("MirrorPad");
const CudaKernel mirror_pad_grad_kernel("MirrorPadGrad", types::of<"MirrorPadGrad">{}, RunMirrorPadGrad{});

}  // namespace
}  // namespace panto
