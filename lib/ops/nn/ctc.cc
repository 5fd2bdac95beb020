// Connectionist temporal classification (Graves et al. 2006).
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"

namespace panto {
namespace {

void ctc_shape(ShapeContext& c) {
  c.expect_rank(0, 3);
  c.expect_rank(1, 2);
  c.expect_equal(2, c.dim(1, 1), "the columns of labels_indices");
  c.expect_rank(2, 1);
  c.expect_equal(c.dim(1, 0), c.dim(2, 0), "the number of labels");
  c.expect_rank(3, 1);
  c.expect_equal(c.dim(0, 1), c.dim(3, 0), "the number of sequences");
  if (c.dim(0, 2) == 0) invalid("inputs: expected at least 1 class, got shape {}", c.shape(0).to_string());
  c.output(0, PartialShape({c.merge(c.dim(0, 1), c.dim(3, 0), "the number of sequences")}));
  c.output(1, c.shape(0));
}

void ctc_gradient(GradContext& g) {
  if (g.has_dy(1)) {
    failf(Code::kUnimplemented, "gradient of CTCLoss: expected that of `loss` only, got one of `gradient`");
  }
  const Tensor once = prevent_gradient(g.out(1), {.message = "CTCLoss has no second derivatives"});
  g.set(0, expand_dims(expand_dims(g.dy(), 0), -1) * once);
}

}  // namespace

const Op& kCTCLoss = define_op(
    "CTCLoss(inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32;"
    " preprocess_collapse_repeated: bool = false, ctc_merge_repeated: bool = true,"
    " ignore_longer_outputs_than_inputs: bool = false, T: float32|float64 = float32) -> (loss: T, gradient: T)",
    {.doc =
         "The negative logarithm of the probability that a sequence of class scores `inputs` [time, batch, classes], "
         "before softmax, is read as its labels: in whatever steps, with blanks between, the last class, and every "
         "label as often as one likes. Labels are the values of a sparse matrix [batch, position], in order: "
         "`labels_indices` [n, 2] and `labels_values` [n]. Those from the first blank on do not count. "
         "`sequence_length` [batch] says how many steps count. `preprocess_collapse_repeated` merges equal neighbours "
         "among the labels; without `ctc_merge_repeated` equal neighbours are read as several. A sequence with fewer "
         "steps than labels is an error, or has loss 0 with `ignore_longer_outputs_than_inputs`; the loss of one that "
         "cannot be read so is infinite. `gradient` is that of the sum of losses. There are no second derivatives.",
     .cpp = "ctc_loss",
     .shape = ctc_shape,
     .saves = {out(1)},
     .gradient = ctc_gradient,
     .flops = [](const CostContext& c) { return 64 * c.numel(0); },
     .batch = batching::loop,
     .jvp =
         [](JvpContext& c) {
           failf(Code::kUnimplemented, "jvp of CTCLoss: expected an op with a rule for tangents, got {}",
                 c.op().name());
         }});

}  // namespace panto
