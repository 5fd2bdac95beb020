// Samples of steps of recurrent networks.
#include <algorithm>
#include <cmath>

#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"
#include "panto/trace/trace.h"

namespace panto::test::recurrent_rows {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

std::vector<Array> lstm_cell(const Given& g) {
  const Array &x = g.in[0], &cs_prev = g.in[1], &h_prev = g.in[2], &w = g.in[3];
  const int64_t inputs = x.dims[1], units = cs_prev.dims[1];
  const double peephole = g.flag("use_peephole") ? 1 : 0, clip = g.real("cell_clip");
  std::vector<Array> out(7);
  for (Array& a : out) a.dims = cs_prev.dims;
  for_each_index(cs_prev.dims, [&](const Index& index) {
    const int64_t n = index[0], u = index[1];
    const auto gate = [&](int64_t block) {
      const int64_t column = block * units + u;
      double z = at(g.in[7], {column});
      for (int64_t k = 0; k < inputs; ++k) z += at(x, {n, k}) * at(w, {k, column});
      for (int64_t k = 0; k < units; ++k) z += at(h_prev, {n, k}) * at(w, {inputs + k, column});
      return z;
    };
    const double before = at(cs_prev, index);
    const double i = sigmoid(gate(0) + peephole * before * at(g.in[4], {u}));
    const double ci = std::tanh(gate(1));
    const double f = sigmoid(gate(2) + g.real("forget_bias") + peephole * before * at(g.in[5], {u}));
    double cs = ci * i + before * f;
    if (clip > 0) cs = std::clamp(cs, -clip, clip);
    const double o = sigmoid(gate(3) + peephole * cs * at(g.in[6], {u}));
    const double values[] = {i, cs, f, o, ci, std::tanh(cs), std::tanh(cs) * o};
    for (size_t k = 0; k < 7; ++k) out[k].values.push_back(values[k]);
  });
  return out;
}

Sample step(int64_t batch, int64_t inputs, int64_t units, Attrs attrs = {}) {
  const Index state = {batch, units}, vector = {units};
  return {.in = {draw({batch, inputs}), draw(state, -2, 2, 1), draw(state, -1, 1, 2),
                 draw({inputs + units, 4 * units}, -1, 1, 3), draw(vector, -1, 1, 4), draw(vector, -1, 1, 5),
                 draw(vector, -1, 1, 6), draw({4 * units}, -1, 1, 7)},
          .attrs = std::move(attrs)};
}

// Peepholes that are no vectors, where the trace does not know the shapes.
void peephole_of_scalars() {
  const Sample sample = step(2, 3, 2);
  std::vector<Tensor> in;
  for (const Array& a : sample.in) in.push_back(to_tensor(a, kFloat32));
  const Function f = trace(
      [](const Tensor& x, const Tensor& cs, const Tensor& h, const Tensor& w, const Tensor& i, const Tensor& o,
         const Tensor& b) { return lstm_block_cell(x, cs, h, w, i, i, o, b, {.use_peephole = true}).h; },
      {TensorSpec(kFloat32, PartialShape()), TensorSpec(kFloat32, PartialShape()), TensorSpec(kFloat32, PartialShape()),
       TensorSpec(kFloat32, PartialShape()), TensorSpec(kFloat32, PartialShape()), TensorSpec(kFloat32, PartialShape()),
       TensorSpec(kFloat32, PartialShape())});
  const auto run = [&](const Tensor& i, const Tensor& o) {
    const std::vector<Tensor> args = {in[0], in[1], in[2], in[3], i, o, in[7]};
    return f.call(args)[0];
  };
  BOOST_TEST(run(in[4], in[6]).shape().to_string() == "[2,2]");
  for (const Index& dims : {Index{}, {1}, {1, 2}, {2, 2}}) {
    const Tensor other = to_tensor(filled(dims, 1), kFloat32);
    expect_error_begins([&] { run(other, in[6]); }, "InvalidArgument: ");
    expect_error_begins([&] { run(in[4], other); }, "InvalidArgument: ");
  }
}

ErrorSample wrong(size_t i, Array value, const char* text) {
  Sample sample = step(2, 3, 2);
  sample.in[i] = std::move(value);
  return {.in = std::move(sample.in), .text = text};
}

const Family family("recurrent", {
                                     {"LSTMBlockCell",
                                      {.samples = {step(2, 3, 2), step(3, 1, 1, {{"forget_bias", 0.0}}),
                                                   step(1, 2, 9, {{"cell_clip", -1.0}}),
                                                   step(2, 3, 2, {{"use_peephole", true}}), step(0, 3, 2)},
                                       .reference = lstm_cell,
                                       .errors = {wrong(0, draw({3}), "x: expected shape [?,?], got [3]"),
                                                  wrong(1, draw({1, 2}), "cs_prev: expected shape [2,?], got [1,2]"),
                                                  wrong(2, draw({2, 3}), "h_prev: expected shape [2,2], got [2,3]"),
                                                  wrong(3, draw({4, 8}), "w: expected shape [5,8], got [4,8]"),
                                                  wrong(4, draw({1}), "wci: expected shape [2], got [1]"),
                                                  wrong(5, draw({3}), "wcf: expected shape [2], got [3]"),
                                                  wrong(6, draw({}), "wco: expected shape [2], got []"),
                                                  wrong(7, draw({2}), "b: expected shape [8], got [2]")},
                                       .own = {{"shapes_found_at_run_time", peephole_of_scalars}},
                                       .units = 32,
                                       .floor = 1}},
                                     {"LSTMBlockCell",
                                      {.samples = {step(2, 3, 2, {{"cell_clip", 0.25}, {"use_peephole", true}})},
                                       .reference = lstm_cell,
                                       .label = "clipped",
                                       .units = 32,
                                       .floor = 1,
                                       .gradient = false}},
                                 });

}  // namespace
}  // namespace panto::test::recurrent_rows
