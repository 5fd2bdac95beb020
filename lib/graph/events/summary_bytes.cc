#include "panto/lib/graph/events/summary_bytes.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/media/codecs.h"
#include "panto/lib/core/tensor/half.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/events/exact_tensor.h"
#include "panto/lib/graph/files/wire/proto_text.h"
#include "panto/lib/graph/proto/event.pb.h"

namespace panto::events {
namespace {

std::string bytes_of(const google::protobuf::Message& message) {
  std::string bytes;
  if (!message.SerializeToString(&bytes)) {
    fail(Code::kResourceExhausted, "summary: expected less than 2 GiB, got more");
  }
  return bytes;
}

std::vector<double> numbers_of(const Tensor& t) {
  const RecorderPause pause;  // it is not part of the recorded computation
  return t.cast(kFloat64).to_vector<double>();
}

// ---- Histograms ----------------------------------------------------------------------------------------------------

const std::vector<double>& limits() {
  static const auto* const all = [] {
    auto* made = new std::vector<double>{0};
    // The limits are exactly the results of this repeated multiplication by 1.1, with its rounding.
    for (double v = 1e-12; v < 1e20; v *= 1.1) made->push_back(v);
    made->push_back(DBL_MAX);
    const size_t count = made->size();
    for (size_t i = 1; i < count; ++i) made->insert(made->begin(), -(*made)[2 * i - 1]);
    return made;
  }();
  return *all;
}

// ---- Images --------------------------------------------------------------------------------------------------------

// Converts pixels of type T to bytes. Scales in T, as TensorFlow does.
template <class T>
std::vector<unsigned char> bytes_of_pixels(const T* values, int64_t pixels, int64_t channels,
                                           const unsigned char* bad_color) {
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const auto finite = [&](const T* pixel) {
    return std::all_of(pixel, pixel + channels, [](T v) { return std::isfinite(static_cast<Wide>(v)); });
  };
  float least = std::numeric_limits<float>::infinity(), most = -least;
  for (int64_t i = 0; i < pixels; ++i) {
    const T* pixel = values + i * channels;
    if (!finite(pixel)) continue;
    for (int64_t c = 0; c < channels; ++c) {
      least = std::min(least, static_cast<float>(pixel[c]));
      most = std::max(most, static_cast<float>(pixel[c]));
    }
  }
  constexpr float kAlmostNone = 1e-6F;
  const bool negative = least < 0;
  const float range = negative ? std::max(std::abs(least), std::abs(most)) : most;
  const T scale = static_cast<T>(range < kAlmostNone ? 0.0F : (negative ? 127.0F : 255.0F) / range);
  const T offset = static_cast<T>(negative ? 128.0F : 0.0F);
  std::vector<unsigned char> bytes(static_cast<size_t>(pixels * channels));
  unsigned char* to = bytes.data();
  for (int64_t i = 0; i < pixels; ++i) {
    const T* pixel = values + i * channels;
    const bool shown = finite(pixel);
    for (int64_t c = 0; c < channels; ++c) {
      if (!shown) {
        *to++ = bad_color[c];
        continue;
      }
      const auto product = static_cast<T>(static_cast<Wide>(pixel[c]) * static_cast<Wide>(scale));
      const auto sum = static_cast<T>(static_cast<Wide>(product) + static_cast<Wide>(offset));
      *to++ = static_cast<unsigned char>(std::clamp(static_cast<Wide>(sum), Wide{0}, Wide{255}));
    }
  }
  return bytes;
}

std::string numbered(std::string_view tag, std::string_view kind, int64_t most, int64_t i) {
  return most > 1 ? fmt::format("{}/{}/{}", tag, kind, i) : fmt::format("{}/{}", tag, kind);
}

void put_tensor(const Tensor& value, graphdef::Summary::Value* to) {
  if (!is_plain(value.dtype()) && value.dtype() != kString) {
    invalid("summary: expected a dtype with values, got {}", dtype_name(value.dtype()));
  }
  exact_tensor_to_proto(value, to->mutable_tensor());
}

}  // namespace

std::string scalar_summary(const Tensor& tags, const Tensor& values) {
  if (tags.shape() != values.shape()) {
    invalid("tags: expected the shape {} of values, got {}", values.shape().to_string(), tags.shape().to_string());
  }
  graphdef::Summary summary;
  const std::vector<double> numbers = numbers_of(values);
  const auto names = tags.data<std::string>();
  for (size_t i = 0; i < numbers.size(); ++i) {
    auto* value = summary.add_value();
    value->set_tag(names[i]);
    value->set_simple_value(static_cast<float>(numbers[i]));
  }
  return bytes_of(summary);
}

std::string histogram_summary(std::string_view tag, const Tensor& values) {
  const std::vector<double>& all = limits();
  std::vector<double> counts(all.size());
  double least = DBL_MAX, most = -DBL_MAX, sum = 0, squares = 0;
  const std::vector<double> numbers = numbers_of(values);
  for (const double v : numbers) {
    if (!std::isfinite(v)) {
      invalid("summary '{}': expected finite values, got {}", printable(tag), v);
    }
    const auto at = std::upper_bound(all.begin(), all.end(), v) - all.begin();
    counts[std::min(static_cast<size_t>(at), counts.size() - 1)] += 1;
    least = std::min(least, v);
    most = std::max(most, v);
    sum += v;
    squares += v * v;
  }
  graphdef::Summary summary;
  auto* value = summary.add_value();
  value->set_tag(std::string(tag));
  auto* histogram = value->mutable_histo();
  histogram->set_min(least);
  histogram->set_max(most);
  histogram->set_num(static_cast<double>(numbers.size()));
  histogram->set_sum(sum);
  histogram->set_sum_squares(squares);
  for (size_t i = 0; i < counts.size();) {
    size_t last = i;
    // Consecutive empty buckets are merged into one.
    if (counts[i] <= 0) {
      while (last + 1 < counts.size() && counts[last + 1] <= 0) ++last;
    }
    histogram->add_bucket_limit(all[last]);
    histogram->add_bucket(counts[i]);
    i = last + 1;
  }
  return bytes_of(summary);
}

std::string image_summary(std::string_view tag, const Tensor& images, int64_t max_images, const Tensor& bad_color) {
  const Shape& shape = images.shape();
  const int64_t channels = shape.rank() == 4 ? shape[3] : 0;
  if (channels != 1 && channels != 3 && channels != 4) {
    invalid("images: expected [images, height, width, channels] with 1, 3 or 4 channels, got {}", shape.to_string());
  }
  if (bad_color.dtype() != kUint8 || bad_color.shape().rank() != 1 || bad_color.dim(0) < channels) {
    invalid("bad_color: expected uint8 with a number for each of {} channels, got {}{}", channels,
            dtype_name(bad_color.dtype()), bad_color.shape().to_string());
  }
  const auto* bad = mutable_data<const uint8_t>(bad_color);
  const int64_t height = shape[1], width = shape[2], pixels = height * width, count = std::min(shape[0], max_images);
  graphdef::Summary summary;
  for (int64_t i = 0; i < count; ++i) {
    if (pixels == 0) invalid("images: expected a height and a width of at least 1, got {}", shape.to_string());
    const int64_t first = i * pixels * channels;
    std::vector<unsigned char> made;
    const unsigned char* data = nullptr;
    if (images.dtype() == kUint8) {
      data = mutable_data<const uint8_t>(images) + first;
    } else {
      const auto make = [&]<class T>(const T* values) {
        made = bytes_of_pixels(values + first, pixels, channels, bad);
      };
      switch (images.dtype()) {
        case kFloat32: make(mutable_data<const float>(images)); break;
        case kFloat64: make(mutable_data<const double>(images)); break;
        case kFloat16: make(mutable_data<const Half>(images)); break;
        default: invalid("images: expected uint8, float16, float32 or float64, got {}", dtype_name(images.dtype()));
      }
      data = made.data();
    }
    auto* value = summary.add_value();
    value->set_tag(numbered(tag, "image", max_images, i));
    auto* image = value->mutable_image();
    image->set_height(static_cast<int32_t>(height));
    image->set_width(static_cast<int32_t>(width));
    image->set_colorspace(static_cast<int32_t>(channels));
    image->set_encoded_image_string(images::encode_png({data, height, width, channels}));
  }
  return bytes_of(summary);
}

std::string audio_summary(std::string_view tag, const Tensor& clips, float sample_rate, int64_t max_outputs) {
  const Shape& shape = clips.shape();
  if (clips.dtype() != kFloat32 || (shape.rank() != 2 && shape.rank() != 3)) {
    invalid("clips: expected float32 [clips, frames] or [clips, frames, channels], got {}{}", dtype_name(clips.dtype()),
            shape.to_string());
  }
  if (!(sample_rate >= 1 && sample_rate < 4294967296.0F)) {
    invalid("sample_rate: expected at least 1 and less than 2^32, got {}", sample_rate);
  }
  const int64_t frames = shape[1], channels = shape.rank() == 2 ? 1 : shape[2], count = std::min(shape[0], max_outputs);
  graphdef::Summary summary;
  const auto* samples = mutable_data<const float>(clips);
  for (int64_t i = 0; i < count; ++i) {
    auto* value = summary.add_value();
    value->set_tag(numbered(tag, "audio", max_outputs, i));
    auto* audio = value->mutable_audio();
    audio->set_sample_rate(sample_rate);
    audio->set_num_channels(channels);
    audio->set_length_frames(frames);
    audio->set_content_type("audio/wav");
    audio->set_encoded_audio_string(
        wav_bytes(std::span(samples + i * frames * channels, static_cast<size_t>(frames * channels)), channels,
                  static_cast<int64_t>(std::lrint(sample_rate))));
  }
  return bytes_of(summary);
}

std::string tensor_summary(std::string_view tag, const Tensor& value, std::string_view metadata) {
  graphdef::Summary summary;
  auto* to = summary.add_value();
  to->set_tag(std::string(tag));
  put_tensor(value, to);
  if (!parse_proto(metadata, *to->mutable_metadata())) {
    invalid("summary_metadata: expected the bytes of a SummaryMetadata, got others");
  }
  return bytes_of(summary);
}

std::string tensor_summary_of_node(std::string_view node, const Tensor& value) {
  graphdef::Summary summary;
  auto* to = summary.add_value();
  to->set_node_name(std::string(node));
  put_tensor(value, to);
  return bytes_of(summary);
}

std::string merged_summary(std::span<const Tensor> summaries) {
  graphdef::Summary all;
  std::unordered_set<std::string> tags;
  for (const Tensor& strings : summaries) {
    for (const std::string& bytes : strings.data<std::string>()) {
      graphdef::Summary one;
      if (!parse_proto(bytes, one)) invalid("summary: expected the bytes of a Summary, got others");
      for (auto& value : *one.mutable_value()) {
        if (!value.tag().empty() && !tags.insert(value.tag()).second) {
          invalid("summaries: expected each tag once, got '{}' twice", printable(value.tag()));
        }
        all.add_value()->Swap(&value);
      }
    }
  }
  return bytes_of(all);
}

std::string event_of_summary(double wall_time, int64_t step, std::string_view summary) {
  graphdef::Event event;
  event.set_wall_time(wall_time);
  event.set_step(step);
  if (!parse_proto(summary, *event.mutable_summary())) {
    invalid("summary: expected the bytes of a Summary, got others");
  }
  return bytes_of(event);
}

std::string event_of_graph(double wall_time, int64_t step, std::string_view graph_def) {
  graphdef::Event event;
  event.set_wall_time(wall_time);
  event.set_step(step);
  event.set_graph_def(std::string(graph_def));
  return bytes_of(event);
}

void expect_event(std::string_view event) {
  graphdef::Event parsed;
  if (!parse_proto(event, parsed)) invalid("event: expected the bytes of an Event, got others");
}

}  // namespace panto::events
