// Convolutions of floats, by oneDNN, against those of doubles, by definition: sizes at which tiles and layouts change.
// Their independence of the number of threads, and the cache of plans.
#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <thread>

#include "panto/device/cpu/conv/conv_plan.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/device/support.h"

namespace panto {
namespace {

using test::check_near;
using test::random_tensor;
using test::same_bits;
using test::ThreadCount;

struct Case {
  const char* name;
  int64_t batch, height, width, in, out, rows, columns;
  int64_t stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1, groups = 1;
  const char* padding = "SAME";
  std::vector<int64_t> explicit_paddings = {};  // top, bottom, left, right
};

const std::vector<Case> kCases = {
    {"images in tiles, a rest", 13, 14, 14, 32, 64, 3, 3},
    {"blocks of channels", 3, 20, 20, 64, 64, 3, 3},
    {"bands of one image", 1, 60, 50, 32, 48, 3, 3},
    {"bands of large windows", 1, 40, 40, 24, 32, 7, 5},
    {"bands with strides", 1, 61, 47, 32, 64, 3, 3, 2, 3},
    {"bands, strides beyond the window", 1, 90, 60, 64, 96, 2, 2, 5, 3, 1, 1, 1, "VALID"},
    {"bands with dilations", 2, 50, 40, 32, 40, 3, 3, 1, 1, 3, 2},
    {"bands, explicit", 1, 48, 48, 32, 64, 5, 3, 1, 2, 1, 1, 1, "EXPLICIT", {4, 1, 0, 2}},
    {"strides, explicit", 2, 45, 33, 32, 48, 4, 3, 3, 2, 1, 1, 1, "EXPLICIT", {1, 3, 2, 0}},
    {"1x1", 4, 28, 28, 64, 128, 1, 1},
    {"1x1 with strides", 4, 28, 27, 64, 128, 1, 1, 2, 2},
    {"one channel", 4, 28, 28, 1, 32, 3, 3},
    {"three channels", 2, 50, 50, 3, 32, 7, 7, 2, 2},
    {"three channels, every pixel", 3, 37, 41, 3, 8, 3, 3},
    {"two channels, wide", 1, 12, 300, 2, 7, 3, 5, 1, 1, 1, 1, 1, "VALID"},
    {"one channel, dilations", 2, 30, 33, 1, 10, 5, 3, 1, 1, 2, 3},
    {"four channels, explicit", 2, 21, 67, 4, 12, 3, 4, 1, 1, 1, 1, 1, "EXPLICIT", {2, 1, 0, 3}},
    {"odd channels", 3, 17, 19, 20, 23, 3, 3},
    {"few output channels", 2, 32, 32, 64, 3, 3, 3},
    {"many channels", 2, 7, 7, 256, 160, 3, 3},
    {"a window as product", 2, 6, 5, 128, 256, 3, 3, 2, 1},
    {"a window as product, dilations", 3, 5, 6, 160, 280, 3, 2, 1, 2, 2, 1},
    {"a window as product, explicit", 2, 5, 7, 130, 230, 3, 3, 2, 3, 1, 1, 1, "EXPLICIT", {4, 0, 1, 3}},
    {"a window as product, pixels that no window has", 2, 8, 8, 200, 330, 2, 2, 3, 3, 1, 1, 1, "VALID"},
    {"groups", 2, 20, 20, 32, 64, 3, 3, 1, 1, 1, 1, 4},
    {"groups of four channels", 2, 20, 21, 48, 48, 3, 3, 1, 1, 1, 1, 12},
    {"groups of four, strides", 3, 23, 30, 32, 32, 3, 5, 2, 3, 1, 1, 8},
    {"groups of four, dilations, explicit", 2, 18, 25, 16, 16, 3, 4, 1, 1, 2, 3, 4, "EXPLICIT", {4, 1, 0, 5}},
    {"groups of four, windows beyond the image", 9, 2, 3, 64, 64, 5, 7, 1, 1, 1, 1, 16},
    {"groups of four, windows of padding only", 4, 6, 6, 32, 32, 2, 3, 1, 1, 1, 1, 8, "EXPLICIT", {5, 4, 3, 7}},
    {"a group for each channel", 2, 30, 30, 32, 32, 3, 3, 1, 1, 1, 1, 32},
    {"window as large as the image", 8, 7, 7, 64, 32, 7, 7, 1, 1, 1, 1, 1, "VALID"},
    {"strides beyond the image", 16, 9, 9, 64, 32, 3, 3, 100, 1, 1, 1, 1, "VALID"},
    {"long and low", 1, 1, 4000, 16, 32, 1, 5},
    {"high and narrow", 1, 4000, 1, 16, 32, 5, 1},
};

struct Tensors {
  Tensor input, filter, output;  // output: as large as it, of any numbers
};

struct Caller {
  const Case& c;
  const char* format;

  bool first() const { return format[1] == 'C'; }
  std::vector<int64_t> each(int64_t y, int64_t x) const {
    return first() ? std::vector<int64_t>{1, 1, y, x} : std::vector<int64_t>{1, y, x, 1};
  }
  std::vector<int64_t> paddings() const {
    const auto& p = c.explicit_paddings;
    if (p.empty()) return {};
    if (first()) return {0, 0, 0, 0, p[0], p[1], p[2], p[3]};
    return {0, 0, p[0], p[1], p[2], p[3], 0, 0};
  }
  Tensor forward(const Tensors& t) const {
    return conv2d(
        t.input, t.filter, each(c.stride_y, c.stride_x), c.padding,
        {.explicit_paddings = paddings(), .data_format = format, .dilations = each(c.dilation_y, c.dilation_x)});
  }
  Tensor by_input(const Tensors& t) const {
    return conv2d_backprop_input(
        shape(t.input), t.filter, t.output, each(c.stride_y, c.stride_x), c.padding,
        {.explicit_paddings = paddings(), .data_format = format, .dilations = each(c.dilation_y, c.dilation_x)});
  }
  Tensor by_filter(const Tensors& t) const {
    return conv2d_backprop_filter(
        t.input, shape(t.filter), t.output, each(c.stride_y, c.stride_x), c.padding,
        {.explicit_paddings = paddings(), .data_format = format, .dilations = each(c.dilation_y, c.dilation_x)});
  }
  Tensors tensors() const {
    const Shape images = first() ? Shape{c.batch, c.in, c.height, c.width} : Shape{c.batch, c.height, c.width, c.in};
    Tensors t{random_tensor<float>(images), random_tensor<float>({c.rows, c.columns, c.in / c.groups, c.out}, 2), {}};
    t.output = random_tensor<float>(forward(t).shape(), 3);
    return t;
  }
};

Tensors map(const Tensors& t, Tensor (*f)(const Tensor&)) { return {f(t.input), f(t.filter), f(t.output)}; }

Tensor first(const Tensor& images) { return transpose(images, {0, 3, 1, 2}); }

BOOST_AUTO_TEST_SUITE(kernels_conv)

BOOST_AUTO_TEST_CASE(against_the_definition, *boost::unit_test::label("heavy")) {
  for (const Case& c : kCases) {
    const Caller call{c, "NHWC"}, other{c, "NCHW"};
    const Tensors t = call.tensors();
    const Tensors turned = {first(t.input), t.filter, first(t.output)};
    const Tensors wide = map(t, [](const Tensor& x) { return cast(x, kFloat64); });
    const Tensors sizes = map(wide, [](const Tensor& x) { return abs(x); });
    const std::string what = std::string(c.name) + ", ";
    const Tensor y = call.forward(wide), y_size = call.forward(sizes);
    check_near(call.forward(t), y, y_size, what + "NHWC");
    check_near(other.forward(turned), first(y), first(y_size), what + "NCHW");
    const Tensor dx = call.by_input(wide), dx_size = call.by_input(sizes);
    check_near(call.by_input(t), dx, dx_size, what + "by input, NHWC");
    check_near(other.by_input(turned), first(dx), first(dx_size), what + "by input, NCHW");
    const Tensor df = call.by_filter(wide), df_size = call.by_filter(sizes);
    check_near(call.by_filter(t), df, df_size, what + "by filter, NHWC");
    check_near(other.by_filter(turned), df, df_size, what + "by filter, NCHW");
  }
}

// The sums are floats and rounded once.
void check_rounded(const Tensor& got, const Tensor& exact, const Tensor& size, const std::string& what) {
  BOOST_REQUIRE(got.shape() == exact.shape());
  const auto x = got.data<BFloat16>();
  const auto y = exact.data<double>(), bound = size.data<double>();
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = std::abs(static_cast<double>(static_cast<float>(x[i])) - y[i]);
    if (error <= 0x1p-8 * std::abs(y[i]) + 16 * std::numeric_limits<float>::epsilon() * bound[i] + 1e-30) continue;
    BOOST_ERROR(what << " at " << i << ": " << static_cast<float>(x[i]) << ", expected " << y[i]);
    return;
  }
}

BOOST_AUTO_TEST_CASE(of_bfloat16, *boost::unit_test::label("heavy")) {
  for (const Case& c : kCases) {
    const Caller call{c, "NHWC"}, other{c, "NCHW"};
    const Tensors t = map(call.tensors(), [](const Tensor& x) { return cast(x, kBFloat16); });
    const Tensors turned = {first(t.input), t.filter, first(t.output)};
    const Tensors wide = map(t, [](const Tensor& x) { return cast(x, kFloat64); });
    const Tensors sizes = map(wide, [](const Tensor& x) { return abs(x); });
    const std::string what = std::string(c.name) + ", ";
    const Tensor y = call.forward(wide), y_size = call.forward(sizes);
    const Tensor dx = call.by_input(wide), dx_size = call.by_input(sizes);
    const Tensor df = call.by_filter(wide), df_size = call.by_filter(sizes);
    const auto run = [&](int count) {
      const ThreadCount scope(count);
      return std::vector<Tensor>{call.forward(t),        other.forward(turned), call.by_input(t),
                                 other.by_input(turned), call.by_filter(t),     other.by_filter(turned)};
    };
    const auto one = run(1), three = run(3);
    check_rounded(one[0], y, y_size, what + "NHWC");
    check_rounded(one[1], first(y), first(y_size), what + "NCHW");
    check_rounded(one[2], dx, dx_size, what + "by input, NHWC");
    check_rounded(one[3], first(dx), first(dx_size), what + "by input, NCHW");
    check_rounded(one[4], df, df_size, what + "by filter, NHWC");
    check_rounded(one[5], df, df_size, what + "by filter, NCHW");
    for (size_t i = 0; i < one.size(); ++i) BOOST_TEST(same_bits(one[i], three[i]), what << i << " on 3 threads");
  }
}

// Native: Debian's oneDNN for arm64 has mostly its reference loops, which take a quarter of an hour under an emulator.
BOOST_AUTO_TEST_CASE(threads, *boost::unit_test::label("native")) {
  for (const char* format : {"NHWC", "NCHW"}) {
    for (const Case& c : kCases) {
      const Caller call{c, format};
      const Tensors t = call.tensors();
      const auto run = [&](int count) {
        const ThreadCount scope(count);
        return std::vector<Tensor>{call.forward(t), call.by_input(t), call.by_filter(t)};
      };
      const auto one = run(1);
      for (const int count : {2, 3, 8}) {
        const auto more = run(count);
        for (size_t i = 0; i < one.size(); ++i) {
          BOOST_TEST(same_bits(one[i], more[i]), c.name << ", " << format << ", " << i << " on " << count);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(plans_are_kept) {
  const Case c{"once", 2, 23, 21, 16, 16, 3, 3};
  const Caller call{c, "NHWC"};
  const Tensors t = call.tensors();
  const int64_t before = cpu::conv_plans_made();
  for (int i = 0; i < 3; ++i) {
    call.forward(t);
    call.by_input(t);
    call.by_filter(t);
  }
  BOOST_TEST(cpu::conv_plans_made() - before == 2);  // that of `forward` was made with the tensors
}

BOOST_AUTO_TEST_CASE(without_plain_loops) {
  // One filter serves tiles of several heights, and not every layout of it suits oneDNN's fast primitives for all.
  const auto axis = [](int64_t input, int64_t size, int64_t stride) {
    WindowAxis a{.input = input, .size = size, .stride = stride};
    a.output = (input + stride - 1) / stride;
    const int64_t padding = std::max<int64_t>(0, (a.output - 1) * stride + size - input);
    a.before = padding / 2;
    a.after = padding - a.before;
    return a;
  };
  for (const ImageAxes& axes : {ImageAxes{0, 1, 2, 3}, ImageAxes{0, 2, 3, 1}}) {
    for (const auto& [side, in, size, out, stride] :
         {std::array{14, 1024, 1, 256, 1}, std::array{14, 1024, 1, 256, 2}, std::array{17, 256, 1, 512, 2},
          std::array{28, 512, 1, 1024, 2}, std::array{56, 64, 3, 64, 1}, std::array{56, 256, 1, 512, 2},
          std::array{14, 512, 1, 2048, 3}, std::array{56, 128, 3, 128, 2}, std::array{225, 3, 7, 64, 2}}) {
      Convolution c;
      c.axes = axes;
      c.height = c.width = axis(side, size, stride);
      c.batch = 4;
      c.in_channels = in;
      c.out_channels = out;
      for (const cpu::ConvKind kind : {cpu::ConvKind::kForward, cpu::ConvKind::kByInput, cpu::ConvKind::kByFilter}) {
        BOOST_TEST(!cpu::cached_conv_plan(kind, c)->has_reference(),
                   "channels " << axes.channels << ", " << side << "x" << side << "x" << in << " by " << size << " to "
                               << out << ", steps of " << stride << ", kind " << static_cast<int>(kind));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(many_sizes) {
  // More than are kept.
  const Tensor filter = random_tensor<float>({3, 3, 8, 8}, 2);
  const auto image = [&](int64_t width) {
    return conv2d(random_tensor<float>({1, 10, width, 8}), filter, {1, 1, 1, 1}, "SAME");
  };
  const Tensor first = image(5);
  for (int64_t width = 6; width < 300; ++width) image(width);
  BOOST_TEST(same_bits(first, image(5)));
}

BOOST_AUTO_TEST_CASE(several_threads_convolve) {
  const Case c{"shared", 4, 25, 19, 24, 32, 3, 3};
  const Caller call{c, "NHWC"};
  const Tensors t = call.tensors();
  const Tensor y = call.forward(t), dx = call.by_input(t), df = call.by_filter(t);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> users;
  for (int i = 0; i < 4; ++i) {
    users.emplace_back([&] {
      for (int k = 0; k < 5; ++k) {
        if (!same_bits(y, call.forward(t)) || !same_bits(dx, call.by_input(t)) || !same_bits(df, call.by_filter(t))) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& user : users) user.join();
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(pools_and_norms_on_threads) {
  const Tensor x = random_tensor<float>({5, 33, 31, 40});
  const auto run = [&](int count) {
    const ThreadCount scope(count);
    std::vector<Tensor> all;
    for (const char* format : {"NHWC", "NCHW"}) {
      const std::vector<int64_t> size =
          format[1] == 'C' ? std::vector<int64_t>{1, 1, 3, 2} : std::vector<int64_t>{1, 3, 2, 1};
      const std::vector<int64_t> stride = {1, 2, 1, 1};
      const std::vector<int64_t> strides = format[1] == 'C' ? std::vector<int64_t>{1, 1, 2, 1} : stride;
      const Tensor most = max_pool(x, size, strides, "SAME", {.data_format = format});
      const Tensor mean = avg_pool(x, size, strides, "SAME", {.data_format = format});
      all.insert(all.end(), {most, mean, max_pool_grad(x, most, mean, size, strides, "SAME", {.data_format = format}),
                             max_pool_grad_grad(x, most, x, size, strides, "SAME", {.data_format = format}),
                             avg_pool_grad(shape(x), mean, size, strides, "SAME", {.data_format = format})});
      const Tensor v = random_tensor<float>({format[1] == 'C' ? 33 : 40}, 2);
      const auto norm = fused_batch_norm(x, v, v, v, square(v), {.data_format = format});
      const auto grad = fused_batch_norm_grad(x, x, v, norm.reserve_space_1, norm.reserve_space_2, norm.reserve_space_3,
                                              {.data_format = format});
      all.insert(all.end(), {norm.y, norm.batch_mean, norm.batch_variance, grad.x_backprop, grad.scale_backprop});
    }
    return all;
  };
  const auto one = run(1);
  for (const int count : {2, 3, 8}) {
    const auto more = run(count);
    for (size_t i = 0; i < one.size(); ++i) BOOST_TEST(same_bits(one[i], more[i]), i << " on " << count);
  }
}

BOOST_AUTO_TEST_CASE(moments_of_many_numbers) {
  // Far from zero, where sums of squares would lose all digits.
  for (const char* format : {"NHWC", "NCHW"}) {
    const Tensor noise = random_tensor<float>({8, 60, 60, 60});
    const Tensor one = fill({60}, 1.f), x = noise + 1000.f;
    const auto norm = fused_batch_norm(x, one, one, one, one, {.data_format = format});
    const std::vector<int64_t> axes = format[1] == 'C' ? std::vector<int64_t>{0, 2, 3} : std::vector<int64_t>{0, 1, 2};
    const Tensor wide = cast(x, kFloat64), exact = mean(wide, axes, {.keep_dims = true});
    const Tensor variance = mean(square(wide - exact), axes);
    for (size_t c = 0; c < 60; ++c) {
      BOOST_TEST(std::abs(norm.reserve_space_2.data<float>()[c] - variance.data<double>()[c]) < 1e-4);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
