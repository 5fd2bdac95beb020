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
    failf(Code::kUnimplemented, "gradient of {}: expected that of `loss` only, got one of `gradient`", g.op().name());
  }
  const Tensor once = prevent_gradient(g.out(1), {.message = "CTCLoss has no second derivatives"});
  g.set(0, expand_dims(expand_dims(g.dy(), 0), -1) * once);
}

// Inputs: [time, batch, classes] with at least one step, sequence and class; and [batch].
void decoder_shape(ShapeContext& c, int64_t paths) {
  c.expect_rank(0, 3);
  c.expect_rank(1, 1);
  c.expect_equal(c.dim(0, 1), c.dim(1, 0), "the number of sequences");
  for (int k = 0; k < 3; ++k) {
    if (c.dim(0, k) == 0) invalid("inputs: expected at least one element, got shape {}", c.shape(0).to_string());
  }
  const int lists = c.num_outputs() / 3;
  for (int k = 0; k < lists; ++k) {
    c.output(k, PartialShape{kUnknownDim, 2});
    c.output(lists + k, PartialShape{kUnknownDim});
    c.output(2 * lists + k, PartialShape{2});
  }
  c.output(3 * lists, PartialShape{c.merge(c.dim(0, 1), c.dim(1, 0), "the number of sequences"), paths});
}

constexpr const char* kDecoding = "labels that are read are not differentiable";

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
     .jvp = tangents::none});

const Op& kCTCLossV2 = define_op(
    "CTCLossV2(inputs: float32, labels_indices: int64, labels_values: int32, sequence_length: int32;"
    " preprocess_collapse_repeated: bool = false, ctc_merge_repeated: bool = true,"
    " ignore_longer_outputs_than_inputs: bool = false) -> (loss: float32, gradient: float32)",
    {.doc = "CTCLoss where the blank is class 0, and labels are 1 and more; others are InvalidArgument.",
     .cpp = "ctc_loss_v2",
     .shape = ctc_shape,
     .saves = {out(1)},
     .gradient = ctc_gradient,
     .flops = [](const CostContext& c) { return 64 * c.numel(0); },
     .batch = batching::loop,
     .jvp = tangents::none});

const Op& kCTCGreedyDecoder = define_op(
    "CTCGreedyDecoder(inputs: T, sequence_length: int32; merge_repeated: bool = false, blank_index: int = -1,"
    " T: float32|float64 = float32)"
    " -> (decoded_indices: int64, decoded_values: int64, decoded_shape: int64, log_probability: T)",
    {.doc = "Reads the class of the highest score of each step (of equals the first), without blanks, of class scores "
            "`inputs` [time, batch, classes]. The blank is class `blank_index`, counted from the end where that is "
            "negative. With `merge_repeated` a class that is read again in the next step is read once. "
            "`sequence_length` [batch] says how many steps count, at most as many as there are. Gives a sparse matrix "
            "[batch, position] of labels, and [batch, 1]: minus the sum of the scores.",
     .cpp = "ctc_greedy_decoder",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           decoder_shape(c, 1);
           const int64_t classes = c.dim(0, 2), blank = c.integer("blank_index");
           if (classes >= 0 && (blank < -classes || blank >= classes)) {
             invalid("blank_index: expected {} to {}, got {}", -classes, classes - 1, blank);
           }
         },
     .no_gradient = kDecoding,
     .batch = batching::loop});

const Op& kCTCBeamSearchDecoder = define_op(
    "CTCBeamSearchDecoder(inputs: T, sequence_length: int32; beam_width: int >= 1, top_paths: int >= 1,"
    " merge_repeated: bool = true, T: float32|float64 = float32)"
    " -> (decoded_indices: top_paths*int64, decoded_values: top_paths*int64, decoded_shape: top_paths*int64,"
    " log_probability: T)",
    {.doc = "The `top_paths` most probable labels that a sequence of class scores `inputs` [time, batch, classes], "
            "before softmax, is read as (see CTCLoss; the blank is the last class), as far as a search finds them that "
            "keeps the `beam_width` most probable beginnings at each step (Graves 2012, with Hannun et al. 2014). "
            "`sequence_length` [batch] says how many steps count, at most as many as there are. Gives sparse matrices "
            "[batch, position], the most probable first, and the logarithms of probabilities [batch, top_paths]. With "
            "`merge_repeated` equal neighbours among the labels that are given become one, although they were read as "
            "several. Where fewer than `top_paths` are found, that is InvalidArgument, and so are NaN and "
            "infinity, and steps without a possible class.",
     .cpp = "ctc_beam_search_decoder",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           const int64_t width = c.integer("beam_width"), paths = c.integer("top_paths");
           if (paths > width) invalid("top_paths: expected at most beam_width, which is {}, got {}", width, paths);
           decoder_shape(c, paths);
         },
     .no_gradient = kDecoding,
     .batch = batching::loop});

}  // namespace panto
