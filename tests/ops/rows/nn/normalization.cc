// Samples of normalisations.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"
#include "panto/trace/function.h"

namespace panto::test::normalization_rows {
namespace {

std::vector<Array> layer_norm(const Given& g) {
  Array y = g.in[0];
  const auto n = static_cast<size_t>(y.dims.back());
  for (size_t begin = 0; begin < y.values.size(); begin += n) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < n; ++i) mean += y.values[begin + i];
    mean /= static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) variance += std::pow(y.values[begin + i] - mean, 2);
    variance /= static_cast<double>(n);
    const double factor = 1 / std::sqrt(variance + g.real("epsilon"));
    for (size_t i = 0; i < n; ++i) {
      double& v = y.values[begin + i];
      v = (v - mean) * factor * g.in[1].values[i] + g.in[2].values[i];
    }
  }
  return {y};
}

Row layer_norm_row(const char* name) {
  return {
      name,
      {.samples = {{.in = {draw({2, 4}), draw({4}, 0.5, 2, 1), draw({4}, -1, 1, 2)}},
                   {.in = {draw({2, 3, 5}), draw({5}, 0.5, 2, 1), draw({5}, -1, 1, 2)}, .attrs = {{"epsilon", 0.1}}},
                   {.in = {draw({37}), draw({37}, 0.5, 2, 1), draw({37}, -1, 1, 2)}},
                   {.in = {draw({0, 3}), draw({3}), draw({3})}}},
       .reference = layer_norm,
       .errors = {{.in = {draw({}), draw({1}), draw({1})}, .text = "x: expected a rank of at least 1, got shape []"},
                  {.in = {draw({2, 3}), draw({1, 3}), draw({3})}, .text = "scale: expected a vector, got shape [1,3]"},
                  {.in = {draw({2, 3}), draw({3}), draw({1})},
                   .text = "offset: expected 3 elements, one for each of the last dimension of x, "
                           "got 1"}},
       .units = 32,
       .floor = 4}};
}

const Family layers("normalization", {
                                         layer_norm_row("LayerNorm"),
                                     });

// ---- Batches --------------------------------------------------------------------------------------------------------

struct Channels {
  size_t axis;
  int64_t count;
  Channels(const Given& g, const Array& x)
      : axis(g.text("data_format")[1] == 'C' ? 1 : x.dims.size() - 1), count(x.dims[axis]) {}
  // f(channel, flat position) for every element.
  template <class F>
  void for_each(const Array& x, F f) const {
    size_t flat = 0;
    for_each_index(x.dims, [&](const Index& index) { f(static_cast<size_t>(index[axis]), flat++); });
  }
};

std::vector<Array> batch_norm(const Given& g) {
  const Array& x = g.in[0];
  const Channels channels(g, x);
  const bool training = g.flag("is_training");
  const double n = static_cast<double>(x.numel()) / static_cast<double>(channels.count);
  Array mean = filled({channels.count}, 0), variance = mean;
  if (training) {
    channels.for_each(x, [&](size_t c, size_t i) { mean.values[c] += x.values[i] / n; });
    channels.for_each(x,
                      [&](size_t c, size_t i) { variance.values[c] += std::pow(x.values[i] - mean.values[c], 2) / n; });
  } else {
    mean.values = g.in[3].values;
    variance.values = g.in[4].values;
  }
  Array y = x, new_mean = mean, new_variance = variance;
  channels.for_each(x, [&](size_t c, size_t i) {
    y.values[i] =
        (x.values[i] - mean.values[c]) / std::sqrt(variance.values[c] + g.real("epsilon")) * g.in[1].values[c] +
        g.in[2].values[c];
  });
  if (training) {
    const double factor = g.real("exponential_avg_factor");
    for (size_t c = 0; c < mean.values.size(); ++c) {
      new_variance.values[c] *= n > 1 ? n / (n - 1) : 1;
      if (x.numel() == 0) new_mean.values[c] = new_variance.values[c] = std::nan("");
      if (factor == 1) continue;
      new_mean.values[c] = (1 - factor) * g.in[3].values[c] + factor * new_mean.values[c];
      new_variance.values[c] = (1 - factor) * g.in[4].values[c] + factor * new_variance.values[c];
    }
  }
  return {y, new_mean, new_variance, mean, variance, scalar(0)};
}

std::vector<Array> batch_norm_grad(const Given& g) {
  const Array &dy = g.in[0], &x = g.in[1];
  const Channels channels(g, x);
  const double n = static_cast<double>(x.numel()) / static_cast<double>(channels.count);
  const auto factor = [&](size_t c) { return 1 / std::sqrt(g.in[4].values[c] + g.real("epsilon")); };
  const auto normal = [&](size_t c, size_t i) { return (x.values[i] - g.in[3].values[c]) * factor(c); };
  Array dx = x, dscale = filled({channels.count}, 0), doffset = dscale;
  channels.for_each(x, [&](size_t c, size_t i) {
    dscale.values[c] += dy.values[i] * normal(c, i);
    doffset.values[c] += dy.values[i];
  });
  channels.for_each(x, [&](size_t c, size_t i) {
    double d = dy.values[i];
    if (g.flag("is_training")) d -= doffset.values[c] / n + normal(c, i) * dscale.values[c] / n;
    dx.values[i] = d * factor(c) * g.in[2].values[c];
  });
  return {dx, dscale, doffset, list({}), list({})};
}

Sample batch(Index dims, Attrs attrs = {}, bool statistics = true) {
  const bool first = !attrs.empty() && attrs[0].name == "data_format";
  const int64_t c = first ? dims[1] : dims.back();
  const Index vector = {c}, old = {statistics ? c : 0};
  return {.in = {draw(std::move(dims)), draw(vector, 0.5, 2, 1).as(kFloat32), draw(vector, -1, 1, 2).as(kFloat32),
                 draw(old, -1, 1, 3).as(kFloat32), draw(old, 0.5, 2, 4).as(kFloat32)},
          .attrs = std::move(attrs)};
}
Sample batch_grad(const Index& dims, Attrs attrs = {}) {
  const bool first = !attrs.empty() && attrs[0].name == "data_format";
  const Index vector = {first ? dims[1] : dims.back()};
  return {.in = {draw(dims, -2, 2, 5), draw(dims), draw(vector, 0.5, 2, 1).as(kFloat32),
                 draw(vector, -1, 1, 3).as(kFloat32), draw(vector, 0.5, 2, 4).as(kFloat32), scalar(0).as(kFloat32)},
          .attrs = std::move(attrs)};
}

std::vector<Array> with_input(Sample sample, size_t i, Array value) {
  sample.in[i] = std::move(value);
  return sample.in;
}

// The same in primitive ops.
Tensor by_formula(const Tensor& x, const Tensor& scale, const Tensor& offset, const Tensor& mean_,
                  const Tensor& variance, const char* data_format, bool training) {
  const bool first = data_format[1] == 'C';
  const auto spread = [&](const Tensor& v) { return first ? reshape(v, {-1, 1, 1}) : v; };
  const std::vector<int64_t> axes = first ? std::vector<int64_t>{0, 2, 3} : std::vector<int64_t>{0, 1, 2};
  const Tensor m = training ? mean(x, axes, {.keep_dims = true}) : spread(mean_);
  const Tensor v = training ? mean(square(x - m), axes, {.keep_dims = true}) : spread(variance);
  return (x - m) * rsqrt(v + 0.01) * spread(scale) + spread(offset);
}

// First and second derivatives against those of the formula in double precision: TensorFlow's op is of floats only.
void batch_norm_gradients() {
  for (const char* format : {"NHWC", "NCHW"}) {
    for (const bool training : {true, false}) {
      for (const bool traced : {false, true}) {
        const auto derivatives = [&](DType type) {
          const auto values = [&](const Array& a) { return to_tensor(a, type); };
          const Index dims = format[1] == 'C' ? Index{2, 3, 2, 3} : Index{2, 2, 3, 3};
          const Tensor offset = values(draw({3}, -1, 1, 2)), mean_ = values(draw({3}, -1, 1, 3));
          const Tensor variance = values(draw({3}, 0.5, 2, 4)), a = values(draw(dims, -2, 2, 6));
          const Tensor b = values(draw({3}, -1, 1, 7)), d = values(draw({3}, -1, 1, 8));
          const auto all = [&](const Tensor& x, const Tensor& scale, const Tensor& weights) {
            GradientTape outer;
            for (const Tensor& t : {x, scale, weights}) outer.watch(t);
            GradientTape inner;
            for (const Tensor& t : {x, scale, offset}) inner.watch(t);
            const Tensor y = type == kFloat32
                                 ? fused_batch_norm(x, scale, offset, mean_, variance,
                                                    {.epsilon = 0.01f, .data_format = format, .is_training = training})
                                       .y
                                 : by_formula(x, scale, offset, mean_, variance, format, training);
            std::vector<Tensor> found = inner.gradient(sum(y * weights), {x, scale, offset});
            const Tensor second = sum(found[0] * a) + sum(found[1] * b) + sum(found[2] * d);
            for (Tensor& t : outer.gradient(second, {x, scale, weights})) found.push_back(std::move(t));
            return found;
          };
          const Tensor inputs[] = {values(draw(dims)), values(draw({3}, 0.5, 2, 1)), values(draw(dims, -2, 2, 5))};
          if (!traced) return all(inputs[0], inputs[1], inputs[2]);
          std::vector<TensorSpec> specs;
          for (const Tensor& t : inputs) specs.emplace_back(type, PartialShape::of_rank(t.rank()));
          const Function f = make_traced([&](std::span<const Tensor> in) { return all(in[0], in[1], in[2]); }, specs,
                                         std::source_location::current());
          return f.call(inputs);
        };
        const std::vector<Tensor> got = derivatives(kFloat32), expected = derivatives(kFloat64);
        for (size_t i = 0; i < got.size(); ++i) {
          BOOST_TEST(difference(to_array(expected[i]), got[i], {.units = 100, .floor = 4}) == "",
                     format << (training ? ", training" : "") << (traced ? ", traced" : "") << ", derivative " << i);
        }
      }
    }
  }
}

const Attrs kInference = {{"is_training", false}};
const Attrs kChannelsFirst = {{"data_format", "NCHW"}};

const Family batches(
    "normalization",
    {
        {"FusedBatchNormV3",
         {.samples = {batch({2, 2, 3, 3}), batch({3, 2, 1, 2}, {{"epsilon", 0.1}}, false),
                      batch({2, 3, 2, 2}, kChannelsFirst), batch({2, 2, 2, 3}, {{"exponential_avg_factor", 0.25}}),
                      batch({2, 2, 2, 3}, kInference),
                      batch({2, 3, 2, 2}, {{"data_format", "NCHW"}, {"is_training", false}}),
                      batch({2, 3, 1, 2, 2}, {{"data_format", "NCDHW"}}), batch({1, 1, 1, 3}), batch({0, 2, 2, 3}),
                      batch({0, 2, 2, 3}, kInference), batch({1, 1, 37, 5})},
          .reference = batch_norm,
          .errors = {{.in = with_input(batch({2, 2, 2, 3}), 0, draw({2, 3})),
                      .text = "x: expected rank 4 or 5, got shape [2,3]"},
                     {.in = with_input(batch({2, 2, 2, 3}), 1, list({1, 2}).as(kFloat32)),
                      .text = "number of channels of x, scale, offset, mean and variance: expected 3, got 2"},
                     {.in = with_input(batch({2, 2, 2, 3}), 3, list({1, 2}).as(kFloat32)),
                      .text = "number of channels of x, scale, offset, mean and variance: expected 3, got 2"},
                     {.in = batch({2, 2, 2, 3}, {}, false).in,
                      .attrs = kInference,
                      .text = "number of channels of x, scale, offset, mean and variance: expected 3, got 0"},
                     {.in = batch({2, 2, 2, 3}, {}, false).in,
                      .attrs = {{"exponential_avg_factor", 0.5}},
                      .text = "number of channels of x, scale, offset, mean and variance: expected 3, got 0"},
                     {.in = with_input(batch({2, 2, 2, 3}), 2, draw({1, 3}).as(kFloat32)),
                      .text = "offset: expected a vector, got shape [1,3]"}},
          .own = {{"gradients", batch_norm_gradients}},
          .units = 32,
          .floor = 4}},
        {"FusedBatchNormGradV3",
         {.samples = {batch_grad({2, 2, 3, 3}), batch_grad({2, 3, 2, 2}, kChannelsFirst),
                      batch_grad({2, 2, 2, 3}, kInference), batch_grad({2, 1, 2, 2, 3}, {{"epsilon", 0.1}}),
                      batch_grad({2, 3, 2, 2}, {{"data_format", "NCHW"}, {"is_training", false}}),
                      batch_grad({0, 2, 2, 3}), batch_grad({1, 1, 37, 5})},
          .reference = batch_norm_grad,
          .errors = {{.in = with_input(batch_grad({2, 2, 2, 3}), 1, draw({2, 2, 3, 3})),
                      .text = "x: expected shape [2,2,2,3], got [2,2,3,3]"},
                     {.in = with_input(batch_grad({2, 2, 2, 3}), 4, list({1, 2}).as(kFloat32)),
                      .text =
                          "number of channels of x, scale, reserve_space_1 and reserve_space_2: expected 3, got 2"}},
          .units = 64,
          .floor = 4}},
    });

}  // namespace
}  // namespace panto::test::normalization_rows
