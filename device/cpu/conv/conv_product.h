// Float convolutions as products of matrices: a matrix with one row per window, which holds the window's elements,
// times the filter, which already is such a matrix.
//
// The window matrix must be built, unless windows are single pixels without gaps: then it is the images themselves. In
// return the filter is used where it lies: oneDNN's convolutions copy it to a layout of their own, and gradients by
// filter back. Products pay if there are few windows for a large filter: in the last layers of a network. On two cores
// with AVX-512, four images, 3x3 windows, the convolution and both gradients, by products and by oneDNN: 3x3 with 512
// channels 4 and 14 ms, 7x7 with 512 channels 17 and 26 ms, 14x14 with 256 channels 17 and 19 ms, but 9x9 with 128
// channels 2 and 1.7 ms.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "panto/device/cpu/gemm/gemm.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/ops/nn/window.h"

namespace panto::cpu {

class BoundEpilogue;

enum class ConvKind : uint8_t { kForward, kByInput, kByFilter };

// Immutable; may be used by several threads at once.
class ConvProduct {
 public:
  // Whether a product is faster than oneDNN's convolution.
  static bool fits(const Convolution& c);
  // The product of the tensors as they lie, if windows are the images' pixels.
  static std::optional<GemmSize> of_tensors(ConvKind kind, const Convolution& c);
  ConvProduct(ConvKind kind, const Convolution& c);
  // Gradients write `input` (its gradient) or `filter` (its gradient) and read the others. `packed`: the result of
  // pack() for this filter, or null. `epilogue`: null except for forward convolutions.
  void run(float* input, float* filter, float* output, Device& device, const PackedFactor* packed,
           const BoundEpilogue* epilogue) const;
  // Packs the filter for run(); null if packing does not help.
  std::shared_ptr<const PackedFactor> pack(const Tensor& filter) const { return product_.pack(filter); }

 private:
  void gather(const float* images, float* windows) const;
  void scatter(const float* windows, float* images) const;

  ConvKind kind_;
  Convolution conv_;
  GemmPlan product_;
};

}  // namespace panto::cpu
