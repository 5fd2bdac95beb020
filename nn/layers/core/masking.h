// Masks: which steps of sequences count.
//
//   Masking masking(0);                                     // steps whose features are all 0 do not
//   RnnOutput y = gru.run(masking(x), {}, masking.mask(x));
//   Tensor m = sequence_mask(lengths, 20);                  // of sequences of these lengths
//
// A mask is bool[batch, steps]. Layers that take a mask say so (recurrent.h, attention.h); masks are never passed on
// implicitly.
#pragma once

#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/nn/layers/layer.h"

namespace panto {

// Sets the steps whose features are all `value` to zero.
class PANTO_EXPORT Masking final : public BuiltInLayer {
 public:
  explicit Masking(double value = 0) : value_(value) {}
  // [batch, steps, features] -> the same.
  Tensor forward(const Tensor& x) const override;
  // True for steps with a feature other than `value`: bool[batch, steps].
  Tensor mask(const Tensor& x) const;
  std::string to_string() const override;

 private:
  double value_;
};

// true for the first `lengths[i]` of `steps` steps of sequence i: integers [batch] -> bool[batch, steps], as
// tf.sequence_mask.
PANTO_EXPORT Tensor sequence_mask(Arg lengths, Arg steps);

}  // namespace panto
