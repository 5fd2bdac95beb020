// Partition slices by number, stitch them by position, and reverse sequences.
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

using Dims = SmallVector<int64_t, 8>;

PartialShape to_shape(const Dims& dims) { return PartialShape(std::span<const int64_t>(dims.data(), dims.size())); }

// The dimensions of input `whole` after those of input `front`, with which it must begin; nullopt if unknown.
std::optional<Dims> dims_behind(const ShapeContext& c, int whole, int front, const char* what) {
  const PartialShape &w = c.shape(whole), &f = c.shape(front);
  if (!w.known_rank() || !f.known_rank()) return std::nullopt;
  const bool longer = f.rank() <= w.rank();
  for (int k = 0; k < f.rank(); ++k) {
    if (longer && (f.dim(k) < 0 || w.dim(k) < 0 || f.dim(k) == w.dim(k))) continue;
    invalid("{}: expected a shape that begins with {}, got {}", what, f.to_string(), w.to_string());
  }
  Dims rest;
  for (int k = f.rank(); k < w.rank(); ++k) rest.push_back(w.dim(k));
  return rest;
}

void reverse_sequence_shape(ShapeContext& c) {
  const int64_t lengths = c.vector(1);
  const PartialShape& from = c.shape(0);
  c.output(from);
  if (!from.known_rank()) return;
  const int along = c.axis(c.integer("seq_dim"), from.rank(), "seq_dim");
  const int batch = c.axis(c.integer("batch_dim"), from.rank(), "batch_dim");
  if (along == batch) invalid("batch_dim: expected another dimension than seq_dim, got {}", batch);
  if (lengths >= 0 && from.dim(batch) >= 0 && lengths != from.dim(batch)) {
    invalid("seq_lengths: expected {} lengths, dimension {} of input, got {}", from.dim(batch), batch, lengths);
  }
}

void dynamic_partition_shape(ShapeContext& c) {
  const std::optional<Dims> rest = dims_behind(c, 0, 1, "data");
  if (!rest) return;
  Dims dims = {kUnknownDim};
  for (const int64_t d : *rest) dims.push_back(d);
  for (int k = 0; k < c.num_outputs(); ++k) c.output(k, to_shape(dims));
}

void dynamic_partition_gradient(GradContext& g) {
  const Tensor& numbers = g.in(1);
  const int n = g.num_outputs();
  const Tensor positions = reshape(range(0, size(numbers), 1), shape(numbers));
  const std::vector<Tensor> from = dynamic_partition(positions, numbers, n);
  const Tensor whole = g.shape(0);
  const Tensor rest = slice(whole, reshape(rank(numbers), {1}), {-1});
  std::vector<Tensor> parts;
  for (int k = 0; k < n; ++k) {
    const auto at = static_cast<size_t>(k);
    parts.push_back(g.has_dy(k) ? g.dy(k) : zeros(concat({shape(from[at]), rest}, 0), g.in_type(0)));
  }
  g.set(0, reshape(dynamic_stitch(from, parts), whole));
}

void dynamic_stitch_shape(ShapeContext& c) {
  const int n = c.num_inputs() / 2;
  std::optional<Dims> dims;
  for (int i = 0; i < n; ++i) {
    const std::optional<Dims> rest = dims_behind(c, n + i, i, "data");
    if (!rest) continue;
    if (!dims) {
      dims = Dims{kUnknownDim};
      for (const int64_t d : *rest) dims->push_back(d);
      continue;
    }
    Dims same = {kUnknownDim};
    for (const int64_t d : *rest) same.push_back(d);
    if (!to_shape(*dims).compatible_with(to_shape(same))) {
      invalid("data[{}]: expected slices of shape {}, as before, got {}", i, to_shape(*dims).to_string(),
              to_shape(same).to_string());
    }
  }
  c.output(dims ? to_shape(*dims) : PartialShape::unknown());
}

// If a position occurs several times, the last slice is used, and gets the gradient.
void dynamic_stitch_gradient(GradContext& g) {
  const int n = g.num_inputs() / 2;
  std::vector<Tensor> indices, numbers;
  Tensor first = constant(tensor(0), kInt32);
  for (int i = 0; i < n; ++i) {
    const Tensor& at = g.in(i);
    const Tensor behind = first + size(at);
    indices.push_back(at);
    numbers.push_back(reshape(range(first, behind, 1), shape(at)));
    first = behind;
  }
  const Tensor owner = dynamic_stitch(indices, numbers);
  const Tensor ones_behind = fill(reshape(rank(g.dy()) - 1, {1}), 1);
  for (int i = 0; i < n; ++i) {
    if (!g.needs(n + i)) continue;
    const auto k = static_cast<size_t>(i);
    const Tensor there = gather(g.dy(), indices[k], 0);
    const Tensor counts = equal(gather(owner, indices[k], 0), numbers[k]);
    g.set(n + i, select(reshape(counts, concat({shape(counts), ones_behind}, 0)), there, zeros_like(there)));
  }
}

int64_t behind_batch(int64_t axis) { return axis < 0 ? axis : axis + 1; }

}  // namespace

const Op& kReverseSequence = define_op(
    "ReverseSequence(input: T, seq_lengths: Tlen; seq_dim: int, batch_dim: int = 0, T: type, Tlen: index = int64)"
    " -> (output: T)",
    {.doc = "For each index i of dimension `batch_dim`: the first `seq_lengths[i]` slices along `seq_dim` in reverse "
            "order, the others as they are.",
     .traits = {Trait::kDataMovement},
     .shape = reverse_sequence_shape,
     .saves = {in(1)},
     .gradient =
         [](GradContext& g) {
           g.set(0, reverse_sequence(g.dy(), g.in(1), g.integer("seq_dim"), {.batch_dim = g.integer("batch_dim")}));
         },
     .batch =
         [](BatchContext& c) {
           if (c.batched(1)) return c.loop();
           c.set_out(0, reverse_sequence(c.in(0), c.in(1), behind_batch(c.integer("seq_dim")),
                                         {.batch_dim = behind_batch(c.integer("batch_dim"))}));
         }});

const Op& kDynamicPartition = define_op(
    "DynamicPartition(data: T, partitions: int32; num_partitions: int >= 1, T: type) -> (outputs: num_partitions*T)",
    {.doc = "The slices of `data`, dealt out: output k has those, in order, for which `partitions` is k. Its shape is "
            "that of the first dimensions of `data`. Another number than an output's is an error.",
     .traits = {Trait::kDataMovement, Trait::kSelfAllocating},
     .shape = dynamic_partition_shape,
     .saves = {shape_of(0), in(1)},
     .gradient = dynamic_partition_gradient,
     .batch = batching::loop});

const Op& kDynamicStitch = define_op(
    "DynamicStitch(indices: N*int32, data: N*T; N: int >= 1, T: type) -> (merged: T)",
    {.doc = "Slice `data[i][j]` at position `indices[i][j]` of the result, which ends with the largest position. Of a "
            "position that occurs twice the last slice counts; one that does not occur is zero.",
     .aliases = {"ParallelDynamicStitch"},
     .traits = {Trait::kDataMovement, Trait::kSelfAllocating},
     .shape = dynamic_stitch_shape,
     .saves = {in(0)},
     .gradient = dynamic_stitch_gradient,
     .types_reason = "no resource is zero",
     .batch = batching::loop});

}  // namespace panto
