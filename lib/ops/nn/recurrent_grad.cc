// Gradients of steps of recurrent networks.
#include <algorithm>
#include <vector>

#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/nn/recurrent.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/ops/run_time_checks.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

// Returns `cs_prev`; fails at run time unless the sizes of x, h_prev, w and b, whose values are not used here, match
// it.
Tensor with_sizes_checked(const CompositeContext& c, const Tensor& cs_prev) {
  const std::vector<int> inputs = {0, 1, 2, 3, 7};
  if (std::ranges::all_of(inputs, [&](int i) { return c.in(i).partial_shape().fully_known(); })) return cs_prev;
  std::vector<Tensor> sizes;
  for (const int i : inputs) sizes.push_back(shape(c.in(i), {.out_type = kInt64}));
  const Tensor batch = slice(sizes[0], {0}, {1}), columns = slice(sizes[0], {1}, {1}),
               units = slice(sizes[1], {1}, {1});
  const Tensor expected =
      concat({batch, columns, batch, units, batch, units, columns + units, 4 * units, 4 * units}, 0);
  return reshape(cs_prev, sizes[1] + zero_if_equal(concat(sizes, 0), expected, 9));
}

void lstm_cell_grad_body(CompositeContext& c) {
  const recurrent::LstmSizes sizes = recurrent::expect_lstm(c, 0, false);
  constexpr const char* kStates[] = {"i", "cs", "f", "o", "ci", "co", "cs_grad", "h_grad"};
  for (int k = 0; k < 8; ++k) recurrent::expect_shape(c, 8 + k, kStates[k], {sizes.batch, sizes.units});
  const Tensor cs_prev = with_sizes_checked(c, c.in(1));
  const auto state = [&](int i) { return with_shape_of(c.in(i), cs_prev); };
  const Tensor i = state(8), cs = state(9), f = state(10), o = state(11), ci = state(12), co = state(13),
               cs_grad = state(14), h_grad = state(15);
  const bool peephole = c.flag("use_peephole");
  const auto over_batch = [](const Tensor& t) { return sum(t, 0); };
  const auto vector = [&](int k, const Tensor& like) { return with_shape_of(c.in(k), like); };

  const Tensor d_o = o * (1 - o) * h_grad * co;
  const Tensor wco_grad = over_batch(d_o * cs);
  Tensor d_cs = (1 - co * co) * h_grad * o + cs_grad;
  if (peephole) d_cs = d_cs + d_o * vector(6, wco_grad);
  const Tensor d_ci = (1 - ci * ci) * d_cs * i;
  const Tensor d_f = f * (1 - f) * d_cs * cs_prev;
  const Tensor d_i = i * (1 - i) * d_cs * ci;
  const Tensor wci_grad = over_batch(d_i * cs_prev), wcf_grad = over_batch(d_f * cs_prev);
  Tensor cs_prev_grad = d_cs * f;
  if (peephole) cs_prev_grad = cs_prev_grad + d_i * vector(4, wci_grad) + d_f * vector(5, wcf_grad);
  c.set_out(0, cs_prev_grad);
  c.set_out(1, concat({d_i, d_ci, d_f, d_o}, 1));
  const auto or_zeros = [&](const Tensor& t) { return peephole ? t : zeros_like(t); };
  c.set_out(2, or_zeros(wci_grad));
  c.set_out(3, or_zeros(wcf_grad));
  c.set_out(4, or_zeros(wco_grad));
}

}  // namespace

const Op& kLSTMBlockCellGrad = define_op(
    "LSTMBlockCellGrad(x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T, i: T, cs: T, f: T, o: T, ci: T,"
    " co: T, cs_grad: T, h_grad: T; use_peephole: bool, T: float16|float32)"
    " -> (cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T)",
    {.doc = "Gradients of LSTMBlockCell from those of cs and h, given what it was given and gave: with respect to "
            "cs_prev, to the gates before their functions [batch, 4 units], in the order i, ci, f, o, and to the "
            "vectors, which is zero without `use_peephole`. Products of the second with w and with [x, h_prev] are "
            "the others. Where cs was clipped, it counts as if it had not been. x, h_prev, w and b tell no more than "
            "sizes.",
     .body = lstm_cell_grad_body,
     .in_tensorflow = true});

}  // namespace panto
