// Kernels of non-maximum suppression.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <queue>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/convert.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/image_types.h"

namespace panto {
namespace {

struct Box {
  float top, left, bottom, right;
  template <class T>
  static Box of(const T* corners) {
    const auto y1 = convert<float>(corners[0]), x1 = convert<float>(corners[1]);
    const auto y2 = convert<float>(corners[2]), x2 = convert<float>(corners[3]);
    return {std::min(y1, y2), std::min(x1, x2), std::max(y1, y2), std::max(x1, x2)};
  }
  float area() const { return (bottom - top) * (right - left); }
};

// Returns the intersection divided by the union.
float overlap(const Box& a, const Box& b) {
  const float area_a = a.area(), area_b = b.area();
  if (area_a <= 0 || area_b <= 0) return 0;
  const float height = std::max(std::min(a.bottom, b.bottom) - std::max(a.top, b.top), 0.F);
  const float width = std::max(std::min(a.right, b.right) - std::max(a.left, b.left), 0.F);
  return height * width / (area_a + area_b - height * width);
}

struct Chosen {
  int32_t box;
  float score;
};
struct Rules {
  int64_t most;
  float overlap, score, sigma;  // sigma 0: overlapping boxes are dropped; else their scores are lowered
};

// Chooses boxes greedily by score. A box whose score was lowered goes back into the queue. overlap(i, j): the overlap
// of boxes i and j.
template <class Overlap>
std::vector<Chosen> choose_by(const std::vector<float>& scores, const Rules& rules, const Overlap& overlap) {
  struct Candidate {
    int32_t box;
    float score;
    size_t seen;  // number of chosen boxes that have already lowered its score
    bool operator<(const Candidate& other) const {
      return score < other.score || (score == other.score && box > other.box);
    }
  };
  std::vector<Candidate> all;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > rules.score) all.push_back({static_cast<int32_t>(i), scores[i], 0});
  }
  std::priority_queue<Candidate> waiting({}, std::move(all));
  const bool soft = rules.sigma > 0;
  const float scale = soft ? -0.5F / rules.sigma : 0;
  std::vector<Chosen> chosen;
  int64_t turns = 0;
  while (static_cast<int64_t>(chosen.size()) < rules.most && !waiting.empty()) {
    if (++turns % 1024 == 0) throw_if_cancelled();
    Candidate next = waiting.top();
    waiting.pop();
    const float before = next.score;
    bool out = false;
    for (size_t j = chosen.size(); j > next.seen && !out; --j) {
      const float shared = overlap(next.box, chosen[j - 1].box);
      if (soft) {
        next.score *= std::exp(scale * shared * shared);
        if (next.score <= rules.score) break;
      } else {
        out = shared > rules.overlap;
      }
    }
    next.seen = chosen.size();
    if (out) continue;
    if (next.score == before) {
      chosen.push_back({next.box, next.score});
    } else if (next.score > rules.score) {
      waiting.push(next);
    }
  }
  return chosen;
}

std::vector<Chosen> choose(const std::vector<Box>& boxes, const std::vector<float>& scores, const Rules& rules) {
  return choose_by(scores, rules, [&](int32_t i, int32_t j) {
    return overlap(boxes[static_cast<size_t>(i)], boxes[static_cast<size_t>(j)]);
  });
}

float number(const Tensor& t) {
  if (t.dtype() == kFloat16) return convert<float>(*static_cast<const Half*>(t.impl()->data));
  return *static_cast<const float*>(t.impl()->data);
}
float overlap_threshold(const Tensor& t) {
  const float value = number(t);
  if (!(value >= 0 && value <= 1)) invalid("iou_threshold: expected at least 0 and at most 1, got {}", value);
  return value;
}

struct SuppressionKernel {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.shape(0).dim(0), most = host_integer(c.in(2));
    Rules rules{most, overlap_threshold(c.in(3)), number(c.in(4)), 0};
    if (c.num_inputs() == 6) {
      rules.sigma = number(c.in(5));
      if (!(rules.sigma >= 0)) invalid("soft_nms_sigma: expected at least 0, got {}", rules.sigma);
    }
    if (n > std::numeric_limits<int32_t>::max()) invalid("boxes: expected as many as int32 counts, got {}", n);
    std::vector<Box> boxes;
    std::vector<float> scores;
    for (int64_t i = 0; i < n; ++i) {
      boxes.push_back(Box::of(c.data<T>(0) + 4 * i));
      scores.push_back(convert<float>(c.data<T>(1)[i]));
    }
    const std::vector<Chosen> chosen = choose(boxes, scores, rules);
    const auto valid = static_cast<int32_t>(chosen.size());
    const int outputs = c.num_outputs();
    const int64_t size = outputs > 1 && c.flag("pad_to_max_output_size") ? most : valid;
    const Tensor indices = allocate_tensor(c.device(), kInt32, Shape{size});
    auto* numbers = mutable_data<int32_t>(indices);
    std::fill_n(numbers + valid, size - valid, 0);
    for (const Chosen& one : chosen) *numbers++ = one.box;
    c.set_out(0, indices);
    if (outputs == 3) {
      const Tensor kept = allocate_tensor(c.device(), dtype_of<T>, Shape{size});
      T* to = mutable_data<T>(kept);
      std::fill_n(to + valid, size - valid, T{});
      for (const Chosen& one : chosen) *to++ = convert<T>(one.score);
      c.set_out(1, kept);
    }
    if (outputs > 1) {
      const Tensor count = allocate_tensor(c.device(), kInt32, Shape{});
      *mutable_data<int32_t>(count) = valid;
      c.set_out(outputs - 1, count);
    }
  }
};

// Input 0 is the matrix of the boxes' overlaps.
void run_with_overlaps(KernelContext& c) {
  const int64_t n = c.numel(1);
  if (n > std::numeric_limits<int32_t>::max()) invalid("scores: expected as many as int32 counts, got {}", n);
  const auto* overlaps = c.data<float>(0);
  const std::vector<float> scores(c.data<float>(1), c.data<float>(1) + n);
  const Rules rules{host_integer(c.in(2)), number(c.in(3)), number(c.in(4)), 0};
  const auto chosen = choose_by(scores, rules, [&](int64_t i, int64_t j) { return overlaps[i * n + j]; });
  const Tensor indices = allocate_tensor(c.device(), kInt32, Shape{static_cast<int64_t>(chosen.size())});
  std::ranges::transform(chosen, mutable_data<int32_t>(indices), &Chosen::box);
  c.set_out(0, indices);
}

// One image of CombinedNonMaxSuppression.
void combined(KernelContext& c, int64_t image, const Rules& rules) {
  const Shape &boxes_shape = c.shape(0), &scores_shape = c.shape(1);
  const int64_t n = boxes_shape.dim(1), sets = boxes_shape.dim(2), classes = scores_shape.dim(2);
  const float* corners = c.data<float>(0) + image * n * sets * 4;
  const float* of_class = c.data<float>(1) + image * n * classes;
  struct Found {
    Chosen chosen;
    int64_t kind;
  };
  std::vector<Found> found;
  std::vector<Box> boxes(static_cast<size_t>(n));
  std::vector<float> scores(static_cast<size_t>(n));
  for (int64_t k = 0; k < classes; ++k) {
    for (int64_t i = 0; i < n; ++i) {
      boxes[static_cast<size_t>(i)] = Box::of(corners + (i * sets + (sets > 1 ? k : 0)) * 4);
      scores[static_cast<size_t>(i)] = of_class[i * classes + k];
    }
    for (const Chosen& one : choose(boxes, scores, rules)) found.push_back({one, k});
  }
  std::ranges::stable_sort(found, [](const Found& a, const Found& b) { return a.chosen.score > b.chosen.score; });
  const int64_t size = c.out_shape(1).dim(1), valid = std::min(size, static_cast<int64_t>(found.size()));
  float* out_boxes = c.out_data<float>(0) + image * size * 4;
  float *out_scores = c.out_data<float>(1) + image * size, *out_classes = c.out_data<float>(2) + image * size;
  std::fill_n(out_boxes, size * 4, 0.F);
  std::fill_n(out_scores, size, 0.F);
  std::fill_n(out_classes, size, 0.F);
  for (int64_t i = 0; i < valid; ++i) {
    const Found& f = found[static_cast<size_t>(i)];
    const float* from = corners + (f.chosen.box * sets + (sets > 1 ? f.kind : 0)) * 4;
    for (int64_t k = 0; k < 4; ++k) {
      out_boxes[4 * i + k] = c.flag("clip_boxes") ? std::max(std::min(from[k], 1.F), 0.F) : from[k];
    }
    out_scores[i] = f.chosen.score;
    out_classes[i] = static_cast<float>(f.kind);
  }
  c.out_data<int32_t>(3)[image] = static_cast<int32_t>(valid);
}

void run_combined(KernelContext& c) {
  const Rules rules{host_integer(c.in(2)), overlap_threshold(c.in(4)), number(c.in(5)), 0};
  cpu::parallel_ranges(
      c.shape(0).dim(0), c.numel(1) * 256,
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) combined(c, i, rules);
      },
      1);
}

const CpuKernel v3_kernel("NonMaxSuppressionV3", types::of<"NonMaxSuppressionV3">{}, SuppressionKernel{});
const CpuKernel v4_kernel("NonMaxSuppressionV4", types::of<"NonMaxSuppressionV4">{}, SuppressionKernel{});
const CpuKernel v5_kernel("NonMaxSuppressionV5", types::of<"NonMaxSuppressionV5">{}, SuppressionKernel{});
const CpuKernel overlaps_kernel("NonMaxSuppressionWithOverlaps", run_with_overlaps);
const CpuKernel combined_kernel("CombinedNonMaxSuppression", run_combined);

}  // namespace
}  // namespace panto
