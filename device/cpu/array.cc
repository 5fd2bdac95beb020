// Moving elements: order, repetition, joining, splitting, slicing, padding. Every dtype.

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/strided_copy.h"
#include "panto/lib/base/format.h"
#include "panto/lib/ops/strided_slice.h"
#include "panto/lib/ops/values.h"

namespace panto {
namespace {

using cpu::StridedCopy;
using Strides = SmallVector<int64_t, 8>;

Strides strides_of(const Shape& shape) {
  Strides strides;
  cpu::row_major_strides(shape.dims(), strides);
  return strides;
}

int64_t product(std::span<const int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

// What lies before and behind dimension `axis`, each as one dimension.
struct Around {
  int64_t outer, inner;
  Around(const Shape& shape, int axis)
      : outer(product(shape.dims().first(static_cast<size_t>(axis)))),
        inner(product(shape.dims().subspan(static_cast<size_t>(axis) + 1))) {}
};

int normal_axis(int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }

// ---- Order and repetition ------------------------------------------------------------------------------------------

struct RunTranspose {
  template <class T>
  static void run(KernelContext& c) {
    const Strides in = strides_of(c.shape(0));
    const Strides out = strides_of(c.out_shape(0));
    const KnownIntegers perm(c.in(1));
    StridedCopy copy;
    for (int i = c.out_shape(0).rank(); i-- > 0;) {
      copy.add({c.out_shape(0).dim(i), in[static_cast<size_t>(perm[i])], out[static_cast<size_t>(i)]});
    }
    copy.run(c.data<T>(0), c.out_data<T>(0));
  }
};

struct RunInvertPermutation {
  template <class T>
  static void run(KernelContext& c) {
    const T* x = c.data<T>(0);
    T* y = c.out_data<T>(0);
    const int64_t n = c.numel(0);
    std::fill_n(y, n, T{-1});
    for (int64_t i = 0; i < n; ++i) {
      const T at = x[i];
      if (at < 0 || at >= n) invalid("x[{}]: expected a number in [0, {}), got {}", i, n, at);
      if (y[at] >= 0) invalid("x: expected every number once, got {} twice", at);
      y[at] = static_cast<T>(i);
    }
  }
};

struct RunBroadcastTo {
  template <class T>
  static void run(KernelContext& c) {
    const Shape& from = c.shape(0);
    const Shape& to = c.out_shape(0);
    const Strides in = strides_of(from);
    const Strides out = strides_of(to);
    const int shift = to.rank() - from.rank();
    StridedCopy copy;
    for (int i = to.rank(); i-- > 0;) {
      const int k = i - shift;
      const bool repeats = k < 0 || from.dim(k) != to.dim(i);
      copy.add({to.dim(i), repeats ? 0 : in[static_cast<size_t>(k)], out[static_cast<size_t>(i)]});
    }
    copy.run(c.data<T>(0), c.out_data<T>(0));
  }
};

struct RunTile {
  template <class T>
  static void run(KernelContext& c) {
    const Shape& from = c.shape(0);
    const Strides in = strides_of(from);
    const Strides out = strides_of(c.out_shape(0));
    StridedCopy copy;
    for (int i = from.rank(); i-- > 0;) {
      const auto k = static_cast<size_t>(i);
      copy.add({from.dim(i), in[k], out[k]});
      copy.add({host_integer(c.in(1), i), 0, out[k] * from.dim(i)});
    }
    copy.run(c.data<T>(0), c.out_data<T>(0));
  }
};

const CpuKernel transpose_kernel("Transpose", types::every{}, RunTranspose{});
const CpuKernel invert_permutation_kernel("InvertPermutation", types::index{}, RunInvertPermutation{});
const CpuKernel broadcast_to_kernel("BroadcastTo", types::every{}, RunBroadcastTo{});
const CpuKernel tile_kernel("Tile", types::every{}, RunTile{});

// ---- Joining and splitting -----------------------------------------------------------------------------------------

// Part `part` of `row` elements in each of `outer` rows of `whole` elements, from `begin` on.
StridedCopy into_rows(int64_t outer, int64_t row, int64_t whole) {
  StridedCopy copy;
  copy.add({row, 1, 1});
  copy.add({outer, row, whole});
  return copy;
}

struct RunConcat {
  template <class T>
  static void run(KernelContext& c) {
    const int n = c.num_inputs() - 1;
    const int axis = normal_axis(host_integer(c.in(n)), c.out_shape(0).rank());
    const Around around(c.out_shape(0), axis);
    const int64_t whole = c.out_shape(0).dim(axis) * around.inner;
    T* out = c.out_data<T>(0);
    for (int i = 0; i < n; ++i) {
      const int64_t row = c.shape(i).dim(axis) * around.inner;
      into_rows(around.outer, row, whole).run(c.data<T>(i), out);
      out += row;
    }
  }
};

struct RunPack {
  template <class T>
  static void run(KernelContext& c) {
    const Around around(c.out_shape(0), normal_axis(c.integer("axis"), c.out_shape(0).rank()));
    const int n = c.num_inputs();
    T* out = c.out_data<T>(0);
    if (around.inner == 1 && around.outer == 1) {  // scalars
      for (int i = 0; i < n; ++i) out[i] = *c.data<T>(i);
      return;
    }
    for (int i = 0; i < n; ++i) {
      into_rows(around.outer, around.inner, around.inner * n).run(c.data<T>(i), out + i * around.inner);
    }
  }
};

// The outputs are equal parts of input `from` along `axis`: views where each lies in one piece.
template <class T>
void run_parts(KernelContext& c, int from, int axis, int64_t size) {
  const Around around(c.shape(from), axis);
  const int64_t row = size * around.inner;
  const int64_t whole = c.shape(from).dim(axis) * around.inner;
  for (int k = 0; k < c.num_outputs(); ++k) {
    const Shape& shape = c.inferred_shape(k);
    if (around.outer == 1) {
      c.set_out(k, view_tensor(c.in(from), shape, k * row));
      continue;
    }
    Tensor part = allocate_tensor(c.device(), c.in(from).dtype(), shape);
    StridedCopy copy;
    copy.add({row, 1, 1});
    copy.add({around.outer, whole, row});
    copy.run(c.data<T>(from) + k * row, mutable_data<T>(part));
    c.set_out(k, std::move(part));
  }
}

struct RunSplit {
  template <class T>
  static void run(KernelContext& c) {
    const int axis = normal_axis(host_integer(c.in(0)), c.shape(1).rank());
    run_parts<T>(c, 1, axis, c.shape(1).dim(axis) / c.integer("num_split"));
  }
};

struct RunUnpack {
  template <class T>
  static void run(KernelContext& c) {
    run_parts<T>(c, 0, normal_axis(c.integer("axis"), c.shape(0).rank()), 1);
  }
};

const CpuKernel concat_kernel("ConcatV2", types::every{}, RunConcat{});
const CpuKernel pack_kernel("Pack", types::every{}, RunPack{});
const CpuKernel split_kernel("Split", types::every{}, RunSplit{});
const CpuKernel unpack_kernel("Unpack", types::every{}, RunUnpack{});

// ---- Slicing and padding -------------------------------------------------------------------------------------------

// Output 0 is the strided block of input 0 that begins at element `first`: a view where that lies in one piece.
template <class T>
void take_block(KernelContext& c, const StridedCopy& copy, int64_t first) {
  const Shape& shape = c.inferred_shape(0);
  if (copy.count() > 0 && copy.reads_one_block()) return c.set_out(0, view_tensor(c.in(0), shape, first));
  Tensor block = allocate_tensor(c.device(), c.in(0).dtype(), shape);
  copy.run(c.data<T>(0) + (copy.count() > 0 ? first : 0), mutable_data<T>(block));
  c.set_out(0, std::move(block));
}

struct RunSlice {
  template <class T>
  static void run(KernelContext& c) {
    const Shape& shape = c.inferred_shape(0);
    const Strides in = strides_of(c.shape(0));
    const Strides out = strides_of(shape);
    StridedCopy copy;
    int64_t first = 0;
    for (int i = shape.rank(); i-- > 0;) {
      const auto k = static_cast<size_t>(i);
      const int64_t begin = host_integer(c.in(1), i);
      // Seen by the shape function only if it knew the value.
      if (begin < 0 || begin > c.shape(0).dim(i) - shape.dim(i)) {
        invalid("begin[{}]: expected one in [0, {}], got {}", i, c.shape(0).dim(i) - shape.dim(i), begin);
      }
      copy.add({shape.dim(i), in[k], out[k]});
      first += begin * in[k];
    }
    take_block<T>(c, copy, first);
  }
};

// The dimensions of a slice of something with strides `whole`, seen from a dense block; and its first element.
StridedCopy slice_copy(const StridedSlice& slice, const Strides& whole, bool reads, int64_t& first) {
  StridedCopy copy;
  int64_t dense = 1;
  first = 0;
  for (size_t i = slice.axes.size(); i-- > 0;) {
    const StridedSlice::Axis& axis = slice.axes[i];
    const int64_t step = axis.size > 1 ? axis.stride * whole[i] : 0;
    copy.add(reads ? StridedCopy::Dim{axis.size, step, dense} : StridedCopy::Dim{axis.size, dense, step});
    dense *= axis.size;
    first += axis.begin * whole[i];
  }
  return copy;
}

struct RunStridedSlice {
  template <class T>
  static void run(KernelContext& c) {
    const StridedSlice slice = plan_strided_slice(c.shape(0), KnownIntegers(c.in(1)), KnownIntegers(c.in(2)),
                                                  KnownIntegers(c.in(3)), masks_of(c));
    int64_t first;
    const StridedCopy copy = slice_copy(slice, strides_of(c.shape(0)), true, first);
    take_block<T>(c, copy, first);
  }
};

struct RunStridedSliceGrad {
  template <class T>
  static void run(KernelContext& c) {
    const StridedSlice slice = plan_strided_slice(c.out_shape(0), KnownIntegers(c.in(1)), KnownIntegers(c.in(2)),
                                                  KnownIntegers(c.in(3)), masks_of(c));
    if (!(slice.shape == c.shape(4))) {
      invalid("dy: expected the shape of the slice, {}, got {}", slice.shape.to_string(), c.shape(4).to_string());
    }
    T* out = c.out_data<T>(0);
    std::fill_n(out, c.out_numel(0), T{});
    int64_t first;
    const StridedCopy copy = slice_copy(slice, strides_of(c.out_shape(0)), false, first);
    if (copy.count() > 0) copy.run(c.data<T>(4), out + first);
  }
};

struct RunPad {
  template <class T>
  static void run(KernelContext& c) {
    const Shape& from = c.shape(0);
    const Strides in = strides_of(from);
    const Strides out = strides_of(c.out_shape(0));
    StridedCopy copy;
    int64_t first = 0;
    for (int i = from.rank(); i-- > 0;) {
      const auto k = static_cast<size_t>(i);
      copy.add({from.dim(i), in[k], out[k]});
      first += host_integer(c.in(1), 2 * i) * out[k];
    }
    if (copy.count() < c.out_numel(0)) std::fill_n(c.out_data<T>(0), c.out_numel(0), T{});
    if (copy.count() > 0) copy.run(c.data<T>(0), c.out_data<T>(0) + first);
  }
};

// Where zeros are put in, types without a zero are left out.
const CpuKernel slice_kernel("Slice", types::every{}, RunSlice{});
const CpuKernel strided_slice_kernel("StridedSlice", types::every{}, RunStridedSlice{});
const CpuKernel strided_slice_grad_kernel("StridedSliceGrad", types::plain{}, RunStridedSliceGrad{});
const CpuKernel strided_slice_grad_string_kernel("StridedSliceGrad", TypeList<std::string>{}, RunStridedSliceGrad{});
const CpuKernel pad_kernel("Pad", types::plain{}, RunPad{});
const CpuKernel pad_string_kernel("Pad", TypeList<std::string>{}, RunPad{});

}  // namespace
}  // namespace panto
