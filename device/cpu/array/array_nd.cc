// Gathering and scattering by positions in several dimensions, and bands of matrices. Positions are checked before they
// are used.
#include <algorithm>
#include <cstdint>

#include "panto/device/cpu/array/rows_in_part.h"
#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/elementwise/inner_loop.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/functors.h"
#include "panto/device/math/vocabulary.h"
#include "panto/device/op_kernels.h"
#include "panto/device/scratch.h"
#include "panto/device/shape/diagonals.h"
#include "panto/device/shape/indexing.h"
#include "panto/device/shape/positions.h"
#include "panto/device/unquantized.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/array_types.h"

namespace panto {
namespace {

struct RunGatherNd {
  template <class T>
  static void run(KernelContext& c) {
    const Positions positions(c.shape(1), c.shape(0));
    const T* params = c.data<T>(0);
    T* out = c.out_data<T>(0);
    with_index_type(c.in(1).dtype(), [&]<class Index>() {
      const auto* indices = c.data<Index>(1);
      for (int64_t r = 0; r < positions.rows; ++r) positions.at(indices, r);
      if (c.out_numel(0) == 0) return;
      cpu::parallel_ranges(
          positions.rows, c.out_numel(0) * static_cast<int64_t>(2 * sizeof(T)),
          [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; ++r) {
              std::copy_n(params + positions.at(indices, r), positions.inner, out + r * positions.inner);
            }
          },
          1);
    });
  }
};

// Joins each row of updates (the input after `indices`) with the output row at its place. Each thread owns a part of
// the output and scans all places, so rows for the same place are joined in order.
template <class Join, class T>
void scatter(KernelContext& c, int indices, const Positions& positions, T* out) {
  constexpr int64_t kPiece = 1 << 16;  // elements
  const int64_t inner = positions.inner;
  const T* updates = c.data<T>(indices + 1);
  const Scratch<int64_t> scratch(c.device(), positions.rows);
  int64_t* const places = scratch.data();
  with_index_type(c.in(indices).dtype(), [&]<class Index>() {
    const auto* index = c.data<Index>(indices);
    for (int64_t r = 0; r < positions.rows; ++r) places[r] = positions.at(index, r);
  });
  if (inner == 0) return;
  cpu::parallel_for(
      c.out_numel(0) / inner, positions.rows * inner * static_cast<int64_t>(4 * sizeof(T)),
      [&](int64_t begin, int64_t end) {
        cpu::in_pieces(positions.rows, std::max<int64_t>(1, kPiece / inner), [&](int64_t first, int64_t last) {
          cpu::multiversioned_for<T>([&] {
            const auto place = [&](int64_t r) { return places[r]; };
            const auto in_out = [&](int64_t r) { return out + places[r]; };
            cpu::for_rows_in_part(first, last, begin * inner, end * inner, place, in_out, inner, [&](int64_t r, T* to) {
              const T* from = updates + r * inner;
              PANTO_INDEPENDENT
              for (int64_t i = 0; i < inner; ++i) to[i] = Join{}(to[i], from[i]);
            });
          });
        });
      },
      1);
}

struct RunScatterNd {
  template <class T>
  static void run(KernelContext& c) {
    const Positions positions(c.shape(0), c.out_shape(0));
    T* out = c.out_data<T>(0);
    std::fill_n(out, c.out_numel(0), T{});
    scatter<AddFn>(c, 0, positions, out);
  }
};

struct RunTensorScatterUpdate {
  template <class T>
  static void run(KernelContext& c) {
    const Positions positions(c.shape(1), c.shape(0));
    const T* updates = c.data<T>(2);
    T* out = c.out_data<T>(0);
    std::copy_n(c.data<T>(0), c.out_numel(0), out);
    with_index_type(c.in(1).dtype(), [&]<class Index>() {
      const auto* indices = c.data<Index>(1);
      for (int64_t r = 0; r < positions.rows; ++r) {
        std::copy_n(updates + r * positions.inner, positions.inner, out + positions.at(indices, r));
      }
    });
  }
};

template <class Combine>
struct RunTensorScatter {
  template <class T>
  static void run(KernelContext& c) {
    const Positions positions(c.shape(1), c.shape(0));
    T* out = c.out_data<T>(0);
    std::copy_n(c.data<T>(0), c.out_numel(0), out);
    scatter<Combine>(c, 1, positions, out);
  }
};

struct RunBandPart {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Band band(c);
    const int64_t columns = band.columns;
    const T* x = c.data<T>(0);
    T* y = c.out_data<T>(0);
    cpu::parallel_ranges(
        c.numel(0) / columns, c.numel(0) * static_cast<int64_t>(2 * sizeof(T)),
        [&](int64_t first, int64_t last) {
          for (int64_t r = first; r < last; ++r) {
            const int64_t begin = std::min(band.begin(r % band.rows), columns), end = band.end(r % band.rows);
            std::fill_n(y + r * columns, columns, T{});
            if (begin < end) std::copy(x + r * columns + begin, x + r * columns + end, y + r * columns + begin);
          }
        },
        1);
  }
};

const CpuKernel gather_nd_kernel("GatherNd", types::every{}, RunGatherNd{});
const CpuKernel scatter_nd_kernel("ScatterNd", types::of<"ScatterNd">{}, InWider<RunScatterNd>{});
const CpuKernel tensor_scatter_update_kernel("TensorScatterUpdate", types::every{}, RunTensorScatterUpdate{});
const CpuKernel tensor_scatter_add_kernel("TensorScatterAdd", types::of<"TensorScatterAdd">{},
                                          InWider<RunTensorScatter<AddFn>>{});
const CpuKernel tensor_scatter_sub_kernel("TensorScatterSub", types::of<"TensorScatterSub">{},
                                          InWider<RunTensorScatter<SubFn>>{});
const CpuKernel tensor_scatter_max_kernel("TensorScatterMax", types::of<"TensorScatterMax">{},
                                          InWider<RunTensorScatter<MaximumFn>>{});
const CpuKernel tensor_scatter_min_kernel("TensorScatterMin", types::of<"TensorScatterMin">{},
                                          InWider<RunTensorScatter<MinimumFn>>{});
const UnquantizedKernel<"CPU", RunBandPart> band_part_kernel("MatrixBandPart");

}  // namespace
}  // namespace panto
