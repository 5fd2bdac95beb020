// Arithmetic on quantized tensors. Each tensor, also the result, comes with its range: two numbers. Formulas as in
// quantize.cc.
#include <optional>
#include <utility>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/quantized/rules.h"
#include "panto/ops/array.h"
#include "panto/ops/quantized.h"

namespace panto {
namespace {

using namespace quantized;  // NOLINT(google-build-using-namespace): of this file

void pair_shape(ShapeContext& c) {
  expect_numbers(c, 2, 6);
  c.output(c.broadcast(0, 1));
  output_range(c);
}

// Computes the batch in one call if no range is batched.
void pair_batch(BatchContext& c) {
  if (any_batched(c, 2, 6)) return c.loop();
  const int rank = std::max(c.rank(0), c.rank(1));
  if (c.rank(0) < 0 || c.rank(1) < 0 || c.shape(0).numel() == 1 || c.shape(1).numel() == 1) return c.loop();
  const auto aligned = [&](int i) { return c.batched(i) ? c.with_rank(i, rank) : c.in(i); };
  SmallVector<Tensor, 2> outputs = c.again({aligned(0), aligned(1), c.in(2), c.in(3), c.in(4), c.in(5)});
  c.set_out(0, outputs[0]);
  c.set_common(1, outputs[1]);
  c.set_common(2, outputs[2]);
}

void matmul_shape(ShapeContext& c) {
  expect_numbers(c, 2, 6);
  const auto [m, k] = c.matrix(0, c.flag("transpose_a"));
  const auto [inner, n] = c.matrix(1, c.flag("transpose_b"));
  c.expect_equal(k, inner, "the inner dimension of b");
  c.output(0, PartialShape{m, n});
  output_range(c);
}

void bias_shape(ShapeContext& c) {
  expect_numbers(c, 2, 6);
  c.expect_rank_at_least(0, 1);
  const int64_t channels = c.merge(c.dim(0, -1), c.vector(1), "length of bias");
  if (!c.shape(0).known_rank()) {
    c.output(PartialShape::unknown());
  } else {
    SmallVector<int64_t, 8> dims;
    for (const int64_t d : c.shape(0).dims()) dims.push_back(d);
    dims[dims.size() - 1] = channels;
    c.output(PartialShape(std::span<const int64_t>(dims)));
  }
  output_range(c);
}

void bias_batch(BatchContext& c) { any_batched(c, 1, 6) ? c.loop() : elements_batch(c); }

// Inputs: the axis, N values, N mins, N maxes.
void concat_shape(ShapeContext& c) {
  c.expect_scalar(0);
  const int n = (c.num_inputs() - 1) / 3;
  expect_numbers(c, 1 + n, c.num_inputs());
  output_range(c);
  int rank = -1;
  for (int i = 1; i <= n; ++i) {
    if (c.rank(i) == 0) invalid("values: expected a rank of at least 1, got scalars");
    if (c.rank(i) < 0) continue;
    if (rank >= 0 && c.rank(i) != rank) {
      invalid("rank of values[{}]: expected {}, that of those before, got {}", i - 1, rank, c.rank(i));
    }
    rank = c.rank(i);
  }
  const std::optional<int64_t> axis = known_scalar(c, 0);
  if (rank < 0) return c.output(0, PartialShape::unknown());
  if (!axis) return c.output(0, PartialShape::of_rank(rank));
  const int along = c.axis(*axis, rank, "concat_dim");
  SmallVector<int64_t, 8> dims;
  for (int k = 0; k < rank; ++k) {
    int64_t d = k == along ? 0 : kUnknownDim;
    for (int i = 1; i <= n; ++i) {
      const int64_t part = c.rank(i) < 0 ? kUnknownDim : c.dim(i, k);
      if (k != along) {
        d = c.merge(d, part, "dimension of values");
      } else {
        d = d < 0 || part < 0 ? kUnknownDim : checked_add(d, part, "dimension");
      }
    }
    dims.push_back(d);
  }
  c.output(0, PartialShape(std::span<const int64_t>(dims)));
}

int64_t each(const CostContext& c) { return 4 * c.out_numel(0); }

}  // namespace

const Op& kQuantizedAdd = define_op(
    "QuantizedAdd(x: T1, y: T2, min_x: float32, max_x: float32, min_y: float32, max_y: float32; T1: quantized,"
    " T2: quantized, Toutput: quantized = qint32) -> (z: Toutput, min_z: float32, max_z: float32)",
    {.doc = "x + y, with broadcasting, of integers of 8 bits as qint32 of a range of 2^14 times the larger one's, in "
            "which both have a place. A step of x and of y is a whole number of steps there, as in TensorFlow, but of "
            "a single element. Errors: InvalidArgument where a range's end is not above its beginning.",
     .primary = "T1",
     .shape = pair_shape,
     .no_gradient = kNoGradient,
     .flops = each,
     .types_reason = kEightBits,
     .batch = pair_batch});

const Op& kQuantizedMul = define_op(
    "QuantizedMul(x: T1, y: T2, min_x: float32, max_x: float32, min_y: float32, max_y: float32; T1: quantized,"
    " T2: quantized, Toutput: quantized = qint32) -> (z: Toutput, min_z: float32, max_z: float32)",
    {.doc = "x * y, with broadcasting, of integers of 8 bits as qint32: (x - x0) * (y - y0), where x0 and y0 stand for "
            "0, in steps of the product of both steps. Errors: InvalidArgument where a range's end is not above its "
            "beginning.",
     .primary = "T1",
     .shape = pair_shape,
     .no_gradient = kNoGradient,
     .flops = each,
     .types_reason = kEightBits,
     .batch = pair_batch});

const Op& kQuantizedMatMul = define_op(
    "QuantizedMatMul(a: T1, b: T2, min_a: float32, max_a: float32, min_b: float32, max_b: float32; T1: quantized,"
    " T2: quantized, Toutput: quantized = qint32, transpose_a: bool = false, transpose_b: bool = false,"
    " Tactivation: quantized = quint8) -> (out: Toutput, min_out: float32, max_out: float32)",
    {.doc = "The product of matrices of 8 bits, a [m, k] and b [k, n], in sums of 32 bits: of (a - a0) * (b - b0), "
            "where a0 and b0 stand for 0, in steps of the product of both steps. `Tactivation` is not used. Errors: "
            "InvalidArgument where a range's end is not above its beginning.",
     .primary = "T1",
     .shape = matmul_shape,
     .no_gradient = kNoGradient,
     .flops =
         [](const CostContext& c) { return 2 * c.out_numel(0) * (c.flag("transpose_a") ? c.dim(0, 0) : c.dim(0, 1)); },
     .types_reason = kEightBits,
     .batch = batching::loop});

const Op& kQuantizedBiasAdd = define_op(
    "QuantizedBiasAdd(input: T1, bias: T2, min_input: float32, max_input: float32, min_bias: float32,"
    " max_bias: float32; T1: quantized, T2: quantized, out_type: quantized)"
    " -> (output: out_type, min_out: float32, max_out: float32)",
    {.doc = "`input` [..., channels] and a vector `bias` added, of integers of 8 bits as qint32 of a range of 2^17 "
            "times the larger one's.",
     .primary = "T1",
     .shape = bias_shape,
     .no_gradient = kNoGradient,
     .flops = each,
     .types_reason = kEightBits,
     .batch = bias_batch});

const Op& kQuantizedRelu = define_op(
    "QuantizedRelu(features: Tinput, min_features: float32, max_features: float32; Tinput: quantized,"
    " out_type: quantized = quint8) -> (activations: out_type, min_activations: float32, max_activations: float32)",
    {.doc = "The larger of each integer and the one that stands for 0, in the same range. `out_type` is the type of "
            "`features`.",
     .primary = "Tinput",
     .shape = like_input,
     .no_gradient = kNoGradient,
     .flops = each,
     .batch = elements_batch});

const Op& kQuantizedRelu6 = define_op(
    "QuantizedRelu6(features: Tinput, min_features: float32, max_features: float32; Tinput: quantized,"
    " out_type: quantized = quint8) -> (activations: out_type, min_activations: float32, max_activations: float32)",
    {.doc = "As QuantizedRelu, and at most the integer that stands for 6.",
     .primary = "Tinput",
     .shape = like_input,
     .no_gradient = kNoGradient,
     .flops = each,
     .batch = elements_batch});

const Op& kQuantizedReluX = define_op(
    "QuantizedReluX(features: Tinput, max_value: float32, min_features: float32, max_features: float32;"
    " Tinput: quantized, out_type: quantized = quint8)"
    " -> (activations: out_type, min_activations: float32, max_activations: float32)",
    {.doc = "As QuantizedRelu, and at most the integer that stands for the number `max_value`.",
     .primary = "Tinput",
     .shape = like_input,
     .no_gradient = kNoGradient,
     .flops = each,
     .batch = elements_batch});

const Op& kQuantizedConcat = define_op(
    "QuantizedConcat(concat_dim: int32 @host, values: N*T, input_mins: N*float32, input_maxes: N*float32; N: int >= 2,"
    " T: quantized) -> (output: T, output_min: float32, output_max: float32)",
    {.doc = "Tensors one after the other along `concat_dim`, in a range that has all of theirs and 0 in it (for qint32 "
            "as far below 0 as above): integers of another range become those that are nearest in it.",
     .shape = concat_shape,
     .no_gradient = kNoGradient,
     .flops = each,
     .batch = batching::loop});

const Op& kQuantizedReshape = define_op(
    "QuantizedReshape(tensor: T, shape: Tshape @host, input_min: float32, input_max: float32; T: type,"
    " Tshape: index = int32) -> (output: T, output_min: float32, output_max: float32)",
    {.doc = "The elements of `tensor`, in order, in another shape, and its range.",
     .body =
         [](CompositeContext& c) {
           c.set_out(0, reshape(c.in(0), c.in(1)));
           c.set_out(1, reshape(c.in(2), Shape{}));
           c.set_out(2, reshape(c.in(3), Shape{}));
         },
     .in_tensorflow = true});

}  // namespace panto
