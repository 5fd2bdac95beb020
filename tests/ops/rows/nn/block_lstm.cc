// Samples of LSTMs over all steps, beside loops over steps.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <utility>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/autograd/transforms/derivatives.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/reductions.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::block_lstm_rows {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Order {
  int64_t i, ci, f, o;
};
Order order_of(const Given& g) { return g.op.name().ends_with("V2") ? Order{0, 2, 1, 3} : Order{0, 1, 2, 3}; }

double& element(Array& a, const Index& index) {
  size_t flat = 0;
  for (size_t k = 0; k < index.size(); ++k)
    flat = flat * static_cast<size_t>(a.dims[k]) + static_cast<size_t>(index[k]);
  return a.values[flat];
}

// The state before step t: what went in, or row t - 1 of what came out.
double before(const Array& first, const Array& all, int64_t t, int64_t n, int64_t u) {
  return t == 0 ? at(first, {n, u}) : at(all, {t - 1, n, u});
}

std::vector<Array> lstm(const Given& g) {
  const Array &x = g.in[1], &w = g.in[4];
  const int64_t inputs = x.dims[2], units = g.in[2].dims[1];
  const bool second = g.op.name().ends_with("V2");
  const double peephole = g.flag("use_peephole") ? 1 : 0, clip = g.real("cell_clip");
  const double bias = second ? 0 : g.real("forget_bias");
  const Order order = order_of(g);
  std::vector<Array> out(7, filled({x.dims[0], x.dims[1], units}, 0));
  for (int64_t t = 0; t < integer(g.in[0]); ++t) {
    for_each_index(g.in[2].dims, [&](const Index& index) {
      const int64_t n = index[0], u = index[1];
      const auto gate = [&](int64_t block) {
        const int64_t column = block * units + u;
        double z = at(g.in[8], {column});
        for (int64_t k = 0; k < inputs; ++k) z += at(x, {t, n, k}) * at(w, {k, column});
        for (int64_t k = 0; k < units; ++k) z += before(g.in[3], out[6], t, n, k) * at(w, {inputs + k, column});
        return z;
      };
      const double cs_prev = before(g.in[2], out[1], t, n, u);
      const double i = sigmoid(gate(order.i) + peephole * cs_prev * at(g.in[5], {u}));
      const double ci = std::tanh(gate(order.ci));
      const double f = sigmoid(gate(order.f) + bias + peephole * cs_prev * at(g.in[6], {u}));
      double cs = ci * i + cs_prev * f;
      if (clip > 0) cs = std::clamp(cs, -clip, clip);
      const double o = sigmoid(gate(order.o) + peephole * cs * at(g.in[7], {u}));
      const double values[] = {i, cs, f, o, ci, std::tanh(cs), std::tanh(cs) * o};
      for (size_t k = 0; k < 7; ++k) element(out[k], {t, n, u}) = values[k];
    });
  }
  return out;
}

std::vector<Array> lstm_grad(const Given& g) {
  const int64_t inputs = g.in[1].dims[2], batch = g.in[2].dims[0], units = g.in[2].dims[1];
  const bool peephole = g.flag("use_peephole");
  const Order order = order_of(g);
  std::vector<Array> out;
  for (size_t k = 1; k <= 8; ++k) out.push_back(filled(g.in[k].dims, 0));
  Array &d_x = out[0], &d_cs = out[1], &d_h = out[2], &d_w = out[3], &d_b = out[7];
  for (int64_t t = integer(g.in[0]) - 1; t >= 0; --t) {
    Array gates = filled({batch, 4 * units}, 0);
    for_each_index(g.in[2].dims, [&](const Index& index) {
      const int64_t n = index[0], u = index[1];
      const auto in = [&](size_t k) { return at(g.in[k], {t, n, u}); };
      const double i = in(9), cs = in(10), f = in(11), o = in(12), ci = in(13), co = in(14);
      const double cs_prev = before(g.in[2], g.in[10], t, n, u), dh = in(17) + at(d_h, index);
      const double d_o = dh * co * o * (1 - o);
      double d = in(16) + at(d_cs, index) + dh * o * (1 - co * co);
      if (peephole) d += d_o * at(g.in[7], {u});
      const double d_i = d * ci * i * (1 - i), d_ci = d * i * (1 - ci * ci), d_f = d * cs_prev * f * (1 - f);
      element(gates, {n, order.i * units + u}) = d_i;
      element(gates, {n, order.ci * units + u}) = d_ci;
      element(gates, {n, order.f * units + u}) = d_f;
      element(gates, {n, order.o * units + u}) = d_o;
      element(d_cs, index) = d * f;
      if (!peephole) return;
      element(d_cs, index) += d_i * at(g.in[5], {u}) + d_f * at(g.in[6], {u});
      element(out[4], {u}) += d_i * cs_prev;
      element(out[5], {u}) += d_f * cs_prev;
      element(out[6], {u}) += d_o * cs;
    });
    for_each_index(gates.dims, [&](const Index& index) {
      const int64_t n = index[0], column = index[1];
      element(d_b, {column}) += at(gates, index);
      for (int64_t k = 0; k < inputs + units; ++k) {
        const double factor = k < inputs ? at(g.in[1], {t, n, k}) : before(g.in[3], g.in[15], t, n, k - inputs);
        element(d_w, {k, column}) += factor * at(gates, index);
      }
    });
    const auto to_left = [&](int64_t n, int64_t row) {
      double sum = 0;
      for (int64_t column = 0; column < 4 * units; ++column) {
        sum += at(gates, {n, column}) * at(g.in[4], {row, column});
      }
      return sum;
    };
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t k = 0; k < inputs; ++k) element(d_x, {t, n, k}) = to_left(n, k);
      for (int64_t k = 0; k < units; ++k) element(d_h, {n, k}) = to_left(n, inputs + k);
    }
  }
  return out;
}

std::vector<Array> inputs_of(int64_t steps, int64_t time, int64_t batch, int64_t inputs, int64_t units) {
  const Index state = {batch, units}, vector = {units};
  return {scalar(static_cast<double>(steps)),
          draw({time, batch, inputs}),
          draw(state, -1, 1, 1),
          draw(state, -1, 1, 2),
          draw({inputs + units, 4 * units}, -1, 1, 3),
          draw(vector, -1, 1, 4),
          draw(vector, -1, 1, 5),
          draw(vector, -1, 1, 6),
          draw({4 * units}, -1, 1, 7)};
}
std::vector<Array> grad_inputs(int64_t steps, int64_t time, int64_t batch, int64_t inputs, int64_t units) {
  std::vector<Array> in = inputs_of(steps, time, batch, inputs, units);
  for (const double low : {0.0, -1.0, 0.0, 0.0, -1.0, -1.0, -1.0, -1.0, -1.0}) {
    in.push_back(draw({time, batch, units}, low, 1, static_cast<int>(in.size())));
  }
  return in;
}

ErrorSample wrong(std::vector<Array> in, size_t i, Array value, const char* text, Attrs attrs = {}) {
  in[i] = std::move(value);
  return {.in = std::move(in), .attrs = std::move(attrs), .text = text};
}
std::vector<ErrorSample> errors() {
  const std::vector<Array> in = inputs_of(2, 3, 2, 3, 2);
  return {wrong(in, 0, scalar(4), "seq_len_max: expected 0 to 3, got 4"),
          wrong(in, 0, scalar(-1), "seq_len_max: expected 0 to 3, got -1"),
          wrong(in, 0, list({2}), "seq_len_max: expected a scalar, got shape [1]"),
          wrong(in, 1, draw({2, 3}), "x: expected shape [?,?,?], got [2,3]"),
          wrong(in, 2, draw({1, 2}), "cs_prev: expected shape [2,?], got [1,2]"),
          wrong(in, 3, draw({2, 3}), "h_prev: expected shape [2,2], got [2,3]"),
          wrong(in, 4, draw({4, 8}), "w: expected shape [5,8], got [4,8]"),
          wrong(in, 5, draw({1}), "wci: expected shape [2], got [1]"),
          wrong(in, 6, draw({3}), "wcf: expected shape [2], got [3]"),
          wrong(in, 7, draw({}), "wco: expected shape [2], got []"),
          wrong(in, 8, draw({2}), "b: expected shape [8], got [2]")};
}
std::vector<ErrorSample> grad_errors() {
  const std::vector<Array> in = grad_inputs(2, 3, 2, 3, 2);
  const Attrs attrs = {{"use_peephole", true}};
  return {wrong(in, 0, scalar(4), "seq_len_max: expected 0 to 3, got 4", attrs),
          wrong(in, 8, draw({2}), "b: expected shape [8], got [2]", attrs),
          wrong(in, 9, draw({2, 2, 2}), "i: expected shape [3,2,2], got [2,2,2]", attrs),
          wrong(in, 15, draw({3, 2, 1}), "h: expected shape [3,2,2], got [3,2,1]", attrs),
          wrong(in, 17, draw({3, 2}), "h_grad: expected shape [3,2,2], got [3,2]", attrs)};
}

// Gradients beside those of steps one by one.
void gradients() {
  std::vector<Tensor> in;
  for (const Array& a : inputs_of(3, 3, 2, 3, 4)) in.push_back(to_tensor(a, in.empty() ? kInt64 : kFloat32));
  const Tensor weights = to_tensor(draw({3, 2, 4}, -1, 1, 9), kFloat32);
  const Tensor cs_weights = to_tensor(draw({3, 2, 4}, -1, 1, 8), kFloat32);
  const auto by_steps = [&](const Tensor& x, Tensor cs, Tensor h, const Tensor& w, const Tensor& wci, const Tensor& wcf,
                            const Tensor& wco, const Tensor& b) {
    std::vector<Tensor> all_cs, all_h;
    for (const Tensor& row : unpack(x, 3)) {
      const auto step = lstm_block_cell(row, cs, h, w, wci, wcf, wco, b, {.cell_clip = 0, .use_peephole = true});
      all_cs.push_back(cs = step.cs);
      all_h.push_back(h = step.h);
    }
    return sum(stack(all_cs) * cs_weights) + sum(stack(all_h) * weights);
  };
  const auto at_once = [&](const Tensor& x, const Tensor& cs, const Tensor& h, const Tensor& w, const Tensor& wci,
                           const Tensor& wcf, const Tensor& wco, const Tensor& b) {
    const auto all = block_lstm_v1(in[0], x, cs, h, w, wci, wcf, wco, b, {.cell_clip = 0, .use_peephole = true});
    return sum(all.cs * cs_weights) + sum(all.h * weights);
  };
  const auto [value, expected] = value_and_grad(by_steps)(in[1], in[2], in[3], in[4], in[5], in[6], in[7], in[8]);
  const auto [same, found] = value_and_grad(at_once)(in[1], in[2], in[3], in[4], in[5], in[6], in[7], in[8]);
  for (size_t k = 0; k < expected.size(); ++k) {
    const std::string text = difference(to_array(expected[k]), found[k], {.units = 64, .floor = 1});
    BOOST_CHECK_MESSAGE(text.empty(), "input " << k + 1 << ": " << text);
  }
  expect_error_begins(
      [&] {
        grad([&](const Tensor& x) {
          return sum(block_lstm(in[0], x, in[2], in[3], in[4], in[5], in[6], in[7], in[8]).o);
        })(in[1]);
      },
      "Unimplemented: gradient of BlockLSTMV2: expected those of `cs` and `h` only, got one of output 3");
}

const std::vector<size_t> kGates = {0, 2, 3, 4, 5};

std::vector<Sample> samples() {
  const Attr off = {"cell_clip", 0.0};
  return {{.in = inputs_of(3, 3, 2, 3, 2), .attrs = {off}},
          {.in = inputs_of(2, 3, 1, 1, 3), .attrs = {off, {"use_peephole", true}}},
          {.in = inputs_of(0, 2, 1, 2, 2), .attrs = {off}},
          {.in = inputs_of(0, 0, 1, 2, 2), .attrs = {off}},
          {.in = inputs_of(2, 2, 0, 2, 2), .attrs = {off}},
          {.in = inputs_of(2, 2, 2, 0, 2), .attrs = {off}}};
}
std::vector<Sample> grad_samples() {
  return {{.in = grad_inputs(3, 3, 2, 3, 2), .attrs = {{"use_peephole", false}}},
          {.in = grad_inputs(2, 3, 1, 1, 3), .attrs = {{"use_peephole", true}}},
          {.in = grad_inputs(0, 2, 1, 2, 2), .attrs = {{"use_peephole", true}}},
          {.in = grad_inputs(0, 0, 1, 2, 2), .attrs = {{"use_peephole", true}}},
          {.in = grad_inputs(2, 2, 0, 2, 2), .attrs = {{"use_peephole", true}}},
          {.in = grad_inputs(2, 2, 2, 0, 2), .attrs = {{"use_peephole", true}}}};
}

const Family family(
    "recurrent",
    {{"BlockLSTM",
      {.samples = samples(),
       .reference = lstm,
       .errors = errors(),
       .own = {{"gradients", gradients}},
       .units = 64,
       .second_order = false,
       .constant = kGates}},
     {"BlockLSTM",
      {.samples = {{.in = inputs_of(3, 4, 2, 3, 2),
                    .attrs = {{"cell_clip", 0.25}, {"use_peephole", true}, {"forget_bias", 0.5}}},
                   {.in = inputs_of(1, 1, 2, 3, 2)}},
       .reference = lstm,
       .label = "clipped",
       .units = 64,
       .gradient = false,
       .constant = kGates}},
     {"BlockLSTMV2",
      {.samples = samples(),
       .reference = lstm,
       .errors = errors(),
       .units = 64,
       .second_order = false,
       .constant = kGates}},
     {"BlockLSTMV2",
      {.samples = {{.in = inputs_of(3, 4, 2, 3, 2), .attrs = {{"cell_clip", 0.25}, {"use_peephole", true}}}},
       .reference = lstm,
       .label = "clipped",
       .units = 64,
       .gradient = false,
       .constant = kGates}},
     {"BlockLSTMGrad",
      {.samples = grad_samples(), .reference = lstm_grad, .errors = grad_errors(), .units = 64, .floor = 4}},
     {"BlockLSTMGradV2",
      {.samples = grad_samples(), .reference = lstm_grad, .errors = grad_errors(), .units = 64, .floor = 4}}});

}  // namespace
}  // namespace panto::test::block_lstm_rows
