// Samples of choosing among boxes that overlap, with what is chosen written out.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::boxes_rows {
namespace {

// Three groups: 0 and 1 share nine elevenths of their union, 3 and 4 too; 2 is 1 upside down and a little lower, 5
// alone.
const Array kBoxes = array(
    {6, 4}, {0, 0, 1, 1, 0, 0.125, 1, 1.125, 1, 1.0625, 0, 0.0625, 0, 10, 1, 11, 0, 10.125, 1, 11.125, 0, 100, 1, 101});
const Array kScores = list({0.875, 0.75, 0.625, 0.9375, 0.5, 0.25});
Array count(double n) { return scalar(n).as(kInt32); }
Array number(double v) { return scalar(v); }
Array threshold(double v) { return scalar(v).as(kFloat32); }
Array chosen(std::vector<double> numbers) { return list(std::move(numbers)).as(kInt32); }

const Attrs kPadded = {{"pad_to_max_output_size", true}};

// A score is lowered once for each chosen box that it shares something with.
double lowered(double score, double shared, double sigma) { return score * std::exp(-0.5 * shared * shared / sigma); }

Array combined_boxes() { return array({1, 3, 1, 4}, {0, 0, 1, 1, 0, 0.125, 1, 1.125, 0, 2, 1, 3}).as(kFloat32); }
Array combined_scores() { return array({1, 3, 2}, {0.5, 0.875, 0.75, 0.25, 0.625, 0.375}).as(kFloat32); }

const Array kOverlaps = array({3, 3}, {1, 0.25, 0, 0.25, 1, 0.625, 0, 0.625, 1});

const Family family(
    "image",
    {
        {"NonMaxSuppressionV3",
         {.samples =
              {{.in = {kBoxes, kScores, count(3), threshold(0.5), threshold(0)}, .out = {chosen({3, 0, 5})}},
               {.in = {kBoxes, kScores, count(2), threshold(0.5), threshold(0)}, .out = {chosen({3, 0})}},
               {.in = {kBoxes, kScores, count(30), threshold(0.5), threshold(0.375)}, .out = {chosen({3, 0})}},
               {.in = {kBoxes, kScores, count(6), threshold(1), threshold(-1)}, .out = {chosen({3, 0, 1, 2, 4, 5})}},
               {.in = {kBoxes, kScores, count(0), threshold(0.5), threshold(0)}, .out = {chosen({})}},
               // Equal scores, and boxes without an area, which share nothing.
               {.in = {array({3, 4}, {0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1}), list({0.5, 0.5, 0.5}), count(3),
                       threshold(0), threshold(0)},
                .out = {chosen({0, 1, 2})}},
               {.in = {filled({0, 4}, 0), list({}), count(3), threshold(0.5), threshold(0)}, .out = {chosen({})}}},
          .errors = {{.in = {kBoxes, list({1, 2}), count(3), threshold(0.5), threshold(0)},
                      .text = "number of boxes in boxes and scores: expected "},
                     {.in = {kBoxes, kScores, count(-1), threshold(0.5), threshold(0)},
                      .text = "max_output_size: expected at least 0, got -1"},
                     {.in = {kBoxes, kScores, count(3), threshold(1.5), threshold(0)},
                      .text = "iou_threshold: expected at least 0 and at most 1, got 1.5"},
                     {.in = {filled({6, 3}, 0), kScores, count(3), threshold(0.5), threshold(0)},
                      .text = "dimension 1 of boxes: expected 4, got 3"}},
          .data_dependent_shape = true}},
        {"NonMaxSuppressionWithOverlaps",
         {.samples = {{.in = {kOverlaps, list({0.2, 0.9, 0.5}), count(3), threshold(0.5), threshold(0)},
                       .out = {chosen({1, 0})}},
                      {.in = {kOverlaps, list({0.2, 0.9, 0.5}), count(3), threshold(0.75), threshold(0.25)},
                       .out = {chosen({1, 2})}},
                      {.in = {kOverlaps, list({0.2, 0.9, 0.5}), count(1), threshold(1), threshold(0)},
                       .out = {chosen({1})}},
                      {.in = {filled({0, 0}, 0), list({}), count(1), threshold(1), threshold(0)}, .out = {chosen({})}}},
          .errors = {{.in = {kOverlaps, list({1, 2}), count(3), threshold(0.5), threshold(0)},
                      .text = "number of boxes in overlaps and scores: expected "},
                     {.in = {filled({2, 3}, 0), list({1, 2}), count(3), threshold(0.5), threshold(0)},
                      .text = "dimensions of overlaps: expected "},
                     {.in = {kOverlaps, list({1, 2, 3}), count(-3), threshold(0.5), threshold(0)},
                      .text = "max_output_size: expected at least 0, got -3"}},
          .data_dependent_shape = true}},
        {"NonMaxSuppressionV4",
         {.samples = {{.in = {kBoxes, kScores, count(5), threshold(0.5), threshold(0)},
                       .out = {chosen({3, 0, 5}), scalar(3).as(kInt32)}},
                      {.in = {kBoxes, kScores, count(5), threshold(0.5), threshold(0)},
                       .attrs = kPadded,
                       .out = {chosen({3, 0, 5, 0, 0}), scalar(3).as(kInt32)}}},
          .errors = {{.in = {kBoxes, kScores, count(3), threshold(-0.5), threshold(0)},
                      .text = "iou_threshold: expected at least 0 and at most 1, got -0.5"}},
          .data_dependent_shape = true}},
        {"NonMaxSuppressionV5",
         {.samples = {{.in = {kBoxes, kScores, count(3), number(0.5), number(0), number(0)},
                       .out = {chosen({3, 0, 5}), list({0.9375, 0.875, 0.25}), scalar(3).as(kInt32)}},
                      {.in = {array({2, 4}, {0, 0, 1, 1, 0, 0, 1, 0.5}), list({1, 0.75}), count(3), number(0.5),
                              number(0), number(0.5)},
                       .attrs = kPadded,
                       .out = {chosen({0, 1, 0}), list({1, lowered(0.75, 0.5, 0.5), 0}), scalar(2).as(kInt32)}},
                      // Lowered below the next one, and below the threshold.
                      {.in = {array({3, 4}, {0, 0, 1, 1, 0, 0, 1, 1, 0, 5, 1, 6}), list({1, 0.9375, 0.5}), count(3),
                              number(0), number(0.4375), number(0.5)},
                       .out = {chosen({0, 2}), list({1, 0.5}), scalar(2).as(kInt32)}}},
          .errors = {{.in = {kBoxes, kScores, count(3), number(0.5), number(0), number(-1)},
                      .text = "soft_nms_sigma: expected at least 0, got -1"}},
          .data_dependent_shape = true}},
        {"CombinedNonMaxSuppression",
         {.samples = {{.in = {combined_boxes(), combined_scores(), count(2), count(3), threshold(0.5),
                              threshold(0.3125)},
                       .out = {array({1, 3, 4}, {0, 0, 1, 1, 0, 0.125, 1, 1, 0, 1, 1, 1}),
                               array({1, 3}, {0.875, 0.75, 0.625}), array({1, 3}, {1, 0, 0}), list({3}).as(kInt32)}},
                      {.in = {combined_boxes(), combined_scores(), count(1), count(5), threshold(0.5), threshold(0)},
                       .attrs = {{"pad_per_class", true}, {"clip_boxes", false}},
                       .out = {array({1, 2, 4}, {0, 0, 1, 1, 0, 0.125, 1, 1.125}), array({1, 2}, {0.875, 0.75}),
                               array({1, 2}, {1, 0}), list({2}).as(kInt32)}},
                      {.in = {combined_boxes(), combined_scores(), count(1), count(3), threshold(0.5), threshold(0)},
                       .out = {array({1, 3, 4}, {0, 0, 1, 1, 0, 0.125, 1, 1, 0, 0, 0, 0}),
                               array({1, 3}, {0.875, 0.75, 0}), array({1, 3}, {1, 0, 0}), list({2}).as(kInt32)}}},
          .errors = {{.in = {combined_boxes(), combined_scores(), count(1), count(0), threshold(0.5), threshold(0)},
                      .text = "max_total_size: expected at least 1, got 0"},
                     {.in = {filled({1, 3, 3, 4}, 0).as(kFloat32), combined_scores(), count(1), count(1),
                             threshold(0.5), threshold(0)},
                      .text = "dimension 2 of boxes: expected 1 or the number of classes 2, got 3"}}}},
    });

}  // namespace
}  // namespace panto::test::boxes_rows
