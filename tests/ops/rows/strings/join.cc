// Samples of ops that put strings together.
#include <algorithm>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::strings_join_rows {
namespace {

const std::string& text_at(const Array& a, const Index& index) {
  size_t flat = 0;
  for (size_t k = 0; k < a.dims.size(); ++k) {
    flat = flat * static_cast<size_t>(a.dims[k]) + static_cast<size_t>(index[k]);
  }
  return a.texts[flat];
}

// Every string goes to the end of its result, the reduced dimensions as the digits of a number: the first axis is the
// lowest one.
std::vector<Array> reduced(const Given& g) {
  const Array& x = g.in[0];
  std::vector<size_t> axes;
  for (const int64_t axis : integers(g.in[1])) axes.push_back(normal_axis(axis, x.dims.size()));
  Index digits, kept;
  for (const size_t axis : axes) digits.insert(digits.begin(), x.dims[axis]);
  for (size_t k = 0; k < x.dims.size(); ++k) {
    if (std::ranges::find(axes, k) == axes.end()) {
      kept.push_back(x.dims[k]);
    } else if (g.flag("keep_dims")) {
      kept.push_back(1);
    }
  }
  std::vector<std::string> result;
  for_each_index(kept, [&](const Index& place) {
    std::string text;
    bool first = true;
    for_each_index(digits, [&](const Index& digit) {
      Index from(x.dims.size());
      size_t next = 0;
      for (size_t k = 0; k < from.size(); ++k) {
        const auto at = std::ranges::find(axes, k);
        if (at != axes.end()) {
          from[k] = digit[digit.size() - 1 - static_cast<size_t>(at - axes.begin())];
          next += g.flag("keep_dims") ? 1 : 0;
        } else {
          from[k] = place[next++];
        }
      }
      if (!first) text += g.text("separator");
      first = false;
      text += text_at(x, from);
    });
    result.push_back(text);
  });
  return {texts(kept, result)};
}

const Array kSquare = texts({2, 2}, {"a", "b", "c", "d"});
const Array kCube = texts({2, 3, 2}, {"a", "b", "", "d", "e", "f", "g", "h", "i", "j", "k", "l"});

const Family joining(
    "strings",
    {
        {"StringJoin",
         {.samples = {{.in = {texts({3}, {"a", "", "c\n"}), texts({3}, {"x", "y", ""})},
                       .out = {texts({3}, {"ax", "y", "c\n"})}},
                      {.in = {texts({2, 1}, {"a", "b"}), texts({}, {"-"}), texts({2}, {"x", "y"})},
                       .attrs = {{"separator", ", "}},
                       .out = {texts({2, 2}, {"a, -, x", "a, -, y", "b, -, x", "b, -, y"})}},
                      {.in = {texts({1}, {"alone"})}, .attrs = {{"separator", "+"}}, .out = {texts({1}, {"alone"})}},
                      {.in = {texts({0}, {}), texts({}, {"a"})}, .out = {texts({0}, {})}},
                      {.in = {}, .attrs = {{"separator", ","}}, .out = {texts({}, {""})}}},
          .errors = {{.in = {texts({2}, {"a", "b"}), texts({3}, {"a", "b", "c"})},
                      .text = "shapes: expected ones that broadcast, got [2] and [3]"}}}},
        {"ReduceJoin",
         {.samples = {{.in = {kSquare, list({0, 1})}, .out = {texts({}, {"acbd"})}},
                      {.in = {kSquare, list({1, 0})}, .out = {texts({}, {"abcd"})}},
                      {.in = {kSquare, scalar(0)}},
                      {.in = {kSquare, scalar(-1)}, .attrs = {{"separator", ", "}, {"keep_dims", true}}},
                      {.in = {kSquare, list({})}},
                      {.in = {kCube, list({2, 0})}, .attrs = {{"separator", "."}}},
                      {.in = {kCube, list({-3, 1})}, .attrs = {{"separator", "."}, {"keep_dims", true}}},
                      {.in = {kCube, list({1})}, .attrs = {{"keep_dims", true}}},
                      {.in = {kCube, list({1, 2, 0})}},
                      {.in = {texts({0, 2}, {}), scalar(0)}, .out = {texts({2}, {"", ""})}},
                      {.in = {texts({0, 2}, {}), scalar(1)}, .out = {texts({0}, {})}},
                      {.in = {texts({}, {"x"}), list({})}, .out = {texts({}, {"x"})}}},
          .reference = reduced,
          .errors = {{.in = {kSquare, list({0, -2})},
                      .text = "reduction_indices: expected every axis once, got 0 twice"},
                     {.in = {kSquare, scalar(2)}, .text = "reduction_indices: expected one in [-2, 2), got 2"},
                     {.in = {texts({}, {"x"}), scalar(0)}, .text = "reduction_indices: expected"}}}},
        {"UnsortedSegmentJoin",
         {.samples = {{.in = {texts({4}, {"a", "b", "c", "d"}), list({1, 0, 1, 2}), scalar(4)},
                       .attrs = {{"separator", ","}},
                       .out = {texts({4}, {"b", "a,c", "d", ""})}},
                      {.in = {kSquare, list({1, 1}), scalar(2)},
                       .attrs = {{"separator", ","}},
                       .out = {texts({2, 2}, {"", "", "a,c", "b,d"})}},
                      {.in = {kSquare, array({2, 2}, {1, 0, 0, 1}), scalar(2)}, .out = {texts({2}, {"bc", "ad"})}},
                      {.in = {texts({5}, {"", "a", "", "b", ""}), list({0, 0, 0, 0, 1}), scalar(2)},
                       .attrs = {{"separator", ","}},
                       .out = {texts({2}, {"a,,b", ""})}},
                      {.in = {texts({0, 2}, {}), list({}), scalar(1)}, .out = {texts({1, 2}, {"", ""})}},
                      {.in = {texts({0}, {}), list({}), scalar(0)}, .out = {texts({0}, {})}}},
          .errors = {{.in = {texts({2}, {"a", "b"}), list({1, 2}), scalar(2)},
                      .text = "segment_ids[1]: expected one in [0, 2), got 2"},
                     {.in = {texts({2}, {"a", "b"}), list({-1, 0}), scalar(2)},
                      .text = "segment_ids[0]: expected one in [0, 2), got -1"},
                     {.in = {texts({2}, {"a", "b"}), list({0, 0}), scalar(-1)},
                      .text = "num_segments: expected at least 0, got -1"},
                     {.in = {texts({2}, {"a", "b"}), list({0}), scalar(1)},
                      .text = "leading dimensions of inputs and segment_ids: expected 2, got 1"},
                     {.in = {texts({}, {"a"}), scalar(0), scalar(1)}, .text = "segment_ids: expected"},
                     {.in = {texts({1}, {"a"}), array({1, 1}, {0}), scalar(1)},
                      .text = "rank of segment_ids: expected at most 1, that of inputs, got 2"}}}},
    });

}  // namespace
}  // namespace panto::test::strings_join_rows
