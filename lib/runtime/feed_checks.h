// Checks the feeds of a run against what an executable was made for. Internal.
#pragma once

#include <span>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/runtime/executable.h"

namespace panto {

class FeedChecks {
 public:
  explicit FeedChecks(const std::vector<ExecutableFeed>& feeds);

  // Whether `inputs` match the feeds, in order.
  bool accept(std::span<const Tensor* const> inputs) const noexcept {
    if (inputs.size() != expected_.size()) return false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!fits(*inputs[i], i)) return false;
    }
    return true;
  }
  // Throws InvalidArgument if they do not match.
  void check(std::span<const Tensor* const> inputs) const;

 private:
  struct Expected {
    DType dtype;
    bool shape_known;
    const Device* device;  // null: any but META
    PartialShape shape;
  };

  bool fits(const Tensor& t, size_t feed) const noexcept {
    const Expected& expected = expected_[feed];
    const TensorImpl* impl = t.impl();
    if (impl == nullptr || impl->dtype != expected.dtype) return false;
    if (expected.device == nullptr ? impl->device->is_meta() : impl->device != expected.device) return false;
    const PartialShape& shape = impl->shape;
    return expected.shape_known ? shape == expected.shape : shape.compatible_with(expected.shape);
  }

  std::vector<Expected> expected_;
};

}  // namespace panto
