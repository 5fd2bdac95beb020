// Non-maximum suppression: selects among overlapping boxes.
#include <algorithm>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/image/image_shapes.h"
#include "panto/ops/image.h"

namespace panto {
namespace {

// The known value of scalar input i, a count; throws if it is negative.
std::optional<int64_t> count_of(const ShapeContext& c, int i, const char* name) {
  const std::optional<int64_t> count = known_scalar(c, i);
  if (count && *count < 0) invalid("{}: expected at least 0, got {}", name, *count);
  return count;
}

// Inputs: boxes, scores, the maximal number of results, thresholds.
void suppression_shape(ShapeContext& c) {
  c.expect_rank(0, 2);
  c.expect_equal(4, c.dim(0, 1), "dimension 1 of boxes");
  c.merge(c.dim(0, 0), c.vector(1), "number of boxes in boxes and scores");
  const std::optional<int64_t> most = count_of(c, 2, "max_output_size");
  for (int i = 3; i < c.num_inputs(); ++i) c.expect_scalar(i);
  const bool padded = c.op().signature().find_attr("pad_to_max_output_size") >= 0 && c.flag("pad_to_max_output_size");
  const int outputs = c.num_outputs();
  c.output(0, PartialShape{padded && most ? *most : kUnknownDim});
  if (outputs == 3) c.output(1, PartialShape{padded && most ? *most : kUnknownDim});
  if (outputs >= 2) c.output(outputs - 1, PartialShape::of_rank(0));
}

void overlaps_shape(ShapeContext& c) {
  c.expect_rank(0, 2);
  c.merge(c.dim(0, 0), c.dim(0, 1), "dimensions of overlaps");
  c.merge(c.dim(0, 0), c.vector(1), "number of boxes in overlaps and scores");
  count_of(c, 2, "max_output_size");
  for (int i = 3; i < 5; ++i) c.expect_scalar(i);
  c.output({kUnknownDim});
}

void combined_shape(ShapeContext& c) {
  c.expect_rank(0, 4);
  c.expect_rank(1, 3);
  c.expect_equal(4, c.dim(0, 3), "dimension 3 of boxes");
  const int64_t batch = c.merge(c.dim(0, 0), c.dim(1, 0), "number of images in boxes and scores");
  c.merge(c.dim(0, 1), c.dim(1, 1), "number of boxes in boxes and scores");
  const int64_t classes = c.dim(1, 2), of_box = c.dim(0, 2);
  if (classes >= 0 && of_box >= 0 && of_box != 1 && of_box != classes) {
    invalid("dimension 2 of boxes: expected 1 or the number of classes {}, got {}", classes, of_box);
  }
  const std::optional<int64_t> each = count_of(c, 2, "max_output_size_per_class"),
                               all = count_of(c, 3, "max_total_size");
  if (all && *all == 0) invalid("max_total_size: expected at least 1, got 0");
  if (each && *each == 0) invalid("max_output_size_per_class: expected at least 1, got 0");
  for (int i = 4; i < 6; ++i) c.expect_scalar(i);
  int64_t size = all.value_or(kUnknownDim);
  if (c.flag("pad_per_class")) {
    size = all && each && classes >= 0 ? std::min(*all, checked_mul(*each, classes, "boxes")) : kUnknownDim;
  }
  c.output(0, PartialShape{batch, size, 4});
  c.output(1, PartialShape{batch, size});
  c.output(2, PartialShape{batch, size});
  c.output(3, PartialShape{batch});
}

constexpr const char* kWhy = "which boxes are chosen is not differentiable";

}  // namespace

const Op& kNonMaxSuppressionV3 = define_op(
    "NonMaxSuppressionV3(boxes: T, scores: T, max_output_size: int32 @host, iou_threshold: T_threshold,"
    " score_threshold: T_threshold; T: float16|float32 = float32, T_threshold: float16|float32 = float32)"
    " -> (selected_indices: int32)",
    {.doc =
         "The numbers of boxes [boxes, 4], each two corners y1, x1, y2, x2 in any order, that are chosen one after the "
         "other by their scores, the largest first (of equal ones the first): those above `score_threshold`, whose "
         "intersection with every one that is chosen already is at most `iou_threshold` of the union, and at most "
         "`max_output_size` of them.",
     .cpp = "non_max_suppression",
     .traits = {Trait::kSelfAllocating},
     .primary = "T",
     .shape = suppression_shape,
     .no_gradient = kWhy,
     .batch = batching::loop});

const Op& kNonMaxSuppressionV4 = define_op(
    "NonMaxSuppressionV4(boxes: T, scores: T, max_output_size: int32 @host, iou_threshold: T_threshold,"
    " score_threshold: T_threshold; T: float16|float32 = float32, T_threshold: float16|float32 = float32,"
    " pad_to_max_output_size: bool = false) -> (selected_indices: int32, valid_outputs: int32)",
    {.doc = "NonMaxSuppressionV3, and how many boxes are chosen; with `pad_to_max_output_size` zeros follow them until "
            "there are `max_output_size`.",
     .cpp = "non_max_suppression_padded",
     .traits = {Trait::kSelfAllocating},
     .primary = "T",
     .shape = suppression_shape,
     .no_gradient = kWhy,
     .batch = batching::loop});

const Op& kNonMaxSuppressionV5 = define_op(
    "NonMaxSuppressionV5(boxes: T, scores: T, max_output_size: int32 @host, iou_threshold: T, score_threshold: T,"
    " soft_nms_sigma: T; T: float16|float32 = float32, pad_to_max_output_size: bool = false)"
    " -> (selected_indices: int32, selected_scores: T, valid_outputs: int32)",
    {.doc =
         "NonMaxSuppressionV4, with the scores of what is chosen. Where `soft_nms_sigma` is positive no box is left "
         "out "
         "for what it shares with others: its score is multiplied by exp(-iou^2 / (2 sigma)) for each that is chosen "
         "already (Bodla et al. 2017).",
     .cpp = "non_max_suppression_with_scores",
     .traits = {Trait::kSelfAllocating},
     .shape = suppression_shape,
     .no_gradient = kWhy,
     .batch = batching::loop});

const Op& kNonMaxSuppressionWithOverlaps = define_op(
    "NonMaxSuppressionWithOverlaps(overlaps: float32, scores: float32, max_output_size: int32 @host, "
    "overlap_threshold: float32, score_threshold: float32) -> (selected_indices: int32)",
    {.doc = "NonMaxSuppressionV3 by what boxes share, whatever that is: `overlaps` [boxes, boxes], of which those with "
            "what is chosen are at most `overlap_threshold`.",
     .traits = {Trait::kSelfAllocating},
     .shape = overlaps_shape,
     .no_gradient = kWhy,
     .batch = batching::loop});

const Op& kCombinedNonMaxSuppression = define_op(
    "CombinedNonMaxSuppression(boxes: float32, scores: float32, max_output_size_per_class: int32 @host,"
    " max_total_size: int32 @host, iou_threshold: float32, score_threshold: float32; pad_per_class: bool = false,"
    " clip_boxes: bool = true) -> (nmsed_boxes: float32, nmsed_scores: float32, nmsed_classes: float32,"
    " valid_detections: int32)",
    {.doc = "NonMaxSuppressionV3 of each image and class by itself: `boxes` [batch, boxes, 1 or classes, 4], `scores` "
            "[batch, boxes, classes]. Of what is chosen in all classes of an image those with the largest scores, at "
            "most `max_total_size`; zeros follow them. With `clip_boxes` corners are at least 0 and at most 1; with "
            "`pad_per_class` there are no more than `max_output_size_per_class` for each class.",
     .shape = combined_shape,
     .no_gradient = kWhy,
     .batch = batching::loop});

}  // namespace panto
