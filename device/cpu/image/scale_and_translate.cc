// Kernels of ScaleAndTranslate and of its gradient.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string_view>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/rounded.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/image_types.h"

namespace panto {
namespace {

// A resampling kernel: its value at a distance, and the radius beyond which it is 0.
struct Bell {
  float radius;
  float (*at)(float x, float radius);
};

float lanczos(float x, float radius) {
  constexpr float kPi = std::numbers::pi_v<float>, kAtOne = 1e-3F;
  if (x > radius) return 0;
  if (x <= kAtOne) return 1;
  return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
}
float gaussian(float x, float radius) {
  const float sigma = radius / 3;
  return x >= radius ? 0 : std::exp(-x * x / (2 * sigma * sigma));
}
float box(float x, float radius) { return x < radius ? 1 : x == radius ? 0.5F : 0; }
float triangle(float x, float /*radius*/) { return x < 1 ? 1 - x : 0; }
// Keys (1981).
float keys(float x, float /*radius*/) {
  if (x >= 2) return 0;
  return x >= 1 ? ((-0.5F * x + 2.5F) * x - 4) * x + 2 : ((1.5F * x - 2.5F) * x) * x + 1;
}
// Mitchell and Netravali (1988).
float mitchell(float x, float /*radius*/) {
  if (x >= 2) return 0;
  return x >= 1 ? (((-7.0F / 18) * x + 2) * x - 10.0F / 3) * x + 16.0F / 9 : (((7.0F / 6) * x - 2) * x) * x + 8.0F / 9;
}

Bell bell_named(std::string_view name) {
  if (name == "lanczos1") return {1, lanczos};
  if (name == "lanczos3") return {3, lanczos};
  if (name == "lanczos5") return {5, lanczos};
  if (name == "gaussian") return {1.5F, gaussian};
  if (name == "box") return {0.5F, box};
  if (name == "triangle") return {1, triangle};
  return {2, name == "keyscubic" ? keys : mitchell};
}

// For each row (or column) of the result: the first row of the original that it uses, and the weights.
class Spans {
 public:
  struct Span {
    int64_t first;
    const float* weights;
    int64_t count;
  };

  Spans(const Bell& bell, int64_t from, int64_t to, float scale, float translation, bool antialias) {
    if (!(scale > 0) || !std::isfinite(scale)) invalid("scale: expected positive numbers, got {}", scale);
    if (!std::isfinite(translation)) invalid("translation: expected finite numbers, got {}", translation);
    const float inverse = 1 / scale, offset = -inverse * translation;
    const float width = antialias ? std::max(inverse, 1.0F) : 1.0F;
    const auto size = static_cast<float>(from);
    for (int64_t i = 0; i < to; ++i) {
      begins_.push_back(weights_.size());
      const float at = rounded((static_cast<float>(i) + 0.5F) * inverse) + offset;
      // NaN counts as outside.
      if (!(at >= 0 && at <= size)) {
        firsts_.push_back(0);
        continue;
      }
      const auto inside = [&](float place) {
        return static_cast<int64_t>(std::clamp(place, 0.0F, static_cast<float>(from - 1)));
      };
      // The min is needed because float32 may round up by one.
      const int64_t first = std::min(inside(std::ceil(at - rounded(bell.radius * width) - 0.5F)), from - 1);
      const int64_t last = std::min(inside(std::floor(at + rounded(bell.radius * width) - 0.5F)), from - 1);
      firsts_.push_back(first);
      constexpr size_t kMostWeights = size_t{1} << 28;
      if (weights_.size() + static_cast<size_t>(last - first + 1) > kMostWeights) {
        failf(Code::kResourceExhausted, "scale: expected at most {} weights of a dimension, got more", kMostWeights);
      }
      float sum = 0;
      for (int64_t k = first; k <= last; ++k) {
        weights_.push_back(bell.at(std::abs((static_cast<float>(k) + 0.5F - at) / width), bell.radius));
        sum += weights_.back();
      }
      const bool some = std::abs(sum) >= 1000 * std::numeric_limits<float>::min();
      for (size_t k = begins_.back(); k < weights_.size(); ++k) weights_[k] = some ? weights_[k] / sum : 0;
    }
    begins_.push_back(weights_.size());
  }

  Span operator[](int64_t i) const {
    const auto k = static_cast<size_t>(i);
    return {firsts_[k], weights_.data() + begins_[k], static_cast<int64_t>(begins_[k + 1] - begins_[k])};
  }

 private:
  std::vector<int64_t> firsts_;
  std::vector<size_t> begins_;
  std::vector<float> weights_;
};

struct Both {
  Spans rows, columns;
  // For images of shape `from`, scaled to `to`.
  Both(const KernelContext& c, const Shape& from, const Shape& to)
      : rows(bell_named(c.text("kernel_type")), from.dim(1), to.dim(1), c.data<float>(2)[0], c.data<float>(3)[0],
             c.flag("antialias")),
        columns(bell_named(c.text("kernel_type")), from.dim(2), to.dim(2), c.data<float>(2)[1], c.data<float>(3)[1],
                c.flag("antialias")) {}
};

struct ScaleKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Shape &from = c.shape(0), &to = c.out_shape(0);
    const Both spans(c, from, to);
    if (c.out_numel(0) == 0) return;
    const int64_t width = from.dim(2), channels = from.dim(3), line = width * channels;
    const T* images = c.data<T>(0);
    auto* out = c.out_data<float>(0);
    cpu::parallel_ranges(
        to.dim(0) * to.dim(1), (c.out_numel(0) + to.dim(0) * to.dim(1) * line) * 16,
        [&](int64_t begin, int64_t end) {
          std::vector<float> mixed(static_cast<size_t>(line));
          for (int64_t r = begin; r < end; ++r) {
            const Spans::Span row = spans.rows[r % to.dim(1)];
            const T* image = images + r / to.dim(1) * from.dim(1) * line;
            std::ranges::fill(mixed, 0.0F);
            for (int64_t k = 0; k < row.count; ++k) {
              const T* pixels = image + (row.first + k) * line;
              for (int64_t i = 0; i < line; ++i)
                mixed[static_cast<size_t>(i)] += row.weights[k] * convert<float>(pixels[i]);
            }
            float* pixel = out + r * to.dim(2) * channels;
            for (int64_t x = 0; x < to.dim(2); ++x, pixel += channels) {
              const Spans::Span column = spans.columns[x];
              std::fill_n(pixel, channels, 0.0F);
              for (int64_t k = 0; k < column.count; ++k) {
                const float* source = mixed.data() + (column.first + k) * channels;
                for (int64_t i = 0; i < channels; ++i) pixel[i] += column.weights[k] * source[i];
              }
            }
          }
        },
        1);
  }
};

void run_gradient(KernelContext& c) {
  const Shape &to = c.shape(0), &from = c.out_shape(0);
  const Both spans(c, from, to);
  auto* out = c.out_data<float>(0);
  std::fill_n(out, c.out_numel(0), 0.0F);
  if (c.numel(0) == 0 || c.out_numel(0) == 0) return;
  const int64_t channels = from.dim(3), line = from.dim(2) * channels;
  const auto* grads = c.data<float>(0);
  // One thread per image: several rows of the incoming gradient add to one row of the image.
  cpu::parallel_ranges(
      to.dim(0), c.numel(0) * 64,
      [&](int64_t begin, int64_t end) {
        std::vector<float> mixed(static_cast<size_t>(line));
        for (int64_t r = begin * to.dim(1); r < end * to.dim(1); ++r) {
          const Spans::Span row = spans.rows[r % to.dim(1)];
          std::ranges::fill(mixed, 0.0F);
          const float* grad = grads + r * to.dim(2) * channels;
          for (int64_t x = 0; x < to.dim(2); ++x, grad += channels) {
            const Spans::Span column = spans.columns[x];
            for (int64_t k = 0; k < column.count; ++k) {
              float* target = mixed.data() + (column.first + k) * channels;
              for (int64_t i = 0; i < channels; ++i) target[i] += column.weights[k] * grad[i];
            }
          }
          float* image = out + r / to.dim(1) * from.dim(1) * line;
          for (int64_t k = 0; k < row.count; ++k) {
            float* pixels = image + (row.first + k) * line;
            for (int64_t i = 0; i < line; ++i) pixels[i] += row.weights[k] * mixed[static_cast<size_t>(i)];
          }
        }
      },
      1);
}

const CpuKernel scale_kernel("ScaleAndTranslate", types::of<"ScaleAndTranslate">{}, ScaleKernel{});
const CpuKernel gradient_kernel("ScaleAndTranslateGrad", DTypeSet{kFloat32}, run_gradient);

}  // namespace
}  // namespace panto
