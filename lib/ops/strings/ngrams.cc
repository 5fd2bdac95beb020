// N-grams: sequences of consecutive tokens.
#include <limits>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/batching.h"

namespace panto {
namespace {

void ngrams_shape(ShapeContext& c) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  for (const int64_t width : c.integers("ngram_widths")) {
    if (width < 1 || width > kMost) invalid("ngram_widths: expected 1 to {}, got {}", kMost, width);
  }
  const int64_t pad = c.integer("pad_width");
  if (pad > kMost) invalid("pad_width: expected at most {}, got {}", kMost, pad);
  c.vector(0);
  c.output(0, PartialShape{kUnknownDim});
  c.output(1, PartialShape{c.vector(1)});
}

}  // namespace

const Op& kStringNGrams = define_op(
    "StringNGrams(data: string, data_splits: Tsplits; separator: string, ngram_widths: list(int), left_pad: string, "
    "right_pad: string, pad_width: int, preserve_short_sequences: bool, Tsplits: int32|int64 = int64)"
    " -> (ngrams: string, ngrams_splits: Tsplits)",
    {.doc =
         "All runs of `ngram_widths` tokens, joined by `separator`, of sequences of tokens: sequence i of the vector "
         "`data` is from data_splits[i] to data_splits[i + 1], and its runs from ngrams_splits[i] on, width by width. "
         "Each sequence begins with `pad_width` times `left_pad` and ends with as many `right_pad`, but at most width "
         "- 1 of them, and exactly that many where pad_width is negative. With `preserve_short_sequences` a sequence "
         "with tokens and without runs gives one of all its tokens, padded. Without tokens in `data` there are no "
         "runs, not of pads either. More than 16 GiB of runs, where a token has a byte at least, are "
         "ResourceExhausted.",
     .cpp = "string_n_grams",
     .traits = {Trait::kSelfAllocating},
     .shape = ngrams_shape,
     .no_gradient = "text is not differentiable",
     .batch = batching::loop});

}  // namespace panto
