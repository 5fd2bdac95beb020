// Epilogues of fused kernels (device/math/epilogue.h) on the CPU. They are applied to each rectangle of a result as
// soon as it is finished, while it is in the cache.
#pragma once

#include <cstdint>
#include <vector>

#include "panto/device/math/epilogue.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/nn/fused.h"

namespace panto::cpu {

// An epilogue and its tensors, for the duration of a call. Immutable; used by several threads at once.
class BoundEpilogue {
 public:
  // `call`: an op whose `args` begin at flat input 2; all of them are float32. Throws InvalidArgument if one has the
  // wrong number of elements for the result.
  BoundEpilogue(const KernelContext& call, int64_t channels);
  BoundEpilogue(const BoundEpilogue&) = delete;
  BoundEpilogue& operator=(const BoundEpilogue&) = delete;

  // Finishes a rectangle of a result with channels last, on the calling thread: channels [first, first + count) of
  // `rows` rows that are `row_step` elements apart. The rectangle begins at result[at].
  void finish_rows(float* result, int64_t at, int64_t rows, int64_t first, int64_t count, int64_t row_step) const;
  // Finishes `count` consecutive elements of one channel, from result[at] on.
  void finish_plane(float* result, int64_t at, int64_t channel, int64_t count) const;
  // Finishes a whole result [outer, channels, inner], on as many threads as are worth it.
  void finish_all(float* result, int64_t outer, int64_t inner) const;

 private:
  // The activation if it is part of the loop over the terms, else kNone.
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
