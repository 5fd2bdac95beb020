// Which steps of sequences count.
//
//   Masking masking(0);                                     // steps whose features are all 0 do not
//   RnnOutput y = gru.run(masking(x), {}, masking.mask(x));
//   Tensor m = sequence_mask(lengths, 20);                  // of sequences of these lengths
//
// A mask is bool[batch, steps]. Layers that take one say so (recurrent.h, attention.h); nothing hands masks on behind
// your back.
#pragma once

#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/nn/layers/layer.h"

namespace panto {

// Zeros where all features of a step are `value`.
class PANTO_EXPORT Masking final : public BuiltInLayer {
 public:
  explicit Masking(double value = 0) : value_(value) {}
  // [batch, steps, features] -> the same.
  Tensor forward(const Tensor& x) const override;
  // Whether a step has another feature: bool[batch, steps].
  Tensor mask(const Tensor& x) const;
  std::string to_string() const override;

 private:
  double value_;
};

// true for the first `lengths[i]` of `steps` steps of sequence i: integers [batch] -> bool[batch, steps], as
// tf.sequence_mask.
PANTO_EXPORT Tensor sequence_mask(Arg lengths, Arg steps);

}  // namespace panto
