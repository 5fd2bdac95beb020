// Kernels of ScaleAndTranslate and of its gradient.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/resampling.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/image_types.h"

namespace panto {
namespace {

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
    const Resampling resampling(bell, from, scale, translation, antialias);
    for (int64_t i = 0; i < to; ++i) {
      begins_.push_back(weights_.size());
      const Resampling::Span span = resampling.span(i);
      firsts_.push_back(span.first);
      constexpr size_t kMostWeights = size_t{1} << 28;
      if (weights_.size() + static_cast<size_t>(span.count()) > kMostWeights) {
        failf(Code::kResourceExhausted, "scale: expected at most {} weights of a dimension, got more", kMostWeights);
      }
      for (int64_t k = span.first; k <= span.last; ++k) weights_.push_back(resampling.weight(span, k));
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
      : rows(Bell(c.text("kernel_type")), from.dim(1), to.dim(1), c.data<float>(2)[0], c.data<float>(3)[0],
             c.flag("antialias")),
        columns(Bell(c.text("kernel_type")), from.dim(2), to.dim(2), c.data<float>(2)[1], c.data<float>(3)[1],
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
