// Steps of gated recurrent units (GRU).
#include <vector>

#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/nn/recurrent.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/run_time_checks.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

struct Sizes {
  int64_t batch, inputs, units;
};

// Checks inputs 0 to 5 and returns the sizes: x, h_prev, w_ru, w_c, b_ru and b_c.
Sizes expect_gru(const CallView& c) {
  using namespace recurrent;
  expect_shape(c, 0, "x", {-1, -1});
  const int64_t inputs = dim_of(c, 0, 1, 2), batch = first_known({dim_of(c, 0, 0, 2), dim_of(c, 1, 0, 2)});
  expect_shape(c, 1, "h_prev", {batch, -1});
  const int64_t units = first_known({dim_of(c, 1, 1, 2), dim_of(c, 3, 1, 2), dim_of(c, 5, 0, 1),
                                     part_of(dim_of(c, 2, 1, 2), 2), part_of(dim_of(c, 4, 0, 1), 2)});
  expect_shape(c, 2, "w_ru", {sum_of(inputs, units), times(units, 2)});
  expect_shape(c, 3, "w_c", {sum_of(inputs, units), units});
  expect_shape(c, 4, "b_ru", {times(units, 2)});
  expect_shape(c, 5, "b_c", {units});
  return {batch, inputs, units};
}

// Unknown shapes are checked at run time by ops that do not broadcast: concat needs a matrix x, matmul matrices as
// weights.
void gru_body(CompositeContext& c) {
  expect_gru(c);
  const Tensor &x = c.in(0), &h_prev = c.in(1);
  const std::vector<Tensor> z = split(1, sigmoid(bias_add(mm(concat({x, h_prev}, 1), c.in(2)), c.in(4))), 2);
  const Tensor r = with_shape_of(z[0], h_prev), u = with_shape_of(z[1], h_prev);
  const Tensor state = tanh(bias_add(mm(concat({x, h_prev * r}, 1), c.in(3)), c.in(5)));
  const Tensor candidate = with_shape_of(state, h_prev);
  c.set_out(0, r);
  c.set_out(1, u);
  c.set_out(2, candidate);
  c.set_out(3, u * (h_prev - candidate) + candidate);
}

// Splits a matrix into the columns of x and those of h_prev.
std::vector<Tensor> parts(const CompositeContext& c, const Sizes& sizes, const Tensor& joined) {
  const Tensor widths = sizes.inputs >= 0 && sizes.units >= 0
                            ? constant_integers({sizes.inputs, sizes.units})
                            : concat({slice(shape(c.in(0), {.out_type = kInt64}), {1}, {1}),
                                      slice(shape(c.in(1), {.out_type = kInt64}), {1}, {1})},
                                     0);
  return split_v(joined, widths, 1, 2);
}

void gru_grad_body(CompositeContext& c) {
  const Sizes sizes = expect_gru(c);
  constexpr const char* kStates[] = {"r", "u", "c", "d_h"};
  for (int k = 0; k < 4; ++k) recurrent::expect_shape(c, 6 + k, kStates[k], {sizes.batch, sizes.units});
  const Tensor& h_prev = c.in(1);
  const Tensor r = with_shape_of(c.in(6), h_prev), u = with_shape_of(c.in(7), h_prev),
               state = with_shape_of(c.in(8), h_prev), d_h = with_shape_of(c.in(9), h_prev);
  const Tensor d_c_bar = d_h * (1 - u) * (1 - state * state);
  const Tensor d_u_bar = d_h * (h_prev - state) * u * (1 - u);
  const std::vector<Tensor> by_c = parts(c, sizes, mm(d_c_bar, c.in(3), {.transpose_b = true}));
  const Tensor d_r_bar = by_c[1] * h_prev * r * (1 - r);
  const Tensor d_r_bar_u_bar = concat({d_r_bar, d_u_bar}, 1);
  const std::vector<Tensor> by_ru = parts(c, sizes, mm(d_r_bar_u_bar, c.in(2), {.transpose_b = true}));
  c.set_out(0, by_ru[0] + by_c[0]);
  c.set_out(1, by_ru[1] + by_c[1] * r + d_h * u);
  c.set_out(2, d_c_bar);
  c.set_out(3, d_r_bar_u_bar);
}

}  // namespace

const Op& kGRUBlockCell = define_op(
    "GRUBlockCell(x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T; T: float32) -> (r: T, u: T, c: T, h: T)",
    {.doc = "One step of a gated recurrent unit (Cho et al. 2014), for a batch:\n"
            "  [r, u] = sigmoid([x, h_prev] . w_ru + b_ru)\n"
            "  c = tanh([x, h_prev * r] . w_c + b_c)\n"
            "  h = u * h_prev + (1 - u) * c\n"
            "x is [batch, inputs], states and results [batch, units], w_ru [inputs + units, 2 units] and w_c [inputs + "
            "units, units].",
     .body = gru_body,
     .in_tensorflow = true});

const Op& kGRUBlockCellGrad = define_op(
    "GRUBlockCellGrad(x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T, r: T, u: T, c: T, d_h: T; T: float32)"
    " -> (d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T)",
    {.doc = "Gradients of GRUBlockCell from that of h, given what it was given and gave: with respect to x, to h_prev, "
            "to what c is the tanh of, and to what [r, u] is the sigmoid of. Those of the weights and biases follow "
            "from the last two. b_ru and b_c tell no more than sizes.",
     .body = gru_grad_body,
     .in_tensorflow = true});

}  // namespace panto
