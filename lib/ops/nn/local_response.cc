// Local response normalization (Krizhevsky et al. 2012).
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

void images_shape(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.expect_rank(i, 4);
  if (c.integer("depth_radius") < 0) invalid("depth_radius: expected at least 0, got {}", c.integer("depth_radius"));
  PartialShape all = c.shape(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (!c.shape(i).compatible_with(all)) {
      const auto& inputs = c.op().signature().inputs;
      invalid("{}: expected the shape {} of {}, got {}", inputs[static_cast<size_t>(i)].name, all.to_string(),
              inputs[0].name, c.shape(i).to_string());
    }
    if (!all.fully_known()) all = c.shape(i).fully_known() ? c.shape(i) : all;
  }
  c.output(all);
}

// The sum over channels at most `radius` away: a product with a band of ones.
Tensor nearby(const Tensor& x, int64_t radius) {
  const Tensor dims = shape(x);
  const Tensor channels = slice(dims, {3}, {1});
  const Tensor band = matrix_band_part(fill(concat({channels, channels}, 0), cast(1, x.dtype())), radius, radius);
  const Tensor rows = reshape(reduce_prod(slice(dims, {0}, {3})), {1});
  return reshape(mm(reshape(x, concat({rows, channels}, 0)), band), dims);
}

LRNGradAttrs attributes(const GradContext& g) {
  return {.depth_radius = g.integer("depth_radius"),
          .bias = g.real("bias"),
          .alpha = g.real("alpha"),
          .beta = g.real("beta")};
}

// Shared by both ops: n, the norm before it is raised to the power b, and w, the sum over nearby channels.
struct Response {
  int64_t radius;
  double alpha, beta;
  Tensor n;
  template <class Context>
  Response(const Context& c, const Tensor& x)
      : radius(c.integer("depth_radius")),
        alpha(static_cast<double>(c.real("alpha"))),
        beta(static_cast<double>(c.real("beta"))),
        n(static_cast<double>(c.real("bias")) + alpha * nearby(square(x), radius)) {}
  Tensor w(const Tensor& x) const { return nearby(x, radius); }
};

// y = x n^-b.
void lrn_tangent(JvpContext& c) {
  if (!c.has_tangent(0)) return;
  const Tensor &x = c.in(0), &change = c.tangent(0);
  const Response r(c, x);
  c.set(0, change * pow(r.n, -r.beta) - 2 * r.alpha * r.beta * c.out() / r.n * r.w(x * change));
}

// LRNGrad is dy n^-b - 2 a b x w(dy y / n), with n = bias + a w(x^2).
void second_order(GradContext& g) {
  const Tensor &v = g.dy(), &dy = g.in(0), &x = g.in(1), &y = g.in(2);
  const Response r(g, x);
  const Tensor power = pow(r.n, -r.beta);
  const Tensor back = 2 * r.alpha * r.beta * r.w(v * x) / r.n;
  if (g.needs(0)) g.set(0, v * power - y * back);
  if (g.needs(2)) g.set(2, -1 * dy * back);
  if (!g.needs(1)) return;
  const Tensor by_norm = (y * back - r.beta * v * power) * dy / r.n;
  g.set(1, 2 * r.alpha * (x * r.w(by_norm) - r.beta * v * r.w(dy * y / r.n)));
}

void lrn_grad_tangent(JvpContext& c) {
  const auto change = [&](int i) { return c.has_tangent(i) ? c.tangent(i) : zeros_like(c.in(i)); };
  const Tensor &dy = c.in(0), &x = c.in(1), &y = c.in(2);
  const Tensor to_dy = change(0), to_x = change(1);
  const Response r(c, x);
  const Tensor power = pow(r.n, -r.beta), to_n = 2 * r.alpha * r.w(x * to_x);
  const Tensor to_share = (to_dy * y + dy * change(2) - dy * y * to_n / r.n) / r.n;
  const Tensor by_norm = to_x * r.w(dy * y / r.n) + x * r.w(to_share);
  c.set(0, to_dy * power - r.beta * dy * power / r.n * to_n - 2 * r.alpha * r.beta * by_norm);
}

}  // namespace

const Op& kLRN = define_op(
    "LRN(input: T; depth_radius: int = 5, bias: float = 1, alpha: float = 1, beta: float = 0.5,"
    " T: float16|bfloat16|float32 = float32) -> (output: T)",
    {.doc = "Local response normalization (Krizhevsky et al. 2012): each element of images [batch, height, width, "
            "channels] divided by (bias + alpha * sum)^beta, where the sum is that of the squares in the channels at "
            "most `depth_radius` away. Computed in float32.",
     .cpp = "local_response_norm",
     .shape = images_shape,
     .saves = {in(0), out(0)},
     .gradient = [](GradContext& g) { g.set(0, local_response_norm_grad(g.dy(), g.in(0), g.out(0), attributes(g))); },
     .flops = [](const CostContext& c) { return 30 * c.numel(0); },
     .batch = batching::rows,
     .jvp = lrn_tangent});

const Op& kLRNGrad = define_op(
    "LRNGrad(input_grads: T, input_image: T, output_image: T; depth_radius: int = 5, bias: float = 1,"
    " alpha: float = 1, beta: float = 0.5, T: float16|bfloat16|float32 = float32) -> (output: T)",
    {.doc = "The gradient of LRN, whose input is `input_image` and whose output is `output_image`.",
     .cpp = "local_response_norm_grad",
     .shape = images_shape,
     .saves = {in(0), in(1), in(2)},
     .gradient = second_order,
     .flops = [](const CostContext& c) { return 60 * c.numel(0); },
     .batch = batching::rows,
     .jvp = lrn_grad_tangent});

}  // namespace panto
