// An LSTM over all steps of its input. BlockLSTM and BlockLSTMV2 differ in the order of the gates and in the bias of
// the forget gate.
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/nn/recurrent.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

struct Sizes : recurrent::LstmSizes {
  int64_t time;
};
Sizes expect_block(const ShapeContext& c) {
  const std::optional<int64_t> steps = known_scalar(c, 0);
  const Sizes sizes{recurrent::expect_lstm(c, 1, true), recurrent::dim_of(c, 1, 0, 3)};
  if (steps && sizes.time >= 0 && (*steps < 0 || *steps > sizes.time)) {
    invalid("seq_len_max: expected 0 to {}, got {}", sizes.time, *steps);
  }
  return sizes;
}

void block_shape(ShapeContext& c) {
  const Sizes s = expect_block(c);
  for (int k = 0; k < 7; ++k) c.output(k, PartialShape{s.time, s.batch, s.units});
}

void block_grad_shape(ShapeContext& c) {
  const Sizes s = expect_block(c);
  constexpr const char* kResults[] = {"i", "cs", "f", "o", "ci", "co", "h", "cs_grad", "h_grad"};
  for (int k = 0; k < 9; ++k) recurrent::expect_shape(c, 9 + k, kResults[k], {s.time, s.batch, s.units});
  c.output(0, PartialShape{s.time, s.batch, s.inputs});
  for (const int k : {1, 2}) c.output(k, PartialShape{s.batch, s.units});
  c.output(3, PartialShape{recurrent::sum_of(s.inputs, s.units), s.gates});
  for (const int k : {4, 5, 6}) c.output(k, PartialShape{s.units});
  c.output(7, PartialShape{s.gates});
}

int64_t block_flops(const CostContext& c, int64_t products) {
  const double work = static_cast<double>(c.dim(1, 0)) * static_cast<double>(c.dim(1, 1)) *
                      (2.0 * static_cast<double>(c.numel(4)) + 64.0 * static_cast<double>(c.dim(2, 1)));
  return work < 1e18 ? static_cast<int64_t>(work) * products : INT64_MAX;
}

template <auto kGrad>
void block_gradient(GradContext& g) {
  for (const int k : {0, 2, 3, 4, 5}) {
    if (g.has_dy(k)) {
      failf(Code::kUnimplemented, "gradient of {}: expected those of `cs` and `h` only, got one of output {}",
            g.op().name(), k);
    }
  }
  const auto dy = [&](int k) { return g.has_dy(k) ? g.dy(k) : zeros_like(g.out(k)); };
  const auto d =
      kGrad(g.in(0), g.in(1), g.in(2), g.in(3), g.in(4), g.in(5), g.in(6), g.in(7), g.in(8), g.out(0), g.out(1),
            g.out(2), g.out(3), g.out(4), g.out(5), g.out(6), dy(1), dy(6), g.flag("use_peephole"));
  g.set(1, d.x_grad);
  g.set(2, d.cs_prev_grad);
  g.set(3, d.h_prev_grad);
  g.set(4, d.w_grad);
  g.set(5, d.wci_grad);
  g.set(6, d.wcf_grad);
  g.set(7, d.wco_grad);
  g.set(8, d.b_grad);
}

constexpr const char* kNoSecond = "second derivatives are those of LSTMBlockCell, step by step";

}  // namespace

const Op& kBlockLSTM = define_op(
    "BlockLSTM(seq_len_max: int64, x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T; forget_bias: float "
    "= 1, cell_clip: float = 3, use_peephole: bool = false, T: float16|float32)"
    " -> (i: T, cs: T, f: T, o: T, ci: T, co: T, h: T)",
    {.doc = "LSTMBlockCell for each of the first `seq_len_max` steps of x [time, batch, inputs], from the states "
            "cs_prev and h_prev [batch, units] on. Results are [time, batch, units], and 0 at later steps. Gradients "
            "go through cs and h, and as in TensorFlow those of a cs that was clipped are as if it had not been. "
            "There are no second derivatives.",
     .cpp = "block_lstm_v1",
     .shape = block_shape,
     .saves = {in(0), in(1), in(2), in(3), in(4), in(5), in(6), in(7), in(8), out(0), out(1), out(2), out(3), out(4),
               out(5), out(6)},
     .gradient = block_gradient<block_lstm_grad_v1>,
     .flops = [](const CostContext& c) { return block_flops(c, 1); },
     .batch = batching::loop,
     .jvp = tangents::none});

const Op& kBlockLSTMV2 = define_op(
    "BlockLSTMV2(seq_len_max: int64, x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T; cell_clip: float "
    "= 0, use_peephole: bool = false, T: float16|float32) -> (i: T, cs: T, f: T, o: T, ci: T, co: T, h: T)",
    {.doc =
         "An LSTM, a step of which LSTMBlockCell computes, over the first `seq_len_max` steps of x [time, batch, "
         "inputs], from the states cs_prev and h_prev [batch, units] on. The columns of w and b are in the order i, "
         "f, ci, o, and nothing is added to the forget gate but its bias in b. Results are [time, batch, units], and "
         "0 at later steps. Gradients go through cs and h, and as in TensorFlow those of a cs that was clipped are "
         "as if it had not been. There are no second derivatives.",
     .cpp = "block_lstm",
     .shape = block_shape,
     .saves = {in(0), in(1), in(2), in(3), in(4), in(5), in(6), in(7), in(8), out(0), out(1), out(2), out(3), out(4),
               out(5), out(6)},
     .gradient = block_gradient<block_lstm_grad>,
     .flops = [](const CostContext& c) { return block_flops(c, 1); },
     .batch = batching::loop,
     .jvp = tangents::none});

const Op& kBlockLSTMGrad = define_op(
    "BlockLSTMGrad(seq_len_max: int64, x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T, i: T, cs: T, "
    "f: T, o: T, ci: T, co: T, h: T, cs_grad: T, h_grad: T; use_peephole: bool, T: float16|float32)"
    " -> (x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T)",
    {.doc = "Gradients of BlockLSTM from those of cs and h, given what it was given and gave. Those with respect to "
            "wci, wcf and wco are zero without `use_peephole`.",
     .cpp = "block_lstm_grad_v1",
     .shape = block_grad_shape,
     .no_gradient = kNoSecond,
     .flops = [](const CostContext& c) { return block_flops(c, 2); },
     .batch = batching::loop});

const Op& kBlockLSTMGradV2 = define_op(
    "BlockLSTMGradV2(seq_len_max: int64, x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T, i: T, cs: T, "
    "f: T, o: T, ci: T, co: T, h: T, cs_grad: T, h_grad: T; use_peephole: bool, T: float16|float32)"
    " -> (x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T)",
    {.doc = "Gradients of BlockLSTMV2 from those of cs and h, given what it was given and gave. Those with respect to "
            "wci, wcf and wco are zero without `use_peephole`.",
     .cpp = "block_lstm_grad",
     .shape = block_grad_shape,
     .no_gradient = kNoSecond,
     .flops = [](const CostContext& c) { return block_flops(c, 2); },
     .batch = batching::loop});

}  // namespace panto
