// Summary ops: values as the bytes of a Summary, for TensorBoard.
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/batching.h"
#include "panto/ops/summaries.h"

namespace panto {
namespace {

constexpr const char* kBytes = "bytes have none";

void tag_and_values(ShapeContext& c) {
  c.expect_scalar(0);
  shapes::scalar(c);
}

}  // namespace

const Op& kScalarSummary = define_op(
    "ScalarSummary(tags: string, values: T; T: real) -> (summary: string)",
    {.doc = "The bytes of a Summary with a number for each tag. `tags` and `values` have one shape.",
     .cpp = "scalar_summary_bytes",
     .shape =
         [](ShapeContext& c) {
           if (!c.shape(0).compatible_with(c.shape(1))) {
             invalid("tags: expected the shape {} of values, got {}", c.shape(1).to_string(), c.shape(0).to_string());
           }
           shapes::scalar(c);
         },
     .no_gradient = kBytes,
     .batch = batching::loop});

const Op& kHistogramSummary = define_op(
    "HistogramSummary(tag: string, values: T; T: real = float32) -> (summary: string)",
    {.doc = "The bytes of a Summary that says how many of the values lie where: in buckets of which each is 1.1 times "
            "as wide as the one before. InvalidArgument for NaNs and infinities.",
     .cpp = "histogram_summary_bytes",
     .shape = tag_and_values,
     .no_gradient = kBytes,
     .batch = batching::loop});

const Op& kImageSummary = define_op(
    "ImageSummary(tag: string, tensor: T; max_images: int >= 1 = 3, T: uint8|float16|float32|float64 = float32,"
    " bad_color: tensor) -> (summary: string)",
    {.doc = "The bytes of a Summary with the first `max_images` of [images, height, width, channels] as PNGs, under "
            "tag/image/0 and so on, or tag/image if that is 1. Channels are 1, 3 or 4. Bytes are shown as they are; "
            "others are scaled so that the largest is 255, and around 128 where some are negative. Pixels that are not "
            "finite are `bad_color`.",
     .cpp = "image_summary_bytes",
     .shape =
         [](ShapeContext& c) {
           c.expect_rank(1, 4);
           tag_and_values(c);
         },
     .no_gradient = kBytes,
     .batch = batching::loop});

const Op& kAudioSummaryV2 = define_op(
    "AudioSummaryV2(tag: string, tensor: float32, sample_rate: float32; max_outputs: int >= 1 = 3)"
    " -> (summary: string)",
    {.doc = "The bytes of a Summary with the first `max_outputs` clips of [clips, frames] or [clips, frames, channels] "
            "as WAVs, under tag/audio/0 and so on, or tag/audio if that is 1. Samples are from -1 to 1.",
     .cpp = "audio_summary_bytes",
     .shape =
         [](ShapeContext& c) {
           c.expect_rank_at_least(1, 2);
           c.expect_scalar(2);
           tag_and_values(c);
         },
     .no_gradient = kBytes,
     .batch = batching::loop});

const Op& kTensorSummary = define_op(
    "TensorSummary(tensor: T; T: type, description: string = \"\", labels: list(string) = [],"
    " display_name: string = \"\") -> (summary: string)",
    {.doc = "The bytes of a Summary with a tensor under the node's name. The other attributes are for who reads the "
            "graph.",
     .cpp = "tensor_summary_bytes_v1",
     .shape = shapes::scalar,
     .no_gradient = kBytes,
     .batch = batching::loop});

const Op& kTensorSummaryV2 = define_op(
    "TensorSummaryV2(tag: string, tensor: T, serialized_summary_metadata: string; T: type) -> (summary: string)",
    {.doc = "The bytes of a Summary with a tensor under a tag, and with these bytes of a SummaryMetadata, which say "
            "who shows it.",
     .cpp = "tensor_summary_bytes",
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(2);
           tag_and_values(c);
         },
     .no_gradient = kBytes,
     .batch = batching::loop});

const Op& kMergeSummary = define_op(  //
    "MergeSummary(inputs: N * string; N: int >= 1) -> (summary: string)",
    {.doc = "The bytes of a Summary with the values of all. No two may have one tag.",
     .cpp = "merge_summary_bytes",
     .shape = shapes::scalar,
     .no_gradient = kBytes,
     .batch = batching::loop});

}  // namespace panto
