// Padding by mirroring at the edge.
#include <string>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

// `sign` 1: the padded shape, -1: the shape before padding. There must be enough elements to mirror; in mode REFLECT
// the outermost element is not repeated.
void mirror_shape(ShapeContext& c, int sign) {
  c.expect_rank(1, 2);
  c.expect_equal(c.dim(1, 1), 2, "dimension 1 of paddings");
  const PartialShape& from = c.shape(0);
  const int64_t rows = c.dim(1, 0);
  if (from.known_rank() && rows >= 0 && rows != from.rank()) {
    invalid("paddings: expected {} rows, one for each dimension of input, got {}", from.rank(), rows);
  }
  const int64_t rank = from.known_rank() ? from.rank() : rows;
  if (rank < 0) return c.output(PartialShape::unknown());
  const KnownIntegers pads(c, 1);
  const int64_t apart = c.text("mode") == "REFLECT" ? 1 : 0;
  SmallVector<int64_t, 8> dims;
  for (int i = 0; i < rank; ++i) {
    int64_t d = from.known_rank() ? from.dim(i) : kUnknownDim;
    std::optional<int64_t> extra[2];
    for (int side = 0; side < 2; ++side) {
      if (pads.counted()) extra[side] = pads.get(2 * i + side);
      if (extra[side].value_or(0) < 0) {
        invalid("paddings[{}, {}]: expected at least 0, got {}", i, side, *extra[side]);
      }
      d = d < 0 || !extra[side] ? kUnknownDim : checked_add(d, sign * *extra[side], "dimension");
    }
    const int64_t whole = sign > 0 && from.known_rank() ? from.dim(i) : d;
    for (int side = 0; side < 2 && extra[0] && extra[1]; ++side) {
      if (sign < 0 && from.known_rank() && from.dim(i) >= 0 && d < 0) {
        invalid("paddings of dimension {}: expected at most its size {}, got {} and {}", i, from.dim(i), *extra[0],
                *extra[1]);
      }
      if (whole >= 0 && *extra[side] > 0 && *extra[side] > whole - apart) {
        invalid("paddings[{}, {}]: expected at most {}, what there is to mirror, got {}", i, side, whole - apart,
                *extra[side]);
      }
    }
    dims.push_back(d);
  }
  c.output(PartialShape(std::span<const int64_t>(dims.data(), dims.size())));
}

Tensor behind_batch(BatchContext& c) {
  const Tensor none = cast(reshape(constant_integers({0, 0}), {1, 2}), c.in(1).dtype());
  return concat({none, c.in(1)}, 0);
}

}  // namespace

const Op& kMirrorPad = define_op(
    "MirrorPad(input: T, paddings: Tpaddings @host; T: plain|string, Tpaddings: index = int32,"
    " mode: {\"REFLECT\", \"SYMMETRIC\"}) -> (output: T)",
    {.doc = "`input` with paddings[i, 0] elements before and paddings[i, 1] after it along each dimension i, which are "
            "its own, mirrored at the edge: with the outermost element in mode SYMMETRIC, without it in REFLECT.",
     .traits = {Trait::kDataMovement},
     .shape = [](ShapeContext& c) { mirror_shape(c, 1); },
     .saves = {in(1)},
     .gradient = [](GradContext& g) { g.set(0, mirror_pad_grad(g.dy(), g.in(1), std::string(g.text("mode")))); },
     .batch =
         [](BatchContext& c) {
           if (c.batched(1)) return c.loop();
           c.set_out(0, mirror_pad(c.in(0), behind_batch(c), std::string(c.text("mode"))));
         }});

const Op& kMirrorPadGrad = define_op(
    "MirrorPadGrad(input: T, paddings: Tpaddings @host; T: numeric, Tpaddings: index = int32,"
    " mode: {\"REFLECT\", \"SYMMETRIC\"}) -> (output: T)",
    {.doc = "The gradient of MirrorPad: what was padded is taken away, and added where it came from.",
     .shape = [](ShapeContext& c) { mirror_shape(c, -1); },
     .saves = {in(1)},
     .gradient = [](GradContext& g) { g.set(0, mirror_pad(g.dy(), g.in(1), std::string(g.text("mode")))); },
     .flops = [](const CostContext& c) { return c.numel(0); },
     .batch =
         [](BatchContext& c) {
           if (c.batched(1)) return c.loop();
           c.set_out(0, mirror_pad_grad(c.in(0), behind_batch(c), std::string(c.text("mode"))));
         },
     .jvp = tangents::linear});

}  // namespace panto
