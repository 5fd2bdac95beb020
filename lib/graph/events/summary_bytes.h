// Summaries of graphs, as serialized Summary messages in the forms of TensorFlow 1, with the same numbers. The ops of
// lib/ops/summaries return and write them. Internal.
//
// Tensors are in host memory. Throw InvalidArgument for values that cannot be shown.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::events {

// A number under its tag for each element of a real tensor. Both have the same shape, or the tag is a scalar and there
// is one element.
std::string scalar_summary(const Tensor& tags, const Tensor& values);
// A histogram of a real tensor with TensorFlow's fixed buckets: each limit is 1.1 times the one before.
std::string histogram_summary(std::string_view tag, const Tensor& values);
// The first images of [images, height, width, channels] with 1, 3 or 4 channels, as PNGs under tag/image/0, ...; with
// max_images 1 under tag/image. uint8 values are used as they are. Others are scaled so that the largest becomes 255
// and 0 stays 0; if some are negative, so that 0 becomes 128 and the largest magnitude lies 127 away from it. Pixels
// that are not finite become `bad_color`, uint8 with a number for each channel.
std::string image_summary(std::string_view tag, const Tensor& images, int64_t max_images, const Tensor& bad_color);
// The first clips of float32 [clips, frames] or [clips, frames, channels] as WAVs under tag/audio/0, ...
std::string audio_summary(std::string_view tag, const Tensor& clips, float sample_rate, int64_t max_outputs);
// Any tensor, with a serialized SummaryMetadata, under a tag or a node's name.
std::string tensor_summary(std::string_view tag, const Tensor& value, std::string_view metadata);
std::string tensor_summary_of_node(std::string_view node, const Tensor& value);
// Merges the summaries in string tensors. Throws if two values have the same tag.
std::string merged_summary(std::span<const Tensor> summaries);

// The serialized Event for a serialized Summary.
std::string event_of_summary(double wall_time, int64_t step, std::string_view summary);
// The serialized Event for a serialized GraphDef.
std::string event_of_graph(double wall_time, int64_t step, std::string_view graph_def);
// Throws InvalidArgument unless this is a serialized Event.
void expect_event(std::string_view event);

}  // namespace panto::events
