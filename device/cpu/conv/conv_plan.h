// Convolutions of images and volumes of floats, and their gradients, by oneDNN. A convolution is cut into tiles, each
// computed on one thread by primitives made for its size. Tensors of bfloat16 are read as they are where the processor
// multiplies them; results are floats, which the caller rounds once.
//
// oneDNN's own threading cuts gradients by filter by the number of threads, which changes the last bits. Cuts here
// depend on sizes only. A tile is some images, or a band of rows of one image (of planes, for volumes). Each tile's
// gradient by filter is a separate matrix, and these are added in order.
//
// Layouts: with AVX-512 oneDNN works on NHWC images as they are. Without it, a tile is copied to oneDNN's preferred
// layout (blocks of channels) and back, in the cache, if that pays; filters always are copied. 3x3, 64 to 64 channels,
// 56x56, copies included: on Zen 3 (AVX2) 2.6 ms an image in blocks, 3.3 ms as NHWC; with AVX-512, of four images and
// with both gradients, 18 and 12 ms. 1x1, 64 to 256 channels, on Zen 3: 1.7 and 1.2 ms.
//
// A constant filter is laid out once. Doing so in each run would cost, as a share of the time of ResNet-50's
// convolutions that are not products, on two cores with AVX-512: one image of 224x224 2 to 7 %, four 1 to 2 %, four of
// 65x65 4 to 16 %, one 8 to 23 %.
//
// Four cases of floats are computed elsewhere: those that are faster as a product of matrices (ConvProduct), gradients
// by images of few channels (conv_small_channels.h), convolutions of groups of four channels (conv_narrow_groups.h),
// and most forward convolutions with AVX2 (conv_panels.h).
#pragma once

#include <memory>
#include <vector>

#include "panto/device/cpu/conv/conv_product.h"
#include "panto/device/cpu/conv/conv_sizes.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/ops/nn/window.h"

namespace panto::cpu {

// A constant filter in the layout that a plan reads best.
struct PackedFilter {
  Tensor blocks;                               // for convolutions, or
  std::shared_ptr<const PackedFactor> matrix;  // for ConvProduct

  explicit operator bool() const { return blocks.defined() || matrix != nullptr; }
};

// Immutable; may be used by several threads at once.
class ConvPlan {
 public:
  // Whether oneDNN is used for these sizes: they are not tiny and fit its 32-bit numbers.
  static bool fits(const PlannedConvolution& c);
  // Precondition: fits(c). Throws Internal or ResourceExhausted if oneDNN fails.
  ConvPlan(ConvKind kind, const PlannedConvolution& c);
  ~ConvPlan();
  ConvPlan(const ConvPlan&) = delete;
  ConvPlan& operator=(const ConvPlan&) = delete;

  ConvKind kind() const { return kind_; }
  const PlannedConvolution& convolution() const { return conv_; }
  // Packs a filter for later runs; empty if packing does not help. Not for gradients by filter.
  PackedFilter pack(const Tensor& filter, Device& device) const;
  // Gradients write `input` (its gradient) or `filter` (its gradient) and read the others. What is written is float32,
  // what is read, too, unless convolution().bfloat16. `packed`: the result of pack() for this filter, or null.
  // `epilogue`: null except for forward convolutions; each tile is finished by it while the tile is in the cache.
  void run(void* input, void* filter, void* output, Device& device, const PackedFilter* packed = nullptr,
           const BoundEpilogue* epilogue = nullptr) const;
  // Whether a part uses oneDNN's reference implementation, which is a thousand times slower.
  PANTO_EXPORT bool has_reference() const;

 private:
  struct Band;
  struct Primitives;

  // The type of what the kind `writer` writes.
  DType type_of(ConvKind writer) const;
  void run_floats(float* input, float* filter, float* output, Device& device, const PackedFilter* packed,
                  const BoundEpilogue* epilogue) const;
  void cut();
  void keep_images_whole();
  void cut_rows(int64_t bands);
  void make_primitives(bool blocked);
  void make_packing();
  const Primitives& primitives(int64_t tile) const;
  void pack_filter(const void* filter, void* packed) const;
  void unpack_filter(const void* packed, void* filter) const;
  void run_tile(int64_t tile, void* input, void* packed, void* output, Device& device,
                const BoundEpilogue* epilogue) const;
  void finish_tile(int64_t tile, float* output, const BoundEpilogue& epilogue) const;
  void add_tiles(float* sums, int64_t count) const;

  ConvKind kind_;
  PlannedConvolution conv_;
  bool few_channels_;   // computed by gradient_by_few_channels; the members below are unused then
  bool narrow_groups_;  // computed by convolve_narrow_groups; likewise
  bool panels_;         // computed by convolve_by_panels; likewise
  std::unique_ptr<const ConvProduct> product_;  // computed as a product; likewise
  int64_t images_ = 1;                          // per tile; the last one may have fewer
  int64_t tiles_ = 1;
  std::vector<Band> bands_;                            // of rows; one if tiles are whole images
  std::vector<std::unique_ptr<Primitives>> variants_;  // for `images_` images, by band, then for the rest's
  struct Packing;
  std::unique_ptr<Packing> packing_;
};

// Returns the plan for a convolution, from a least-recently-used cache that all threads share.
PANTO_EXPORT std::shared_ptr<const ConvPlan> cached_conv_plan(ConvKind kind, const PlannedConvolution& c);
// How many plans were made so far. For tests.
PANTO_EXPORT int64_t conv_plans_made();

}  // namespace panto::cpu
