// Matrix functions, cross products, and the adjoint. The derivative of a matrix function f is a block of f of a larger
// matrix: f([[A, E], [0, A]]) has f'(A; E) above its diagonal (N. J. Higham, Functions of Matrices, chapter 3).
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/tensor/index.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/linalg/matrices.h"
#include "panto/lib/ops/math/complex.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/linalg.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

using namespace matrix;

void function_shape(ShapeContext& c) {
  const int64_t n = square(c);
  c.output(with_last(c.shape(0), {n, n}));
}

// f'(A; E)
template <Tensor (*f)(Arg)>
Tensor derivative(const Tensor& a, const Tensor& e) {
  const Tensor large = concat({concat({a, e}, -1), concat({zeros_like(a), a}, -1)}, -2);
  const Tensor all = f(large);
  const int64_t side = a.partial_shape().known_rank() ? a.partial_shape().dim(a.partial_shape().rank() - 1) : -1;
  if (side >= 0) return all(Ellipsis, Slice({}, side), Slice(side));
  return split(-1, split(-2, all, 2)[0], 2)[1];
}
template <Tensor (*f)(Arg)>
void function_gradient(GradContext& g) {
  g.set(0, derivative<f>(adjoint(g.in(0)), g.dy()));
}
template <Tensor (*f)(Arg)>
void function_tangent(JvpContext& c) {
  c.set(0, derivative<f>(c.in(0), c.tangent(0)));
}

template <int kTimes>
int64_t by_cube(const CostContext& c) {
  return c.numel(0) * c.dim(0, -1) * kTimes;
}

}  // namespace

const Op& kMatrixExponential = define_op(
    "MatrixExponential(input: T; T: float16|float32|float64|complex) -> (output: T)",
    {.doc = "The exponentials of square matrices [..., n, n]: the sums of A^k / k!. Computed in float64. Of a matrix "
            "with infinities or NaN everything is NaN.",
     .shape = function_shape,
     .saves = {in(0)},
     .gradient = function_gradient<matrix_exponential>,
     .flops = by_cube<30>,
     .batch = batching::trailing,
     .jvp = function_tangent<matrix_exponential>});

const Op& kMatrixLogarithm = define_op(
    "MatrixLogarithm(input: T; T: complex) -> (output: T)",
    {.doc = "The principal logarithms of square matrices [..., n, n], of which MatrixExponential is the inverse. "
            "Computed in float64. Of a singular matrix, and of one with infinities or NaN, everything is NaN. "
            "TensorFlow has no gradient.",
     .shape = function_shape,
     .saves = {in(0)},
     .gradient = function_gradient<matrix_logarithm>,
     .flops = by_cube<150>,
     .batch = batching::trailing,
     .jvp = function_tangent<matrix_logarithm>});

const Op& kMatrixSquareRoot = define_op(
    "MatrixSquareRoot(input: T; T: float16|float32|float64|complex) -> (output: T)",
    {.doc = "The principal square roots of square matrices [..., n, n], whose eigenvalues have no negative real parts. "
            "Computed in float64. Of a real matrix with a negative eigenvalue everything is NaN, as its root is not "
            "real; and of a matrix with infinities or NaN.",
     .shape = function_shape,
     .saves = {in(0)},
     .gradient = function_gradient<matrix_square_root>,
     .flops = by_cube<100>,
     .batch = batching::trailing,
     .jvp = function_tangent<matrix_square_root>});

const Op& kCross = define_op(
    "Cross(a: T, b: T; T: real) -> (product: T)",
    {.doc = "Vector products of the vectors of length 3 that are the last dimension of two tensors of one shape. "
            "Integers wrap.",
     .shape =
         [](ShapeContext& c) {
           c.expect_rank_at_least(0, 1);
           const PartialShape &a = c.shape(0), &b = c.shape(1);
           if (!a.compatible_with(b)) c.invalid("b: expected shape " + a.to_string() + ", got " + b.to_string());
           c.expect_rank_at_least(1, 1);  // if nothing is known of a
           const PartialShape both = a.merged_with(b);
           if (!both.known_rank()) return c.output(both);
           c.expect_equal(3, both.dim(both.rank() - 1), "last dimension");
           c.output(with_last(both, {3}, 1));
         },
     .saves = {in(0), in(1)},
     .gradient =
         [](GradContext& g) {
           if (g.needs(0)) g.set(0, cross(g.in(1), g.dy()));
           if (g.needs(1)) g.set(1, cross(g.dy(), g.in(0)));
         },
     .flops = [](const CostContext& c) { return 3 * c.numel(0); },
     .batch = batching::trailing,
     .jvp = tangents::multilinear});

const Op& kConjugateTranspose =
    define_op("ConjugateTranspose(x: T, perm: Tperm @host; T: type, Tperm: index = int32) -> (y: T)",
              {.doc = "Transpose, of which the elements are conjugated where they are complex.",
               .body =
                   [](CompositeContext& c) {
                     const Tensor y = transpose(c.in(0), c.in(1));
                     c.set_out(0, conjugate(y));
                   },
               .in_tensorflow = true});

}  // namespace panto
