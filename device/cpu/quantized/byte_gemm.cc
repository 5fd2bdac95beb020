#include "panto/device/cpu/quantized/byte_gemm.h"

#include <algorithm>

#include "panto/device/cpu/device.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/quantized/byte_rows.h"
#include "panto/device/cpu/quantized/byte_tiles.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::cpu {
namespace {

constexpr int64_t kRowsAtOnce = 96;  // their elements stay in the L2 cache while panels stream by

// The left factor is packed as uint8, the right one as int8. Adding or subtracting 128 both flip the highest bit.
uint8_t flip(bool flips) { return flips ? 0x80 : 0; }

// Rows of a in the order in which a tile reads them, and the rows' sums.
template <class Tile>
class LeftRows {
 public:
  LeftRows(int64_t k, int64_t groups, int64_t most, const ByteMatrix& a) : a_(a), k_(k), depth_(groups * Tile::kDepth) {
    const int64_t rows = ceil_div(most, Tile::kRows) * Tile::kRows;
    copies_ = !Tile::kPlainRows || a.column != 1 || a.is_signed || k != depth_;
    if (copies_) rows_.resize(static_cast<size_t>(rows * depth_));
    sums_.resize(static_cast<size_t>(rows));
  }

  // Takes rows [first, first + count) of a.
  void take(int64_t first, int64_t count) {
    first_ = first;
    if constexpr (Tile::kPlainRows) {
      multiversioned([&] { take_plain(count); });
    } else {
      pack(count);
    }
  }
  uint32_t sum(int64_t i) const { return sums_[static_cast<size_t>(i)]; }

  // Multiplies the `rows` rows from `tile` on by a panel of b.
  void multiply(int64_t tile, int64_t rows, const typename Tile::B* panel, int32_t* sums) const {
    const int64_t groups = depth_ / Tile::kDepth;
    const typename Tile::A* copy = rows_.data() + tile * depth_;
    if constexpr (Tile::kPlainRows) {
      const bool copied = copies_;
      Tile::run(groups, copied ? copy : a_.data + (first_ + tile) * a_.row, copied ? depth_ : a_.row, rows, panel,
                sums);
    } else {
      Tile::run(groups, copy, panel, sums);
    }
  }

 private:
  [[gnu::always_inline]] void take_plain(int64_t count) {
    const uint8_t mask = flip(a_.is_signed);
    for (int64_t i = 0; i < count; ++i) {
      const uint8_t* from = a_.data + (first_ + i) * a_.row;
      uint32_t sum = 0;
      if (!copies_) {
        for (int64_t p = 0; p < k_; ++p) sum += from[p];
      } else {
        typename Tile::A* to = rows_.data() + i * depth_;
        for (int64_t p = 0; p < k_; ++p) {
          const auto v = static_cast<uint8_t>(from[p * a_.column] ^ mask);
          to[p] = v;
          sum += v;
        }
        std::fill(to + k_, to + depth_, typename Tile::A{0});
      }
      sums_[static_cast<size_t>(i)] = sum;
    }
  }

  void pack(int64_t count) {
    constexpr int kDepth = Tile::kDepth, kRows = Tile::kRows;
    const uint8_t mask = flip(a_.is_signed);
    for (int64_t tile = 0; tile < count; tile += kRows) {
      const int64_t rows = std::min<int64_t>(kRows, count - tile);
      typename Tile::A* panel = rows_.data() + tile * depth_;
      if (rows < kRows || k_ != depth_) std::fill_n(panel, kRows * depth_, typename Tile::A{0});
      for (int64_t i = 0; i < rows; ++i) {
        const uint8_t* from = a_.data + (first_ + tile + i) * a_.row;
        uint32_t sum = 0;
        const auto put = [&](int64_t p, int64_t step) {
          const auto v = static_cast<uint8_t>(from[p * step] ^ mask);
          sum += v;
          panel[(p / kDepth * kRows + i) * kDepth + p % kDepth] = v;
        };
        int64_t p = 0;
        if (a_.column == 1) {
          for (; p + kDepth <= k_; p += kDepth) {
            typename Tile::A* at = panel + (p * kRows + i * kDepth);
            for (int d = 0; d < kDepth; ++d) at[d] = static_cast<uint8_t>(from[p + d] ^ mask);
          }
          for (int64_t q = 0; q < p; ++q) sum += static_cast<uint8_t>(from[q] ^ mask);
        }
        for (; p < k_; ++p) put(p, a_.column);
        sums_[static_cast<size_t>(tile + i)] = sum;
      }
    }
  }

  const ByteMatrix& a_;
  int64_t k_, depth_;
  int64_t first_ = 0;
  bool copies_;
  std::vector<typename Tile::A> rows_;
  std::vector<uint32_t> sums_;
};

// Packs rows [0, depth) of kColumns contiguous columns of b, and adds up the columns.
template <class Tile>
void pack_whole(const uint8_t* b, int64_t row, int64_t depth, uint8_t mask, typename Tile::B* to, uint32_t* sums) {
  constexpr int kDepth = Tile::kDepth, kColumns = Tile::kColumns;
  for (int64_t p = 0; p < depth; p += kDepth) {
    typename Tile::B* at = to + p * kColumns;
    for (int64_t j = 0; j < kColumns; ++j) {
      for (int d = 0; d < kDepth; ++d) {
        const auto v = static_cast<int8_t>(b[(p + d) * row + j] ^ mask);
        at[j * kDepth + d] = v;
        sums[j] += static_cast<uint32_t>(int32_t{v});
      }
    }
  }
}

// Of depth k, in whole tiles.
template <class Tile>
int64_t groups_of(int64_t k) {
  return ceil_div(k, Tile::kDepth * Tile::kGroups) * Tile::kGroups;
}

}  // namespace

int64_t PackedBytes::panels() const {
  int64_t columns = 0;
  with_tile([&]<class Tile>() { columns = Tile::kColumns; });
  return ceil_div(n_, columns);
}

template <class Tile>
void PackedBytes::pack(const ByteMatrix& b) {
  using B = typename Tile::B;
  constexpr int kDepth = Tile::kDepth, kColumns = Tile::kColumns;
  const uint8_t mask = flip(!b.is_signed);
  const int64_t panel = groups_of<Tile>(k_) * kDepth * kColumns;
  packed_ =
      allocate_tensor(cpu_device(), dtype_of<B>, Shape{checked_mul(ceil_div(n_, kColumns), panel, "packed matrix")});
  sums_.resize(static_cast<size_t>(n_));
  parallel_ranges(
      ceil_div(n_, kColumns), k_ * n_ * 4,
      [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t) {
          const int64_t columns = std::min<int64_t>(kColumns, n_ - t * kColumns);
          uint32_t sums[kColumns] = {};
          const uint8_t* first = b.data + t * kColumns * b.column;
          B* const to = mutable_data<B>(packed_) + t * panel;
          int64_t p = 0;
          // Fast path: whole groups of rows with contiguous elements.
          if (b.column == 1 && columns == kColumns) {
            p = k_ / kDepth * kDepth;
            if constexpr (sizeof(B) == 1) {
              Tile::pack(first, b.row, p / kDepth, mask, to, sums);
            } else {
              pack_whole<Tile>(first, b.row, p, mask, to, sums);
            }
          }
          if (p < k_ || p * kColumns < panel) std::fill(to + p * kColumns, to + panel, B{0});
          for (; p < k_; ++p) {
            B* at = to + p / kDepth * kDepth * kColumns + p % kDepth;
            for (int64_t j = 0; j < columns; ++j) {
              const auto v = static_cast<int8_t>(first[p * b.row + j * b.column] ^ mask);
              at[j * kDepth] = v;
              sums[j] += static_cast<uint32_t>(int32_t{v});
            }
          }
          std::copy_n(sums, columns, sums_.data() + t * kColumns);
        }
      },
      1);
}

PackedBytes::PackedBytes(int64_t k, int64_t n, const ByteMatrix& b)
    : k_(k), n_(n), zero_(static_cast<uint32_t>(b.zero - (b.is_signed ? 0 : 128))) {
  with_tile([&]<class Tile>() { pack<Tile>(b); });
}

template <class Tile>
void PackedBytes::multiply_by(int64_t m, const ByteMatrix& a, int32_t* c, int64_t first, int64_t last) const {
  constexpr int kRows = Tile::kRows, kColumns = Tile::kColumns;
  const int64_t groups = groups_of<Tile>(k_), panel = groups * Tile::kDepth * kColumns;
  const auto* const right = static_cast<const typename Tile::B*>(packed_.impl()->data);
  const auto zero = static_cast<uint32_t>(a.zero + (a.is_signed ? 128 : 0));
  LeftRows<Tile> left(k_, groups, std::min(m, kRowsAtOnce), a);
  alignas(64) int32_t sums[kRows * kColumns];
  for (int64_t at = 0; at < m; at += kRowsAtOnce) {
    const int64_t count = std::min(kRowsAtOnce, m - at);
    left.take(at, count);
    for (int64_t t = first; t < last; ++t) {
      throw_if_cancelled();
      const int64_t columns = std::min<int64_t>(kColumns, n_ - t * kColumns);
      // The sum of (a - a0) (b - b0) is the sum of a b minus one term per row and one per column.
      uint32_t of_columns[kColumns] = {};
      for (int64_t j = 0; j < columns; ++j) of_columns[j] = zero * sums_[static_cast<size_t>(t * kColumns + j)];
      for (int64_t tile = 0; tile < count; tile += kRows) {
        const int64_t rows = std::min<int64_t>(kRows, count - tile);
        left.multiply(tile, rows, right + t * panel, sums);
        multiversioned([&] {
          for (int64_t i = 0; i < rows; ++i) {
            const uint32_t of_row = static_cast<uint32_t>(k_) * zero * zero_ - zero_ * left.sum(tile + i);
            int32_t* to = c + (at + tile + i) * n_ + t * kColumns;
            const int32_t* from = sums + i * kColumns;
            for (int64_t j = 0; j < columns; ++j) {
              to[j] = static_cast<int32_t>(static_cast<uint32_t>(from[j]) + of_row - of_columns[j]);
            }
          }
        });
      }
    }
  }
}

void PackedBytes::multiply(int64_t m, const ByteMatrix& a, int32_t* c, int64_t first, int64_t last) const {
  with_tile([&]<class Tile>() { multiply_by<Tile>(m, a, c, first, last); });
}

void byte_gemm(int64_t m, int64_t n, int64_t k, const ByteMatrix& a, const ByteMatrix& b, int32_t* c) {
  if (m == 0 || n == 0 || byte_gemm_of_few_rows(m, n, k, a, b, c)) return;
  const PackedBytes packed(k, n, b);
  // Threads share out the rows, and the columns too if there are few rows.
  const int64_t rows = ceil_div(m, kRowsAtOnce), panels = packed.panels();
  const int64_t parts = std::clamp<int64_t>(tiles_for_processors() / rows, 1, panels);
  parallel_ranges(
      rows * parts, m * n * std::max<int64_t>(1, k / 16),
      [&](int64_t begin, int64_t end) {
        for (int64_t u = begin; u < end; ++u) {
          const int64_t at = u / parts * kRowsAtOnce, part = u % parts;
          ByteMatrix own = a;
          own.data += at * a.row;
          packed.multiply(std::min(kRowsAtOnce, m - at), own, c + at * n, panels * part / parts,
                          panels * (part + 1) / parts);
        }
      },
      1);
}

}  // namespace panto::cpu
