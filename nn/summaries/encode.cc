#include "panto/nn/summaries/encode.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/media/codecs.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/nn/data/image.h"

namespace panto::summaries {
namespace {

// The first elements, in host memory: converts only the part of a large batch that is shown.
Tensor first_of(const Tensor& t, const Shape& shape) {
  const RecorderPause pause;  // not part of the recorded computation
  return view_tensor(t.cpu(), shape);
}

}  // namespace

std::vector<double> numbers_of(const Tensor& t, std::string_view what) {
  if (!dtypes::kReal.contains(t.dtype())) {
    invalid("{} summary: expected real numbers, got {}", what, type_text(t.dtype(), t.partial_shape()));
  }
  const RecorderPause pause;  // not part of the recorded computation
  return t.cast(kFloat64).to_vector<double>();
}

Tensor image_bytes(const Tensor& image) {
  if (image.dtype() == kUint8) return image;
  const std::vector<double> values = numbers_of(image, "image");
  Tensor t = allocate_tensor(cpu_device(), kUint8, image.shape());
  constexpr double kScale = 255.5;
  std::ranges::transform(values, mutable_data<uint8_t>(t), [](double v) {
    return static_cast<uint8_t>(std::isnan(v) ? 0 : std::clamp(std::floor(v * kScale), 0.0, 255.0));
  });
  return t;
}

Tensor histogram(const std::vector<double>& values, int64_t buckets) {
  if (values.empty()) return allocate_tensor(cpu_device(), kFloat64, Shape{0, 3});
  for (const double v : values) {
    if (!std::isfinite(v)) invalid("histogram summary: expected finite values, got {}", v);
  }
  const auto [least, most] = std::ranges::minmax(values);
  if (least == most) {
    Tensor t = allocate_tensor(cpu_device(), kFloat64, Shape{1, 3});
    auto* out = mutable_data<double>(t);
    out[0] = least - 0.5;
    out[1] = least + 0.5;
    out[2] = static_cast<double>(values.size());
    return t;
  }
  Tensor t = allocate_tensor(cpu_device(), kFloat64, Shape{buckets, 3});
  auto* out = mutable_data<double>(t);
  const auto count = static_cast<double>(buckets);
  // Interpolates as a weighted sum of both ends, since their difference may overflow.
  const auto edge = [&, least = least, most = most](int64_t i) {
    const double share = static_cast<double>(i) / count;
    return i == buckets ? most : least * (1 - share) + most * share;
  };
  for (int64_t i = 0; i < buckets; ++i) {
    out[3 * i] = edge(i);
    out[3 * i + 1] = edge(i + 1);
    out[3 * i + 2] = 0;
  }
  const double width = most / count - least / count;
  for (const double v : values) {
    const double at = width > 0 ? std::floor((v / count - least / count) / width * count) : 0;
    const auto i = static_cast<int64_t>(std::clamp(at, 0.0, count - 1));
    out[3 * i + 2] += 1;
  }
  return t;
}

Tensor pictures(const Tensor& images, int64_t most) {
  const Shape& shape = images.shape();
  const int rank = shape.rank();
  const int64_t channels = rank < 3 ? 0 : shape[-1];
  if ((rank != 3 && rank != 4) || channels < 1 || channels > 4 || shape[-2] == 0 || shape[-3] == 0) {
    invalid(
        "image summary: expected [height, width, channels] or [images, height, width, channels] with 1 to 4 "
        "channels, got {}",
        shape.to_string());
  }
  if (images.dtype() != kUint8 && !dtypes::kFloating.contains(images.dtype())) {
    invalid("image summary: expected uint8 or a floating-point dtype, got {}", dtype_name(images.dtype()));
  }
  const Shape one{shape[-3], shape[-2], channels};
  const int64_t count = rank == 3 ? 1 : std::min(shape[0], most);
  const Tensor bytes = image_bytes(first_of(images, Shape{count, shape[-3], shape[-2], channels}));
  std::vector<std::string> texts{std::to_string(shape[-2]), std::to_string(shape[-3])};
  for (int64_t i = 0; i < count; ++i) texts.push_back(png_bytes(view_tensor(bytes, one, i * one.numel())));
  const Shape all{texts.size()};
  return tensor_from_strings(all, std::move(texts));
}

Tensor clips(const Tensor& samples, int64_t sample_rate, int64_t most) {
  const Shape& shape = samples.shape();
  const int rank = shape.rank();
  if (!dtypes::kFloating.contains(samples.dtype()) || rank < 1 || rank > 3) {
    invalid("audio summary: expected floating-point [frames], [frames, channels] or [clips, frames, channels], got {}",
            type_text(samples.dtype(), shape));
  }
  const int64_t channels = rank == 1 ? 1 : shape[-1];
  const int64_t count = rank == 3 ? std::min(shape[0], most) : 1;
  if (channels < 1) invalid("audio summary: expected channels, got none");
  const std::vector<double> values =
      numbers_of(rank == 3 ? first_of(samples, Shape{count, shape[1], channels}) : samples, "audio");
  const size_t one = count == 0 ? 0 : values.size() / static_cast<size_t>(count);
  std::vector<std::string> texts;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const std::vector<float> clip(values.begin() + static_cast<std::ptrdiff_t>(i * one),
                                  values.begin() + static_cast<std::ptrdiff_t>((i + 1) * one));
    texts.push_back(wav_bytes(clip, channels, sample_rate));
    texts.emplace_back();
  }
  return tensor_from_strings(Shape{count, 2}, std::move(texts));
}

}  // namespace panto::summaries
