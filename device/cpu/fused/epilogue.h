// What fused kernels do to a result before anyone sees it (device/math/epilogue.h): to each rectangle of it as soon as
// it is whole, while the cache has it.
#pragma once

#include <cstdint>
#include <vector>

#include "panto/device/math/epilogue.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/nn/fused.h"

namespace panto::cpu {

// An epilogue with its tensors, for the time of a call. Immutable; used by several threads at once.
class BoundEpilogue {
 public:
  // `call`: of an op whose `args` begin at flat input 2; all of them are float32. Throws InvalidArgument where one has
  // not as many elements as the result needs.
  BoundEpilogue(const KernelContext& call, int64_t channels);
  BoundEpilogue(const BoundEpilogue&) = delete;
  BoundEpilogue& operator=(const BoundEpilogue&) = delete;

  // A rectangle of a result whose last dimension is channels, [first, first + count) of them, `row_step` elements from
  // row to row; its first element is result[at]. On the calling thread.
  void finish_rows(float* result, int64_t at, int64_t rows, int64_t first, int64_t count, int64_t row_step) const;
  // `count` consecutive elements of one channel, from result[at] on.
  void finish_plane(float* result, int64_t at, int64_t channel, int64_t count) const;
  // All of a result as [outer, channels, inner], on as many threads as are worth it.
  void finish_all(float* result, int64_t outer, int64_t inner) const;

 private:
  // The activation, where it is part of the loop over the terms.
  FusedActivation joined() const {
    const FusedActivation a = epilogue_.activation;
    const bool joins = terms_.any() && (a == FusedActivation::kRelu || a == FusedActivation::kRelu6);
    return joins ? a : FusedActivation::kNone;
  }
  bool does_nothing() const { return !terms_.any() && epilogue_.activation == FusedActivation::kNone; }

  Epilogue epilogue_;
  int64_t channels_;
  std::vector<float> factors_;
  EpilogueTerms terms_;
};

}  // namespace panto::cpu
