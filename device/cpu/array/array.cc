// Moving elements: order, repetition, joining, splitting, slicing, padding. Every dtype.

#include "panto/device/array_kernels.h"

#include <algorithm>

#include "panto/device/cpu/array/strided_copy.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/unquantized.h"
#include "panto/lib/ops/array_types.h"

namespace panto {
namespace {

struct Engine {
  using Copy = cpu::StridedCopy;
  template <class T>
  static void copy(KernelContext&, const Copy& copy, const T* in, T* out) {
    copy.run(in, out);
  }
  template <class T>
  static void place(KernelContext&, const Copy& copy, const T* in, T* out, int64_t n, int64_t first, const T* rest) {
    if (copy.count() < n) std::fill_n(out, n, rest != nullptr ? *rest : T{});
    if (copy.count() > 0) copy.run(in, out + first);
  }
  template <class T>
  static void join(KernelContext&, int64_t outer, int64_t whole, std::span<const Piece<const T>> pieces, T* out) {
    for (const auto& [in, row] : pieces) {
      if (row == 1 && outer == 1) {  // scalars
        *out = *in;
      } else {
        rows(outer, row, row, whole).run(in, out);
      }
      out += row;
    }
  }
  template <class T>
  static void split(KernelContext&, int64_t outer, int64_t whole, const T* in, std::span<const Piece<T>> pieces) {
    for (const auto& [out, row] : pieces) {
      rows(outer, row, whole, row).run(in, out);
      in += row;
    }
  }

 private:
  // Copies `outer` rows of `row` elements; the row strides are `in` and `out`.
  static Copy rows(int64_t outer, int64_t row, int64_t in, int64_t out) {
    Copy copy;
    copy.add({row, 1, 1});
    copy.add({outer, in, out});
    return copy;
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

const CpuKernel reverse_kernel("ReverseV2", types::every{}, moves::RunReverse<Engine>{});
const CpuKernel roll_kernel("Roll", types::every{}, moves::RunRoll<Engine>{});
const CpuKernel transpose_kernel("Transpose", types::every{}, moves::RunTranspose<Engine>{});
const CpuKernel invert_permutation_kernel("InvertPermutation", types::index{}, RunInvertPermutation{});
const CpuKernel broadcast_to_kernel("BroadcastTo", types::every{}, moves::RunBroadcastTo<Engine>{});
const CpuKernel tile_kernel("Tile", types::every{}, moves::RunTile<Engine>{});

const CpuKernel space_to_depth_kernel("SpaceToDepth", types::every{}, moves::RunImageBlocks<Engine, true>{});
const CpuKernel depth_to_space_kernel("DepthToSpace", types::every{}, moves::RunImageBlocks<Engine, false>{});
const UnquantizedKernel<"CPU", moves::RunDiag<Engine>> diag_kernel("Diag", OpTypes<"Diag">::kTypes);
const UnquantizedKernel<"CPU", moves::RunDiagPart<Engine>> diag_part_kernel("DiagPart", OpTypes<"DiagPart">::kTypes);

const CpuKernel concat_kernel("ConcatV2", types::every{}, moves::RunConcat<Engine>{});
const CpuKernel pack_kernel("Pack", types::every{}, moves::RunPack<Engine>{});
const CpuKernel split_kernel("Split", types::every{}, moves::RunSplit<Engine>{});
const CpuKernel split_v_kernel("SplitV", types::every{}, moves::RunSplitV<Engine>{});
const CpuKernel unpack_kernel("Unpack", types::every{}, moves::RunUnpack<Engine>{});

// Ops that fill in zeros are not registered for types without a zero.
const CpuKernel slice_kernel("Slice", types::every{}, moves::RunSlice<Engine>{});
const CpuKernel strided_slice_kernel("StridedSlice", types::every{}, moves::RunStridedSlice<Engine>{});
const CpuKernel strided_slice_grad_kernel("StridedSliceGrad", types::plain{}, moves::RunStridedSliceGrad<Engine>{});
// An empty variant acts as zero when gradients of variants are added.
const CpuKernel strided_slice_grad_other_kernel("StridedSliceGrad", TypeList<std::string, Variant>{},
                                                moves::RunStridedSliceGrad<Engine>{});
const CpuKernel slice_update_kernel("TensorStridedSliceUpdate", types::every{}, moves::RunSliceUpdate<Engine>{});
const CpuKernel slice_assign_kernel("ResourceStridedSliceAssign", types::plain{}, moves::RunSliceAssign<Engine>{});
const CpuKernel pad_kernel("Pad", types::plain{}, moves::RunPad<Engine, false>{});
const CpuKernel pad_string_kernel("Pad", TypeList<std::string>{}, moves::RunPad<Engine, false>{});
const CpuKernel pad_with_kernel("PadV2", types::every{}, moves::RunPad<Engine, true>{});

}  // namespace
}  // namespace panto
