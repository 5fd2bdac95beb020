#include "panto/device/cpu/gemm/gemm_packed.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "panto/device/cpu/device.h"
#include "panto/device/cpu/one_thread.h"
#include "panto/device/cpu/parallel.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::cpu {
namespace {

constexpr size_t kAlignment = 64;

dnnl_memory_desc_t matrix_desc(DType type, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  dnnl_memory_desc_t desc;
  const dnnl_dims_t dims = {rows, columns};
  const dnnl_dims_t strides = {row_stride, column_stride};
  check_dnnl(dnnl_memory_desc_init_by_strides(&desc, 2, dims, dnnl_type(type), strides), "matrix");
  return desc;
}

dnnl_memory_desc_t any_layout(DType type, const Rectangle& r) {
  dnnl_memory_desc_t desc;
  const dnnl_dims_t dims = {r.depth, r.columns};
  check_dnnl(dnnl_memory_desc_init_by_tag(&desc, 2, dims, dnnl_type(type), dnnl_format_tag_any), "matrix");
  return desc;
}

bool same(const dnnl_memory_desc_t& a, const dnnl_memory_desc_t& b) { return dnnl_memory_desc_equal(&a, &b) != 0; }

std::atomic<int64_t> alive = 0;

}  // namespace

dnnl_memory_desc_t right_desc(DType type, const GemmSize& s, const Rectangle& r) {
  return matrix_desc(type, r.depth, r.columns, s.transpose_b ? 1 : s.n, s.transpose_b ? s.k : 1);
}

TileProduct::TileProduct(DType type, const GemmSize& s, const Rectangle& r, const dnnl_memory_desc_t& right)
    : rectangle_(r),
      a_(matrix_desc(type, r.rows, r.depth, s.transpose_a ? 1 : s.k, s.transpose_a ? s.m : 1)),
      b_(right),
      c_(matrix_desc(type, r.rows, r.columns, s.n, 1)) {
  dnnl_matmul_desc_t desc;
  check_dnnl(dnnl_matmul_desc_init(&desc, &a_, &b_, nullptr, &c_), "matmul");
  primitive_ = DnnlPrimitive(&desc, "matmul");
  b_ = primitive_.desc(dnnl_query_weights_md);
}

int64_t packed_factors_alive() { return alive; }

// A factor cut into blocks: one for each part of the inner dimension and each tile of columns.
struct PackedFactor::Blocks {
  struct Block {
    dnnl_memory_desc_t ours, packed;
    int64_t from;  // the block's first element in the factor
    size_t to;     // the block's first byte in `data`
  };
  Blocks() { ++alive; }
  ~Blocks() { --alive; }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  Tensor factor;  // keeps the factor alive: of() finds copies by its address
  std::vector<Block> all;
  Tensor data;

  void* at(const Block& b) const { return mutable_data<uint8_t>(data) + b.to; }

  bool copies(const Tensor& given, const std::vector<Block>& blocks) const {
    return factor.impl() == given.impl() && std::ranges::equal(all, blocks, [](const Block& a, const Block& b) {
             return a.from == b.from && same(a.ours, b.ours) && same(a.packed, b.packed);
           });
  }
  void copy() {
    const auto* from = static_cast<const char*>(factor.impl()->data);
    const auto size = static_cast<int64_t>(dtype_size(factor.dtype()));
    parallel_ranges(
        static_cast<int64_t>(all.size()), 2 * static_cast<int64_t>(data.nbytes()),
        [&](int64_t begin, int64_t end) {
          const OneThread scope;
          for (int64_t i = begin; i < end; ++i) {
            const Block& b = all[static_cast<size_t>(i)];
            const DnnlPrimitive reorder = DnnlPrimitive::reorder(b.ours, b.packed);
            reorder.run({{DNNL_ARG_FROM, &b.ours, from + b.from * size}, {DNNL_ARG_TO, &b.packed, at(b)}});
          }
        },
        1);
  }

  // Returns an existing copy of the factor in these blocks, or makes one.
  static std::shared_ptr<const Blocks> of(const Tensor& factor, std::vector<Block> blocks) {
    static std::mutex& mutex = *new std::mutex;  // leaked on purpose: threads may plan while the process ends
    static auto& known = *new std::vector<std::weak_ptr<const Blocks>>;
    const auto find = [&]() -> std::shared_ptr<const Blocks> {
      for (const auto& weak : known) {
        std::shared_ptr<const Blocks> found = weak.lock();
        if (found != nullptr && found->copies(factor, blocks)) return found;
      }
      return nullptr;
    };
    {
      const std::lock_guard lock(mutex);
      if (auto found = find()) return found;
    }
    auto made = std::make_shared<Blocks>();
    made->factor = factor;
    size_t bytes = 0;
    for (Block& b : blocks) {
      b.to = bytes;
      bytes += ceil_div(dnnl_memory_desc_get_size(&b.packed), kAlignment) * kAlignment;
    }
    made->all = std::move(blocks);
    made->data = allocate_tensor(cpu_device(), kUint8, Shape{checked_cast<int64_t>(bytes)});
    made->copy();
    const std::lock_guard lock(mutex);
    std::erase_if(known, [](const auto& weak) { return weak.expired(); });
    known.push_back(made);
    return made;
  }
};

std::shared_ptr<const PackedFactor> PackedFactor::make(const GemmPlan& plan, const Tensor& right) {
  const OneThread scope;
  auto made = std::make_shared<PackedFactor>();
  const GemmSize& s = plan.size_;
  const DType type = plan.dtype_;
  // Tiles with the same columns and depth read the same block, whatever their number of rows.
  const auto sibling = [&](int64_t columns, int64_t depth) -> const TileProduct* {
    for (const auto& p : made->primitives_.all) {
      if (p->rectangle().columns == columns && p->rectangle().depth == depth) return p.get();
    }
    return nullptr;
  };
  for (const auto& plain : plan.primitives_->all) {
    const Rectangle& r = plain->rectangle();
    const TileProduct* like = sibling(r.columns, r.depth);
    const TileProduct& packed =
        made->primitives_.add(type, s, r, like != nullptr ? like->right() : any_layout(type, r));
    const auto known = [](const TileProduct& p) { return p.implementation().starts_with("brg"); };
    if (!known(*plain) || !known(packed) || same(packed.right(), plain->right())) return nullptr;
  }
  std::vector<Blocks::Block> blocks;
  for (int64_t depth = 0; depth < s.k; depth += plan.part_depth_) {
    for (int64_t column = 0; column < s.n; column += plan.tile_columns_) {
      const Rectangle r{0, std::min(plan.tile_columns_, s.n - column), std::min(plan.part_depth_, s.k - depth)};
      const int64_t from = s.transpose_b ? column * s.k + depth : depth * s.n + column;
      blocks.push_back({right_desc(type, s, r), sibling(r.columns, r.depth)->right(), from, 0});
    }
  }
  made->blocks_ = Blocks::of(right, std::move(blocks));
  return made;
}

void PackedFactor::multiply(const Rectangle& r, int64_t block, const void* a, void* c) const {
  primitives_.find(r)->run(a, blocks_->at(blocks_->all[static_cast<size_t>(block)]), c);
}

}  // namespace panto::cpu
