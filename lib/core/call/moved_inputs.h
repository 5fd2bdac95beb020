// Inputs that are on another device than the kernel. Internal.
#pragma once

#include <span>
#include <vector>

#include "panto/lib/core/call/call.h"

namespace panto::dispatch {

// While it lives, inputs that are elsewhere are replaced by copies on the kernel's device (or in host memory, if the
// signature says so). Recorders see the originals.
class MovedInputs {
 public:
  explicit MovedInputs(Call& call);
  ~MovedInputs() { call_.inputs = original_; }
  MovedInputs(const MovedInputs&) = delete;
  MovedInputs& operator=(const MovedInputs&) = delete;

 private:
  Call& call_;
  std::span<const Tensor* const> original_;
  std::vector<Tensor> copies_;
  std::vector<const Tensor*> pointers_;
};

}  // namespace panto::dispatch
