// Convolutions of floats and their gradients by oneDNN, of images and of volumes: how one is cut into tiles, each
// computed on one thread, and the primitives for them.
//
// Left to itself oneDNN cuts gradients by filter by the number of threads, and so are their last bits. Here cuts depend
// on sizes only. A tile is some images, or a band of rows of one image; each gradient by filter of a tile is a matrix
// of its own, and they are added in order. Of volumes read planes for rows.
//
// Layouts: with AVX-512 oneDNN works on NHWC images as they are. Without, images are laid out as it likes best (blocks
// of channels) where that pays for copying a tile there and back, while it is in the cache; filters always are. 3x3, 64
// to 64 channels, 56x56, copies included: on Zen 3 (AVX2) 2.6 ms an image in blocks, 3.3 ms as NHWC; with AVX-512, of
// four images and with both gradients, 18 and 12 ms. 1x1, 64 to 256 channels, on Zen 3: 1.7 and 1.2 ms.
//
// A constant filter is laid out once. Doing it in each run takes, of ResNet-50's convolutions that are no products, on
// two cores with AVX-512: one image of 224x224 2 to 7 %, four 1 to 2 %, four of 65x65 4 to 16 %, one 8 to 23 %.
//
// Where a product of matrices does it better, ConvProduct does it; a gradient by images of few channels is
// conv_small_channels.h's, a convolution of groups of four channels conv_narrow_groups.h's.
#pragma once

#include <memory>
#include <vector>

#include "panto/device/cpu/conv/conv_product.h"
#include "panto/device/cpu/conv/conv_sizes.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/ops/nn/window.h"

namespace panto::cpu {

// A constant filter as a plan reads it best.
struct PackedFilter {
  Tensor blocks;                               // of a plan of convolutions,
  std::shared_ptr<const PackedFactor> matrix;  // or of products

  explicit operator bool() const { return blocks.defined() || matrix != nullptr; }
};

// Immutable; may be used by several threads at once.
class ConvPlan {
 public:
  // Whether sizes are those that oneDNN is asked for: neither tiny nor beyond what its 32-bit numbers hold.
  static bool fits(const PlannedConvolution& c);
  // Precondition: fits(c). Throws Internal or ResourceExhausted where oneDNN fails.
  ConvPlan(ConvKind kind, const PlannedConvolution& c);
  ~ConvPlan();
  ConvPlan(const ConvPlan&) = delete;
  ConvPlan& operator=(const ConvPlan&) = delete;

  ConvKind kind() const { return kind_; }
  const PlannedConvolution& convolution() const { return conv_; }
  // For runs to come with this filter; nothing where that is of no use. Not of a gradient by filter.
  PackedFilter pack(const Tensor& filter, Device& device) const;
  // The gradients write `input` (its gradient) or `filter` (its gradient) and read the others. `packed`: what pack()
  // gave for this filter, or null. `epilogue`: of a forward convolution, or null; each tile is finished by it while the
  // cache has it.
  void run(float* input, float* filter, float* output, Device& device, const PackedFilter* packed = nullptr,
           const BoundEpilogue* epilogue = nullptr) const;
  // Whether a part of it is done by oneDNN's reference implementation, which is a thousand times slower: for tests.
  PANTO_EXPORT bool has_reference() const;

 private:
  struct Band;
  struct Primitives;

  void cut();
  void keep_images_whole();
  void cut_rows(int64_t bands);
  void make_primitives(bool blocked);
  void make_packing();
  const Primitives& primitives(int64_t tile) const;
  void pack_filter(const float* filter, float* packed) const;
  void unpack_filter(const float* packed, float* filter) const;
  void run_tile(int64_t tile, float* input, float* packed, float* output, Device& device,
                const BoundEpilogue* epilogue) const;
  void finish_tile(int64_t tile, float* output, const BoundEpilogue& epilogue) const;
  void add_tiles(float* sums, int64_t count) const;

  ConvKind kind_;
  PlannedConvolution conv_;
  bool few_channels_;                           // by gradient_by_few_channels, in place of all that follows
  bool narrow_groups_;                          // by convolve_narrow_groups, as well
  std::unique_ptr<const ConvProduct> product_;  // as well
  int64_t images_ = 1;                          // of a tile; the last one may have fewer
  int64_t tiles_ = 1;
  std::vector<Band> bands_;                            // of rows; one where tiles are whole images
  std::vector<std::unique_ptr<Primitives>> variants_;  // first those of `images_` images, by band, then the rest's
  struct Packing;
  std::unique_ptr<Packing> packing_;
};

// The plan for a convolution, from a cache that all threads share and that keeps the most recently used ones.
PANTO_EXPORT std::shared_ptr<const ConvPlan> cached_conv_plan(ConvKind kind, const PlannedConvolution& c);
// Plans made so far: for tests.
PANTO_EXPORT int64_t conv_plans_made();

}  // namespace panto::cpu
