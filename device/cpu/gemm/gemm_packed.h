// oneDNN's part of GemmPlan: a primitive for each size of tile, and constant factors in the layout that those like
// best. Internal to gemm.cc and gemm_packed.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "panto/device/cpu/conv/onednn.h"
#include "panto/device/cpu/gemm/gemm.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto::cpu {

// The sizes of a tile's product.
struct Rectangle {
  int64_t rows, columns, depth;
  bool operator==(const Rectangle&) const = default;
};

// The right factor of a rectangle in a product of size `s`, as it lies. `type`: kFloat32 or kBFloat16, here and below.
dnnl_memory_desc_t right_desc(DType type, const GemmSize& s, const Rectangle& r);

// One oneDNN primitive with what it is executed on.
class TileProduct {
 public:
  // `right`: the right factor's layout, which may be left to oneDNN.
  TileProduct(DType type, const GemmSize& s, const Rectangle& r, const dnnl_memory_desc_t& right);

  const Rectangle& rectangle() const { return rectangle_; }
  const dnnl_memory_desc_t& right() const { return b_; }
  std::string_view implementation() const { return primitive_.implementation(); }
  void run(const void* a, const void* b, void* c) const {
    primitive_.run({{DNNL_ARG_SRC, &a_, a}, {DNNL_ARG_WEIGHTS, &b_, b}, {DNNL_ARG_DST, &c_, c}});
  }

 private:
  Rectangle rectangle_;
  dnnl_memory_desc_t a_, b_, c_;
  DnnlPrimitive primitive_;
};

struct GemmPlan::Primitives {
  std::vector<std::unique_ptr<TileProduct>> all;

  const TileProduct* find(const Rectangle& r) const {
    for (const auto& p : all) {
      if (p->rectangle() == r) return p.get();
    }
    return nullptr;
  }
  const TileProduct& add(DType type, const GemmSize& s, const Rectangle& r, const dnnl_memory_desc_t& right) {
    return *all.emplace_back(std::make_unique<TileProduct>(type, s, r, right));
  }
};

class PackedFactor {
 public:
  // Null where oneDNN reads the factor as it lies, and where it has another algorithm for either layout than that of
  // which the bits are known to be the same: "brgemm", which it has for tiles that are whole rows of the result.
  static std::shared_ptr<const PackedFactor> make(const GemmPlan& plan, const Tensor& right);
  // `block`: the number of the part of the inner dimension times that of column tiles, plus that of the column tile.
  void multiply(const Rectangle& r, int64_t block, const void* a, void* c) const;

 private:
  struct Blocks;

  GemmPlan::Primitives primitives_;
  std::shared_ptr<const Blocks> blocks_;
};

}  // namespace panto::cpu
