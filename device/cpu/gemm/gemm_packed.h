// The oneDNN part of GemmPlan: a primitive for each size of tile, and constant factors in the layout that these
// primitives prefer. Internal to gemm.cc and gemm_packed.cc.
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

// The layout of a rectangle's right factor in the unpacked matrix of a product of size `s`. `type`: kFloat32 or
// kBFloat16, here and below.
dnnl_memory_desc_t right_desc(DType type, const GemmSize& s, const Rectangle& r);

// A oneDNN primitive and the descriptors of its operands.
class TileProduct {
 public:
  // `right`: the layout of the right factor, or one that lets oneDNN choose.
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
  // Returns null if oneDNN reads the factor as it is, or if it would use another algorithm for the packed layout than
  // "brgemm". "brgemm", which it has for tiles that are whole rows of the result, is known to give the same bits for
  // both layouts.
  static std::shared_ptr<const PackedFactor> make(const GemmPlan& plan, const Tensor& right);
  // `block`: (part of the inner dimension) * (number of column tiles) + (column tile).
  void multiply(const Rectangle& r, int64_t block, const void* a, void* c) const;

 private:
  struct Blocks;

  GemmPlan::Primitives primitives_;
  std::shared_ptr<const Blocks> blocks_;
};

}  // namespace panto::cpu
