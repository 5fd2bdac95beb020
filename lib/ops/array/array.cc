// Ops that change shape and order: Reshape and related ops, Transpose, Tile.

#include <array>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

using Dims = SmallVector<int64_t, 8>;

PartialShape to_shape(const Dims& dims) { return PartialShape(std::span<const int64_t>(dims.data(), dims.size())); }

// The dimensions in `values`; unknown ones are -1. Throws if one is negative.
PartialShape dims_from(const KnownIntegers& values, const char* what) {
  if (!values.counted()) return {};
  Dims dims;
  for (int64_t i = 0; i < values.count(); ++i) {
    if (values.known(i) && values[i] < 0) invalid("{}[{}]: expected at least 0, got {}", what, i, values[i]);
    dims.push_back(values.known(i) ? values[i] : kUnknownDim);
  }
  return to_shape(dims);
}

// A scalar shape counts as a vector of one element, as in TensorFlow.
void reshape_shape(ShapeContext& c) {
  if (c.rank(1) > 1) c.expect_rank(1, 1);
  const PartialShape& from = c.shape(0);
  const KnownIntegers wanted(c, 1);
  if (!wanted.counted()) return c.output(PartialShape::unknown());
  Dims dims;
  int64_t product = 1;  // of the given dimensions
  int inferred = -1;    // the dimension to be inferred
  bool unknown = false;
  for (int64_t i = 0; i < wanted.count(); ++i) {
    const int64_t d = wanted.known(i) ? wanted[i] : kUnknownDim;
    dims.push_back(d);
    if (d < -1) invalid("shape[{}]: expected at least -1, got {}", i, d);
    if (!wanted.known(i)) {
      unknown = true;
    } else if (d == -1) {
      if (inferred >= 0) invalid("shape: expected at most one -1, got them at {} and {}", inferred, i);
      inferred = static_cast<int>(i);
    } else {
      product = d == 0 || product == 0 ? 0 : checked_mul(product, d, "shape");
    }
  }
  const int64_t count = from.numel();
  if (count >= 0 && !unknown && inferred >= 0) {
    if (product == 0) invalid("shape: expected dimensions other than 0 beside -1, got {}", to_shape(dims).to_string());
    if (count % product != 0) {
      invalid("shape: expected a number of elements that divides {}, got {}", count, to_shape(dims).to_string());
    }
    dims[static_cast<size_t>(inferred)] = count / product;
  } else if (count >= 0 && !unknown && product != count) {
    invalid("number of elements: expected {}, got {} in {}", count, product, to_shape(dims).to_string());
  }
  c.output(to_shape(dims));
  pass_values(c);
}

void expand_dims_shape(ShapeContext& c) {
  if (c.shape(1).known_rank() && c.shape(1).numel() != 1 && c.shape(1).fully_known()) {
    invalid("dim: expected one integer, got shape {}", c.shape(1).to_string());
  }
  pass_values(c);
  const PartialShape& from = c.shape(0);
  const KnownIntegers dim(c, 1);
  if (!from.known_rank()) return c.output(PartialShape::unknown());
  if (!dim.counted() || !dim.complete()) return c.output(PartialShape::of_rank(from.rank() + 1));
  const int at = c.axis(dim[0], from.rank() + 1, "dim");
  Dims dims;
  for (int i = 0; i <= from.rank(); ++i) dims.push_back(i == at ? 1 : from.dim(i < at ? i : i - 1));
  c.output(to_shape(dims));
}

void squeeze_shape(ShapeContext& c) {
  pass_values(c);
  const PartialShape& from = c.shape(0);
  const std::span<const int64_t> listed = c.integers("squeeze_dims");
  if (!from.known_rank()) return c.output(PartialShape::unknown());
  std::array<bool, kMaxRank> squeezed{};
  for (int64_t axis : listed) squeezed[static_cast<size_t>(c.axis(axis, from.rank(), "squeeze_dims"))] = true;
  Dims dims;
  for (int i = 0; i < from.rank(); ++i) {
    const int64_t d = from.dim(i);
    const bool wanted = squeezed[static_cast<size_t>(i)];
    if (wanted && d >= 0 && d != 1) invalid("dimension {}, which is to be squeezed: expected 1, got {}", i, d);
    // Without a list, an unknown dimension may or may not be removed, so the rank is unknown.
    if (listed.empty() && d < 0) return c.output(PartialShape::unknown());
    if (listed.empty() ? d != 1 : !wanted) dims.push_back(d);
  }
  c.output(to_shape(dims));
}

void transpose_shape(ShapeContext& c) {
  const PartialShape& from = c.shape(0);
  const int64_t length = c.vector(1);
  if (from.known_rank() && length >= 0 && length != from.rank()) {
    invalid("perm: expected {} axes, one for each dimension of x, got {}", from.rank(), length);
  }
  const int64_t rank = from.known_rank() ? from.rank() : length;
  if (rank < 0) return c.output(PartialShape::unknown());
  if (rank > kMaxRank) invalid("perm: expected at most {} axes, got {}", kMaxRank, rank);
  const KnownIntegers perm(c, 1);
  Dims dims;
  std::array<bool, kMaxRank> seen{};
  for (int64_t i = 0; i < rank; ++i) {
    if (!perm.counted() || !perm.known(i)) {
      dims.push_back(kUnknownDim);
      continue;
    }
    if (perm[i] < -rank || perm[i] >= rank) {
      invalid("perm[{}]: expected an axis in [-{}, {}), got {}", i, rank, rank, perm[i]);
    }
    const int64_t axis = perm[i] < 0 ? perm[i] + rank : perm[i];
    if (seen[static_cast<size_t>(axis)]) invalid("perm: expected every axis once, got {} twice", axis);
    seen[static_cast<size_t>(axis)] = true;
    dims.push_back(from.known_rank() ? from.dim(static_cast<int>(axis)) : kUnknownDim);
  }
  c.output(to_shape(dims));
}

std::vector<int64_t> inverse_of(const KnownIntegers& perm) {
  const int64_t rank = perm.count();
  std::vector<int64_t> inverse(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) inverse[static_cast<size_t>(perm[i] < 0 ? perm[i] + rank : perm[i])] = i;
  return inverse;
}

void broadcast_to_shape(ShapeContext& c) {
  c.vector(1);
  const PartialShape to = dims_from(KnownIntegers(c, 1), "shape");
  const PartialShape& from = c.shape(0);
  c.output(to);
  if (!to.known_rank() || !from.known_rank()) return;
  if (from.rank() > to.rank()) {
    invalid("rank: expected at most {}, that of the new shape, got {}", to.rank(), from.rank());
  }
  const int shift = to.rank() - from.rank();
  for (int i = 0; i < from.rank(); ++i) {
    const int64_t d = from.dim(i);
    const int64_t wanted = to.dim(i + shift);
    if (d >= 0 && d != 1 && wanted >= 0 && wanted != d) {
      invalid("dimension {} of input: expected {} or 1, got {}", i, wanted, d);
    }
  }
}

void tile_shape(ShapeContext& c) {
  const PartialShape& from = c.shape(0);
  const int64_t length = c.vector(1);
  if (from.known_rank() && length >= 0 && length != from.rank()) {
    invalid("multiples: expected {} numbers, one for each dimension of input, got {}", from.rank(), length);
  }
  const PartialShape times = dims_from(KnownIntegers(c, 1), "multiples");
  if (!from.known_rank() || !times.known_rank()) {
    return c.output(length >= 0 ? PartialShape::of_rank(static_cast<int>(length)) : PartialShape::unknown());
  }
  Dims dims;
  for (int i = 0; i < from.rank(); ++i) {
    const bool known = from.dim(i) >= 0 && times.dim(i) >= 0;
    dims.push_back(known ? checked_mul(from.dim(i), times.dim(i), "dimension") : kUnknownDim);
  }
  c.output(to_shape(dims));
}

// The gradient of Tile: splits every dimension of dy into (repeats, tile) and sums over the repeats. `from`: what is
// known of the tile's shape; `dims` returns its dimensions as a tensor.
template <class Dims>
Tensor sum_of_tiles(const Tensor& dy, const Tensor& times, const PartialShape& from, const Dims& dims) {
  const KnownIntegers multiples(times);
  const auto recorded_pairs = [&] { return reshape(pack({cast(times, kInt32), dims()}, {.axis = 1}), {-1}); };
  if (!from.known_rank()) {
    const Tensor pairs = recorded_pairs();
    return sum(reshape(dy, pairs), range(0, size(pairs), 2));
  }
  std::vector<int64_t> pairs;
  std::vector<int64_t> axes;
  bool known = from.fully_known() && multiples.counted() && multiples.complete();
  for (int i = 0; i < from.rank(); ++i) {
    if (known) {
      pairs.push_back(multiples[i]);
      pairs.push_back(from.dim(i));
    }
    axes.push_back(2 * i);
  }
  return sum(reshape(dy, known ? Arg(pairs) : Arg(recorded_pairs())), axes);
}

void tile_gradient(GradContext& g) {
  g.set(0, sum_of_tiles(g.dy(), g.in(1), g.in_shape(0), [&] { return g.shape(0); }));
}

// What is known of the shape of one tile, if `multiples` of it make up `whole`.
PartialShape tile_of(const PartialShape& whole, const KnownIntegers& multiples) {
  if (!whole.known_rank()) return PartialShape::unknown();
  if (!multiples.counted()) return PartialShape::of_rank(whole.rank());
  if (multiples.count() != whole.rank()) {
    invalid("multiples: expected {} numbers, one for each dimension of input, got {}", whole.rank(), multiples.count());
  }
  Dims dims;
  for (int i = 0; i < whole.rank(); ++i) {
    const std::optional<int64_t> times = multiples.get(i);
    if (times && *times < 1) invalid("multiples[{}]: expected at least 1, got {}", i, *times);
    if (times && whole.dim(i) >= 0 && whole.dim(i) % *times != 0) {
      invalid("dimension {} of input: expected a multiple of {}, got {}", i, *times, whole.dim(i));
    }
    dims.push_back(times && whole.dim(i) >= 0 ? whole.dim(i) / *times : kUnknownDim);
  }
  return to_shape(dims);
}

void tile_grad_shape(ShapeContext& c) {
  const PartialShape& whole = c.shape(0);
  const int64_t length = c.vector(1);
  if (whole.known_rank() && length >= 0 && length != whole.rank()) {
    invalid("multiples: expected {} numbers, one for each dimension of input, got {}", whole.rank(), length);
  }
  if (whole.known_rank()) return c.output(tile_of(whole, KnownIntegers(c, 1, whole.rank())));
  c.output(length >= 0 ? PartialShape::of_rank(static_cast<int>(length)) : PartialShape::unknown());
}

// ---- Inside vmap ----------------------------------------------------------------------------------------------------

// The batch rule of ops that keep the elements in order.
void same_elements_batch(BatchContext& c) {
  std::vector<int64_t> dims(c.out_shape().dims().begin(), c.out_shape().dims().end());
  dims.insert(dims.begin(), c.size());
  const auto unknown = std::ranges::count(dims, kUnknownDim);
  if (unknown == 0 || (unknown == 1 && std::ranges::count(dims, 0) == 0)) return c.set_out(0, reshape(c.in(0), dims));
  c.set_out(0, reshape(c.in(0), c.with_size(c.out_shape())));
}

void reshape_batch(BatchContext& c) {
  if (c.batched(1)) return c.loop();
  if (c.out_shape().fully_known()) return same_elements_batch(c);
  const Tensor batch = slice(shape(c.in(0)), {0}, {1});
  c.set_out(0, reshape(c.in(0), concat({batch, cast(reshape(c.in(1), {-1}), batch.dtype())}, 0)));
}

void transpose_batch(BatchContext& c) {
  if (c.batched(1)) return c.loop();
  c.set_out(0, transpose(c.in(0), put_before({0}, axes_behind_batch(c.in(1), c.rank(0)))));
}

void broadcast_to_batch(BatchContext& c) {
  if (c.batched(1)) return c.loop();
  const Tensor x = c.with_rank(0, c.out_shape().rank());
  if (c.out_shape().fully_known()) return c.set_out(0, broadcast_to(x, c.with_size(c.out_shape())));
  const Tensor batch = slice(shape(c.in(0)), {0}, {1});
  c.set_out(0, broadcast_to(x, concat({batch, cast(c.in(1), batch.dtype())}, 0)));
}

void tile_batch(BatchContext& c) {
  if (c.batched(1)) return c.loop();
  c.set_out(0, tile(c.in(0), put_before({1}, c.in(1))));
}

// Inverts the permutations of a batch by scattering positions.
void invert_batch(BatchContext& c) {
  if (c.size() < 0 || !c.shape(0).fully_known()) return c.loop();
  const Tensor& x = c.in(0);
  const std::vector<int64_t> dims = {c.size(), c.shape(0).dim(0)};
  const auto spread = [&](const Tensor& t) { return broadcast_to(cast(t, x.dtype()), dims); };
  const Tensor example = spread(reshape(range(int64_t{0}, dims[0], int64_t{1}), {-1, 1}));
  const Tensor number = spread(range(int64_t{0}, dims[1], int64_t{1}));
  c.set_out(0, scatter_nd(pack({example, x}, {.axis = -1}), number, cast(constant_integers(dims), x.dtype())));
}

}  // namespace

const Op& kReshape = define_op(
    "Reshape(tensor: T, shape: Tshape @host; T: type, Tshape: index = int32) -> (output: T)",
    {.doc = "The elements of `tensor`, in order, in another shape. One dimension may be -1: it is found from the "
            "others.",
     .traits = {Trait::kDataMovement, Trait::kSelfAllocating},
     .shape = reshape_shape,
     .saves = {shape_of(0)},
     .gradient = [](GradContext& g) { g.set(0, reshape(g.dy(), g.shape(0))); },
     .batch = reshape_batch});

const Op& kExpandDims =
    define_op("ExpandDims(input: T, dim: Tdim @host; T: type, Tdim: index = int32) -> (output: T)",
              {.doc = "`input` with a dimension of 1 put in at `dim`; negative ones count from the end of the result.",
               .traits = {Trait::kDataMovement, Trait::kSelfAllocating},
               .shape = expand_dims_shape,
               .saves = {shape_of(0)},
               .gradient = [](GradContext& g) { g.set(0, reshape(g.dy(), g.shape(0))); },
               .batch = same_elements_batch});

const Op& kSqueeze = define_op("Squeeze(input: T; T: type, squeeze_dims: list(int) = []) -> (output: T)",
                               {.doc = "`input` without its dimensions of 1: those listed, or all of them.",
                                .traits = {Trait::kDataMovement, Trait::kSelfAllocating},
                                .shape = squeeze_shape,
                                .saves = {shape_of(0)},
                                .gradient = [](GradContext& g) { g.set(0, reshape(g.dy(), g.shape(0))); },
                                .batch = same_elements_batch});

const Op& kTranspose = define_op(
    "Transpose(x: T, perm: Tperm @host; T: type, Tperm: index = int32) -> (y: T)",
    {.doc = "`x` with its dimensions in another order: dimension i of the result is dimension perm[i] of `x`. "
            "Negative ones count from the end.",
     .traits = {Trait::kDataMovement},
     .shape = transpose_shape,
     .saves = {in(1)},
     .gradient =
         [](GradContext& g) {
           const KnownIntegers perm(g.in(1));
           if (perm.counted() && perm.complete()) return g.set(0, transpose(g.dy(), inverse_of(perm)));
           const Tensor rank = cast(size(g.in(1)), g.in(1).dtype());
           g.set(0, transpose(g.dy(), invert_permutation(floor_mod(add(g.in(1), rank), rank))));
         },
     .batch = transpose_batch});

const Op& kInvertPermutation = define_op("InvertPermutation(x: T; T: index = int32) -> (y: T)",
                                         {.doc = "The permutation that undoes permutation `x`: y[x[i]] = i.",
                                          .traits = {Trait::kDataMovement},
                                          .shape =
                                              [](ShapeContext& c) {
                                                c.vector(0);
                                                c.output(c.shape(0));
                                              },
                                          .no_gradient = "integers have none",
                                          .batch = invert_batch});

const Op& kBroadcastTo = define_op(
    "BroadcastTo(input: T, shape: Tidx @host; T: type, Tidx: index = int32) -> (output: T)",
    {.doc = "`input` repeated along new dimensions and dimensions of 1 until it has the shape, as NumPy broadcasts.",
     .traits = {Trait::kDataMovement, Trait::kBroadcasts},
     .shape = broadcast_to_shape,
     .gradient = [](GradContext& g) { g.set(0, g.dy()); },
     .batch = broadcast_to_batch});

const Op& kTile =
    define_op("Tile(input: T, multiples: Tmultiples @host; T: type, Tmultiples: index = int32) -> (output: T)",
              {.doc = "`input` repeated multiples[i] times along each dimension i.",
               .traits = {Trait::kDataMovement},
               .shape = tile_shape,
               .saves = {in(1), shape_of(0)},
               .gradient = tile_gradient,
               .batch = tile_batch});

const Op& kTileGrad = define_op(
    "TileGrad(input: T, multiples: int32 @host; T: numeric) -> (output: T)",
    {.doc = "The sum of the tiles of `input`, of which there are multiples[i] along each dimension i: what the "
            "gradient of Tile is.",
     .shape = tile_grad_shape,
     .body =
         [](CompositeContext& c) {
           const Tensor &whole = c.in(0), times = ensure_shape(c.in(1), PartialShape{kUnknownDim});
           const PartialShape tile = tile_of(whole.partial_shape(), KnownIntegers(times));
           c.set_out(0, sum_of_tiles(whole, times, tile, [&] { return floor_div(shape(whole), times); }));
         },
     .in_tensorflow = true});

}  // namespace panto
