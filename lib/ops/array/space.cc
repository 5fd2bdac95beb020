// Ops that move blocks of an image, or of any dimensions, into the channels or the batch, and back.
#include <string>
#include <vector>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"

namespace panto {
namespace {

int64_t block_size(const CallView& c) {
  const int64_t size = c.integer("block_size");
  if (size < 2) invalid("block_size: expected at least 2, got {}", size);
  return size;
}

// `dim` / `by`; unknown stays unknown.
int64_t quotient(int64_t dim, int64_t by, std::string_view what) {
  if (dim < 0) return kUnknownDim;
  if (dim % by != 0) invalid("{}: expected a multiple of {}, got {}", what, by, dim);
  return dim / by;
}
int64_t product(int64_t dim, int64_t by) { return dim < 0 ? kUnknownDim : checked_mul(dim, by); }

// ---- Into channels and back -----------------------------------------------------------------------------------------

struct Image {
  int64_t batch, height, width, channels;
};

bool channels_first(const CallView& c) { return c.text("data_format") == "NCHW"; }

void output_image(ShapeContext& c, const Image& i) {
  channels_first(c) ? c.output({i.batch, i.channels, i.height, i.width})
                    : c.output({i.batch, i.height, i.width, i.channels});
}
Image image(ShapeContext& c) {
  c.expect_rank(0, 4);
  const bool first = channels_first(c);
  return {c.dim(0, 0), c.dim(0, first ? 2 : 1), c.dim(0, first ? 3 : 2), c.dim(0, first ? 1 : 3)};
}

void space_to_depth_shape(ShapeContext& c) {
  const int64_t size = block_size(c);
  const Image in = image(c);
  output_image(c, {in.batch, quotient(in.height, size, "height"), quotient(in.width, size, "width"),
                   product(in.channels, checked_mul(size, size))});
}
void depth_to_space_shape(ShapeContext& c) {
  const int64_t size = block_size(c);
  const Image in = image(c);
  output_image(c, {in.batch, product(in.height, size), product(in.width, size),
                   quotient(in.channels, checked_mul(size, size), "channels")});
}

// ---- Into the batch and back ----------------------------------------------------------------------------------------

// Block sizes, and paddings of the input or crops of the result, as far as known. Throws InvalidArgument for invalid
// ones.
struct Blocks {
  KnownIntegers sizes;
  std::optional<PartialValues> margins;  // two per block size

  Blocks(ShapeContext& c, std::string_view what) : sizes(c, 1), margins(c.values(2)) {
    const int64_t count = c.vector(1);
    c.expect_rank(2, 2);
    c.expect_equal(count, c.dim(2, 0), std::string("sizes in block_shape and rows of ") + std::string(what));
    c.expect_equal(2, c.dim(2, 1), std::string("columns of ") + std::string(what));
    if (count >= 0) c.expect_rank_at_least(0, static_cast<int>(count) + 1);
    for (int64_t i = 0; sizes.counted() && i < sizes.count(); ++i) {
      if (sizes.known(i) && sizes[i] < 1) invalid("block_shape[{}]: expected at least 1, got {}", i, sizes[i]);
    }
    for (size_t i = 0; margins && i < margins->size(); ++i) {
      const auto& m = (*margins)[i];
      if (m && *m < 0) invalid("{}[{}, {}]: expected at least 0, got {}", what, i / 2, i % 2, *m);
    }
  }
  // The sum of both margins of dimension i.
  std::optional<int64_t> margin(int64_t i) const {
    if (!margins || !(*margins)[2 * static_cast<size_t>(i)] || !(*margins)[2 * static_cast<size_t>(i) + 1]) {
      return std::nullopt;
    }
    return checked_add(*(*margins)[2 * static_cast<size_t>(i)], *(*margins)[2 * static_cast<size_t>(i) + 1]);
  }
  // The product of all block sizes; -1 if unknown.
  int64_t all() const {
    if (!sizes.complete()) return -1;
    int64_t product = 1;
    for (const int64_t s : sizes.values()) product = checked_mul(product, s);
    return product;
  }
};

template <bool kToBatch>
void batch_shape(ShapeContext& c) {
  const Blocks blocks(c, kToBatch ? "paddings" : "crops");
  const PartialShape& in = c.shape(0);
  if (!in.known_rank()) return c.output(PartialShape::unknown());
  if (!blocks.sizes.counted()) return c.output(PartialShape::of_rank(in.rank()));
  SmallVector<int64_t, 8> dims;
  const int64_t all = blocks.all();
  dims.push_back(all < 0 ? kUnknownDim : kToBatch ? product(in.dim(0), all) : quotient(in.dim(0), all, "batch"));
  for (int64_t i = 0; i < blocks.sizes.count(); ++i) {
    const int64_t dim = in.dim(static_cast<int>(i) + 1);
    const std::optional<int64_t> size = blocks.sizes.get(i), margin = blocks.margin(i);
    if (dim < 0 || !size || !margin) {
      dims.push_back(kUnknownDim);
    } else if (kToBatch) {
      dims.push_back(
          quotient(checked_add(dim, *margin), *size, "dimension " + std::to_string(i + 1) + " with its paddings"));
    } else {
      const int64_t whole = checked_mul(dim, *size);
      if (*margin > whole) invalid("crops of dimension {}: expected at most {}, got {}", i + 1, whole, *margin);
      dims.push_back(whole - *margin);
    }
  }
  for (int k = static_cast<int>(dims.size()); k < in.rank(); ++k) dims.push_back(in.dim(k));
  c.output(PartialShape(std::span<const int64_t>(dims.data(), dims.size())));
}

// Merges the vmap batch into the op's own batch dimension, after it: [examples, batch].
void more_examples(BatchContext& c) {
  if (c.batched(1) || c.batched(2) || c.rank(0) < 0 || c.size() < 0) return c.loop();
  std::vector<int64_t> swapped = {1, 0};
  for (int k = 2; k <= c.rank(0); ++k) swapped.push_back(k);
  const Tensor x = merge_front(transpose(c.in(0), swapped));
  c.set_out(0, transpose(split_front(c.again({x, c.in(1), c.in(2)})[0], kUnknownDim, c.size()), swapped));
}

Tensor two_blocks(const CallView& c) { return constant(tensor({block_size(c), block_size(c)}), kInt64); }

}  // namespace

const Op& kSpaceToDepth = define_op(
    "SpaceToDepth(input: T; T: type, block_size: int, data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\") -> (output: T)",
    {.doc = "An image of a block_size-th of the height and width, whose elements have the channels of a block of "
            "block_size x block_size of the input's, row by row.",
     .traits = {Trait::kDataMovement},
     .shape = space_to_depth_shape,
     .gradient =
         [](GradContext& g) {
           g.set(0,
                 depth_to_space(g.dy(), g.integer("block_size"), {.data_format = std::string(g.text("data_format"))}));
         },
     .batch = batching::rows,
     .jvp = tangents::linear});

const Op& kDepthToSpace = define_op(
    "DepthToSpace(input: T; T: type, block_size: int, data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\") -> (output: T)",
    {.doc = "The inverse of SpaceToDepth: each element becomes a block of block_size x block_size with as many times "
            "fewer channels.",
     .traits = {Trait::kDataMovement},
     .shape = depth_to_space_shape,
     .gradient =
         [](GradContext& g) {
           g.set(0,
                 space_to_depth(g.dy(), g.integer("block_size"), {.data_format = std::string(g.text("data_format"))}));
         },
     .batch = batching::rows,
     .jvp = tangents::linear});

const Op& kSpaceToBatchND = define_op(
    "SpaceToBatchND(input: T, block_shape: Tblock_shape @host, paddings: Tpaddings @host; T: type, "
    "Tblock_shape: index = int32, Tpaddings: index = int32) -> (output: T)",
    {.doc =
         "The dimensions behind the first, one for each size in `block_shape`, are padded with zeros and divided into "
         "blocks; elements in the same place of all blocks make up an example of the result, whose first dimension "
         "has all examples for the first place of a block, then all for the second.",
     .primary = "T",
     .shape = batch_shape<true>,
     .saves = {in(1), in(2)},
     .gradient = [](GradContext& g) { g.set(0, batch_to_space_nd(g.dy(), g.in(1), g.in(2))); },
     .types_reason = "nothing pads strings, resources and variants",
     .batch = more_examples,
     .jvp = tangents::linear});

const Op& kBatchToSpaceND = define_op(
    "BatchToSpaceND(input: T, block_shape: Tblock_shape @host, crops: Tcrops @host; T: type, "
    "Tblock_shape: index = int32, Tcrops: index = int32) -> (output: T)",
    {.doc = "The inverse of SpaceToBatchND: what it padded is cut off, as `crops`.",
     .traits = {Trait::kDataMovement},
     .primary = "T",
     .shape = batch_shape<false>,
     .saves = {in(1), in(2)},
     .gradient = [](GradContext& g) { g.set(0, space_to_batch_nd(g.dy(), g.in(1), g.in(2))); },
     .batch = more_examples,
     .jvp = tangents::linear});

const Op& kSpaceToBatch = define_op(
    "SpaceToBatch(input: T, paddings: Tpaddings @host; T: type, Tpaddings: index = int32, block_size: int)"
    " -> (output: T)",
    {.doc = "SpaceToBatchND of the two dimensions behind the first, with square blocks.",
     .primary = "T",
     .body = [](CompositeContext& c) { c.set_out(0, space_to_batch_nd(c.in(0), two_blocks(c), c.in(1))); },
     .in_tensorflow = true});

const Op& kBatchToSpace =
    define_op("BatchToSpace(input: T, crops: Tidx @host; T: type, block_size: int, Tidx: index = int32) -> (output: T)",
              {.doc = "BatchToSpaceND of the two dimensions behind the first, with square blocks.",
               .primary = "T",
               .body = [](CompositeContext& c) { c.set_out(0, batch_to_space_nd(c.in(0), two_blocks(c), c.in(1))); },
               .in_tensorflow = true});

}  // namespace panto
