// Samples of convolutions and pools of volumes and their gradients, each against its definition.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>

#include "panto/autograd/transforms/derivatives.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/rows/nn/windows.h"

namespace panto::test::volumes_rows {
namespace {

const std::vector<int64_t> kFive = {1, 1, 1, 1, 1};

// Where the dimensions are, and how windows slide along three of them.
struct Volume {
  bool first;
  Side sides[3];

  // `input`: sizes; `windows`: the three sizes of a window.
  Volume(const Given& g, const Index& input, const Index& windows, bool dilates)
      : first(g.text("data_format") == "NCDHW") {
    for (size_t i = 0; i < 3; ++i) {
      const size_t dim = i + (first ? 2 : 1);
      sides[i] = {input[dim], windows[i], g.integers("strides")[dim], dilates ? g.integers("dilations")[dim] : 1, 0, 0};
      Side& s = sides[i];
      const int64_t extent = (s.size - 1) * s.dilation + 1;
      const bool same = g.text("padding") == "SAME";
      s.output = same ? (s.input + s.stride - 1) / s.stride : (s.input - extent + s.stride) / s.stride;
      if (same) s.before = std::max<int64_t>(0, (s.output - 1) * s.stride + extent - s.input) / 2;
    }
  }
  Index index(int64_t n, int64_t z, int64_t y, int64_t x, int64_t c) const {
    return first ? Index{n, c, z, y, x} : Index{n, z, y, x, c};
  }
  size_t channels() const { return first ? 1 : 4; }
  Index outputs(int64_t n, int64_t c) const { return {n, sides[0].output, sides[1].output, sides[2].output, c}; }
  // f(index of the element within the window, index of the element of the input) for all inside, of output o.
  void for_window(const Index& o, const std::function<void(const Index&, const Index&)>& f) const {
    for_each_index({sides[0].size, sides[1].size, sides[2].size}, [&](const Index& tap) {
      Index at = {o[0], 0, 0, 0, 0};
      for (size_t i = 0; i < 3; ++i) {
        at[i + 1] = sides[i].at(o[i + 1], tap[i]);
        if (at[i + 1] < 0 || at[i + 1] >= sides[i].input) return;
      }
      f(tap, at);
    });
  }
};

// ---- Convolutions ---------------------------------------------------------------------------------------------------

struct Products {
  Volume v;
  Index input, filter;
  Products(const Given& g, const Index& in, const Index& weights)
      : v(g, in, weights, true), input(in), filter(weights) {}
  Index output() const {
    const Index o = v.outputs(input[0], filter[4]);
    return v.index(o[0], o[1], o[2], o[3], o[4]);
  }
  template <class F>
  void for_each_product(F f) const {
    for_each_index(v.outputs(input[0], filter[4]), [&](const Index& o) {
      v.for_window(o, [&](const Index& tap, const Index& at) {
        for (int64_t c = 0; c < filter[3]; ++c) {
          f(v.index(at[0], at[1], at[2], at[3], c), Index{tap[0], tap[1], tap[2], c, o[4]},
            v.index(o[0], o[1], o[2], o[3], o[4]));
        }
      });
    });
  }
};

struct Shapes {
  Index input, filter, output;
  Attrs attrs;
};
const Attrs kFirst = {{"data_format", "NCDHW"}};

std::vector<Shapes> convolutions() {
  return {
      {{2, 3, 2, 3, 2}, {2, 2, 2, 2, 3}, {2, 2, 1, 2, 3}, attrs_of("VALID", kFive)},
      {{1, 3, 2, 3, 1}, {3, 2, 1, 1, 2}, {1, 3, 2, 3, 2}, attrs_of("SAME", kFive)},
      {{1, 5, 3, 4, 1}, {2, 1, 3, 1, 1}, {1, 3, 3, 2, 1}, attrs_of("SAME", {1, 2, 1, 2, 1})},
      {{1, 5, 2, 4, 1},
       {2, 1, 2, 1, 1},
       {1, 3, 2, 2, 1},
       attrs_of("VALID", kFive, {{"dilations", std::vector<int64_t>{1, 2, 1, 2, 1}}})},
      {{2, 2, 2, 2, 3}, {2, 1, 2, 2, 3}, {2, 3, 2, 2, 3}, attrs_of("SAME", kFive, kFirst)},
      {{1, 1, 3, 2, 2}, {2, 2, 2, 1, 2}, {1, 2, 1, 1, 1}, attrs_of("VALID", {1, 1, 2, 1, 1}, kFirst)},
      {{0, 2, 2, 2, 1}, {2, 2, 2, 1, 1}, {0, 1, 1, 1, 1}, attrs_of("VALID", kFive)},
      {{1, 1, 2, 2, 1}, {2, 2, 1, 1, 2}, {1, 0, 1, 2, 2}, attrs_of("VALID", kFive)},
  };
}

enum class Takes : uint8_t { kInputFilter, kSizesFilterGrad, kInputSizesGrad };
std::vector<Sample> conv_samples(Takes takes) {
  std::vector<Sample> result;
  for (const Shapes& s : convolutions()) {
    const Array input = draw(s.input), filter = draw(s.filter, -2, 2, 1), grad = draw(s.output, -2, 2, 2);
    switch (takes) {
      case Takes::kInputFilter: result.push_back({.in = {input, filter}, .attrs = s.attrs}); break;
      case Takes::kSizesFilterGrad: result.push_back({.in = {sizes(s.input), filter, grad}, .attrs = s.attrs}); break;
      case Takes::kInputSizesGrad: result.push_back({.in = {input, sizes(s.filter), grad}, .attrs = s.attrs}); break;
    }
  }
  return result;
}

// More windows than are laid out at a time, against one after the other along the depth.
void large() {
  const Tensor x = to_tensor(draw({2, 5, 40, 41, 16}), kFloat32),
               filter = to_tensor(draw({3, 3, 3, 16, 8}, -2, 2, 1), kFloat32);
  const Tensor y = conv3d(x, filter, kFive, "VALID");
  const auto plane = [](const Tensor& t, int64_t z) {
    return squeeze(slice(t, {0, z, 0, 0, 0}, {-1, 1, -1, -1, -1}), {.squeeze_dims = {1}});
  };
  for (int64_t z = 0; z < 3; ++z) {
    Tensor sum;
    for (int64_t k = 0; k < 3; ++k) {
      const Tensor w = squeeze(slice(filter, {k, 0, 0, 0, 0}, {1, -1, -1, -1, -1}), {.squeeze_dims = {0}});
      const Tensor part = conv2d(plane(x, z + k), w, {1, 1, 1, 1}, "VALID");
      sum = sum.defined() ? sum + part : part;
    }
    BOOST_TEST(difference(to_array(sum), plane(y, z), {.units = 256, .floor = 64}) == "");
  }
  // <conv(x), y> is <x, by_input(y)> and <filter, by_filter(y)>.
  const auto dot = [](const Tensor& a, const Tensor& b) {
    return panto::sum(cast(a, kFloat64) * cast(b, kFloat64)).item<double>();
  };
  const double expected = dot(y, y);
  BOOST_TEST(dot(x, conv3d_backprop_input(shape(x), filter, y, kFive, "VALID")) == expected,
             boost::test_tools::tolerance(1e-5));
  BOOST_TEST(dot(filter, conv3d_backprop_filter(x, shape(filter), y, kFive, "VALID")) == expected,
             boost::test_tools::tolerance(1e-5));
}

// ---- Pools ----------------------------------------------------------------------------------------------------------

struct Pool {
  Volume v;
  Index input;
  Pool(const Given& g, const Index& in) : v(g, in, windows(g), false), input(in) {}
  static Index windows(const Given& g) {
    const std::vector<int64_t> k = g.integers("ksize");
    return g.text("data_format") == "NCDHW" ? Index{k[2], k[3], k[4]} : Index{k[1], k[2], k[3]};
  }
  template <class F>
  void for_each_window(F f) const {
    for_each_index(v.outputs(input[0], input[v.channels()]), [&](const Index& o) {
      std::vector<Index> elements;
      v.for_window(
          o, [&](const Index&, const Index& at) { elements.push_back(v.index(at[0], at[1], at[2], at[3], o[4])); });
      f(v.index(o[0], o[1], o[2], o[3], o[4]), elements);
    });
  }
  Array result() const {
    const Index o = v.outputs(input[0], input[v.channels()]);
    return filled(v.index(o[0], o[1], o[2], o[3], o[4]), 0);
  }
};

struct PoolShapes {
  Index input, output;
  Attrs attrs;
};
std::vector<PoolShapes> pools() {
  return {
      {{1, 2, 4, 2, 3}, {1, 1, 2, 1, 3}, pool_attrs("VALID", {1, 2, 2, 2, 1}, {1, 2, 2, 2, 1})},
      {{2, 3, 2, 3, 1}, {2, 2, 2, 2, 1}, pool_attrs("SAME", {1, 3, 1, 2, 1}, {1, 2, 1, 2, 1})},
      {{1, 2, 3, 2, 3}, {1, 2, 3, 1, 2}, pool_attrs("SAME", {1, 1, 2, 1, 2}, {1, 1, 1, 2, 2}, kFirst)},
      {{0, 2, 2, 2, 1}, {0, 1, 1, 1, 1}, pool_attrs("VALID", {1, 2, 2, 2, 1}, kFive)},
      {{1, 1, 2, 2, 1}, {1, 0, 2, 2, 1}, pool_attrs("VALID", {1, 2, 1, 1, 1}, kFive)},
  };
}

enum class PoolTakes : uint8_t { kInput, kInputOutputGrad, kInputOutputGradGrad, kSizesGrad };
std::vector<Sample> pool_samples(PoolTakes takes) {
  std::vector<Sample> samples;
  for (const PoolShapes& s : pools()) {
    const Array input = draw(s.input, -20, 20), output = draw(s.output, -2, 2, 1), grad = draw(s.output, -2, 2, 2);
    switch (takes) {
      case PoolTakes::kInput: samples.push_back({.in = {input}, .attrs = s.attrs}); break;
      case PoolTakes::kInputOutputGrad: samples.push_back({.in = {input, output, grad}, .attrs = s.attrs}); break;
      case PoolTakes::kInputOutputGradGrad:
        samples.push_back({.in = {input, output, draw(s.input, -2, 2, 3)}, .attrs = s.attrs});
        break;
      case PoolTakes::kSizesGrad: samples.push_back({.in = {sizes(s.input), grad}, .attrs = s.attrs}); break;
    }
  }
  return samples;
}

// There is no float64 of MaxPool3D to take differences of: its gradients are those of pools along one side.
void max_pool_derivatives() {
  const Tensor x = to_tensor(draw({1, 2, 3, 3, 2}, -20, 20), kFloat32);
  const Tensor weights = to_tensor(draw({1, 1, 2, 2, 2}, -1, 1, 1), kFloat32);
  const auto op = [&](const Tensor& v) {
    return sum(square(max_pool_3d(v, {1, 2, 2, 2, 1}, kFive, "VALID")) * weights);
  };
  const auto defined = [&](const Tensor& v) {
    const Tensor flat = reshape(reduce_max(v, {1}), {1, 3, 3, 2});
    return sum(square(max_pool(flat, {1, 2, 2, 1}, {1, 1, 1, 1}, "VALID")) * reshape(weights, {1, 2, 2, 2}));
  };
  const Tolerance close{.units = 8, .floor = 1};
  BOOST_TEST(difference(to_array(grad(defined)(x)), grad(op)(x), close) == "");
  const auto again = [&](const auto& f) { return [&](const Tensor& v) { return sum(square(grad(f)(v))); }; };
  BOOST_TEST(difference(to_array(grad(again(defined))(x)), grad(again(op))(x), close) == "");
}

// Of float64 there is no gradient, since TensorFlow's MaxPool3DGrad has none.
void grad_grad_float64() {
  const auto f = [](DType t) {
    const Tensor x = to_tensor(draw({1, 2, 2, 3, 1}), t), ddx = to_tensor(draw({1, 2, 2, 3, 1}, -2, 2, 1), t);
    const Tensor y = to_tensor(draw({1, 1, 1, 2, 1}), t);
    return max_pool_3d_grad_grad(x, y, ddx, {1, 2, 2, 2, 1}, kFive, "VALID");
  };
  BOOST_TEST(difference(to_array(f(kFloat64)), f(kFloat32), {.units = 1}) == "");
}

const Attrs kTwo = pool_attrs("VALID", {1, 2, 2, 2, 1}, {1, 2, 2, 2, 1});
const Array kBlock = draw({1, 2, 2, 2, 1}), kOne = draw({1, 1, 1, 1, 1});

const Family family(
    "volumes",
    {
        {"Conv3D",
         {.samples = conv_samples(Takes::kInputFilter),
          .reference = conv<Products>,
          .errors = {{.in = {draw({4, 4, 2, 1}), draw({2, 2, 2, 1, 1})},
                      .attrs = attrs_of("VALID", kFive),
                      .text = "input: expected rank 5, got shape [4,4,2,1]"},
                     {.in = {kBlock, draw({2, 2, 2, 2, 1})},
                      .attrs = attrs_of("VALID", kFive),
                      .text = "channels of the input: expected the filter's 2, got 1"},
                     {.in = {kBlock, draw({2, 2, 2, 1, 1})},
                      .attrs = attrs_of("VALID", {2, 1, 1, 1, 1}),
                      .text = "strides of batch and channels: expected 1, got 2"},
                     {.in = {kBlock, draw({5, 2, 2, 1, 1})},
                      .attrs = attrs_of("VALID", kFive),
                      .text = "depth of the input: expected at least 4 for a window of 5 and a stride of 1, got 2"}},
          .own = {{"large", large}},
          .units = 32,
          .floor = 8}},
        {"Conv3DBackpropInputV2",
         {.samples = conv_samples(Takes::kSizesFilterGrad),
          .reference = conv_by_input<Products>,
          .errors = {{.in = {list({1, 2, 2, 1}).as(kInt32), draw({2, 2, 2, 1, 1}), kOne},
                      .attrs = attrs_of("VALID", kFive),
                      .text = "input_sizes: expected 5 numbers, got 4"},
                     {.in = {list({1, 2, 2, 2, 1}).as(kInt32), draw({2, 2, 2, 1, 1}), kBlock},
                      .attrs = attrs_of("VALID", kFive),
                      .text = "out_backprop: expected shape [1,1,1,1,1], got [1,2,2,2,1]"}},
          .units = 32,
          .floor = 8}},
        {"Conv3DBackpropFilterV2",
         {.samples = conv_samples(Takes::kInputSizesGrad),
          .reference = conv_by_filter<Products>,
          .errors = {{.in = {kBlock, list({2, 2, 2, 1, 1}).as(kInt32), kBlock},
                      .attrs = attrs_of("VALID", kFive),
                      .text = "out_backprop: expected shape [1,1,1,1,1], got [1,2,2,2,1]"}},
          .units = 32,
          .floor = 16}},
        {"MaxPool3D",
         {.samples = pool_samples(PoolTakes::kInput),
          .reference = max_pool<Pool>,
          .errors = {{.in = {draw({4, 4, 4, 1})}, .attrs = kTwo, .text = "input: expected rank 5, got shape [4,4,4,1]"},
                     {.in = {kBlock},
                      .attrs = pool_attrs("VALID", {1, 1, 1, 1, 2}, kFive),
                      .code = Code::kUnimplemented,
                      .text = "ksize of batch and channels: expected 1, got 2"}},
          .own = {{"derivatives", max_pool_derivatives}}}},
        {"MaxPool3DGrad",
         {.samples = pool_samples(PoolTakes::kInputOutputGrad),
          .reference = max_pool_grad<Pool>,
          .errors = {{.in = {kBlock, kBlock, kOne},
                      .attrs = kTwo,
                      .text = "orig_output: expected shape [1,1,1,1,1], got [1,2,2,2,1]"}}}},
        {"MaxPool3DGradGrad",
         {.samples = pool_samples(PoolTakes::kInputOutputGradGrad),
          .reference = max_pool_grad_grad<Pool>,
          .errors = {{.in = {kBlock, kOne, kOne},
                      .attrs = kTwo,
                      .text = "grad: expected shape [1,2,2,2,1], got [1,1,1,1,1]"}},
          .own = {{"float64", grad_grad_float64}},
          .types = dtypes::kReal - DTypeSet{kFloat64}}},
        {"AvgPool3D",
         {.samples = pool_samples(PoolTakes::kInput),
          .reference = avg_pool<Pool>,
          .errors =
              {{.in = {draw({4, 4, 4, 1})}, .attrs = kTwo, .text = "input: expected rank 5, got shape [4,4,4,1]"}},
          .units = 16,
          .floor = 16}},
        {"AvgPool3DGrad",
         {.samples = pool_samples(PoolTakes::kSizesGrad),
          .reference = avg_pool_grad<Pool>,
          .errors = {{.in = {list({1, 2, 2, 1}).as(kInt32), kOne},
                      .attrs = kTwo,
                      .text = "orig_input_shape: expected 5 numbers, got 4"}},
          .units = 16,
          .floor = 2}},
    });

}  // namespace
}  // namespace panto::test::volumes_rows
