// Products of large matrices. The result is cut into tiles, which are shared between threads. Each tile is computed on
// one thread, by a library (oneDNN for float and bfloat16, BLAS for double) or by our own tile_gemm where it is as
// fast.
//
// The libraries' own threading gives different bits for different numbers of threads, because they may cut the inner
// dimension: oneDNN 2.6 for 64x64x64 and 1x512x512, OpenBLAS 0.3.21 from 96x96x96 on. A plan here is cut by the sizes
// only.
#pragma once

#include <cstdint>
#include <memory>

#include "panto/device/cpu/gemm/tile_gemm.h"
#include "panto/device/shape/gemm_size.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/dtype.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto::cpu {

using panto::GemmSize;

// True if one call of tile_gemm is as fast as a library call with its overhead (measured on Zen 3 and AVX2).
bool is_small(const GemmSize& s);

template <class T>
MatrixRef<T> left_matrix(const GemmSize& s, const T* a) {
  return s.transpose_a ? MatrixRef<T>{a, 1, s.m} : MatrixRef<T>{a, s.k, 1};
}
template <class T>
MatrixRef<T> right_matrix(const GemmSize& s, const T* b) {
  return s.transpose_b ? MatrixRef<T>{b, 1, s.k} : MatrixRef<T>{b, s.n, 1};
}

// A constant right factor, copied to the layout that oneDNN reads best in products of whole rows; without it oneDNN
// makes that copy in each call. (Not made without AVX-512, for tiles that are not whole rows, and if tile_gemm
// multiplies.) Time as a fraction of that without it, on two Sapphire Rapids cores: 4x2048 by 2048x512 0.54, by
// 2048x1000 0.59, 16x784 by 784x512 0.67, 16x300 by 300x200 0.94. Immutable; plans for other numbers of rows share
// copies.
class PackedFactor;

// Immutable; may be used by several threads at once.
class GemmPlan {
 public:
  // For float32, float64, or bfloat16 if has_bfloat16() (isa.h). `products`: the number of products of this size that
  // are computed together; the more, the fewer tiles each needs. No size may be 0. Throws Internal or ResourceExhausted
  // if oneDNN fails.
  GemmPlan(DType dtype, const GemmSize& size, int64_t products = 1);
  ~GemmPlan();
  GemmPlan(const GemmPlan&) = delete;
  GemmPlan& operator=(const GemmPlan&) = delete;

  // Whether a plan for these arguments would be the same.
  bool is_for(const GemmSize& size, int64_t products) const;
  // The number of tiles. They may be computed in any order, by any thread.
  int64_t tiles() const { return row_tiles_ * column_tiles_; }
  // The number of parts into which the inner dimension is cut: more than 1 if it is long and the result is too small to
  // be shared between threads. Part p > 0 of every tile is written to a separate matrix; the caller adds these to part
  // 0 in order.
  int64_t parts() const { return parts_; }
  // Packs `right` for use as `b` in later runs; null if packing does not help. Packing does not change the bits of
  // results.
  std::shared_ptr<const PackedFactor> pack(const Tensor& right) const;
  // Computes a tile on the calling thread. `c`: the whole matrix of this part. `packed`: the packed `b`, or null.
  void run_tile(int64_t tile, int64_t part, const void* a, const void* b, void* c,
                const PackedFactor* packed = nullptr) const;
  // Computes tiles [begin, end) of a plan without parts. Whole rows of tiles, and any tiles of a single row, are one
  // call of tile_gemm, which then copies the factors once and reads them to their ends. The bits do not depend on how
  // the result is cut.
  void run_tiles(int64_t begin, int64_t end, const void* a, const void* b, void* c, const TileCallback& done = {},
                 const PackedFactor* packed = nullptr) const;
  // Computes the whole product on as many threads as are worth it. `done` is called for each rectangle of c, on the
  // thread that computed it.
  void run(const void* a, const void* b, void* c, const TileCallback& done = {},
           const PackedFactor* packed = nullptr) const;

 private:
  friend class PackedFactor;
  struct Primitives;
  bool by_tile_gemm() const { return dtype_ == kFloat32 && primitives_ == nullptr; }
  void run_rectangle(int64_t row, int64_t rows, int64_t column, int64_t columns, int64_t depth, int64_t depths,
                     const void* a, const void* b, void* c, const TileCallback& done, const PackedFactor* packed) const;

  DType dtype_;
  int64_t products_;
  GemmSize asked_, size_;  // the product asked for, and the one computed, of the same memory
  int64_t row_tiles_ = 1, column_tiles_ = 1, parts_ = 1;
  int64_t tile_rows_, tile_columns_, part_depth_;
  std::unique_ptr<Primitives> primitives_;  // oneDNN's, one for each size of tile; null if others multiply
};

// Returns the plan for these sizes, from a least-recently-used cache of this thread.
std::shared_ptr<const GemmPlan> cached_gemm_plan(DType dtype, const GemmSize& size, int64_t products = 1);
// How many plans the calling thread's cache has made so far. For tests.
PANTO_EXPORT int64_t gemm_plans_made();
// How many packed factors exist at the moment, in all threads. For tests.
PANTO_EXPORT int64_t packed_factors_alive();

}  // namespace panto::cpu
