// Random parts of images: TensorFlow's methods, including which words of the stream they consume
// (tensorflow/core/kernels/image/random_crop_op.cc and sample_distorted_bounding_box_op.cc).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/math/random/philox_blocks.h"
#include "panto/device/op_kernels.h"
#include "panto/device/random_stream.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/image_types.h"

namespace panto {
namespace {

using philox::below;
using philox::WordsInOrder;

struct Box {
  int64_t top = 0, left = 0, bottom = 0, right = 0;
  float area() const { return static_cast<float>((right - left) * (bottom - top)); }
  Box common_with(const Box& other) const {
    const Box both{std::max(top, other.top), std::max(left, other.left), std::min(bottom, other.bottom),
                   std::min(right, other.right)};
    return both.top > both.bottom || both.left > both.right ? Box{} : both;
  }
};

// Rounds a size. Sizes of 2^31 and more become 2^31, which is larger than any image.
int64_t rounded(float x) {
  constexpr float kMost = 0x1p31F;
  return x < kMost ? std::lrint(std::max(x, -kMost)) : int64_t{1} << 31;
}

struct Limits {
  float least_area, most_area;    // fractions of the image's area
  float least_ratio, most_ratio;  // width by height
};

// Draws a part of the image with the aspect ratio `ratio`. Returns nullopt if, after rounding, no part is within the
// limits.
std::optional<Box> draw_part(int64_t image_height, int64_t image_width, const Limits& limits, float ratio,
                             WordsInOrder& words) {
  if (limits.most_area <= 0 || ratio <= 0 || limits.least_area > limits.most_area) return std::nullopt;
  const auto h = static_cast<float>(image_height), w = static_cast<float>(image_width);
  const float least = limits.least_area * w * h, most = limits.most_area * w * h;
  int64_t height = rounded(std::sqrt(least / ratio)), highest = rounded(std::sqrt(most / ratio));
  const auto width_of = [&](int64_t height_) { return rounded(static_cast<float>(height_) * ratio); };
  if (width_of(highest) > image_width) {
    constexpr float kRounding = 0.0000001F;
    highest = static_cast<int64_t>(std::min((static_cast<double>(image_width) + 0.5 - kRounding) / ratio, 0x1p31));
    if (width_of(highest) > image_width) --highest;
  }
  highest = std::min(highest, image_height);
  height = std::min(height, highest);
  if (height < highest) height += below(static_cast<uint32_t>(highest - height + 1), words);
  int64_t width = width_of(height);
  // Corrects a size that only rounding made too small or too large.
  const auto area = [&] { return static_cast<float>(width * height); };
  if (area() < least) width = width_of(++height);
  if (area() > most) width = width_of(--height);
  if (area() < least || area() > most || width > image_width || height > image_height || width <= 0 || height <= 0) {
    return std::nullopt;
  }
  const auto place = [&](int64_t room) -> int64_t { return room > 0 ? below(static_cast<uint32_t>(room), words) : 0; };
  const int64_t top = place(image_height - height), left = place(image_width - width);
  return Box{top, left, top + height, left + width};
}

bool shows_one(const Box& part, float least, const std::vector<Box>& boxes) {
  if (part.area() < 1) return false;
  return std::ranges::any_of(
      boxes, [&](const Box& box) { return box.area() >= 1 && part.common_with(box).area() / box.area() >= least; });
}

std::vector<Box> boxes_of(const KernelContext& c, int64_t height, int64_t width) {
  std::vector<Box> boxes;
  const auto* corners = c.data<float>(1);
  for (int64_t i = 0; i < c.numel(1); ++i) {
    if (!(corners[i] >= 0 && corners[i] <= 1)) {
      invalid("bounding_boxes: expected numbers from 0 to 1, got {}", corners[i]);
    }
  }
  const auto h = static_cast<float>(height), w = static_cast<float>(width);
  for (const float* box = corners; box != corners + c.numel(1); box += 4) {
    boxes.push_back({static_cast<int64_t>(box[0] * h), static_cast<int64_t>(box[1] * w),
                     static_cast<int64_t>(box[2] * h), static_cast<int64_t>(box[3] * w)});
  }
  if (!boxes.empty()) return boxes;
  if (!c.flag("use_image_if_no_bounding_boxes")) {
    invalid("bounding_boxes: expected one without use_image_if_no_bounding_boxes, got none");
  }
  return {{0, 0, height, width}};
}

template <class T>
void sample(KernelContext& c, float least_seen, const philox::Stream& stream) {
  const T* size = c.data<T>(0);
  const auto height = static_cast<int64_t>(size[0]), width = static_cast<int64_t>(size[1]);
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  for (int k = 0; k < 2; ++k) {
    const int64_t side = k == 0 ? height : width;
    if (side < 1 || side > kMost) invalid("image_size[{}]: expected 1 to {}, got {}", k, kMost, side);
  }
  if (!(least_seen >= 0)) invalid("min_object_covered: expected at least 0, got {}", least_seen);
  const auto* areas = static_cast<const float*>(c.slot("area_range").p);
  const auto* ratios = static_cast<const float*>(c.slot("aspect_ratio_range").p);
  const Limits limits{areas[0], areas[1], ratios[0], ratios[1]};
  const std::vector<Box> boxes = boxes_of(c, height, width);
  WordsInOrder words(stream);
  Box part{0, 0, height, width};
  for (int64_t i = 0; i < c.integer("max_attempts"); ++i) {
    if (i % 4096 == 4095) throw_if_cancelled();
    const float ratio =
        philox::uniform_float(words.next()) * (limits.most_ratio - limits.least_ratio) + limits.least_ratio;
    const std::optional<Box> drawn = draw_part(height, width, limits, ratio, words);
    if (drawn && shows_one(*drawn, least_seen, boxes)) {
      part = *drawn;
      break;
    }
  }
  T *begin = c.out_data<T>(0), *extent = c.out_data<T>(1);
  begin[0] = static_cast<T>(part.top);
  begin[1] = static_cast<T>(part.left);
  begin[2] = 0;
  extent[0] = static_cast<T>(part.bottom - part.top);
  extent[1] = static_cast<T>(part.right - part.left);
  extent[2] = static_cast<T>(-1);
  float* box = c.out_data<float>(2);
  const auto h = static_cast<float>(height), w = static_cast<float>(width);
  box[0] = static_cast<float>(part.top) / h;
  box[1] = static_cast<float>(part.left) / w;
  box[2] = static_cast<float>(part.bottom) / h;
  box[3] = static_cast<float>(part.right) / w;
}

struct Stateful {
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return prepare_generator(c);
  }
};

struct SampleV1 : Stateful {
  template <class T>
  static void run(KernelContext& c) {
    sample<T>(c, c.real("min_object_covered"), next_stream(c, static_cast<uint64_t>(c.integer("max_attempts"))));
  }
};
struct SampleV2 : Stateful {
  template <class T>
  static void run(KernelContext& c) {
    sample<T>(c, *c.data<float>(2), next_stream(c, static_cast<uint64_t>(c.integer("max_attempts"))));
  }
};
struct SampleBySeed {
  template <class T>
  static void run(KernelContext& c) {
    sample<T>(c, *c.data<float>(2), stream_of_seed(c.in(3)));
  }
};

struct RandomCrop : Stateful {
  template <class T>
  static void run(KernelContext& c) {
    const Shape &in = c.shape(0), &out = c.out_shape(0);
    const T* image = c.data<T>(0);
    T* part = c.out_data<T>(0);
    if (in == out) {
      std::copy_n(image, c.numel(0), part);
      return;
    }
    WordsInOrder words(next_stream(c, 1));
    const auto place = [&](int64_t room) -> int64_t { return room > 0 ? words.next() % (room + 1) : 0; };
    const int64_t left = place(in.dim(1) - out.dim(1)), top = place(in.dim(0) - out.dim(0));
    const int64_t row = out.dim(1) * out.dim(2);
    for (int64_t y = 0; y < out.dim(0); ++y) {
      std::copy_n(image + ((top + y) * in.dim(1) + left) * in.dim(2), row, part + y * row);
    }
  }
};

const CpuKernel v1_kernel("SampleDistortedBoundingBox", types::of<"SampleDistortedBoundingBox">{}, SampleV1{});
const CpuKernel v2_kernel("SampleDistortedBoundingBoxV2", types::of<"SampleDistortedBoundingBoxV2">{}, SampleV2{});
const CpuKernel seeded_kernel("StatelessSampleDistortedBoundingBox", types::of<"StatelessSampleDistortedBoundingBox">{},
                              SampleBySeed{});
const CpuKernel crop_kernel("RandomCrop", types::of<"RandomCrop">{}, RandomCrop{});

}  // namespace
}  // namespace panto
