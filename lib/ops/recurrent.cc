// Steps of recurrent networks.
#include "panto/lib/base/checked.h"
#include "panto/lib/base/format.h"
#include "panto/lib/core/gradient.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"

namespace panto {
namespace {

void expect_shape(const CompositeContext& c, int i, const char* name, const PartialShape& expected) {
  const PartialShape& got = c.in(i).partial_shape();
  if (!expected.compatible_with(got))
    invalid("{}: expected shape {}, got {}", name, expected.to_string(), got.to_string());
}

int64_t dim_of(const PartialShape& shape, int k) { return shape.known_rank() ? shape.dim(k) : kUnknownDim; }

void lstm_cell_body(CompositeContext& c) {
  const Tensor &x = c.in(0), &cs_prev = c.in(1), &h_prev = c.in(2), &w = c.in(3), &b = c.in(7);
  expect_shape(c, 0, "x", {-1, -1});
  const int64_t batch = dim_of(x.partial_shape(), 0), inputs = dim_of(x.partial_shape(), 1);
  expect_shape(c, 1, "cs_prev", {batch, -1});
  const int64_t units = dim_of(cs_prev.partial_shape(), 1);
  const int64_t gates = units < 0 ? kUnknownDim : checked_mul(4, units);
  expect_shape(c, 2, "h_prev", {batch, units});
  expect_shape(c, 3, "w", {inputs < 0 || units < 0 ? kUnknownDim : inputs + units, gates});
  expect_shape(c, 4, "wci", {units});
  expect_shape(c, 5, "wcf", {units});
  expect_shape(c, 6, "wco", {units});
  expect_shape(c, 7, "b", {gates});

  // A vector, whatever it is at run time: biases are.
  const auto vector = [&](int i) {
    return c.in(i).partial_shape().known_rank() ? c.in(i) : bias_add(zeros_like(cs_prev), c.in(i));
  };
  const bool peephole = c.flag("use_peephole");
  const float clip = c.real("cell_clip");
  const std::vector<Tensor> z = split(1, bias_add(matmul(concat({x, h_prev}, 1), w), b), 4);
  const Tensor i = sigmoid(peephole ? z[0] + cs_prev * vector(4) : z[0]);
  const Tensor ci = tanh(z[1]);
  const Tensor open = z[2] + c.real("forget_bias");
  const Tensor f = sigmoid(peephole ? open + cs_prev * vector(5) : open);
  Tensor cs = ci * i + cs_prev * f;
  if (clip > 0) cs = minimum(maximum(cs, -clip), clip);
  const Tensor o = sigmoid(peephole ? z[3] + cs * vector(6) : z[3]);
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
     .body = lstm_cell_body});

}  // namespace panto
