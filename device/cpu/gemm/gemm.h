// Products of large matrices: tiles of the result are computed on one thread each, by libraries (oneDNN for float and
// bfloat16, BLAS for double) or by our own tile_gemm where that is as fast, and the tiles are shared between threads.
//
// Left to themselves the libraries give other bits on other numbers of threads, because they may cut the inner
// dimension: oneDNN 2.6 for 64x64x64 and 1x512x512, OpenBLAS 0.3.21 from 96x96x96 on. How a plan cuts depends on the
// sizes only.
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

// True where one call of tile_gemm is as fast as a library, entrance included (measured on Zen 3 and AVX2).
bool is_small(const GemmSize& s);

template <class T>
MatrixRef<T> left_matrix(const GemmSize& s, const T* a) {
  return s.transpose_a ? MatrixRef<T>{a, 1, s.m} : MatrixRef<T>{a, s.k, 1};
}
template <class T>
MatrixRef<T> right_matrix(const GemmSize& s, const T* b) {
  return s.transpose_b ? MatrixRef<T>{b, 1, s.k} : MatrixRef<T>{b, s.n, 1};
}

// A constant right factor, copied in the layout that oneDNN's products of whole rows read best; otherwise they make
// that copy each time. (There is none without AVX-512, for tiles that are not whole rows and where tile_gemm
// multiplies.) On two Sapphire Rapids cores, of the time without: 4x2048 by 2048x512 0.54, by 2048x1000 0.59, 16x784 by
// 784x512 0.67, 16x300 by 300x200 0.94. Immutable; plans for other numbers of rows share copies.
class PackedFactor;

// Immutable; may be used by several threads at once.
class GemmPlan {
 public:
  // For float32, float64, or bfloat16 where has_bfloat16() (isa.h). `products`: so many of this size are computed
  // together; the more there are, the fewer tiles each needs. No size may be 0. Throws Internal or
  // ResourceExhausted where oneDNN fails.
  GemmPlan(DType dtype, const GemmSize& size, int64_t products = 1);
  ~GemmPlan();
  GemmPlan(const GemmPlan&) = delete;
  GemmPlan& operator=(const GemmPlan&) = delete;

  // Whether a plan for these would be no other.
  bool is_for(const GemmSize& size, int64_t products) const;
  // Tiles in all; they may be computed in any order, by any thread.
  int64_t tiles() const { return row_tiles_ * column_tiles_; }
  // Rows of the inner dimension that are multiplied at a time, where the result is too small to be shared and the inner
  // dimension long; else 1. Part p > 0 of every tile goes to a matrix of its own, to be added to part 0 in order.
  int64_t parts() const { return parts_; }
  // `right`, as `b` of runs to come, packed; null where that is of no use. The bits of products are the same.
  std::shared_ptr<const PackedFactor> pack(const Tensor& right) const;
  // On the calling thread. `c` is where the whole matrix (of this part) begins. `packed`: `b`, or null.
  void run_tile(int64_t tile, int64_t part, const void* a, const void* b, void* c,
                const PackedFactor* packed = nullptr) const;
  // Tiles [begin, end) of a plan without parts. Whole rows of tiles, and any tiles of a single row, are one call of
  // tile_gemm, which then copies the factors once and reads them to their ends: its bits do not depend on how the
  // result is cut.
  void run_tiles(int64_t begin, int64_t end, const void* a, const void* b, void* c, const TileCallback& done = {},
                 const PackedFactor* packed = nullptr) const;
  // Everything, on as many threads as are worth it. `done` hears, on the thread that made it, of each rectangle of c.
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
  GemmSize asked_, size_;  // the product that is asked for, and the one of the same memory that is computed
  int64_t row_tiles_ = 1, column_tiles_ = 1, parts_ = 1;
  int64_t tile_rows_, tile_columns_, part_depth_;
  std::unique_ptr<Primitives> primitives_;  // oneDNN's, one for each size of tile there is; null where others multiply
};

// The plan for these sizes, from a cache of this thread's that keeps the most recently used ones.
std::shared_ptr<const GemmPlan> cached_gemm_plan(DType dtype, const GemmSize& size, int64_t products = 1);
// Plans that the calling thread's cache has made so far: for tests.
PANTO_EXPORT int64_t gemm_plans_made();
// Factors that are packed at the moment, in all threads: for tests.
PANTO_EXPORT int64_t packed_factors_alive();

}  // namespace panto::cpu
