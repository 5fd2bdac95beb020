// Samples of matrix products, biases, softmax and the losses made of it.
#include <algorithm>
#include <cmath>

#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"
#include "panto/trace/trace.h"

namespace panto::test::linalg_rows {
namespace {

int64_t dim_from_end(const Array& a, size_t k) { return a.dims[a.dims.size() - k]; }

// Batches broadcast; the last two dimensions are swapped first where asked.
Array product(const Array& a, const Array& b, bool transpose_a, bool transpose_b) {
  const int64_t m = dim_from_end(a, transpose_a ? 1 : 2), k = dim_from_end(a, transpose_a ? 2 : 1);
  const int64_t n = dim_from_end(b, transpose_b ? 2 : 1);
  const size_t rank = std::max(a.dims.size(), b.dims.size());
  Index dims(rank);
  for (size_t i = 3; i <= rank; ++i) {
    const int64_t da = i <= a.dims.size() ? dim_from_end(a, i) : 1;
    dims[rank - i] = da == 1 && i <= b.dims.size() ? dim_from_end(b, i) : da;
  }
  dims[rank - 2] = m;
  dims[rank - 1] = n;
  // The index of an operand's element, for a batch of the result.
  auto element = [&](const Array& x, const Index& batch, int64_t row, int64_t column, bool swap) {
    Index index(x.dims.size());
    for (size_t i = 3; i <= index.size(); ++i) {
      const size_t at_end = index.size() - i;
      index[at_end] = x.dims[at_end] == 1 ? 0 : batch[batch.size() - i];
    }
    index[index.size() - 2] = swap ? column : row;
    index[index.size() - 1] = swap ? row : column;
    return at(x, index);
  };
  return make(dims, [&](const Index& index) {
    double sum = 0;
    for (int64_t i = 0; i < k; ++i) {
      sum += element(a, index, index[rank - 2], i, transpose_a) * element(b, index, i, index[rank - 1], transpose_b);
    }
    return sum;
  });
}

std::vector<Array> matmul(const Given& g) {
  return {product(g.in[0], g.in[1], g.flag("transpose_a"), g.flag("transpose_b"))};
}
std::vector<Array> batch_matmul(const Given& g) {
  return {product(g.in[0], g.in[1], g.flag("adj_x"), g.flag("adj_y"))};
}

// By the products of real and imaginary parts; `conjugates`: what is swapped is conjugated as well.
Array complex_product(const Array& a, const Array& b, bool transpose_a, bool transpose_b, bool conjugates) {
  const auto imag_of = [](const Array& x, double sign) {
    Array part = x;
    part.values = x.imag.empty() ? std::vector<double>(x.values.size(), 0.) : x.imag;
    for (double& v : part.values) v *= sign;
    return part;
  };
  const Array a_imag = imag_of(a, conjugates && transpose_a ? -1 : 1);
  const Array b_imag = imag_of(b, conjugates && transpose_b ? -1 : 1);
  const auto times = [&](const Array& x, const Array& y) { return product(x, y, transpose_a, transpose_b); };
  const Array rr = times(a, b), ii = times(a_imag, b_imag), ri = times(a, b_imag), ir = times(a_imag, b);
  Array result = rr;
  for (size_t i = 0; i < rr.values.size(); ++i) {
    result.values[i] -= ii.values[i];
    result.imag.push_back(ri.values[i] + ir.values[i]);
  }
  return result;
}

const Attrs kTransposeA = {{"transpose_a", true}};
const Attrs kTransposeB = {{"transpose_b", true}};
const Attrs kTransposeBoth = {{"transpose_a", true}, {"transpose_b", true}};

const Family products(
    "linalg",
    {
        {"MatMul",
         {.samples = {{.in = {draw({2, 3}), draw({3, 4}, -2, 2, 1)}},
                      {.in = {draw({3, 2}), draw({3, 4}, -2, 2, 1)}, .attrs = kTransposeA},
                      {.in = {draw({2, 3}), draw({4, 3}, -2, 2, 1)}, .attrs = kTransposeB},
                      {.in = {draw({3, 2}), draw({4, 3}, -2, 2, 1)}, .attrs = kTransposeBoth},
                      {.in = {draw({1, 1}), draw({1, 1}, -2, 2, 1)}},
                      {.in = {draw({1, 7}), draw({7, 1}, -2, 2, 1)}},
                      {.in = {draw({7, 1}), draw({1, 5}, -2, 2, 1)}},
                      {.in = {draw({0, 3}), draw({3, 2})}},
                      {.in = {draw({2, 0}), draw({0, 3})}},
                      {.in = {draw({2, 3}), draw({3, 0})}}},
          .reference = matmul,
          .errors = {{.in = {draw({2, 3}), draw({2, 3})}, .text = "inner dimensions: expected 3, got 2"},
                     {.in = {draw({2, 3}), draw({3, 2})},
                      .attrs = kTransposeA,
                      .text = "inner dimensions: expected 2, got 3"},
                     {.in = {draw({3}), draw({3, 2})}, .text = "a: expected a matrix, got shape [3]"},
                     {.in = {draw({2, 3}), draw({3})}, .text = "b: expected a matrix, got shape [3]"}},
          .units = 16,
          .floor = 4}},
        // Sizes at which kernels and blocks change.
        {"MatMul",
         {.samples = {{.in = {draw({8, 8}), draw({8, 8}, -2, 2, 1)}},
                      {.in = {draw({9, 17}), draw({17, 33}, -2, 2, 1)}},
                      {.in = {draw({17, 9}), draw({17, 33}, -2, 2, 1)}, .attrs = kTransposeA},
                      {.in = {draw({9, 17}), draw({33, 17}, -2, 2, 1)}, .attrs = kTransposeB},
                      {.in = {draw({17, 9}), draw({33, 17}, -2, 2, 1)}, .attrs = kTransposeBoth},
                      {.in = {draw({1, 100}), draw({100, 70}, -2, 2, 1)}},
                      {.in = {draw({70, 100}), draw({100, 1}, -2, 2, 1)}},
                      {.in = {draw({65, 64}), draw({64, 67}, -2, 2, 1)}}},
          .reference = matmul,
          .label = "larger",
          .units = 64,
          .floor = 20,
          .gradient = false}},
        {"MatMul",
         {.samples = {{.in = {draw_complex({2, 3}), draw_complex({3, 4}, -2, 2, 1)}},
                      {.in = {draw_complex({3, 2}), draw_complex({3, 4}, -2, 2, 1)}, .attrs = kTransposeA},
                      {.in = {draw_complex({2, 3}), draw_complex({4, 3}, -2, 2, 1)}, .attrs = kTransposeB},
                      {.in = {draw_complex({9, 17}), draw_complex({17, 300}, -2, 2, 1)}},
                      {.in = {draw_complex({2, 0}), draw_complex({0, 3})}}},
          .reference =
              [](const Given& g) {
                return std::vector{
                    complex_product(g.in[0], g.in[1], g.flag("transpose_a"), g.flag("transpose_b"), false)};
              },
          .label = "complex",
          .types = dtypes::kComplex,
          .units = 16,
          .floor = 20}},
        {"BatchMatMulV2",
         {.samples = {{.in = {draw_complex({2, 2, 3}), draw_complex({3, 4}, -2, 2, 1)}},
                      {.in = {draw_complex({2, 3, 2}), draw_complex({2, 3, 4}, -2, 2, 1)}, .attrs = {{"adj_x", true}}},
                      {.in = {draw_complex({2, 2, 3}), draw_complex({2, 4, 3}, -2, 2, 1)}, .attrs = {{"adj_y", true}}}},
          .reference =
              [](const Given& g) {
                return std::vector{complex_product(g.in[0], g.in[1], g.flag("adj_x"), g.flag("adj_y"), true)};
              },
          .label = "complex",
          .types = dtypes::kComplex,
          .units = 16,
          .floor = 20}},
        {"BatchMatMulV2",
         {.samples = {{.in = {draw({2, 3}), draw({3, 4}, -2, 2, 1)}},
                      {.in = {draw({2, 2, 3}), draw({2, 3, 2}, -2, 2, 1)}},
                      {.in = {draw({2, 3, 2}), draw({2, 3, 2}, -2, 2, 1)}, .attrs = {{"adj_x", true}}},
                      {.in = {draw({2, 2, 3}), draw({2, 2, 3}, -2, 2, 1)}, .attrs = {{"adj_y", true}}},
                      {.in = {draw({2, 3, 2}), draw({2, 2, 3}, -2, 2, 1)}, .attrs = {{"adj_x", true}, {"adj_y", true}}},
                      {.in = {draw({2, 1, 2, 3}), draw({2, 3, 2}, -2, 2, 1)}},
                      {.in = {draw({2, 2}), draw({3, 2, 2}, -2, 2, 1)}},
                      {.in = {draw({0, 2, 3}), draw({3, 2})}},
                      {.in = {draw({2, 2, 0}), draw({2, 0, 2})}}},
          .reference = batch_matmul,
          .errors = {{.in = {draw({2, 2, 3}), draw({2, 2, 3})}, .text = "inner dimensions: expected 3, got 2"},
                     {.in = {draw({2, 2, 3}), draw({3, 3, 2})}, .text = "batch dimensions: expected 2, got 3"},
                     {.in = {draw({3}), draw({3, 2})}, .text = "x: expected a rank of at least 2, got shape [3]"}},
          .units = 16,
          .floor = 4}},
    });

std::vector<Array> fused_matmul(const Given& g) {
  const std::vector<std::string> ops = g.texts("fused_ops");
  Array y = product(g.in[0], g.in[1], g.flag("transpose_a"), g.flag("transpose_b"));
  for (size_t i = 0; i < y.values.size(); ++i) {
    double& v = y.values[i];
    for (const std::string& op : ops) {
      if (op == "BiasAdd") v += g.in[2].values[i % g.in[2].values.size()];
      if (op == "Add") v += g.in.back().values[i];
      if (op == "Relu") v = std::max(v, 0.0);
      if (op == "Tanh") v = std::tanh(v);
      if (op == "Sigmoid") v = 1 / (1 + std::exp(-v));
      if (op == "LeakyRelu") v = v < 0 ? v * g.real("leakyrelu_alpha") : v;
    }
  }
  return {y};
}

Sample fused(std::vector<std::string> ops) {
  Sample s{.in = {draw({2, 3}), draw({3, 4}, -2, 2, 1)}};
  for (const std::string& op : ops) {
    if (op == "BiasAdd") s.in.push_back(draw({4}, -2, 2, 2));
    if (op == "Add") s.in.push_back(draw({2, 4}, -2, 2, 3));
  }
  s.attrs = {{"num_args", static_cast<int>(s.in.size()) - 2}, {"fused_ops", std::move(ops)}};
  return s;
}

const Family fusions("linalg",
                     {
                         {"_FusedMatMul",
                          {.samples = {fused({"BiasAdd"}), fused({"BiasAdd", "Relu"}), fused({"BiasAdd", "Tanh"}),
                                       fused({"Relu"}), fused({"BiasAdd", "Sigmoid"}), fused({"BiasAdd", "LeakyRelu"}),
                                       fused({"Add"}), fused({"BiasAdd", "Add", "Relu"})},
                           .reference = fused_matmul,
                           .errors = {{.in = {draw({2, 3}), draw({3, 4}), draw({3})},
                                       .attrs = {{"num_args", 1}, {"fused_ops", std::vector<std::string>{"BiasAdd"}}},
                                       .text = "bias: number of columns: expected 4, got 3"},
                                      {.in = {draw({2, 3}), draw({3, 4}), draw({4})},
                                       .attrs = {{"num_args", 1}, {"fused_ops", std::vector<std::string>{"Add"}}},
                                       .text = "Add: expected shape [2,4], got [4]"},
                                      {.in = {draw({2, 3}), draw({3, 4})},
                                       .attrs = {{"num_args", 0}, {"fused_ops", std::vector<std::string>{"Conv"}}},
                                       .code = Code::kUnimplemented,
                                       .text = "fused_ops: expected BiasAdd, Add in this order, then at most one of "}},
                           .units = 16,
                           .floor = 4}},
                     });

// ---- Neural networks --------------------------------------------------------------------------------------------

size_t channel_of(const Given& g, const Array& x) { return g.text("data_format") == "NCHW" ? 1 : x.dims.size() - 1; }

std::vector<Array> bias_add(const Given& g) {
  const size_t channel = channel_of(g, g.in[0]);
  return {make(g.in[0].dims, [&](const Index& index) {
    return at(g.in[0], index) + g.in[1].values[static_cast<size_t>(index[channel])];
  })};
}

// Where the trace does not know the rank.
void bias_of_vector() {
  for (const char* format : {"NHWC", "NCHW"}) {
    const Function f = trace([&](const Tensor& dy) { return bias_add_grad(dy, {.data_format = format}); },
                             {TensorSpec(kFloat32, PartialShape())});
    BOOST_TEST(f(to_tensor(filled({2, 3, 4}, 1), kFloat32)).shape().to_string() ==
               (std::string_view(format) == "NHWC" ? "[4]" : "[3]"));
    expect_error_begins([&] { f(to_tensor(filled({3}, 1), kFloat32)); }, "InvalidArgument: ");
    expect_error_begins([&] { f(to_tensor(filled({}, 1), kFloat32)); }, "InvalidArgument: ");
  }
}

std::vector<Array> bias_add_grad(const Given& g) {
  const size_t channel = channel_of(g, g.in[0]);
  Array sums = filled({g.in[0].dims[channel]}, 0);
  for_each_index(g.in[0].dims,
                 [&](const Index& index) { sums.values[static_cast<size_t>(index[channel])] += at(g.in[0], index); });
  return {sums};
}

// Row by row: f(exponentials, their sum, element).
template <class F>
Array by_row(const Array& x, F f) {
  Array y = x;
  const auto n = static_cast<size_t>(x.dims.back());
  for (size_t row = 0; n > 0 && row < x.values.size() / n; ++row) {
    double largest = x.values[row * n];
    for (size_t i = 0; i < n; ++i) largest = std::max(largest, x.values[row * n + i]);
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += std::exp(x.values[row * n + i] - largest);
    for (size_t i = 0; i < n; ++i) y.values[row * n + i] = f(x.values[row * n + i] - largest, sum);
  }
  return y;
}

Array log_softmax_of(const Array& x) {
  return by_row(x, [](double v, double sum) { return v - std::log(sum); });
}
Array softmax_of(const Array& x) {
  return by_row(x, [](double v, double sum) { return std::exp(v) / sum; });
}

std::vector<Array> softmax(const Given& g) { return {softmax_of(g.in[0])}; }
std::vector<Array> log_softmax(const Given& g) { return {log_softmax_of(g.in[0])}; }

Array broadcast(const Array& x, const Index& dims) {
  Array y;
  y.dims = dims;
  for (size_t i = 0; i < static_cast<size_t>(y.numel()); ++i)
    y.values.push_back(x.values[x.broadcast_position(dims, i)]);
  return y;
}

std::vector<Array> cross_entropy(const Given& g) {
  const Index dims = {std::max(g.in[0].dims[0], g.in[1].dims[0]), std::max(g.in[0].dims[1], g.in[1].dims[1])};
  const Array x = broadcast(g.in[0], dims), labels = broadcast(g.in[1], dims);
  const Array log_p = log_softmax_of(x);
  Array backprop = softmax_of(x), loss = filled({dims[0]}, 0);
  for (size_t i = 0; i < log_p.values.size(); ++i) {
    loss.values[i / static_cast<size_t>(dims[1])] -= labels.values[i] * log_p.values[i];
    backprop.values[i] -= labels.values[i];
  }
  return {loss, backprop};
}

std::vector<Array> sparse_cross_entropy(const Given& g) {
  const Array log_p = log_softmax_of(g.in[0]);
  Array backprop = softmax_of(g.in[0]), loss = filled({g.in[0].dims[0]}, 0);
  const auto n = static_cast<size_t>(g.in[0].dims[1]);
  for (size_t row = 0; row < loss.values.size(); ++row) {
    const size_t at = row * n + static_cast<size_t>(g.in[1].values[row]);
    loss.values[row] = -log_p.values[at];
    backprop.values[at] -= 1;
  }
  return {loss, backprop};
}

const std::vector<Sample> kLogits = {
    {.in = {draw({2, 3})}},         {.in = {draw({5})}},    {.in = {draw({2, 2, 3})}}, {.in = {draw({3, 1})}},
    {.in = {draw({2, 19}, -9, 9)}}, {.in = {draw({0, 3})}}, {.in = {draw({2, 0})}},
};
const std::vector<Sample> kLargeLogits = {{.in = {array({2, 3}, {1000, 1001, 999, -1000, -1000, -1001})}}};

const Family networks(
    "nn",
    {
        {"BiasAdd",
         {.samples = {{.in = {draw({2, 3}), draw({3}, -2, 2, 1)}},
                      {.in = {draw({2, 2, 3}), draw({3}, -2, 2, 1)}},
                      {.in = {draw({2, 3, 2, 2}), draw({3}, -2, 2, 1)}, .attrs = {{"data_format", "NCHW"}}},
                      {.in = {draw({5, 19}), draw({19}, -2, 2, 1)}},
                      {.in = {draw({0, 3}), draw({3})}},
                      {.in = {draw({2, 0}), draw({0})}}},
          .reference = bias_add,
          .errors = {{.in = {draw({2, 3}), draw({2})}, .text = "bias: number of channels: expected 3, got 2"},
                     {.in = {draw({3}), draw({3})}, .text = "value: expected a rank of at least 2, got shape [3]"},
                     {.in = {draw({2, 3}), draw({1, 3})}, .text = "bias: expected a vector, got shape [1,3]"},
                     {.in = {draw({2, 3}), draw({3})},
                      .attrs = {{"data_format", "HWNC"}},
                      .text = "data_format: expected one of (NHWC, NCHW), got 'HWNC'"}}}},
        {"BiasAddGrad",
         {.samples = {{.in = {draw({2, 3})}},
                      {.in = {draw({2, 2, 3})}},
                      {.in = {draw({2, 3, 2, 2})}, .attrs = {{"data_format", "NCHW"}}},
                      {.in = {draw({0, 3})}}},
          .reference = [](const Given& g) { return bias_add_grad(g); },
          .errors = {{.in = {draw({3})}, .text = "out_backprop: expected a rank of at least 2, got shape [3]"}},
          .own = {{"rank_found_at_run_time", bias_of_vector}},
          .floor = 4}},
        {"Softmax",
         {.samples = kLogits,
          .reference = softmax,
          .errors = {{.in = {draw({})}, .text = "logits: expected a rank of at least 1, got shape []"}},
          .units = 16}},
        {"Softmax", {.samples = kLargeLogits, .reference = softmax, .label = "large", .units = 16}},
        {"LogSoftmax",
         {.samples = kLogits,
          .reference = log_softmax,
          .errors = {{.in = {draw({})}, .text = "logits: expected a rank of at least 1, got shape []"}},
          .units = 16,
          .floor = 4}},
        {"LogSoftmax", {.samples = kLargeLogits, .reference = log_softmax, .label = "large", .units = 16}},
        {"SoftmaxCrossEntropyWithLogits",
         {.samples = {{.in = {draw({2, 3}), array({2, 3}, {0.25, 0.25, 0.5, 0, 1, 0})}},
                      {.in = {draw({3, 4}), array({1, 4}, {0.5, 0.25, 0.25, 0})}},
                      {.in = {draw({1, 4}), array({2, 4}, {0.5, 0.25, 0.25, 0, 0, 0, 0, 1})}},
                      {.in = {draw({0, 3}), draw({0, 3})}}},
          .reference = cross_entropy,
          .errors = {{.in = {draw({3}), draw({3})},
                      .text = "features and labels: expected them to broadcast to a matrix, got shape [3]"},
                     {.in = {draw({2, 3}), draw({2, 4})}, .text = "shapes: expected ones that broadcast"}},
          .units = 16}},
        {"SparseSoftmaxCrossEntropyWithLogits",
         {.samples = {{.in = {draw({2, 3}), list({2, 0})}},
                      {.in = {draw({3, 19}, -9, 9), list({18, 3, 0})}},
                      {.in = {draw({1, 1}), list({0})}},
                      {.in = {draw({0, 3}), list({})}}},
          .reference = sparse_cross_entropy,
          .errors = {{.in = {draw({2, 3}), list({0, 3})}, .text = "labels[1]: expected a class in [0, 3), got 3"},
                     {.in = {draw({2, 3}), list({-1, 0})}, .text = "labels[0]: expected a class in [0, 3), got -1"},
                     {.in = {draw({2, 3}), list({0})}, .text = "labels: expected 2, got 1"},
                     {.in = {draw({3}), list({0})}, .text = "features: expected a matrix, got shape [3]"},
                     {.in = {draw({2, 0}), list({0, 0})}, .text = "classes: expected at least 1, got 0"}},
          .units = 16,
          .floor = 4}},
        {"L2Loss",
         {.samples = {{.in = {draw({2, 3})}}, {.in = {draw({37})}}, {.in = {draw({})}}, {.in = {draw({0})}}},
          .reference =
              [](const Given& g) {
                double sum = 0;
                for (const double v : g.in[0].values) sum += v * v;
                return std::vector<Array>{scalar(sum / 2)};
              },
          .units = 16}},
    });

}  // namespace
}  // namespace panto::test::linalg_rows
