// Samples of ops that move blocks of elements into channels or the batch and back. References find each element's
// place.
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::space_rows {
namespace {

// An index of an image as [batch, height, width, channels], and back.
struct Layout {
  bool first;
  Index to_last(const Index& i) const { return first ? Index{i[0], i[2], i[3], i[1]} : i; }
  Index from_last(const Index& i) const { return first ? Index{i[0], i[3], i[1], i[2]} : i; }
};

std::vector<Array> space_to_depth(const Given& g) {
  const Layout layout{g.text("data_format") == "NCHW"};
  const int64_t s = g.integer("block_size");
  const Index in = layout.to_last(g.in[0].dims);
  return {make(layout.from_last({in[0], in[1] / s, in[2] / s, in[3] * s * s}), [&](const Index& index) {
    const Index i = layout.to_last(index);
    const int64_t place = i[3] / in[3];
    return at(g.in[0], layout.from_last({i[0], i[1] * s + place / s, i[2] * s + place % s, i[3] % in[3]}));
  })};
}

std::vector<Array> depth_to_space(const Given& g) {
  const Layout layout{g.text("data_format") == "NCHW"};
  const int64_t s = g.integer("block_size");
  const Index in = layout.to_last(g.in[0].dims);
  const int64_t channels = in[3] / (s * s);
  return {make(layout.from_last({in[0], in[1] * s, in[2] * s, channels}), [&](const Index& index) {
    const Index i = layout.to_last(index);
    const int64_t place = i[1] % s * s + i[2] % s;
    return at(g.in[0], layout.from_last({i[0], i[1] / s, i[2] / s, place * channels + i[3]}));
  })};
}

struct Blocked {
  Index sizes, margins;
  int64_t all = 1;
  explicit Blocked(const Given& g) {
    const bool square = g.in.size() == 2;  // the size is an attribute
    sizes = square ? Index(2, g.integer("block_size")) : integers(g.in[1]);
    margins = integers(g.in[square ? 1 : 2]);
    for (const int64_t s : sizes) all *= s;
  }
};

// Which example of the result, of those made of one, holds the place of a block; and the place.
std::vector<Array> space_to_batch(const Given& g) {
  const Array& x = g.in[0];
  const Blocked b(g);
  Index dims = x.dims;
  dims[0] *= b.all;
  for (size_t k = 0; k < b.sizes.size(); ++k) {
    dims[k + 1] = (x.dims[k + 1] + b.margins[2 * k] + b.margins[2 * k + 1]) / b.sizes[k];
  }
  return {make(dims, [&](Index index) {
    int64_t place = index[0] / x.dims[0];
    index[0] %= x.dims[0];
    bool inside = true;
    for (size_t k = b.sizes.size(); k-- > 0;) {
      index[k + 1] = index[k + 1] * b.sizes[k] + place % b.sizes[k] - b.margins[2 * k];
      place /= b.sizes[k];
      inside = inside && index[k + 1] >= 0 && index[k + 1] < x.dims[k + 1];
    }
    return inside ? at(x, index) : 0.0;
  })};
}

std::vector<Array> batch_to_space(const Given& g) {
  const Array& x = g.in[0];
  const Blocked b(g);
  Index dims = x.dims;
  dims[0] /= b.all;
  for (size_t k = 0; k < b.sizes.size(); ++k) {
    dims[k + 1] = x.dims[k + 1] * b.sizes[k] - b.margins[2 * k] - b.margins[2 * k + 1];
  }
  return {make(dims, [&](Index index) {
    int64_t place = 0;
    for (size_t k = 0; k < b.sizes.size(); ++k) {
      const int64_t whole = index[k + 1] + b.margins[2 * k];
      place = place * b.sizes[k] + whole % b.sizes[k];
      index[k + 1] = whole / b.sizes[k];
    }
    index[0] += place * dims[0];
    return at(x, index);
  })};
}

const DTypeSet kPadded = dtypes::kPlain;
const Array kNoCrops = array({2, 2}, {0, 0, 0, 0});

const Family space(
    "array", {
                 {"SpaceToDepth",
                  {.samples = {{.in = {draw({2, 4, 6, 3})}, .attrs = {{"block_size", 2}}},
                               {.in = {draw({1, 3, 3, 1})}, .attrs = {{"block_size", 3}}},
                               {.in = {draw({2, 3, 4, 2})}, .attrs = {{"block_size", 2}, {"data_format", "NCHW"}}},
                               {.in = {draw({0, 4, 4, 1})}, .attrs = {{"block_size", 2}}}},
                   .reference = space_to_depth,
                   .errors = {{.in = {draw({1, 3, 4, 1})},
                               .attrs = {{"block_size", 2}},
                               .text = "height: expected a multiple of 2, got 3"},
                              {.in = {draw({1, 4, 4, 1})},
                               .attrs = {{"block_size", 1}},
                               .text = "block_size: expected at least 2, got 1"},
                              {.in = {draw({4, 4, 1})},
                               .attrs = {{"block_size", 2}},
                               .text = "input: expected rank 4, got shape [4,4,1]"}}}},
                 {"DepthToSpace",
                  {.samples = {{.in = {draw({2, 2, 3, 12})}, .attrs = {{"block_size", 2}}},
                               {.in = {draw({1, 1, 1, 9})}, .attrs = {{"block_size", 3}}},
                               {.in = {draw({2, 8, 2, 3})}, .attrs = {{"block_size", 2}, {"data_format", "NCHW"}}},
                               {.in = {draw({0, 2, 2, 4})}, .attrs = {{"block_size", 2}}}},
                   .reference = depth_to_space,
                   .errors = {{.in = {draw({1, 2, 2, 6})},
                               .attrs = {{"block_size", 2}},
                               .text = "channels: expected a multiple of 4, got 6"}}}},
                 {"SpaceToBatchND",
                  {.samples = {{.in = {draw({2, 4, 4, 2}), list({2, 2}), array({2, 2}, {0, 0, 0, 0})}},
                               {.in = {draw({1, 3, 5}), list({2, 3}), array({2, 2}, {1, 0, 0, 1})}},
                               {.in = {draw({2, 5, 2, 2}), list({3}), array({1, 2}, {0, 1})}},
                               {.in = {draw({2, 3}), list({}), array({0, 2}, {})}}},
                   .reference = space_to_batch,
                   .errors = {{.in = {draw({1, 3, 4}), list({2}), array({1, 2}, {0, 0})},
                               .text = "dimension 1 with its paddings: expected a multiple of 2, got 3"},
                              {.in = {draw({1, 4}), list({2}), array({1, 2}, {-1, 1})},
                               .text = "paddings[0, 0]: expected at least 0, got -1"},
                              {.in = {draw({1, 4}), list({0}), array({1, 2}, {0, 0})},
                               .text = "block_shape[0]: expected at least 1, got 0"},
                              {.in = {draw({1, 4}), list({2, 2}), array({1, 2}, {0, 0})},
                               .text = "sizes in block_shape and rows of paddings: expected 2, got 1"}},
                   .types = kPadded}},
                 {"BatchToSpaceND",
                  {.samples = {{.in = {draw({8, 2, 2, 2}), list({2, 2}), kNoCrops}},
                               {.in = {draw({6, 2, 2}), list({2, 3}), array({2, 2}, {1, 0, 0, 1})}},
                               {.in = {draw({6, 2, 2, 2}), list({3}), array({1, 2}, {0, 1})}},
                               {.in = {draw({2, 3}), list({}), array({0, 2}, {})}}},
                   .reference = batch_to_space,
                   .errors = {{.in = {draw({3, 3}), list({2}), array({1, 2}, {0, 0})},
                               .text = "batch: expected a multiple of 2, got 3"},
                              {.in = {draw({2, 2}), list({2}), array({1, 2}, {3, 2})},
                               .text = "crops of dimension 1: expected at most 4, got 5"}}}},
                 {"SpaceToBatch",
                  {.samples = {{.in = {draw({2, 4, 4, 2}), kNoCrops}, .attrs = {{"block_size", 2}}},
                               {.in = {draw({1, 3, 5, 1}), array({2, 2}, {1, 2, 0, 1})}, .attrs = {{"block_size", 3}}}},
                   .reference = space_to_batch,
                   .errors = {{.in = {draw({2, 4, 4, 2}), kNoCrops},
                               .attrs = {{"block_size", 1}},
                               .text = "block_size: expected at least 2, got 1"}},
                   .types = kPadded}},
                 {"BatchToSpace",
                  {.samples = {{.in = {draw({8, 2, 2, 2}), kNoCrops}, .attrs = {{"block_size", 2}}},
                               {.in = {draw({9, 2, 2, 1}), array({2, 2}, {1, 2, 0, 1})}, .attrs = {{"block_size", 3}}}},
                   .reference = batch_to_space,
                   .errors = {{.in = {draw({3, 2, 2, 2}), kNoCrops},
                               .attrs = {{"block_size", 2}},
                               .text = "batch: expected a multiple of 4, got 3"}}}},
             });

}  // namespace
}  // namespace panto::test::space_rows
