// Summaries of a graph, as in TensorFlow 1: nodes that compute the bytes of a Summary, which a SummaryWriter writes.
//
//   Graph g;
//   Tensor merged;
//   {
//     GraphScope in(g);
//     ...
//     scalar_summary("loss", loss);
//     histogram_summary("dense/kernel", kernel);
//     merged = merge_all_summaries();
//   }
//   SummaryWriter writer("runs/1");
//   writer.graph(g);
//   writer.add_summary(session.run(merged), step);
//
// Inside a GraphScope each is added to the collection "summaries", which merge_all_summaries merges. Eagerly they
// return the bytes at once; writer.scalar(...) is then shorter. The formats are TensorFlow 1's; TensorBoard shows them
// like those of SummaryWriter.
// Thread-safety: as ops.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

struct ImageSummaryBytesOptions {
  int64_t max_images = 3;
  Tensor bad_color = {};  // uint8, the colour of pixels that are not finite; none: red
};
struct AudioSummaryBytesOptions {
  int64_t max_outputs = 3;
};

// One number per tag; `tags` and `values` have one shape.
PANTO_EXPORT Tensor scalar_summary(Arg tags, Arg values);
// The distribution of the values.
PANTO_EXPORT Tensor histogram_summary(Arg tag, Arg values);
// [images, height, width, channels] with 1, 3 or 4 channels. Bytes stay; other types are scaled so that the largest
// value is white.
PANTO_EXPORT Tensor image_summary(Arg tag, Arg images, const ImageSummaryBytesOptions& options = {});
// float32 [clips, frames] or [clips, frames, channels] from -1 to 1.
PANTO_EXPORT Tensor audio_summary(Arg tag, Arg clips, Arg sample_rate, const AudioSummaryBytesOptions& options = {});
// Strings, for TensorBoard's text page.
PANTO_EXPORT Tensor text_summary(Arg tag, Arg texts);

// Merges several summaries into one. Throws InvalidArgument for an empty list.
PANTO_EXPORT Tensor merge_summary(const std::vector<Tensor>& summaries, Arg::Where where = Arg::Where::current());
// Merges the collection "summaries" of the open graph. Throws FailedPrecondition outside of a GraphScope,
// InvalidArgument if the collection is empty.
PANTO_EXPORT Tensor merge_all_summaries();

}  // namespace panto
