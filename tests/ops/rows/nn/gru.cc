// Samples of steps of gated recurrent units, and of gradients of steps.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/reductions.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::gru_rows {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// x and h side by side, times column `column` of w, and more.
double product(const Array& x, const std::function<double(int64_t)>& h, const Array& w, int64_t n, int64_t column) {
  const int64_t inputs = x.dims[1], units = w.dims[0] - inputs;
  double sum = 0;
  for (int64_t k = 0; k < inputs; ++k) sum += at(x, {n, k}) * at(w, {k, column});
  for (int64_t k = 0; k < units; ++k) sum += h(k) * at(w, {inputs + k, column});
  return sum;
}

std::vector<Array> gru(const Given& g) {
  const Array &x = g.in[0], &h_prev = g.in[1];
  const int64_t units = h_prev.dims[1];
  const auto gate = [&](int64_t block) {
    return make(h_prev.dims, [&](const Index& i) {
      const int64_t n = i[0], column = block * units + i[1];
      const auto h = [&](int64_t k) { return at(h_prev, {n, k}); };
      return sigmoid(product(x, h, g.in[2], n, column) + at(g.in[4], {column}));
    });
  };
  const Array r = gate(0), u = gate(1);
  const Array c = make(h_prev.dims, [&](const Index& i) {
    const int64_t n = i[0];
    const auto h = [&](int64_t k) { return at(h_prev, {n, k}) * at(r, {n, k}); };
    return std::tanh(product(x, h, g.in[3], n, i[1]) + at(g.in[5], {i[1]}));
  });
  const Array next =
      make(h_prev.dims, [&](const Index& i) { return at(u, i) * at(h_prev, i) + (1 - at(u, i)) * at(c, i); });
  return {r, u, c, next};
}

std::vector<Array> gru_grad(const Given& g) {
  const Array &x = g.in[0], &h_prev = g.in[1], &r = g.in[6], &u = g.in[7], &c = g.in[8], &d_h = g.in[9];
  const int64_t inputs = x.dims[1], units = h_prev.dims[1];
  const Array d_c =
      make(h_prev.dims, [&](const Index& i) { return at(d_h, i) * (1 - at(u, i)) * (1 - at(c, i) * at(c, i)); });
  // With respect to element `row` of what w_c is multiplied with, and w_ru.
  const auto by_c = [&](int64_t n, int64_t row) {
    double sum = 0;
    for (int64_t k = 0; k < units; ++k) sum += at(d_c, {n, k}) * at(g.in[3], {row, k});
    return sum;
  };
  const Array d_ru = make({h_prev.dims[0], 2 * units}, [&](const Index& i) {
    const Index j = {i[0], i[1] % units};
    if (i[1] >= units) return at(d_h, j) * (at(h_prev, j) - at(c, j)) * at(u, j) * (1 - at(u, j));
    return by_c(j[0], inputs + j[1]) * at(h_prev, j) * at(r, j) * (1 - at(r, j));
  });
  const auto by_ru = [&](int64_t n, int64_t row) {
    double sum = 0;
    for (int64_t k = 0; k < 2 * units; ++k) sum += at(d_ru, {n, k}) * at(g.in[2], {row, k});
    return sum;
  };
  const Array d_x = make(x.dims, [&](const Index& i) { return by_c(i[0], i[1]) + by_ru(i[0], i[1]); });
  const Array d_h_prev = make(h_prev.dims, [&](const Index& i) {
    const int64_t row = inputs + i[1];
    return by_ru(i[0], row) + by_c(i[0], row) * at(r, i) + at(d_h, i) * at(u, i);
  });
  return {d_x, d_h_prev, d_c, d_ru};
}

std::vector<Array> lstm_grad(const Given& g) {
  const Array& cs_prev = g.in[1];
  const int64_t batch = cs_prev.dims[0], units = cs_prev.dims[1];
  const bool peephole = g.flag("use_peephole");
  Array cs_prev_grad = filled(cs_prev.dims, 0), gates = filled({batch, 4 * units}, 0);
  std::vector<Array> vectors(3, filled({units}, 0));
  for_each_index(cs_prev.dims, [&](const Index& index) {
    const int64_t n = index[0], u = index[1];
    const auto in = [&](size_t k) { return at(g.in[k], index); };
    const double i = in(8), cs = in(9), f = in(10), o = in(11), ci = in(12), co = in(13), before = in(1);
    const double d_o = in(15) * co * o * (1 - o);
    double d_cs = in(14) + in(15) * o * (1 - co * co);
    if (peephole) d_cs += d_o * at(g.in[6], {u});
    const double d_i = d_cs * ci * i * (1 - i), d_ci = d_cs * i * (1 - ci * ci), d_f = d_cs * before * f * (1 - f);
    double d_before = d_cs * f;
    if (peephole) d_before += d_i * at(g.in[4], {u}) + d_f * at(g.in[5], {u});
    cs_prev_grad.values[static_cast<size_t>(n * units + u)] = d_before;
    const double all[] = {d_i, d_ci, d_f, d_o};
    for (int64_t k = 0; k < 4; ++k) gates.values[static_cast<size_t>((n * 4 + k) * units + u)] = all[k];
    if (!peephole) return;
    vectors[0].values[static_cast<size_t>(u)] += d_i * before;
    vectors[1].values[static_cast<size_t>(u)] += d_f * before;
    vectors[2].values[static_cast<size_t>(u)] += d_o * cs;
  });
  return {cs_prev_grad, gates, vectors[0], vectors[1], vectors[2]};
}

std::vector<Array> gru_inputs(int64_t batch, int64_t inputs, int64_t units) {
  return {draw({batch, inputs}),
          draw({batch, units}, -1, 1, 1),
          draw({inputs + units, 2 * units}, -1, 1, 2),
          draw({inputs + units, units}, -1, 1, 3),
          draw({2 * units}, -1, 1, 4),
          draw({units}, -1, 1, 5)};
}
std::vector<Array> gru_grad_inputs(int64_t batch, int64_t inputs, int64_t units) {
  std::vector<Array> in = gru_inputs(batch, inputs, units);
  const Index state = {batch, units};
  for (const double low : {0.0, 0.0, -1.0, -2.0}) in.push_back(draw(state, low, low < -1 ? 2 : 1, 6));
  return in;
}
std::vector<Array> lstm_grad_inputs(int64_t batch, int64_t inputs, int64_t units) {
  const Index state = {batch, units}, vector = {units};
  std::vector<Array> in = {draw({batch, inputs}),  draw(state, -2, 2, 1),
                           draw(state, -1, 1, 2),  draw({inputs + units, 4 * units}, -1, 1, 3),
                           draw(vector, -1, 1, 4), draw(vector, -1, 1, 5),
                           draw(vector, -1, 1, 6), draw({4 * units}, -1, 1, 7)};
  for (const double low : {0.0, -2.0, 0.0, 0.0, -1.0, -1.0, -2.0, -2.0}) {
    in.push_back(draw(state, low, low < -1 ? 2 : 1, static_cast<int>(in.size())));
  }
  return in;
}

std::vector<Tensor> tensors(const std::vector<Array>& arrays, size_t count) {
  std::vector<Tensor> all;
  for (size_t i = 0; i < count; ++i) all.push_back(to_tensor(arrays[i], kFloat32));
  return all;
}
void expect_like(const Tensor& actual, const Tensor& expected, const char* what) {
  const std::string text = difference(to_array(expected), actual, {.units = 32, .floor = 1});
  BOOST_CHECK_MESSAGE(text.empty(), what << ": " << text);
}

// The op that gives gradients, and the gradient of the op.
void gradients_of_gru() {
  const std::vector<Tensor> in = tensors(gru_inputs(3, 2, 4), 6);
  const Tensor d_h = to_tensor(draw({3, 4}, -2, 2, 9), kFloat32);
  const auto [value, found] =
      value_and_grad([&](const Tensor& x, const Tensor& h, const Tensor& b_ru, const Tensor& b_c) {
        return sum(gru_block_cell(x, h, in[2], in[3], b_ru, b_c).h * d_h);
      })(in[0], in[1], in[4], in[5]);
  const auto step = gru_block_cell(in[0], in[1], in[2], in[3], in[4], in[5]);
  const auto given = gru_block_cell_grad(in[0], in[1], in[2], in[3], in[4], in[5], step.r, step.u, step.c, d_h);
  expect_like(given.d_x, found[0], "d_x");
  expect_like(given.d_h_prev, found[1], "d_h_prev");
  expect_like(sum(given.d_r_bar_u_bar, 0), found[2], "d_b_ru");
  expect_like(sum(given.d_c_bar, 0), found[3], "d_b_c");
}
void gradients_of_lstm() {
  const std::vector<Tensor> in = tensors(lstm_grad_inputs(3, 2, 4), 8);
  const Tensor d_h = to_tensor(draw({3, 4}, -2, 2, 9), kFloat32), d_cs = to_tensor(draw({3, 4}, -2, 2, 8), kFloat32);
  const LSTMBlockCellAttrs attrs = {.cell_clip = 0, .use_peephole = true};
  const auto [value, found] =
      value_and_grad([&](const Tensor& cs, const Tensor& wci, const Tensor& wcf, const Tensor& wco, const Tensor& b) {
        const auto step = lstm_block_cell(in[0], cs, in[2], in[3], wci, wcf, wco, b, attrs);
        return sum(step.h * d_h) + sum(step.cs * d_cs);
      })(in[1], in[4], in[5], in[6], in[7]);
  const auto step = lstm_block_cell(in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7], attrs);
  const auto given = lstm_block_cell_grad(in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7], step.i, step.cs,
                                          step.f, step.o, step.ci, step.co, d_cs, d_h, true);
  expect_like(given.cs_prev_grad, found[0], "cs_prev_grad");
  expect_like(given.wci_grad, found[1], "wci_grad");
  expect_like(given.wcf_grad, found[2], "wcf_grad");
  expect_like(given.wco_grad, found[3], "wco_grad");
  expect_like(sum(given.dicfo, 0), found[4], "b_grad");
}

ErrorSample wrong(std::vector<Array> in, size_t i, Array value, const char* text, Attrs attrs = {}) {
  in[i] = std::move(value);
  return {.in = std::move(in), .attrs = std::move(attrs), .text = text};
}
ErrorSample wrong_gru(size_t i, Array value, const char* text) {
  return wrong(gru_inputs(2, 3, 2), i, std::move(value), text);
}
ErrorSample wrong_gru_grad(size_t i, Array value, const char* text) {
  return wrong(gru_grad_inputs(2, 3, 2), i, std::move(value), text);
}
ErrorSample wrong_lstm_grad(size_t i, Array value, const char* text) {
  return wrong(lstm_grad_inputs(2, 3, 2), i, std::move(value), text, {{"use_peephole", true}});
}

const Family family("recurrent",
                    {{"GRUBlockCell",
                      {.samples = {{.in = gru_inputs(2, 3, 2)},
                                   {.in = gru_inputs(3, 1, 1)},
                                   {.in = gru_inputs(1, 2, 9)},
                                   {.in = gru_inputs(0, 3, 2)},
                                   {.in = gru_inputs(2, 0, 2)}},
                       .reference = gru,
                       .errors = {wrong_gru(0, draw({3}), "x: expected shape [?,?], got [3]"),
                                  wrong_gru(1, draw({1, 2}), "h_prev: expected shape [2,?], got [1,2]"),
                                  wrong_gru(2, draw({5, 2}), "w_ru: expected shape [5,4], got [5,2]"),
                                  wrong_gru(3, draw({4, 2}), "w_c: expected shape [5,2], got [4,2]"),
                                  wrong_gru(4, draw({2}), "b_ru: expected shape [4], got [2]"),
                                  wrong_gru(5, draw({1}), "b_c: expected shape [2], got [1]")},
                       .units = 32}},
                     {"GRUBlockCellGrad",
                      {.samples = {{.in = gru_grad_inputs(2, 3, 2)},
                                   {.in = gru_grad_inputs(3, 1, 1)},
                                   {.in = gru_grad_inputs(1, 2, 5)},
                                   {.in = gru_grad_inputs(0, 3, 2)}},
                       .reference = gru_grad,
                       .errors = {wrong_gru_grad(5, draw({1}), "b_c: expected shape [2], got [1]"),
                                  wrong_gru_grad(6, draw({2, 1}), "r: expected shape [2,2], got [2,1]"),
                                  wrong_gru_grad(7, draw({1, 2}), "u: expected shape [2,2], got [1,2]"),
                                  wrong_gru_grad(8, draw({2}), "c: expected shape [2,2], got [2]"),
                                  wrong_gru_grad(9, draw({}), "d_h: expected shape [2,2], got []")},
                       .own = {{"gradients", gradients_of_gru}},
                       .units = 32}},
                     {"LSTMBlockCellGrad",
                      {.samples = {{.in = lstm_grad_inputs(2, 3, 2), .attrs = {{"use_peephole", true}}},
                                   {.in = lstm_grad_inputs(3, 1, 1), .attrs = {{"use_peephole", false}}},
                                   {.in = lstm_grad_inputs(0, 3, 2), .attrs = {{"use_peephole", true}}}},
                       .reference = lstm_grad,
                       .errors = {wrong_lstm_grad(3, draw({4, 8}), "w: expected shape [5,8], got [4,8]"),
                                  wrong_lstm_grad(8, draw({2, 1}), "i: expected shape [2,2], got [2,1]"),
                                  wrong_lstm_grad(13, draw({2}), "co: expected shape [2,2], got [2]"),
                                  wrong_lstm_grad(15, draw({1, 2}), "h_grad: expected shape [2,2], got [1,2]")},
                       .own = {{"gradients", gradients_of_lstm}},
                       .units = 64,
                       .floor = 4}}});

}  // namespace
}  // namespace panto::test::gru_rows
