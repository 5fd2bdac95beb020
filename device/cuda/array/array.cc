// Moving elements: order, repetition, joining, splitting, slicing, padding. Every plain dtype.

#include "panto/device/array_kernels.h"
#include "panto/device/cuda/array/array_index.h"
#include "panto/device/cuda/array/strided_copy.h"
#include "panto/device/cuda/kernel.h"
#include "panto/device/unquantized.h"
#include "panto/lib/ops/array_types.h"

namespace panto {
namespace {

struct Engine {
  using Copy = StridedDims;
  template <class T>
  static void copy(KernelContext& c, const Copy& copy, const T* in, T* out) {
    cuda::strided_copy(cuda::device_of(c), copy, sizeof(T), in, out);
  }
  template <class T>
  static void place(KernelContext& c, const Copy& copy, const T* in, T* out, int64_t n, int64_t first, const T* rest) {
    cuda::strided_place(cuda::device_of(c), copy, sizeof(T), in, out, n, first, rest);
  }
  template <class T>
  static void join(KernelContext& c, int64_t outer, int64_t whole, std::span<const Piece<const T>> pieces, T* out) {
    SmallVector<cuda::RowPart, 8> parts;
    for (const Piece<const T>& p : pieces) parts.push_back({const_cast<T*>(p.data), p.row});  // only read
    cuda::move_rows(cuda::device_of(c), cuda::Rows::kJoin, outer, whole, sizeof(T), out, parts);
  }
  template <class T>
  static void split(KernelContext& c, int64_t outer, int64_t whole, const T* in, std::span<const Piece<T>> pieces) {
    SmallVector<cuda::RowPart, 8> parts;
    for (const Piece<T>& p : pieces) parts.push_back({p.data, p.row});
    cuda::move_rows(cuda::device_of(c), cuda::Rows::kSplit, outer, whole, sizeof(T), const_cast<T*>(in), parts);
  }
};

const CudaKernel reverse_kernel("ReverseV2", types::plain{}, moves::RunReverse<Engine>{});
const CudaKernel roll_kernel("Roll", types::plain{}, moves::RunRoll<Engine>{});
const CudaKernel transpose_kernel("Transpose", types::plain{}, moves::RunTranspose<Engine>{});
const CudaKernel invert_permutation_kernel("InvertPermutation", types::index{}, []<class T>(KernelContext& c) {
  cuda::invert_permutation(cuda::device_of(c), c.data<T>(0), c.out_data<T>(0), c.numel(0));
});
const CudaKernel broadcast_to_kernel("BroadcastTo", types::plain{}, moves::RunBroadcastTo<Engine>{});
const CudaKernel tile_kernel("Tile", types::plain{}, moves::RunTile<Engine>{});

const CudaKernel space_to_depth_kernel("SpaceToDepth", types::plain{}, moves::RunImageBlocks<Engine, true>{});
const CudaKernel depth_to_space_kernel("DepthToSpace", types::plain{}, moves::RunImageBlocks<Engine, false>{});
const UnquantizedKernel<"GPU", moves::RunDiag<Engine>> diag_kernel("Diag", OpTypes<"Diag">::kTypes);
const UnquantizedKernel<"GPU", moves::RunDiagPart<Engine>> diag_part_kernel("DiagPart", OpTypes<"DiagPart">::kTypes);

const CudaKernel concat_kernel("ConcatV2", types::plain{}, moves::RunConcat<Engine>{});
const CudaKernel pack_kernel("Pack", types::plain{}, moves::RunPack<Engine>{});
const CudaKernel split_kernel("Split", types::plain{}, moves::RunSplit<Engine>{});
const CudaKernel split_v_kernel("SplitV", types::plain{}, moves::RunSplitV<Engine>{});
const CudaKernel unpack_kernel("Unpack", types::plain{}, moves::RunUnpack<Engine>{});

const CudaKernel slice_kernel("Slice", types::plain{}, moves::RunSlice<Engine>{});
const CudaKernel strided_slice_kernel("StridedSlice", types::plain{}, moves::RunStridedSlice<Engine>{});
const CudaKernel strided_slice_grad_kernel("StridedSliceGrad", types::plain{}, moves::RunStridedSliceGrad<Engine>{});
const CudaKernel slice_update_kernel("TensorStridedSliceUpdate", types::plain{}, moves::RunSliceUpdate<Engine>{});
const CudaKernel slice_assign_kernel("ResourceStridedSliceAssign", types::plain{}, moves::RunSliceAssign<Engine>{});
const CudaKernel pad_kernel("Pad", types::plain{}, moves::RunPad<Engine, false>{});
const CudaKernel pad_with_kernel("PadV2", types::plain{}, moves::RunPad<Engine, true>{});

}  // namespace
}  // namespace panto
