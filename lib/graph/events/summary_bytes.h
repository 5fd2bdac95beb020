// Summaries of graphs: values as the bytes of Summary messages, in the forms of TensorFlow 1, whose numbers they have.
// What the ops of lib/ops/summaries give and write. Internal.
//
// Tensors are in host memory. Throw InvalidArgument for what cannot be shown.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::events {

// For each element of a real tensor, a number under its tag; both have one shape, or the tag is a scalar of one
// element.
std::string scalar_summary(const Tensor& tags, const Tensor& values);
// How many elements of a real tensor are in buckets of a fixed width: each limit is 1.1 times the one before.
std::string histogram_summary(std::string_view tag, const Tensor& values);
// The first images of [images, height, width, channels] with 1, 3 or 4 channels as PNGs under tag/image/0, ...; with
// max_images 1 tag/image. Bytes as they are; others so that the largest is 255 and 0 is 0, or, where some are negative,
// 127 away from 128. Pixels that are not finite are `bad_color`, uint8 with a number for each channel.
std::string image_summary(std::string_view tag, const Tensor& images, int64_t max_images, const Tensor& bad_color);
// The first clips of float32 [clips, frames] or [clips, frames, channels] as WAVs under tag/audio/0, ...
std::string audio_summary(std::string_view tag, const Tensor& clips, float sample_rate, int64_t max_outputs);
// Any tensor, with the bytes of a SummaryMetadata, under a tag or a node's name.
std::string tensor_summary(std::string_view tag, const Tensor& value, std::string_view metadata);
std::string tensor_summary_of_node(std::string_view node, const Tensor& value);
// All values of the summaries in string tensors. No two may have one tag.
std::string merged_summary(std::span<const Tensor> summaries);

// The bytes of an Event with these bytes of a Summary.
std::string event_of_summary(double wall_time, int64_t step, std::string_view summary);
// The bytes of an Event with these of a GraphDef.
std::string event_of_graph(double wall_time, int64_t step, std::string_view graph_def);
// Throws InvalidArgument unless these are the bytes of an Event.
void expect_event(std::string_view event);

}  // namespace panto::events
