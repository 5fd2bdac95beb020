// Kernels that move elements: transposing, repeating, joining, splitting, slicing, padding, diagonals, blocks of
// images. All back-ends share them; each instantiates them with its engine:
//
//   struct Engine {
//     using Copy = ...;  // a StridedDims
//     static void copy(KernelContext& c, const Copy& copy, const T* in, T* out);
//     // Fills all n elements of `out`: the copied block begins at element `first`, all other elements become *rest, or
//     // zero if `rest` is null.
//     static void place(KernelContext& c, const Copy& copy, const T* in, T* out, int64_t n, int64_t first,
//                       const T* rest);
//     // Rows of `whole` elements are the rows of all pieces, one behind the other. There are `outer` rows.
//     static void join(KernelContext& c, int64_t outer, int64_t whole, std::span<const Piece<const T>> pieces, T* out);
//     static void split(KernelContext& c, int64_t outer, int64_t whole, const T* in, std::span<const Piece<T>> pieces);
//   };
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "panto/device/shape/axes.h"
#include "panto/device/shape/strided_dims.h"
#include "panto/device/state.h"
#include "panto/lib/base/small_vector.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/array/strided_slice.h"
#include "panto/lib/ops/array/values.h"

namespace panto {

template <class T>
struct Piece {
  T* data;
  int64_t row;  // its elements in each row
};

namespace moves {

template <class T>
using Pieces = SmallVector<Piece<T>, 8>;
using Strides = SmallVector<int64_t, 8>;

inline Strides strides_of(const Shape& shape) {
  Strides strides;
  row_major_strides(shape.dims(), strides);
  return strides;
}

inline int64_t product(std::span<const int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

// The dimensions before `axis` collapsed into one (`outer`), and those behind it (`inner`).
struct Around {
  int64_t outer, inner;
  Around(const Shape& shape, int axis)
      : outer(product(shape.dims().first(static_cast<size_t>(axis)))),
        inner(product(shape.dims().subspan(static_cast<size_t>(axis) + 1))) {}
};

inline int normal_axis(int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }

// ---- Order and repetition ------------------------------------------------------------------------------------------

template <class Engine>
struct RunTranspose {
  template <class T>
  static void run(KernelContext& c) {
    const Strides in = strides_of(c.shape(0));
    const Strides out = strides_of(c.out_shape(0));
    const KnownIntegers perm(c.in(1));
    typename Engine::Copy copy;
    const int rank = c.out_shape(0).rank();
    for (int i = rank; i-- > 0;) {
      const int axis = normal_axis(perm[i], rank);
      copy.add({c.out_shape(0).dim(i), in[static_cast<size_t>(axis)], out[static_cast<size_t>(i)]});
    }
    Engine::template copy<T>(c, copy, c.data<T>(0), c.out_data<T>(0));
  }
};

// The copy of a tensor of shape `from`, which broadcasts to `to`, into one of that shape. If `from` has more
// dimensions, those in front are 1.
template <class Copy>
Copy broadcast_copy(const Shape& from, const Shape& to) {
  const Strides in = strides_of(from);
  const Strides out = strides_of(to);
  const int shift = to.rank() - from.rank();
  Copy copy;
  for (int i = to.rank(); i-- > 0;) {
    const int k = i - shift;
    const bool repeats = k < 0 || from.dim(k) != to.dim(i);
    copy.add({to.dim(i), repeats ? 0 : in[static_cast<size_t>(k)], out[static_cast<size_t>(i)]});
  }
  return copy;
}

template <class Engine>
struct RunBroadcastTo {
  template <class T>
  static void run(KernelContext& c) {
    const auto copy = broadcast_copy<typename Engine::Copy>(c.shape(0), c.out_shape(0));
    Engine::template copy<T>(c, copy, c.data<T>(0), c.out_data<T>(0));
  }
};

template <class Engine>
struct RunTile {
  template <class T>
  static void run(KernelContext& c) {
    const Shape& from = c.shape(0);
    const Strides in = strides_of(from);
    const Strides out = strides_of(c.out_shape(0));
    typename Engine::Copy copy;
    for (int i = from.rank(); i-- > 0;) {
      const auto k = static_cast<size_t>(i);
      copy.add({from.dim(i), in[k], out[k]});
      copy.add({host_integer(c.in(1), i), 0, out[k] * from.dim(i)});
    }
    Engine::template copy<T>(c, copy, c.data<T>(0), c.out_data<T>(0));
  }
};

template <class Engine>
struct RunReverse {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Shape& shape = c.shape(0);
    const Strides strides = strides_of(shape);
    const AxisFlags backwards = reduced_axes(c);
    typename Engine::Copy copy;
    int64_t last = 0;
    for (int i = shape.rank(); i-- > 0;) {
      const int64_t stride = strides[static_cast<size_t>(i)];
      const bool back = backwards[static_cast<size_t>(i)] && shape.dim(i) > 1;
      if (back) last += (shape.dim(i) - 1) * stride;
      copy.add({shape.dim(i), back ? -stride : stride, stride});
    }
    Engine::template copy<T>(c, copy, c.data<T>(0) + last, c.out_data<T>(0));
  }
};

// Roll cuts each dimension in two parts, which change places. Every combination of parts is one block to copy.
template <class Engine>
struct RunRoll {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Shape& shape = c.shape(0);
    const int rank = shape.rank();
    Strides shift(static_cast<size_t>(rank));  // in [0, size)
    for (int64_t& s : shift) s = 0;
    const KnownIntegers shifts(c.in(1));
    for (int64_t i = 0; i < shifts.count(); ++i) {
      const int64_t axis = axis_at(c, 2, i, rank);
      int64_t& s = shift[static_cast<size_t>(axis)];
      const int64_t size = shape.dim(static_cast<int>(axis)), more = shifts[i] % size;
      s = (s + more + size) % size;
    }
    std::vector<Block> blocks = {{}};
    const Strides strides = strides_of(shape);
    for (int i = rank; i-- > 0;) {
      const auto k = static_cast<size_t>(i);
      const int64_t size = shape.dim(i), moved = shift[k], stride = strides[k];
      std::vector<Block> longer;
      for (const Block& block : blocks) {
        longer.push_back(block.with({size - moved, stride, stride}, 0, moved * stride));
        if (moved > 0) longer.push_back(block.with({moved, stride, stride}, (size - moved) * stride, 0));
      }
      blocks = std::move(longer);
    }
    for (const Block& block : blocks) {
      Engine::template copy<T>(c, block.copy, c.data<T>(0) + block.from, c.out_data<T>(0) + block.to);
    }
  }

 private:
  struct Block {
    typename Engine::Copy copy;
    int64_t from = 0, to = 0;  // the first element of the block in the input and in the output
    Block with(const StridedDims::Dim& dim, int64_t more_from, int64_t more_to) const {
      Block block = *this;
      block.copy.add(dim);
      block.from += more_from;
      block.to += more_to;
      return block;
    }
  };
};

// SpaceToDepth (kToBlocks) and DepthToSpace: a transposition between an image [batch, high, size, wide, size, channels]
// and blocks [batch, high, wide, size, size, channels]; with channels first, between [batch, channels, high, size,
// wide, size] and [batch, size, size, channels, high, wide].
template <class Engine, bool kToBlocks>
struct RunImageBlocks {
  template <class T>
  static void run(KernelContext& c) {
    const Shape& image = kToBlocks ? c.shape(0) : c.out_shape(0);
    const Shape& blocks = kToBlocks ? c.out_shape(0) : c.shape(0);
    const bool first = c.text("data_format") == "NCHW";
    const int64_t size = c.integer("block_size"), high = blocks.dim(first ? 2 : 1), wide = blocks.dim(first ? 3 : 2);
    const Shape dims = first ? Shape{image.dim(0), image.dim(1), high, size, wide, size}
                             : Shape{image.dim(0), high, size, wide, size, image.dim(3)};
    constexpr int kFirst[] = {0, 3, 5, 1, 2, 4}, kLast[] = {0, 1, 3, 2, 4, 5};
    const auto& order = first ? kFirst : kLast;  // the image's dimension at each place of the blocks
    const Strides in_image = strides_of(dims);
    int64_t in_blocks[6], step = 1;
    for (int i = 6; i-- > 0;) {
      in_blocks[order[i]] = step;
      step *= dims.dim(order[i]);
    }
    typename Engine::Copy copy;
    for (int i = 6; i-- > 0;) {
      const int k = kToBlocks ? order[i] : i;
      const int64_t outside = in_image[static_cast<size_t>(k)], inside = in_blocks[k];
      copy.add({dims.dim(k), kToBlocks ? outside : inside, kToBlocks ? inside : outside});
    }
    Engine::template copy<T>(c, copy, c.data<T>(0), c.out_data<T>(0));
  }
};

// Diag and DiagPart see a tensor as an n x n matrix: the first half of its dimensions are the rows, the second half the
// columns.
template <class Engine>
struct RunDiag {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.numel(0);
    typename Engine::Copy copy;
    copy.add({n, 1, n + 1});
    Engine::template place<T>(c, copy, c.data<T>(0), c.out_data<T>(0), c.out_numel(0), 0, nullptr);
  }
};
template <class Engine>
struct RunDiagPart {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.out_numel(0);
    typename Engine::Copy copy;
    copy.add({n, n + 1, 1});
    Engine::template copy<T>(c, copy, c.data<T>(0), c.out_data<T>(0));
  }
};

// ---- Joining and splitting -----------------------------------------------------------------------------------------

template <class Engine>
struct RunConcat {
  template <class T>
  static void run(KernelContext& c) {
    const int n = c.num_inputs() - 1;
    const int axis = normal_axis(host_integer(c.in(n)), c.out_shape(0).rank());
    const Around around(c.out_shape(0), axis);
    Pieces<const T> pieces;
    for (int i = 0; i < n; ++i) pieces.push_back({c.data<T>(i), c.shape(i).dim(axis) * around.inner});
    Engine::template join<T>(c, around.outer, c.out_shape(0).dim(axis) * around.inner, pieces, c.out_data<T>(0));
  }
};

template <class Engine>
struct RunPack {
  template <class T>
  static void run(KernelContext& c) {
    const Around around(c.out_shape(0), normal_axis(c.integer("axis"), c.out_shape(0).rank()));
    Pieces<const T> pieces;
    for (int i = 0; i < c.num_inputs(); ++i) pieces.push_back({c.data<T>(i), around.inner});
    Engine::template join<T>(c, around.outer, around.inner * c.num_inputs(), pieces, c.out_data<T>(0));
  }
};

// Makes the outputs parts of input `from` along `axis`; output k has size size_of(k) there. The outputs are views of
// the input if each part is contiguous.
template <class Engine, class T, class SizeOf>
void run_parts(KernelContext& c, int from, int axis, SizeOf size_of) {
  const Around around(c.shape(from), axis);
  const int64_t whole = c.shape(from).dim(axis) * around.inner;
  if (around.outer == 1) {
    int64_t first = 0;
    for (int k = 0; k < c.num_outputs(); ++k) {
      c.set_out(k, view_tensor(c.in(from), c.inferred_shape(k), first));
      first += size_of(k) * around.inner;
    }
    return;
  }
  Pieces<T> pieces;
  for (int k = 0; k < c.num_outputs(); ++k) {
    Tensor part = allocate_tensor(c.device(), c.in(from).dtype(), c.inferred_shape(k));
    pieces.push_back({mutable_data<T>(part), size_of(k) * around.inner});
    c.set_out(k, std::move(part));
  }
  Engine::template split<T>(c, around.outer, whole, c.data<T>(from), pieces);
}

template <class Engine>
struct RunSplit {
  template <class T>
  static void run(KernelContext& c) {
    const int axis = normal_axis(host_integer(c.in(0)), c.shape(1).rank());
    const int64_t each = c.shape(1).dim(axis) / c.integer("num_split");
    run_parts<Engine, T>(c, 1, axis, [each](int) { return each; });
  }
};

template <class Engine>
struct RunSplitV {
  template <class T>
  static void run(KernelContext& c) {
    const int axis = normal_axis(host_integer(c.in(2)), c.shape(0).rank());
    run_parts<Engine, T>(c, 0, axis, [&](int k) { return c.inferred_shape(k).dim(axis); });
  }
};

template <class Engine>
struct RunUnpack {
  template <class T>
  static void run(KernelContext& c) {
    run_parts<Engine, T>(c, 0, normal_axis(c.integer("axis"), c.shape(0).rank()), [](int) { return 1; });
  }
};

// ---- Slicing and padding -------------------------------------------------------------------------------------------

// Makes output 0 the strided block of input 0 that begins at element `first`: a view if the block is contiguous.
template <class Engine, class T>
void take_block(KernelContext& c, const typename Engine::Copy& copy, int64_t first) {
  const Shape& shape = c.inferred_shape(0);
  if (copy.count() > 0 && copy.reads_one_block()) return c.set_out(0, view_tensor(c.in(0), shape, first));
  Tensor block = allocate_tensor(c.device(), c.in(0).dtype(), shape);
  Engine::template copy<T>(c, copy, c.data<T>(0) + (copy.count() > 0 ? first : 0), mutable_data<T>(block));
  c.set_out(0, std::move(block));
}

template <class Engine>
struct RunSlice {
  template <class T>
  static void run(KernelContext& c) {
    const Shape& shape = c.inferred_shape(0);
    const Strides in = strides_of(c.shape(0));
    const Strides out = strides_of(shape);
    typename Engine::Copy copy;
    int64_t first = 0;
    for (int i = shape.rank(); i-- > 0;) {
      const auto k = static_cast<size_t>(i);
      const int64_t begin = host_integer(c.in(1), i);
      // The shape function checks `begin` only if its value is known then.
      if (begin < 0 || begin > c.shape(0).dim(i) - shape.dim(i)) {
        invalid("begin[{}]: expected one in [0, {}], got {}", i, c.shape(0).dim(i) - shape.dim(i), begin);
      }
      copy.add({shape.dim(i), in[k], out[k]});
      first += begin * in[k];
    }
    take_block<Engine, T>(c, copy, first);
  }
};

// The copy between a slice of a tensor with strides `whole` and a dense block: from the slice if `reads`, else to it.
// Sets `first` to the slice's first element.
template <class Copy>
Copy slice_copy(const StridedSlice& slice, const Strides& whole, bool reads, int64_t& first) {
  Copy copy;
  int64_t dense = 1;
  first = 0;
  for (size_t i = slice.axes.size(); i-- > 0;) {
    const StridedSlice::Axis& axis = slice.axes[i];
    const int64_t step = axis.size > 1 ? axis.stride * whole[i] : 0;
    copy.add(reads ? StridedDims::Dim{axis.size, step, dense} : StridedDims::Dim{axis.size, dense, step});
    dense *= axis.size;
    first += axis.begin * whole[i];
  }
  return copy;
}

template <class Engine>
struct RunStridedSlice {
  template <class T>
  static void run(KernelContext& c) {
    const StridedSlice slice = plan_strided_slice(c.shape(0), KnownIntegers(c.in(1)), KnownIntegers(c.in(2)),
                                                  KnownIntegers(c.in(3)), masks_of(c));
    int64_t first;
    const auto copy = slice_copy<typename Engine::Copy>(slice, strides_of(c.shape(0)), true, first);
    take_block<Engine, T>(c, copy, first);
  }
};

template <class Engine>
struct RunStridedSliceGrad {
  template <class T>
  static void run(KernelContext& c) {
    const StridedSlice slice = plan_strided_slice(c.out_shape(0), KnownIntegers(c.in(1)), KnownIntegers(c.in(2)),
                                                  KnownIntegers(c.in(3)), masks_of(c));
    if (!(slice.shape == c.shape(4))) {
      invalid("dy: expected the shape of the slice, {}, got {}", slice.shape.to_string(), c.shape(4).to_string());
    }
    int64_t first;
    const auto copy = slice_copy<typename Engine::Copy>(slice, strides_of(c.out_shape(0)), false, first);
    Engine::template place<T>(c, copy, c.data<T>(4), c.out_data<T>(0), c.out_numel(0), first, nullptr);
  }
};

// Writes input 4 into the slice of `whole` given by inputs 1 to 3 and the masks. Checks everything before writing.
template <class Engine, class T>
void write_slice(KernelContext& c, const Shape& shape, T* whole) {
  const StridedSlice slice =
      plan_strided_slice(shape, KnownIntegers(c.in(1)), KnownIntegers(c.in(2)), KnownIntegers(c.in(3)), masks_of(c));
  expect_slice(slice, c.shape(4));
  const Shape part(slice.shape);
  if (part.numel() == 0) return;
  int64_t first;
  const auto copy = slice_copy<typename Engine::Copy>(slice, strides_of(shape), false, first);
  if (c.shape(4) == part) return Engine::template copy<T>(c, copy, c.data<T>(4), whole + first);
  Tensor repeated = allocate_tensor(c.device(), c.in(4).dtype(), part);
  Engine::template copy<T>(c, broadcast_copy<typename Engine::Copy>(c.shape(4), part), c.data<T>(4),
                           mutable_data<T>(repeated));
  Engine::template copy<T>(c, copy, mutable_data<T>(repeated), whole + first);
}

template <class Engine>
struct RunSliceUpdate {
  template <class T>
  static void run(KernelContext& c) {
    typename Engine::Copy all;
    all.add({c.numel(0), 1, 1});
    Engine::template copy<T>(c, all, c.data<T>(0), c.out_data<T>(0));
    write_slice<Engine, T>(c, c.shape(0), c.out_data<T>(0));
  }
};

template <class Engine>
struct RunSliceAssign {
  template <class T>
  static void run(KernelContext& c) {
    VariableResource& variable = variable_of(c.in(0));
    state::check_dtype(variable, c.type("T"));
    variable.update(c.device(),
                    [&](Tensor& value) { write_slice<Engine, T>(c, value.shape(), mutable_data<T>(value)); });
  }
};

// The copy of Pad's input into its output. Sets `first` to the output element where the input begins.
template <class Copy>
Copy pad_copy(const KernelContext& c, int64_t& first) {
  const Shape& from = c.shape(0);
  const Strides in = strides_of(from);
  const Strides out = strides_of(c.out_shape(0));
  Copy copy;
  first = 0;
  for (int i = from.rank(); i-- > 0;) {
    const auto k = static_cast<size_t>(i);
    copy.add({from.dim(i), in[k], out[k]});
    first += host_integer(c.in(1), 2 * i) * out[k];
  }
  return copy;
}

// With input 2, a scalar, around input 0; or with zeros.
template <class Engine, bool kWithValue>
struct RunPad {
  template <class T>
  static void run(KernelContext& c) {
    int64_t first;
    const auto copy = pad_copy<typename Engine::Copy>(c, first);
    const T* rest = kWithValue ? c.data<T>(2) : nullptr;
    Engine::template place<T>(c, copy, c.data<T>(0), c.out_data<T>(0), c.out_numel(0), first, rest);
  }
};

}  // namespace moves
}  // namespace panto
