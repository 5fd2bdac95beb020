#include "panto/device/cpu/gemm/gemm.h"

#include <xtensor-blas/xblas.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "panto/device/cpu/gemm/gemm_packed.h"
#include "panto/device/cpu/one_thread.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/vendor.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::cpu {
namespace {

// Multiplications per tile if there are few tiles. On two Zen 4 cores 1000x40 by 40x32 takes 24 us as one tile, 14 as
// two.
constexpr int64_t kTileWork = 512 << 10;
constexpr int64_t kManyTilesWork = 8 << 20;  // for more work: the number of tiles is sqrt(work / kManyTilesWork)
constexpr int64_t kEqualTiles = 8;           // up to this many tiles are "few"
constexpr int64_t kMinRows = 64;             // of a tile, if there are several
constexpr int64_t kMinColumns = 64;
constexpr int64_t kRowColumns = 512;                // the same for products with so few rows
constexpr int64_t kRowWork = 256 << 10;             // that reading takes longer than multiplying
constexpr int64_t kMaxTiles = 256;                  // whatever the number of processors; but more tiles if
constexpr int64_t kMaxTileWork = int64_t{1} << 31;  // one took a tenth of a second, since a tile cannot be cancelled
constexpr int64_t kFewTiles = 8;                    // up to this many tiles a long inner dimension is cut, too,
constexpr int64_t kPartDepth = 8 * 1024;            // in parts of at least this size,
constexpr int64_t kPartElements = 64 * 1024;        // if the results of all parts stay small
constexpr int64_t kMaxParts = 64;
constexpr size_t kCachedPlans = 64;    // per thread
constexpr int64_t kCacheLine = 16;     // elements; tiles begin at columns that are multiples
constexpr int64_t kRowMultiple = 4;    // tiles begin at rows that are multiples, which keeps halves equal
constexpr int64_t kTileGemmRows = 12;  // narrower products leave tile_gemm's vectors empty or copy more than they use
constexpr int64_t kTileGemmColumns = 16;

int64_t round_up(int64_t n, int64_t multiple) { return ceil_div(n, multiple) * multiple; }

// True if reading the right factor takes longer than multiplying it: tile_gemm is faster then, since libraries copy it.
// With more than two rows of `a` the rows of the right factor must be long, too.
bool is_few_rows_by_matrix(const GemmSize& s) {
  constexpr int64_t kMinElements = 256 << 10;
  if (s.transpose_b || s.n < kTileGemmColumns) return false;
  if (s.m <= 1) return true;
  if (s.n * s.k < kMinElements) return false;
  const bool wide = s.n >= s.k / 2;
  return s.m <= 2 || (wide && s.m <= (s.n >= 1536 ? kRowsAtOnce : kRowsAtOnce / 2));
}

// A matrix times a column is the mirrored product, a row times a matrix, in the same memory. Libraries and tile_gemm
// are good at rows.
bool is_matrix_by_column(const GemmSize& s) { return s.n == 1 && s.m > 1; }
GemmSize mirrored(const GemmSize& s) {
  return {.m = s.n, .n = s.m, .k = s.k, .transpose_a = !s.transpose_b, .transpose_b = !s.transpose_a};
}

// oneDNN 2.6 does not copy `b` for up to some hundred rows of `a`. If the rows of `b` are a multiple of 8 KiB apart, it
// takes up to three times as long: 64x1024 by 1024x4096 6.2 ms on two Sapphire Rapids cores, by 1024x4112 2.1 ms;
// tile_gemm, which copies rows in the order in which they lie, 3.0 ms for either. Not so on AMD: on two Zen 4 cores 2.6
// ms, by tile_gemm 3.2.
bool has_rows_in_each_others_way(const GemmSize& s) {
  return !is_amd() && !s.transpose_b && s.m > kRowsAtOnce && s.m < 128 && s.n % kFarApart == 0;
}

bool for_tile_gemm(const GemmSize& s) {
  return is_few_rows_by_matrix(s) || has_rows_in_each_others_way(s) ||
         (tile_gemm_is_fast() && s.m >= kTileGemmRows && s.n >= kTileGemmColumns);
}

// More than kEqualTiles products do not change how each is cut.
int64_t some(int64_t products) { return std::clamp<int64_t>(products, 1, kEqualTiles); }

// Calls BLAS through xtensor-blas.
void blas_rectangle(const GemmSize& s, const Rectangle& r, const double* a, const double* b, double* c) {
  using cxxblas::Transpose;
  cxxblas::gemm<xt::blas_index_t>(
      cxxblas::StorageOrder::RowMajor, s.transpose_a ? Transpose::Trans : Transpose::NoTrans,
      s.transpose_b ? Transpose::Trans : Transpose::NoTrans, static_cast<int>(r.rows), static_cast<int>(r.columns),
      static_cast<int>(r.depth), 1., a, static_cast<int>(s.transpose_a ? s.m : s.k), b,
      static_cast<int>(s.transpose_b ? s.k : s.n), 0., c, static_cast<int>(s.n));
}

template <class T>
void add_parts(T* c, const T* more, int64_t n, int64_t parts) {
  parallel_ranges(n, n * parts * static_cast<int64_t>(sizeof(T)), [&](int64_t begin, int64_t end) {
    for (int64_t p = 0; p < parts; ++p) {
      for (int64_t i = begin; i < end; ++i) c[i] += more[p * n + i];
    }
  });
}

}  // namespace

bool is_small(const GemmSize& s) {
  const int64_t w = s.work();
  if (w <= 4 * 1024) return true;
  // With a single column vectors stay empty; packing a transposed `b` must pay, too.
  if (s.n == 1 || (s.transpose_b && s.m < 8)) return false;
  return w <= (s.m == 1 ? 64 * 1024 : 256 * 1024);
}

GemmPlan::GemmPlan(DType dtype, const GemmSize& size, int64_t products)
    : dtype_(dtype),
      products_(some(products)),
      asked_(size),
      size_(is_matrix_by_column(size) ? mirrored(size) : size),
      tile_rows_(size_.m),
      tile_columns_(size_.n),
      part_depth_(size_.k) {
  // Halves the longer side as long as tiles are large enough. So the number of tiles is usually a power of two, and
  // threads get equal shares. Tiles below kMinRows and kMinColumns cost up to a third of the speed; too few tiles leave
  // threads without work.
  const int64_t work = size_.work();
  const bool few_rows = dtype == kFloat32 && is_few_rows_by_matrix(size_);
  const auto wanted = std::max(std::min(kEqualTiles, work / (few_rows ? kRowWork : kTileWork)) / products_,
                               static_cast<int64_t>(std::sqrt(static_cast<double>(work / kManyTilesWork))));
  const int64_t min_columns = few_rows ? kRowColumns : kMinColumns;
  // Limited by the number of processors: two halves of 64x512x1024 take oneDNN two thirds of the time of eight parts.
  const int64_t most = std::max(std::min({kMaxTiles, tiles_for_processors(), wanted}), work / kMaxTileWork);
  while (2 * tiles() <= most) {
    const bool rows = tile_rows_ > tile_columns_ ? tile_rows_ >= 2 * kMinRows : tile_columns_ < 2 * min_columns;
    int64_t& side = rows ? tile_rows_ : tile_columns_;
    if (side < 2 * (rows ? kMinRows : min_columns)) break;
    side = round_up(ceil_div(side, 2), rows ? kRowMultiple : kCacheLine);
    row_tiles_ = ceil_div(size_.m, tile_rows_);
    column_tiles_ = ceil_div(size_.n, tile_columns_);
  }
  const int64_t elements = size_.m * size_.n;
  // Not in bfloat16: the sum of each part would be rounded once more.
  if (dtype != kBFloat16 && tiles() <= kFewTiles && size_.k >= 2 * kPartDepth && elements <= kPartElements) {
    const int64_t parts = std::min({size_.k / kPartDepth, kMaxParts});
    part_depth_ = round_up(ceil_div(size_.k, parts), kCacheLine);
    parts_ = ceil_div(size_.k, part_depth_);
  }
  if (dtype == kFloat64 || (dtype == kFloat32 && for_tile_gemm(size_))) return;
  const OneThread scope;  // oneDNN makes a primitive for a given number of threads
  primitives_ = std::make_unique<Primitives>();
  for (int64_t rows : {tile_rows_, size_.m - (row_tiles_ - 1) * tile_rows_}) {
    for (int64_t columns : {tile_columns_, size_.n - (column_tiles_ - 1) * tile_columns_}) {
      for (int64_t depth : {part_depth_, size_.k - (parts_ - 1) * part_depth_}) {
        const Rectangle r{rows, columns, depth};
        if (primitives_->find(r) == nullptr) primitives_->add(dtype, size_, r, right_desc(dtype, size_, r));
      }
    }
  }
}

GemmPlan::~GemmPlan() = default;

bool GemmPlan::is_for(const GemmSize& size, int64_t products) const {
  return asked_ == size && products_ == some(products);
}

std::shared_ptr<const PackedFactor> GemmPlan::pack(const Tensor& right) const {
  if (primitives_ == nullptr || is_matrix_by_column(asked_)) return nullptr;
  return PackedFactor::make(*this, right);
}

void GemmPlan::run_tile(int64_t tile, int64_t part, const void* a, const void* b, void* c,
                        const PackedFactor* packed) const {
  const int64_t row = tile / column_tiles_ * tile_rows_;
  const int64_t column = tile % column_tiles_ * tile_columns_;
  const int64_t depth = part * part_depth_;
  run_rectangle(row, std::min(tile_rows_, size_.m - row), column, std::min(tile_columns_, size_.n - column), depth,
                std::min(part_depth_, size_.k - depth), a, b, c, {}, packed);
}

void GemmPlan::run_rectangle(int64_t row, int64_t rows, int64_t column, int64_t columns, int64_t depth, int64_t depths,
                             const void* a, const void* b, void* c, const TileCallback& done,
                             const PackedFactor* packed) const {
  const Rectangle r{rows, columns, depths};
  const bool turned = is_matrix_by_column(asked_);
  if (turned) std::swap(a, b);
  const int64_t a_offset = size_.transpose_a ? depth * size_.m + row : row * size_.k + depth;
  const int64_t b_offset = size_.transpose_b ? column * size_.k + depth : depth * size_.n + column;
  const int64_t c_offset = row * size_.n + column;
  if (by_tile_gemm()) {
    const MatrixRef<float> left = left_matrix(size_, static_cast<const float*>(a) + a_offset);
    const MatrixRef<float> right = right_matrix(size_, static_cast<const float*>(b) + b_offset);
    // Translates rectangles of the computed product to the asked one, which may be its mirror image.
    const auto in_all = [&](int64_t i, int64_t height, int64_t j, int64_t width) {
      turned ? done(column + j, width, row + i, height) : done(row + i, height, column + j, width);
    };
    return tile_gemm(r.rows, r.columns, r.depth, left, right, static_cast<float*>(c) + c_offset, size_.n,
                     done ? TileCallback(in_all) : TileCallback());
  }
  throw_if_cancelled();
  const OneThread scope;
  if (primitives_ != nullptr) {
    const auto size = static_cast<int64_t>(dtype_size(dtype_));
    const char* left = static_cast<const char*>(a) + a_offset * size;
    char* product = static_cast<char*>(c) + c_offset * size;
    if (packed != nullptr) {
      packed->multiply(r, depth / part_depth_ * column_tiles_ + column / tile_columns_, left, product);
    } else {
      primitives_->find(r)->run(left, static_cast<const char*>(b) + b_offset * size, product);
    }
  } else {
    blas_rectangle(size_, r, static_cast<const double*>(a) + a_offset, static_cast<const double*>(b) + b_offset,
                   static_cast<double*>(c) + c_offset);
  }
  turned ? done(column, columns, row, rows) : done(row, rows, column, columns);
}

void GemmPlan::run_tiles(int64_t begin, int64_t end, const void* a, const void* b, void* c, const TileCallback& done,
                         const PackedFactor* packed) const {
  if (by_tile_gemm() && row_tiles_ == 1 && begin < end) {
    const int64_t column = begin * tile_columns_;
    return run_rectangle(0, size_.m, column, std::min(end * tile_columns_, size_.n) - column, 0, size_.k, a, b, c, done,
                         packed);
  }
  while (begin < end) {
    const int64_t first = begin % column_tiles_;
    const int64_t full_rows = (end - begin) / column_tiles_;
    const bool band = by_tile_gemm() && first == 0 && full_rows > 0;
    const int64_t row = begin / column_tiles_ * tile_rows_, column = first * tile_columns_;
    const int64_t rows = std::min(band ? full_rows * tile_rows_ : tile_rows_, size_.m - row);
    const int64_t columns = band ? size_.n : std::min(tile_columns_, size_.n - column);
    run_rectangle(row, rows, column, columns, 0, size_.k, a, b, c, done, packed);
    begin += band ? full_rows * column_tiles_ : 1;
  }
}

void GemmPlan::run(const void* a, const void* b, void* c, const TileCallback& done, const PackedFactor* packed) const {
  if (parts_ == 1) {
    return parallel_for(
        tiles(), size_.work(), [&](int64_t begin, int64_t end) { run_tiles(begin, end, a, b, c, done, packed); }, 1);
  }
  const int64_t elements = size_.m * size_.n;
  const Tensor more = allocate_tensor(cpu_device(), dtype_, Shape{parts_ - 1, elements});
  parallel_ranges(
      tiles() * parts_, size_.work(),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t tile = i / parts_, part = i % parts_;
          char* target = static_cast<char*>(c);
          if (part > 0) {
            target = mutable_data<char>(more) + (part - 1) * elements * static_cast<int64_t>(dtype_size(dtype_));
          }
          run_tile(tile, part, a, b, target, packed);
        }
      },
      1);
  if (dtype_ == kFloat32) {
    add_parts(static_cast<float*>(c), mutable_data<float>(more), elements, parts_ - 1);
  } else {
    add_parts(static_cast<double*>(c), mutable_data<double>(more), elements, parts_ - 1);
  }
  done(0, asked_.m, 0, asked_.n);
}

namespace {

struct PlanCache {
  struct Entry {
    DType dtype;
    std::shared_ptr<const GemmPlan> plan;
    int64_t last_use;
  };
  std::vector<Entry> entries;
  int64_t uses = 0;
  int64_t made = 0;
};

PlanCache& plan_cache() {
  thread_local PlanCache cache;
  return cache;
}

}  // namespace

std::shared_ptr<const GemmPlan> cached_gemm_plan(DType dtype, const GemmSize& size, int64_t products) {
  PlanCache& cache = plan_cache();
  const int64_t now = ++cache.uses;
  PlanCache::Entry* oldest = nullptr;
  for (PlanCache::Entry& e : cache.entries) {
    if (e.dtype == dtype && e.plan->is_for(size, products)) {
      e.last_use = now;
      return e.plan;
    }
    if (oldest == nullptr || e.last_use < oldest->last_use) oldest = &e;
  }
  PlanCache::Entry made{dtype, std::make_shared<const GemmPlan>(dtype, size, products), now};
  ++cache.made;
  if (cache.entries.size() < kCachedPlans) {
    cache.entries.push_back(std::move(made));
    return cache.entries.back().plan;
  }
  *oldest = std::move(made);
  return oldest->plan;
}

int64_t gemm_plans_made() { return plan_cache().made; }

}  // namespace panto::cpu
