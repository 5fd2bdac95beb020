// Matrix products, convolutions and random numbers on the GPU against the CPU. Without a GPU these are skipped.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/device/support.h"
#include "panto/tests/gpu.h"
#include "panto/tests/graph/text_graph.h"

namespace panto {
namespace {

namespace utf = boost::unit_test;
using test::gpu;
using test::has_gpu;
using test::random_tensor;
using test::same_bits;

Tensor numbers(DType type, const Shape& shape, unsigned seed) {
  switch (type) {
    case kFloat32: return random_tensor<float>(shape, seed);
    case kFloat64: return random_tensor<double>(shape, seed);
    case kInt32: return random_tensor<int32_t>(shape, seed);
    default: return random_tensor<int64_t>(shape, seed);
  }
}

// Of the largest result: sums are added up in another order there.
double tolerance(DType type) { return type == kFloat32 ? 2e-5 : type == kFloat64 ? 1e-12 : 0; }

// `f` of the tensors on the GPU and on the CPU.
template <class Function>
void compare(Function f, const std::vector<Tensor>& inputs, double tolerance) {
  std::vector<Tensor> there;
  for (const Tensor& t : inputs) there.push_back(t.to(*gpu()));
  const Tensor result = f(there);
  BOOST_TEST(&result.device() == gpu());
  const Tensor expected = cast(f(inputs), kFloat64), got = cast(result.cpu(), kFloat64);
  BOOST_REQUIRE(got.shape() == expected.shape());
  const std::vector<double> a = expected.to_vector<double>(), b = got.to_vector<double>();
  double largest = 1;
  for (const double v : a) largest = std::max(largest, std::abs(v));
  // An assertion for each of millions of elements would take longer than all else.
  size_t i = 0;
  while (i < a.size() && std::abs(a[i] - b[i]) <= tolerance * largest) ++i;
  BOOST_REQUIRE_MESSAGE(i == a.size(), "element " << i << ": expected " << a[i] << ", got " << b[i]);
}

Shape swapped(const Shape& s, bool swap) {
  std::vector<int64_t> dims(s.dims().begin(), s.dims().end());
  if (swap) std::swap(dims[dims.size() - 2], dims[dims.size() - 1]);
  return Shape(std::span<const int64_t>(dims));
}

BOOST_AUTO_TEST_SUITE(cuda, *utf::label("cuda") * utf::precondition(has_gpu))

// ---- Products ------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(batches_of_products) {
  const Shape cases[][2] = {
      {{4, 5}, {5, 6}},                       // a single product
      {{2, 3, 4, 5}, {2, 3, 5, 6}},           // evenly apart
      {{7, 5, 3}, {3, 4}},                    // one right factor: the rows of one product
      {{5, 3}, {7, 3, 4}},                    // one left factor
      {{4, 1, 5, 3}, {6, 3, 2}},              // by addresses
      {{2, 1, 3, 1, 5, 7}, {4, 1, 6, 7, 3}},  //
      {{3, 130, 70}, {3, 70, 65}},            // several tiles of integers
      {{70'000, 2, 3}, {70'000, 3, 2}},       // more than a grid has
      {{300, 1, 2, 3}, {300, 3, 1}},          //
      {{0, 2, 3}, {0, 3, 2}},                 // none
      {{2, 3, 0}, {2, 0, 4}},                 // sums of nothing
  };
  for (const DType type : {kFloat32, kFloat64, kInt32, kInt64}) {
    for (const auto& [x, y] : cases) {
      for (const bool ax : {false, true}) {
        for (const bool ay : {false, true}) {
          BOOST_TEST_CONTEXT(dtype_name(type) << ' ' << x.to_string() << ' ' << y.to_string() << ' ' << ax << ay) {
            compare(
                [=](const std::vector<Tensor>& in) { return batch_matmul(in[0], in[1], {.adj_x = ax, .adj_y = ay}); },
                {numbers(type, swapped(x, ax), 1), numbers(type, swapped(y, ay), 2)}, tolerance(type));
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(integer_products_wrap) {
  const Tensor x = tensor(std::vector<int32_t>{1 << 30, 1 << 30, -(1 << 30), 3}, {2, 2});
  compare([](const std::vector<Tensor>& in) { return matmul(in[0], in[1]); }, {x, x}, 0);
}

// TF32 has ten bits of a mantissa: it takes these for ones.
BOOST_AUTO_TEST_CASE(products_have_all_bits_of_float32) {
  const float more = 1 + 0x1p-13f;
  for (const int64_t n : {64, 256, 1024}) {
    const Tensor x = mul(ones({n, n}), more).to(*gpu()), y = ones({n, n}).to(*gpu());
    const std::vector<float> sums = matmul(x, y).cpu().to_vector<float>();
    BOOST_TEST(sums[0] == more * static_cast<float>(n));
    BOOST_TEST(sums.back() == more * static_cast<float>(n));
  }
}

BOOST_AUTO_TEST_CASE(fused_products_have_the_bits_of_separate_ops) {
  struct Case {
    const char* name;
    Tensor (*f)(const Tensor&);
  };
  const Case cases[] = {{"", +[](const Tensor& x) { return x; }},
                        {"Relu", +[](const Tensor& x) { return relu(x); }},
                        {"Tanh", +[](const Tensor& x) { return tanh(x); }},
                        {"Sigmoid", +[](const Tensor& x) { return sigmoid(x); }}};
  for (const Shape& shape : {Shape{5, 3}, Shape{64, 128}, Shape{33, 1}, Shape{200, 66}}) {
    const Tensor x = random_tensor<float>({shape[0], 40}).to(*gpu());
    const Tensor w = random_tensor<float>({40, shape[1]}, 2).to(*gpu());
    const Tensor bias = random_tensor<float>({shape[1]}, 3).to(*gpu());
    const Tensor other = random_tensor<float>(shape, 4).to(*gpu());
    const Tensor product = matmul(x, w);
    for (const Case& c : cases) {
      const auto check = [&](std::vector<std::string> ops, const std::vector<Tensor>& args, const Tensor& expected) {
        if (*c.name != '\0') ops.emplace_back(c.name);
        const Tensor got = fused_matmul(x, w, args, {.fused_ops = ops});
        BOOST_TEST(same_bits(got.cpu(), c.f(expected).cpu()), c.name << ' ' << ops.size() << ' ' << shape.to_string());
      };
      check({}, {}, product);
      check({"BiasAdd"}, {bias}, add(product, bias));
      check({"Add"}, {other}, add(other, product));
      check({"BiasAdd", "Add"}, {bias, other}, add(add(product, bias), other));
    }
  }
}

// ---- Convolutions --------------------------------------------------------------------------------------------------

struct Convolution {
  const char* name;
  int64_t batch, height, width, in, out, rows, columns;
  int64_t stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1, groups = 1;
  const char* padding = "SAME";
  std::vector<int64_t> explicit_paddings = {};  // top, bottom, left, right
};

const std::vector<Convolution> kConvolutions = {
    {"plain", 3, 14, 15, 32, 64, 3, 3},
    {"odd channels", 3, 17, 19, 5, 23, 3, 3},
    {"one channel", 2, 13, 11, 1, 1, 3, 2},
    {"strides", 2, 31, 23, 8, 16, 3, 3, 2, 3},
    {"strides beyond the window", 2, 30, 20, 4, 6, 2, 2, 5, 3, 1, 1, 1, "VALID"},
    {"dilations", 2, 25, 20, 12, 8, 3, 3, 1, 1, 3, 2},
    {"explicit", 2, 18, 21, 12, 8, 5, 3, 1, 2, 1, 1, 1, "EXPLICIT", {4, 1, 0, 2}},
    {"windows of padding alone", 1, 2, 2, 4, 4, 1, 2, 1, 1, 1, 1, 1, "EXPLICIT", {2, 1, 0, 3}},
    {"1x1", 4, 14, 13, 64, 48, 1, 1},
    {"1x1 with strides", 3, 14, 13, 16, 12, 1, 1, 2, 2},
    {"window as large as the image", 8, 7, 7, 16, 32, 7, 7, 1, 1, 1, 1, 1, "VALID"},
    {"strides beyond the image", 4, 9, 9, 8, 8, 3, 3, 100, 1, 1, 1, 1, "VALID"},
    {"wide groups", 2, 12, 11, 64, 96, 3, 3, 1, 1, 1, 1, 4},
    {"wide groups, 1x1", 2, 12, 11, 48, 96, 1, 1, 1, 1, 1, 1, 3},
    {"narrow groups", 2, 12, 11, 32, 64, 3, 3, 2, 1, 1, 1, 8},
    {"a group for each channel", 3, 20, 21, 40, 40, 3, 3, 1, 1, 1, 1, 40},
    {"a group for each channel, two outputs", 2, 20, 21, 5, 10, 5, 3, 2, 2, 1, 1, 5},
    {"pieces of several images", 40, 40, 42, 48, 20, 3, 3},
    {"pieces of one image", 2, 200, 230, 48, 8, 3, 3},
    {"pieces of one image, strides", 2, 420, 400, 48, 8, 5, 5, 2, 3},
};

struct Attributes {
  const Convolution& c;
  const char* format;

  bool first() const { return format[1] == 'C'; }
  Shape images(int64_t height, int64_t width, int64_t channels) const {
    return first() ? Shape{c.batch, channels, height, width} : Shape{c.batch, height, width, channels};
  }
  std::vector<int64_t> each(int64_t y, int64_t x) const {
    return first() ? std::vector<int64_t>{1, 1, y, x} : std::vector<int64_t>{1, y, x, 1};
  }
  std::vector<int64_t> paddings() const {
    const std::vector<int64_t>& p = c.explicit_paddings;
    if (p.empty()) return {};
    return first() ? std::vector<int64_t>{0, 0, 0, 0, p[0], p[1], p[2], p[3]}
                   : std::vector<int64_t>{0, 0, p[0], p[1], p[2], p[3], 0, 0};
  }
  std::vector<int64_t> strides() const { return each(c.stride_y, c.stride_x); }
  std::vector<int64_t> dilations() const { return each(c.dilation_y, c.dilation_x); }

  Tensor forward(const Tensor& x, const Tensor& w) const {
    return conv2d(x, w, strides(), c.padding,
                  {.explicit_paddings = paddings(), .data_format = format, .dilations = dilations()});
  }
  Tensor by_input(const Tensor& sizes, const Tensor& w, const Tensor& dy) const {
    return conv2d_backprop_input(sizes, w, dy, strides(), c.padding,
                                 {.explicit_paddings = paddings(), .data_format = format, .dilations = dilations()});
  }
  Tensor by_filter(const Tensor& x, const Tensor& sizes, const Tensor& dy) const {
    return conv2d_backprop_filter(x, sizes, dy, strides(), c.padding,
                                  {.explicit_paddings = paddings(), .data_format = format, .dilations = dilations()});
  }
};

Tensor sizes_of(const Tensor& t) {
  std::vector<int32_t> sizes;
  for (const int64_t d : t.shape().dims()) sizes.push_back(static_cast<int32_t>(d));
  return tensor(sizes);
}

BOOST_AUTO_TEST_CASE(convolutions) {
  for (const Convolution& c : kConvolutions) {
    for (const char* format : {"NHWC", "NCHW"}) {
      for (const DType type : {kFloat32, kFloat64}) {
        BOOST_TEST_CONTEXT(c.name << ' ' << format << ' ' << dtype_name(type)) {
          const Attributes a{c, format};
          const Tensor x = numbers(type, a.images(c.height, c.width, c.in), 1);
          const Tensor w = numbers(type, {c.rows, c.columns, c.in / c.groups, c.out}, 2);
          const Tensor dy = numbers(type, a.forward(x, w).shape(), 3);
          const double most = tolerance(type);
          compare([&](const std::vector<Tensor>& in) { return a.forward(in[0], in[1]); }, {x, w}, most);
          compare([&](const std::vector<Tensor>& in) { return a.by_input(sizes_of(x), in[0], in[1]); }, {w, dy}, most);
          compare([&](const std::vector<Tensor>& in) { return a.by_filter(in[0], sizes_of(w), in[1]); }, {x, dy}, most);
        }
      }
    }
  }
}

// Tensors that begin within others: what is moved sixteen bytes at a time elsewhere.
BOOST_AUTO_TEST_CASE(convolutions_of_views) {
  const Shape images{2, 9, 8, 8}, filter{3, 3, 8, 4};
  const auto within = [](const Tensor& all, const Shape& shape) { return view_tensor(all, shape, 1); };
  compare(
      [&](const std::vector<Tensor>& in) {
        return conv2d(within(in[0], images), within(in[1], filter), {1, 1, 1, 1}, "SAME");
      },
      {random_tensor<float>({images.numel() + 1}), random_tensor<float>({filter.numel() + 1}, 2)}, 1e-5);
}

BOOST_AUTO_TEST_CASE(convolutions_are_the_same_each_time) {
  const Attributes a{kConvolutions[17], "NHWC"};
  const Tensor x = numbers(kFloat32, a.images(a.c.height, a.c.width, a.c.in), 1).to(*gpu());
  const Tensor w = numbers(kFloat32, {a.c.rows, a.c.columns, a.c.in, a.c.out}, 2).to(*gpu());
  const Tensor dy = a.forward(x, w), dw = a.by_filter(x, sizes_of(w), dy), dx = a.by_input(sizes_of(x), w, dy);
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(same_bits(a.forward(x, w).cpu(), dy.cpu()));
    BOOST_TEST(same_bits(a.by_filter(x, sizes_of(w), dy).cpu(), dw.cpu()));
    BOOST_TEST(same_bits(a.by_input(sizes_of(x), w, dy).cpu(), dx.cpu()));
  }
}

BOOST_AUTO_TEST_CASE(fused_convolutions_have_the_bits_of_separate_ops) {
  for (const char* format : {"NHWC", "NCHW"}) {
    for (const int64_t out : {8, 7}) {
      const Convolution c{"", 2, 9, 10, 6, out, 3, 3};
      const Attributes a{c, format};
      const Tensor x = numbers(kFloat32, a.images(9, 10, 6), 1).to(*gpu());
      const Tensor w = numbers(kFloat32, {3, 3, 6, out}, 2).to(*gpu());
      const Tensor bias = numbers(kFloat32, {out}, 3).to(*gpu());
      const Tensor other = numbers(kFloat32, a.images(9, 10, out), 4).to(*gpu());
      const Tensor got = fused_conv2d(x, w, {bias, other}, {1, 1, 1, 1}, "SAME",
                                      {.data_format = format, .fused_ops = {"BiasAdd", "Add", "Relu"}});
      const Tensor column = a.first() ? reshape(bias, {out, 1, 1}) : bias;
      const Tensor expected = relu(add(add(a.forward(x, w), column), other));
      BOOST_TEST(same_bits(got.cpu(), expected.cpu()), format << ' ' << out);
    }
  }
}

BOOST_AUTO_TEST_CASE(fused_convolutions_normalise) {
  for (const char* format : {"NHWC", "NCHW"}) {
    const Convolution c{"", 2, 9, 10, 6, 8, 3, 3};
    const Attributes a{c, format};
    std::vector<Tensor> in = {numbers(kFloat32, a.images(9, 10, 6), 1), numbers(kFloat32, {3, 3, 6, 8}, 2)};
    for (unsigned i = 0; i < 5; ++i) in.push_back(abs(numbers(kFloat32, {8}, 3 + i)));
    in.push_back(numbers(kFloat32, a.images(9, 10, 8), 9));
    for (const char* activation : {"Relu6", "Elu", "LeakyRelu", "GeluApproximate", "GeluExact"}) {
      compare(
          [&](const std::vector<Tensor>& t) {
            return fused_conv2d(t[0], t[1], {t[2], t[3], t[4], t[5], t[6], t[7]}, {1, 1, 1, 1}, "SAME",
                                {.data_format = format,
                                 .fused_ops = {"BiasAdd", "FusedBatchNorm", "Add", activation},
                                 .epsilon = 1e-2f});
          },
          in, 1e-4);
    }
  }
}

// ---- Random numbers ------------------------------------------------------------------------------------------------

// What these calls draw on the GPU and on the CPU. Inputs are made beforehand: they are read by the host.
void compare_drawn(const char* op, int64_t n, DType type, double tolerance, std::vector<Tensor> more = {},
                   std::vector<std::pair<std::string, AttrValue>> attrs = {}) {
  std::vector<Tensor> in = {tensor(std::vector<int64_t>{n})};
  if (std::string_view(op).starts_with("Stateless")) {
    // The counter is close to its carry.
    in.insert(in.end(),
              {tensor(std::vector<uint64_t>{12345}), tensor(std::vector<uint64_t>{~uint64_t{0} - 3, 4}), tensor(1)});
  }
  in.insert(in.end(), more.begin(), more.end());
  attrs.emplace_back("dtype", AttrValue(type));
  const Tensor expected = dispatch::call(op, in, attrs)[0];
  const DeviceScope scope("/gpu:0");
  const Tensor there = dispatch::call(op, in, attrs)[0];
  BOOST_TEST(&there.device() == gpu());
  const Tensor got = there.cpu();
  BOOST_TEST_CONTEXT(op << ' ' << dtype_name(type) << ' ' << n) {
    if (tolerance == 0) {
      BOOST_TEST(same_bits(got, expected));
      return;
    }
    const DeviceScope host("/cpu:0");
    const std::vector<double> a = cast(expected, kFloat64).to_vector<double>();
    const std::vector<double> b = cast(got, kFloat64).to_vector<double>();
    BOOST_REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); ++i) BOOST_REQUIRE_SMALL(a[i] - b[i], tolerance);
  }
}

BOOST_AUTO_TEST_CASE(random_numbers) {
  const std::vector<std::pair<std::string, AttrValue>> seed = {{"seed", AttrValue(int64_t{3})}};
  for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{6}, (int64_t{1} << 21) + 3}) {
    for (const DType type : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
      const double normal = type == kFloat32 ? 2e-6 : type == kFloat64 ? 1e-14 : type == kFloat16 ? 4e-3 : 4e-2;
      compare_drawn("StatelessRandomUniformV2", n, type, 0);
      compare_drawn("StatelessRandomNormalV2", n, type, normal);
      compare_drawn("RandomUniform", n, type, 0, {}, seed);
      compare_drawn("RandomStandardNormal", n, type, normal, {}, seed);
    }
    compare_drawn("StatelessRandomUniformIntV2", n, kInt32, 0, {tensor(-7), tensor(1000)});
    compare_drawn("StatelessRandomUniformIntV2", n, kInt64, 0, {tensor(INT64_MIN), tensor(INT64_MAX)});
  }
}

// A node goes on where its last run ended, on either device.
BOOST_AUTO_TEST_CASE(random_nodes_go_on) {
  const auto session = [](const std::string& device) {
    return Session(
        test::text_graph("n = Const(; value=int32[1]{37})\n"
                         "u = RandomUniform(n; seed=3, dtype=float32) @/device:" +
                         device));
  };
  Session here = session("CPU:0"), there = session("GPU:0");
  Tensor before;
  for (int i = 0; i < 3; ++i) {
    const Tensor expected = here.run("u"), got = there.run("u").cpu();
    BOOST_TEST(same_bits(got, expected));
    BOOST_TEST((!before.defined() || !same_bits(got, before)));
    before = got;
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
