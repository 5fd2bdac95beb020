// Convolutions of volumes of floats, by oneDNN and otherwise, against those of doubles, which are products of matrices:
// sizes at which tiles, layouts and ways change. Their independence of the number of threads.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "panto/device/cpu/conv/conv_plan.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/device/support.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

using test::check_near;
using test::random_tensor;
using test::same_bits;
using test::ThreadCount;

struct Case {
  const char* name;
  int64_t batch, depth, height, width, in, out;
  std::vector<int64_t> window;  // depth, height, width
  std::vector<int64_t> strides = {1, 1, 1}, dilations = {1, 1, 1};
  const char* padding = "SAME";
};

const std::vector<Case> kCases = {
    {"planes of one volume", 1, 12, 14, 14, 32, 32, {3, 3, 3}},
    {"a plane each", 1, 9, 20, 21, 16, 32, {3, 3, 3}},
    {"volumes in tiles, a rest", 11, 4, 7, 7, 16, 32, {3, 3, 3}},
    {"odd channels", 2, 9, 8, 7, 11, 13, {3, 2, 3}},
    {"strides", 1, 17, 15, 14, 16, 24, {3, 3, 3}, {2, 2, 3}},
    {"strides, cut between windows", 2, 33, 12, 12, 16, 16, {2, 3, 3}, {3, 1, 2}, {1, 1, 1}, "VALID"},
    {"strides beyond the window", 1, 24, 11, 10, 16, 16, {2, 2, 2}, {4, 3, 5}, {1, 1, 1}, "VALID"},
    {"dilations", 1, 20, 12, 13, 16, 16, {3, 3, 3}, {1, 1, 1}, {3, 2, 1}},
    {"a large window", 1, 16, 10, 10, 8, 16, {7, 5, 5}},
    {"one channel", 2, 10, 16, 15, 1, 16, {3, 3, 3}},
    {"three channels", 2, 10, 16, 15, 3, 32, {3, 3, 3}, {1, 2, 2}},
    {"few output channels", 2, 9, 12, 10, 32, 2, {3, 3, 3}},
    {"single elements", 2, 9, 8, 10, 32, 48, {1, 1, 1}},
    {"single elements, strides", 2, 9, 8, 10, 32, 48, {1, 1, 1}, {2, 1, 2}},
    {"one plane deep", 2, 9, 12, 10, 16, 24, {1, 3, 3}},
    {"one plane deep, strides", 2, 10, 12, 10, 16, 24, {1, 3, 3}, {2, 1, 1}},
    {"a column", 2, 12, 10, 9, 24, 16, {3, 1, 1}},
    {"few planes", 1, 2, 30, 31, 16, 16, {2, 3, 3}},
    {"a filter that is laid out in parts", 1, 9, 14, 12, 64, 96, {3, 3, 3}},
    {"few windows of a large filter", 1, 9, 3, 3, 64, 160, {3, 3, 3}},
    {"a window as large as the volume", 16, 5, 5, 5, 16, 32, {5, 5, 5}, {1, 1, 1}, {1, 1, 1}, "VALID"},
    {"long and thin", 1, 2000, 1, 1, 16, 16, {5, 1, 1}},
    {"small", 1, 3, 3, 3, 2, 2, {2, 2, 2}},
};

struct Tensors {
  Tensor input, filter, output;  // output: as large as it, of any numbers
};
struct Results {
  Tensor forward, by_input, by_filter;
};

struct Caller {
  const Case& c;
  const char* format;

  bool first() const { return format[1] == 'C'; }
  std::vector<int64_t> each(const std::vector<int64_t>& n) const {
    return first() ? std::vector<int64_t>{1, 1, n[0], n[1], n[2]} : std::vector<int64_t>{1, n[0], n[1], n[2], 1};
  }
  Tensor forward(const Tensors& t) const {
    return conv3d(t.input, t.filter, each(c.strides), c.padding,
                  {.data_format = format, .dilations = each(c.dilations)});
  }
  Tensor by_input(const Tensors& t) const {
    return conv3d_backprop_input(shape(t.input), t.filter, t.output, each(c.strides), c.padding,
                                 {.data_format = format, .dilations = each(c.dilations)});
  }
  Results all(const Tensors& t) const {
    return {forward(t), by_input(t),
            conv3d_backprop_filter(t.input, shape(t.filter), t.output, each(c.strides), c.padding,
                                   {.data_format = format, .dilations = each(c.dilations)})};
  }
  Tensors tensors() const {
    const Shape volumes =
        first() ? Shape{c.batch, c.in, c.depth, c.height, c.width} : Shape{c.batch, c.depth, c.height, c.width, c.in};
    Tensors t{random_tensor<float>(volumes),
              random_tensor<float>({c.window[0], c.window[1], c.window[2], c.in, c.out}, 2),
              {}};
    t.output = random_tensor<float>(forward(t).shape(), 3);
    return t;
  }
};

template <class F>
Tensors map(const Tensors& t, F f) {
  return {f(t.input), f(t.filter), f(t.output)};
}
Tensor first(const Tensor& volumes) { return transpose(volumes, {0, 4, 1, 2, 3}); }

BOOST_AUTO_TEST_SUITE(kernels_conv_volumes)

BOOST_AUTO_TEST_CASE(against_float64) {
  for (const Case& c : kCases) {
    const Caller call{c, "NDHWC"}, other{c, "NCDHW"};
    const Tensors t = call.tensors();
    const Tensors turned = {first(t.input), t.filter, first(t.output)};
    const Tensors wide = map(t, [](const Tensor& x) { return cast(x, kFloat64); });
    const Tensors sizes = map(wide, [](const Tensor& x) { return abs(x); });
    const std::string what = std::string(c.name) + ", ";
    const Results exact = call.all(wide), size = call.all(sizes), got = call.all(t), got_first = other.all(turned);
    check_near(got.forward, exact.forward, size.forward, what + "NDHWC");
    check_near(got.by_input, exact.by_input, size.by_input, what + "by input, NDHWC");
    check_near(got.by_filter, exact.by_filter, size.by_filter, what + "by filter, NDHWC");
    check_near(got_first.forward, first(exact.forward), first(size.forward), what + "NCDHW");
    check_near(got_first.by_input, first(exact.by_input), first(size.by_input), what + "by input, NCDHW");
    check_near(got_first.by_filter, exact.by_filter, size.by_filter, what + "by filter, NCDHW");
  }
}

BOOST_AUTO_TEST_CASE(threads, *boost::unit_test::label("heavy")) {
  for (const char* format : {"NDHWC", "NCDHW"}) {
    for (const Case& c : kCases) {
      const Caller call{c, format};
      const Tensors t = call.tensors();
      const auto run = [&](int count) {
        const ThreadCount scope(count);
        return call.all(t);
      };
      const Results one = run(1);
      for (const int count : {2, 3, 8}) {
        const Results more = run(count);
        BOOST_TEST(same_bits(one.forward, more.forward), c.name << ", " << format << " on " << count);
        BOOST_TEST(same_bits(one.by_input, more.by_input), c.name << ", by input, " << format << " on " << count);
        BOOST_TEST(same_bits(one.by_filter, more.by_filter), c.name << ", by filter, " << format << " on " << count);
      }
    }
  }
}

// Native: see kernels_conv/threads.
BOOST_AUTO_TEST_CASE(constant_filters, *boost::unit_test::label("native")) {
  // Laid out once, before the first run.
  for (const char* format : {"NDHWC", "NCDHW"}) {
    for (const Case& c : kCases) {
      const Caller call{c, format};
      const Tensors t = call.tensors();
      const Function forward = trace([&](const Tensor& x) { return call.forward({x, t.filter, {}}); },
                                     {TensorSpec(kFloat32, t.input.shape())});
      const Function back = trace([&](const Tensor& dy) { return call.by_input({t.input, t.filter, dy}); },
                                  {TensorSpec(kFloat32, t.output.shape())});
      for (int i = 0; i < 2; ++i) {
        BOOST_TEST(same_bits(forward(t.input), call.forward(t)), c.name << ", " << format << ", run " << i);
        BOOST_TEST(same_bits(back(t.output), call.by_input(t)), c.name << ", by input, " << format << ", run " << i);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(plans_are_made_once, *boost::unit_test::label("native")) {
  // Planes enough for many processors.
  const Case c{"once", 64, 9, 6, 5, 16, 16, {3, 3, 3}};
  const Caller call{c, "NDHWC"};
  const int64_t before = cpu::conv_plans_made();
  const Tensors t = call.tensors();
  BOOST_TEST(cpu::conv_plans_made() - before == 1);
  call.all(t);
  const int64_t made = cpu::conv_plans_made();
  for (int i = 0; i < 3; ++i) call.all(t);
  BOOST_TEST(cpu::conv_plans_made() == made);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
