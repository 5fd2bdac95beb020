#include "panto/nn/summaries/graph_summaries.h"

#include <string_view>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/create.h"
#include "panto/ops/summaries.h"
#include "panto/trace/graph_scope.h"

namespace panto {
namespace {

constexpr const char* kCollection = "summaries";

Tensor collected(Tensor summary) {
  if (in_graph_scope()) add_to_collection(kCollection, {summary});
  return summary;
}

}  // namespace

Tensor scalar_summary(Arg tags, Arg values) {
  return collected(scalar_summary_bytes(std::move(tags), std::move(values)));
}

Tensor histogram_summary(Arg tag, Arg values) {
  return collected(histogram_summary_bytes(std::move(tag), std::move(values)));
}

Tensor image_summary(Arg tag, Arg images, const ImageSummaryBytesOptions& options) {
  const Tensor red = tensor(std::vector<uint8_t>{255, 0, 0, 255}, Shape{4});
  return collected(image_summary_bytes(std::move(tag), std::move(images),
                                       options.bad_color.defined() ? options.bad_color : red,
                                       {.max_images = options.max_images}));
}

Tensor audio_summary(Arg tag, Arg clips, Arg sample_rate, const AudioSummaryBytesOptions& options) {
  return collected(audio_summary_bytes(std::move(tag), std::move(clips), std::move(sample_rate),
                                       {.max_outputs = options.max_outputs}));
}

Tensor text_summary(Arg tag, Arg texts) {
  // A serialized SummaryMetadata: field 1, the plugin data, is a message whose field 1 is the plugin's name.
  constexpr std::string_view kText = "\x0a\x06\x0a\x04text";
  return collected(tensor_summary_bytes(std::move(tag), std::move(texts), kText));
}

Tensor merge_summary(const std::vector<Tensor>& summaries, Arg::Where where) {
  if (summaries.empty()) invalid("summaries: expected some to merge, got none");
  return merge_summary_bytes(ArgList(summaries, where));
}

Tensor merge_all_summaries() {
  static_cast<void>(current_graph());  // throws outside of a GraphScope
  return merge_summary(collected_tensors(kCollection));
}

}  // namespace panto
