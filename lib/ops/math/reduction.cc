// Reductions over axes, the positions of extremes, and running sums.
//
// The C++ names avoid clashes after `using namespace std` (std::max, std::any): reduce_max, reduce_min, reduce_prod,
// reduce_all and reduce_any. sum and mean clash with nothing.
#include <algorithm>
#include <optional>
#include <vector>

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

// By dimension of input 0: 1 if it is reduced, else 0. nullopt if axes or rank are unknown.
std::optional<std::vector<int64_t>> known_mask(const GradContext& g) {
  const int rank = g.in_shape(0).rank();
  const std::optional<PartialValues> axes = known_integers(g.in(1));
  if (rank < 0 || !axes) return std::nullopt;
  std::vector<int64_t> mask(static_cast<size_t>(rank), 0);
  for (const std::optional<int64_t>& axis : *axes) {
    if (!axis) return std::nullopt;
    mask[static_cast<size_t>(*axis < 0 ? *axis + rank : *axis)] = 1;
  }
  return mask;
}

// The same computed by ops.
Tensor mask_of_axes(const GradContext& g) {
  const Tensor rank = size(g.shape(0));
  const Tensor axes = floor_mod(cast(reshape(g.in(1), {-1}), kInt32) + rank, rank);
  return sum(one_hot(axes, rank, 1, 0), 0);
}

// The input's shape with 1 for each reduced dimension.
Tensor kept_shape(const GradContext& g, const std::optional<std::vector<int64_t>>& known) {
  const Tensor shape = g.shape(0);
  if (known) {
    std::vector<int64_t> kept;
    for (int64_t reduced : *known) kept.push_back(1 - reduced);
    return shape * kept + *known;
  }
  const Tensor mask = mask_of_axes(g);
  return shape * (1 - mask) + mask;
}

// `t`, which has the output's shape, in a shape that broadcasts to the input's: reduced dimensions are 1.
Tensor with_kept_dims(const GradContext& g, const Tensor& t) {
  if (g.flag("keep_dims")) return t;
  const auto mask = known_mask(g);
  if (mask) {
    if (std::ranges::is_sorted(*mask, std::greater())) return t;  // leading axes: broadcasting adds these
    const PartialShape& in = g.in_shape(0);
    std::vector<int64_t> dims(in.dims().begin(), in.dims().end());
    for (size_t k = 0; k < dims.size(); ++k) {
      if ((*mask)[k] == 1) dims[k] = 1;
    }
    // Reshape infers one unknown dimension, unless there are no elements.
    const auto unknown = std::ranges::count(dims, kUnknownDim);
    if (unknown == 0 || (unknown == 1 && std::ranges::find(dims, 0) == dims.end())) return reshape(t, dims);
  }
  return reshape(t, kept_shape(g, mask));
}

void sum_gradient(GradContext& g) { g.set(0, broadcast_to(with_kept_dims(g, g.dy()), g.shape(0))); }

void mean_gradient(GradContext& g) {
  const PartialShape& in = g.in_shape(0);
  const PartialShape& out = g.dy().partial_shape();
  Tensor share;
  if (in.fully_known() && out.fully_known()) {
    const int64_t count = in.numel() / std::max<int64_t>(1, out.numel());
    share = g.dy() / static_cast<double>(count);
  } else {
    const Tensor outputs = maximum(cast(size(g.dy()), kInt64), 1);
    const Tensor count = floor_div(reduce_prod(cast(g.shape(0), kInt64)), outputs);
    share = g.dy() / cast(count, g.in_type(0));
  }
  g.set(0, broadcast_to(with_kept_dims(g, share), g.shape(0)));
}

// For each element, the product of all others along an axis. Does not divide: quotients fail for zeros, infinities and
// overflowing products.
Tensor product_of_others(const Tensor& x, const Arg& axis) {
  return cumprod(x, axis, {.exclusive = true}) * cumprod(x, axis, {.exclusive = true, .reverse = true});
}

// The same over several axes.
Tensor product_of_others(const Tensor& x, const std::vector<int64_t>& mask) {
  Tensor others;
  Tensor rest = x;  // reduced to size 1 along the axes done so far
  for (int64_t axis = static_cast<int64_t>(mask.size()); axis-- > 0;) {
    if (mask[static_cast<size_t>(axis)] == 0) continue;
    const Tensor along = product_of_others(rest, axis);
    others = others.defined() ? others * along : along;
    rest = reduce_prod(rest, {axis}, {.keep_dims = true});
  }
  return others.defined() ? others : ones_like(x);
}

// The same if axes or rank are only known at run time: reshapes to a matrix whose first dimension merges all reduced
// ones.
Tensor product_of_others(const Tensor& x, const Tensor& mask, const Tensor& shape) {
  const Tensor is_reduced = equal(mask, 1);
  const Tensor kept = 1 - mask;
  const Tensor position = select(is_reduced, cumsum(mask, 0, {.exclusive = true}),
                                 sum(mask) + cumsum(kept, 0, {.exclusive = true}));  // new position of each dimension
  const Tensor moved = transpose(x, invert_permutation(position));
  const Tensor one = ones_like(shape);
  const Tensor reduced = reduce_prod(select(is_reduced, shape, one)),
               others = reduce_prod(select(is_reduced, one, shape));
  const Tensor sizes = pack({reduced, others});
  return transpose(reshape(product_of_others(reshape(moved, sizes), 0), panto::shape(moved)), position);
}

void prod_gradient(GradContext& g) {
  const DType type = g.in_type(0);
  // Partial products may overflow even if the full product does not.
  const DType wide = type == kFloat32 ? kFloat64 : type == kComplex64 ? kComplex128 : type;
  const Tensor x = type == wide ? g.conj_in(0) : cast(g.conj_in(0), wide);
  const auto mask = known_mask(g);
  const Tensor others = mask ? product_of_others(x, *mask) : product_of_others(x, mask_of_axes(g), g.shape(0));
  g.set(0, with_kept_dims(g, g.dy()) * (type == wide ? others : cast(others, type)));
}

// Equal extremes share the gradient.
void extreme_gradient(GradContext& g) {
  const Tensor chosen = cast(equal(g.in(0), with_kept_dims(g, g.out(0))), g.in_type(0));
  const Tensor count = sum(chosen, g.in(1), {.keep_dims = true});
  g.set(0, chosen / count * with_kept_dims(g, g.dy()));
}

// The axis in input `i`, as a dimension of input 0; -1 if either is unknown.
int scalar_axis(ShapeContext& c, int i = 1) {
  c.expect_scalar(i);
  const auto values = c.values(i);
  if (!values || !(*values)[0]) return -1;
  if (c.rank(0) < 0) return -1;
  return c.axis(*(*values)[0], c.rank(0));
}

void arg_shape(ShapeContext& c) {
  c.expect_rank_at_least(0, 1);
  const int axis = scalar_axis(c);
  const PartialShape& in = c.shape(0);
  if (!in.known_rank()) return c.output(PartialShape());
  if (axis < 0) return c.output(PartialShape::of_rank(in.rank() - 1));
  if (in.dim(axis) == 0) c.invalid("dimension " + std::to_string(axis) + ": expected at least one element, got 0");
  SmallVector<int64_t, 8> dims;
  for (int k = 0; k < in.rank(); ++k) {
    if (k != axis) dims.push_back(in.dim(k));
  }
  c.output(PartialShape(std::span<const int64_t>(dims)));
}

void scan_shape(ShapeContext& c) {
  c.expect_rank_at_least(0, 1);
  scalar_axis(c);
  c.output(c.shape(0));
}

int64_t one_flop_each(const CostContext& c) { return c.numel(0); }

void recurrence_tangent(JvpContext& c) {
  Tensor inflow = c.tangent(1);
  if (c.has_tangent(0)) {
    const Tensor more = c.tangent(0) * c.out();
    inflow = inflow.defined() ? inflow + more : more;
  }
  if (inflow.defined()) c.set(0, linear_recurrence(c.in(0), inflow, c.in(2), {.reverse = c.flag("reverse")}));
}

// With p the running product before each element, the tangent p' follows the recurrence: p' at the next element is x p'
// + p x'.
void cumprod_tangent(JvpContext& c) {
  const Tensor &x = c.in(0), &axis = c.in(1), &t = c.tangent(0);
  const bool reverse = c.flag("reverse");
  const Tensor inflow = cumprod(x, axis, {.exclusive = true, .reverse = reverse}) * t;
  const Tensor before = linear_recurrence(x, inflow, axis, {.reverse = reverse});
  c.set(0, c.flag("exclusive") ? before : before * x + inflow);
}

// With y the running log-sum-exps and z those before each element: `carry` = exp(z - y) is the share of the earlier
// sum, `own` = exp(x - y) that of the element itself. Neither exceeds 1.
struct LogSums {
  Tensor carry, own;
  LogSums(const Tensor& x, const Tensor& axis, bool reverse) {
    const Tensor y = cumulative_logsumexp(x, axis, {.reverse = reverse});
    const Tensor z = cumulative_logsumexp(x, axis, {.exclusive = true, .reverse = reverse});
    carry = ratio(z, y);
    own = ratio(x, y);
  }

 private:
  // The difference of equal infinities would be NaN; it counts as 0.
  static Tensor ratio(const Tensor& a, const Tensor& b) { return exp(select(equal(a, b), zeros_like(a), a - b)); }
};

void logsumexp_gradient(GradContext& g) {
  const bool exclusive = g.flag("exclusive"), reverse = g.flag("reverse");
  const LogSums sums(g.in(0), g.in(1), reverse);
  const Tensor later =
      linear_recurrence(sums.carry, exclusive ? g.dy() : sums.carry * g.dy(), g.in(1), {.reverse = !reverse});
  g.set(0, sums.own * (exclusive ? later : later + g.dy()));
}

void logsumexp_tangent(JvpContext& c) {
  if (!c.has_tangent(0)) return;
  const bool reverse = c.flag("reverse");
  const LogSums sums(c.in(0), c.in(1), reverse);
  const Tensor inflow = sums.own * c.tangent(0);
  const Tensor before = linear_recurrence(sums.carry, inflow, c.in(1), {.reverse = reverse});
  c.set(0, c.flag("exclusive") ? before : sums.carry * before + inflow);
}

}  // namespace

const Op& kSum = define_op(
    "Sum(input: T, reduction_indices: Tidx @host = all; keep_dims: bool = false, T: numeric, Tidx: index = int32)"
    " -> (output: T)",
    {.doc = "Sum over the axes `reduction_indices` (all, where none are given); 0 for no elements. Integers wrap.\n"
            "The result does not depend on the number of threads; floats are added in blocks whose sums are added in "
            "float64, so the error does not grow with the size.",
     .traits = {Trait::kReduction},
     .shape = shapes::reduction,
     .saves = {shape_of(0), in(1)},
     .gradient = sum_gradient,
     .flops = one_flop_each,
     .jvp = tangents::linear});

const Op& kEuclideanNorm = define_op(
    "EuclideanNorm(input: T, reduction_indices: Tidx @host = all; keep_dims: bool = false, T: numeric,"
    " Tidx: index = int32) -> (output: T)",
    {.doc = "Square root of the sum of squares over the axes `reduction_indices` (all, where none are given); of "
            "integers truncated. Of zeros the gradient is NaN, as TensorFlow's is.",
     .body =
         [](CompositeContext& c) {
           const DType type = c.in(0).dtype();
           const DType wide = dtypes::kFloating.contains(type) && type != kFloat64 ? kFloat32
                              : dtypes::kComplex.contains(type)                    ? type
                                                                                   : kFloat64;
           const Tensor x = type == wide ? c.in(0) : cast(c.in(0), wide);
           const Tensor squares = dtypes::kComplex.contains(type) ? x * conj(x) : square(x);
           const Tensor norm = sqrt(sum(squares, c.in(1), {.keep_dims = c.flag("keep_dims")}));
           c.set_out(0, type == wide ? norm : cast(norm, type));
         },
     .in_tensorflow = true});

const Op& kMean = define_op(
    "Mean(input: T, reduction_indices: Tidx @host = all; keep_dims: bool = false, T: numeric, Tidx: index = int32)"
    " -> (output: T)",
    {.doc = "Mean over the axes `reduction_indices` (all, where none are given). Integers are added in 64 bits and the "
            "quotient is truncated, as TensorFlow's is: mean(cast(x, kFloat32)) is the mean with its fraction. The "
            "mean of "
            "no elements is NaN, of integers 0.",
     .traits = {Trait::kReduction},
     .shape = shapes::reduction,
     .saves = {shape_of(0), in(1)},
     .gradient = mean_gradient,
     .flops = one_flop_each,
     .jvp = tangents::linear});

const Op& kProd = define_op(
    "Prod(input: T, reduction_indices: Tidx @host = all; keep_dims: bool = false, T: numeric, Tidx: index = int32)"
    " -> (output: T)",
    {.doc = "Product over the axes `reduction_indices` (all, where none are given); 1 for no elements. Integers wrap; "
            "float32 is multiplied in float64. Derivatives of every order hold for factors of 0 as well.",
     .cpp = "reduce_prod",
     .traits = {Trait::kReduction},
     .shape = shapes::reduction,
     .saves = {in(0), in(1)},
     .gradient = prod_gradient,
     .flops = one_flop_each});

const Op& kMax = define_op(
    "Max(input: T, reduction_indices: Tidx @host = all; keep_dims: bool = false, T: real, Tidx: index = int32)"
    " -> (output: T)",
    {.doc = "Largest element over the axes `reduction_indices` (all, where none are given). NaN if there is one among "
            "them; for no elements the lowest value of the type, minus infinity for floats. Equal elements share the "
            "gradient.",
     .cpp = "reduce_max",
     .traits = {Trait::kReduction},
     .shape = shapes::reduction,
     .saves = {in(0), in(1), out(0)},
     .gradient = extreme_gradient,
     .flops = one_flop_each});

const Op& kMin = define_op(
    "Min(input: T, reduction_indices: Tidx @host = all; keep_dims: bool = false, T: real, Tidx: index = int32)"
    " -> (output: T)",
    {.doc = "Smallest element over the axes `reduction_indices` (all, where none are given). NaN if there is one among "
            "them; for no elements the highest value of the type, infinity for floats. Equal elements share the "
            "gradient.",
     .cpp = "reduce_min",
     .traits = {Trait::kReduction},
     .shape = shapes::reduction,
     .saves = {in(0), in(1), out(0)},
     .gradient = extreme_gradient,
     .flops = one_flop_each});

const Op& kAll = define_op(
    "All(input: bool, reduction_indices: Tidx @host = all; keep_dims: bool = false, Tidx: index = int32)"
    " -> (output: bool)",
    {.doc = "True where all elements over the axes `reduction_indices` are (all axes, where none are given); true for "
            "no elements.",
     .cpp = "reduce_all",
     .traits = {Trait::kReduction},
     .shape = shapes::reduction,
     .no_gradient = "truth values are not differentiable",
     .flops = one_flop_each});

const Op& kAny = define_op(
    "Any(input: bool, reduction_indices: Tidx @host = all; keep_dims: bool = false, Tidx: index = int32)"
    " -> (output: bool)",
    {.doc = "True where any element over the axes `reduction_indices` is (all axes, where none are given); false for "
            "no elements.",
     .cpp = "reduce_any",
     .traits = {Trait::kReduction},
     .shape = shapes::reduction,
     .no_gradient = "truth values are not differentiable",
     .flops = one_flop_each});

const Op& kArgMax = define_op(
    "ArgMax(input: T, dimension: Tidx @host; T: real|bool, Tidx: int16|int32|int64 = int32,"
    " output_type: int16|uint16|int32|int64 = int64) -> (output: output_type)",
    {.doc = "Position of the largest element along one dimension; of the first one where several are equal. NaN is "
            "never the largest; 0 where all are NaN.",
     .cpp = "argmax",
     .traits = {Trait::kReduction},
     .shape = arg_shape,
     .no_gradient = "positions are not differentiable",
     .flops = one_flop_each});

const Op& kArgMin = define_op(
    "ArgMin(input: T, dimension: Tidx @host; T: real|bool, Tidx: index = int32, output_type: index = int64)"
    " -> (output: output_type)",
    {.doc = "Position of the smallest element along one dimension; of the first one where several are equal. NaN is "
            "never the smallest; 0 where all are NaN.",
     .cpp = "argmin",
     .traits = {Trait::kReduction},
     .shape = arg_shape,
     .no_gradient = "positions are not differentiable",
     .flops = one_flop_each});

const Op& kCumsum = define_op(
    "Cumsum(x: T, axis: Tidx @host = 0; exclusive: bool = false, reverse: bool = false, T: numeric,"
    " Tidx: index = int32) -> (out: T)",
    {.doc = "Running sum along `axis`: [a, a + b, a + b + c]; [0, a, a + b] if `exclusive`; from the end if `reverse`. "
            "Floats are added in float64.",
     .traits = {Trait::kReusesInput0},
     .shape = scan_shape,
     .saves = {in(1)},
     .gradient =
         [](GradContext& g) {
           g.set(0, cumsum(g.dy(), g.in(1), {.exclusive = g.flag("exclusive"), .reverse = !g.flag("reverse")}));
         },
     .flops = one_flop_each,
     .batch = batching::axes<1>,
     .jvp = tangents::linear});

const Op& kCumprod = define_op(
    "Cumprod(x: T, axis: Tidx @host = 0; exclusive: bool = false, reverse: bool = false, T: numeric,"
    " Tidx: index = int32) -> (out: T)",
    {.doc = "Running product along `axis`: [a, a * b, a * b * c]; [1, a, a * b] if `exclusive`; from the end if "
            "`reverse`. Floats are multiplied in float64.",
     .traits = {Trait::kReusesInput0},
     .shape = scan_shape,
     .saves = {in(0), in(1)},
     .gradient =
         [](GradContext& g) {
           const bool exclusive = g.flag("exclusive"), reverse = g.flag("reverse");
           const Tensor& x = g.conj_in(0);
           const Tensor before = cumprod(x, g.in(1), {.exclusive = true, .reverse = reverse});
           // Sums the gradients of later products by a recurrence, without dividing by x.
           const Tensor later = linear_recurrence(x, exclusive ? g.dy() : x * g.dy(), g.in(1), {.reverse = !reverse});
           g.set(0, before * (exclusive ? later : later + g.dy()));
         },
     .flops = one_flop_each,
     .batch = batching::axes<1>,
     .jvp = cumprod_tangent});

const Op& kCumulativeLogsumexp = define_op(
    "CumulativeLogsumexp(x: T, axis: Tidx @host; exclusive: bool = false, reverse: bool = false, T: floating,"
    " Tidx: index = int32) -> (out: T)",
    {.doc =
         "Logarithm of the running sum of exp(x) along `axis`, as Cumsum's; minus infinity for none. What is added is "
         "at most 1, so that nothing overflows.",
     .traits = {Trait::kReusesInput0},
     .shape = scan_shape,
     .saves = {in(0), in(1)},
     .gradient = logsumexp_gradient,
     .flops = [](const CostContext& c) { return 40 * c.numel(0); },
     .batch = batching::axes<1>,
     .jvp = logsumexp_tangent});

const Op& kLinearRecurrence = define_op(
    "_LinearRecurrence(a: T, b: T, axis: Tidx @host; reverse: bool = false, T: floating|complex, Tidx: index = int32)"
    " -> (y: T)",
    {.doc = "y[0] = 0 and y[i + 1] = a[i] * y[i] + b[i] along `axis`, from the end if `reverse`: what derivatives of "
            "running products are made of.",
     .cpp = "linear_recurrence",
     .shape =
         [](ShapeContext& c) {
           c.expect_rank_at_least(0, 1);
           scalar_axis(c, 2);
           const PartialShape &a = c.shape(0), &b = c.shape(1);
           if (!a.compatible_with(b)) {
             c.invalid("b: expected the shape of a, " + a.to_string() + ", got " + b.to_string());
           }
           c.output(a.fully_known() ? a : b);
         },
     .saves = {in(0), in(2), out(0)},
     .gradient =
         [](GradContext& g) {
           const Tensor db = linear_recurrence(g.conj_in(0), g.dy(), g.in(2), {.reverse = !g.flag("reverse")});
           g.set(0, db * g.conj_out(0));
           g.set(1, db);
         },
     .flops = [](const CostContext& c) { return 2 * c.numel(0); },
     .batch = batching::axes<2>,
     .jvp = recurrence_tangent});

}  // namespace panto
