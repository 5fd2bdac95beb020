// Steps of recurrent networks.
#include <vector>

#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/nn/recurrent.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/run_time_checks.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

// wci, wcf, wco and b: vectors with one element per unit, b with four.
std::vector<Tensor> unit_vectors(const CompositeContext& c) {
  const int64_t units = recurrent::dim_of(c, 1, 1, 2);
  bool known = units >= 0 && recurrent::dim_of(c, 2, 1, 2) >= 0;
  for (const int i : {4, 5, 6, 7}) known = known && c.in(i).partial_shape().fully_known();
  if (known) return {c.in(4), c.in(5), c.in(6), c.in(7)};
  const DType type = c.in(1).dtype();
  const Tensor like = units >= 0 ? zeros({units}, type) : zeros(slice(shape(c.in(1)), {1}, {1}), type);
  std::vector<Tensor> all = split(0, c.in(7), 4);
  all.insert(all.begin(), {like, c.in(4), c.in(5), c.in(6)});
  all = of_one_shape(all);
  return {all[1], all[2], all[3], concat({all[4], all[5], all[6], all[7]}, 0)};
}

void lstm_cell_body(CompositeContext& c) {
  const Tensor &x = c.in(0), &cs_prev = c.in(1), &w = c.in(3);
  recurrent::expect_lstm(c, 0, false);

  // Unknown shapes are checked at run time by ops that do not broadcast: concat needs a matrix x, matmul a matrix w.
  const Tensor h_prev = with_shape_of(c.in(2), cs_prev);
  const std::vector<Tensor> vectors = unit_vectors(c);
  const Tensor &wci = vectors[0], &wcf = vectors[1], &wco = vectors[2], &b = vectors[3];

  const bool peephole = c.flag("use_peephole");
  const float clip = c.real("cell_clip");
  const std::vector<Tensor> z = split(1, bias_add(mm(concat({x, h_prev}, 1), w), b), 4);
  const Tensor i = sigmoid(peephole ? z[0] + cs_prev * wci : z[0]);
  const Tensor ci = tanh(z[1]);
  const Tensor open = z[2] + c.real("forget_bias");
  const Tensor f = sigmoid(peephole ? open + cs_prev * wcf : open);
  Tensor cs = ci * i + cs_prev * f;
  if (clip > 0) cs = minimum(maximum(cs, -clip), clip);
  const Tensor o = sigmoid(peephole ? z[3] + cs * wco : z[3]);
  const Tensor co = tanh(cs);
  c.set_out(0, i);
  c.set_out(1, cs);
  c.set_out(2, f);
  c.set_out(3, o);
  c.set_out(4, ci);
  c.set_out(5, co);
  c.set_out(6, co * o);
}

}  // namespace

const Op& kLSTMBlockCell = define_op(
    "LSTMBlockCell(x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T; forget_bias: float = 1,"
    " cell_clip: float = 3, use_peephole: bool = false, T: float16|float32)"
    " -> (i: T, cs: T, f: T, o: T, ci: T, co: T, h: T)",
    {.doc =
         "One step of an LSTM (Hochreiter and Schmidhuber 1997; peepholes as Gers et al. 2002), for a batch:\n"
         "  [i, ci, f, o] = [x, h_prev] . w + b\n"
         "  i = sigmoid(i + cs_prev * wci), ci = tanh(ci), f = sigmoid(f + forget_bias + cs_prev * wcf)\n"
         "  cs = clip(ci * i + cs_prev * f), o = sigmoid(o + cs * wco), co = tanh(cs), h = co * o\n"
         "x is [batch, inputs], states and results [batch, units], w [inputs + units, 4 units]. The products with the "
         "vectors wci, wcf and wco are there with `use_peephole` only; clip is to [-cell_clip, cell_clip] where that "
         "is positive.",
     .body = lstm_cell_body,
     .in_tensorflow = true});

}  // namespace panto
