// Samples of pools and their gradients, each against its definition.
#include <limits>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/rows/nn/windows.h"

namespace panto::test::pooling_rows {
namespace {

const Array kImage = draw({1, 4, 4, 2});

struct Pool {
  Layout layout;
  Index input;
  Side h, w;

  Pool(const Given& g, const Index& in)
      : layout(g),
        input(in),
        h(side_of(g, layout.height, in[layout.height], g.integers("ksize")[layout.height], false)),
        w(side_of(g, layout.width, in[layout.width], g.integers("ksize")[layout.width], false)) {}

  // f(index of the window, indices of its elements).
  template <class F>
  void for_each_window(F f) const {
    for_each_index({input[0], h.output, w.output, input[layout.channels]}, [&](const Index& o) {
      std::vector<Index> elements;
      for_each_index({h.size, w.size}, [&](const Index& tap) {
        const int64_t y = h.at(o[1], tap[0]), x = w.at(o[2], tap[1]);
        if (y >= 0 && y < h.input && x >= 0 && x < w.input) elements.push_back(layout.index(o[0], y, x, o[3]));
      });
      f(layout.index(o[0], o[1], o[2], o[3]), elements);
    });
  }
  Array result() const { return filled(layout.index(input[0], h.output, w.output, input[layout.channels]), 0); }
};

struct PoolShapes {
  Index input, output;
  Attrs attrs;
};

const Attrs kFirst = {{"data_format", "NCHW"}};

std::vector<PoolShapes> pools() {
  return {
      {{1, 4, 4, 3}, {1, 2, 2, 3}, pool_attrs("VALID", {1, 2, 2, 1}, {1, 2, 2, 1})},
      {{2, 5, 3, 1}, {2, 3, 2, 1}, pool_attrs("SAME", {1, 3, 2, 1}, {1, 2, 2, 1})},
      {{1, 5, 4, 2}, {1, 3, 3, 2}, pool_attrs("VALID", {1, 3, 2, 1}, kOnes)},
      {{1, 5, 5, 1}, {1, 2, 2, 1}, pool_attrs("SAME", {1, 2, 1, 1}, {1, 3, 4, 1})},
      {{1, 2, 4, 4}, {1, 2, 2, 2}, pool_attrs("VALID", {1, 1, 2, 2}, {1, 1, 2, 2}, kFirst)},
      {{2, 2, 3, 5}, {2, 2, 3, 3}, pool_attrs("SAME", {1, 1, 2, 3}, {1, 1, 1, 2}, kFirst)},
      {{1, 2, 2, 70}, {1, 1, 1, 70}, pool_attrs("VALID", {1, 2, 2, 1}, kOnes)},
      {{1, 2, 3, 1}, {1, 2, 3, 1}, pool_attrs("SAME", {1, 5, 7, 1}, kOnes)},
      {{0, 3, 3, 2}, {0, 1, 1, 2}, pool_attrs("VALID", {1, 2, 2, 1}, {1, 2, 2, 1})},
      {{2, 3, 3, 0}, {2, 1, 1, 0}, pool_attrs("VALID", {1, 3, 3, 1}, kOnes)},
      // Windows one too large, and more where strides are long: no positions.
      {{1, 2, 4, 1}, {1, 0, 3, 1}, pool_attrs("VALID", {1, 3, 2, 1}, kOnes)},
      {{2, 4, 1, 3}, {2, 2, 0, 3}, pool_attrs("VALID", {1, 2, 6, 1}, {1, 2, 3, 1})},
      {{1, 2, 1, 1}, {1, 2, 0, 0}, pool_attrs("VALID", {1, 1, 2, 2}, kOnes, kFirst)},
  };
}
std::vector<PoolShapes> explicit_pools() {
  return {{{1, 3, 4, 2},
           {1, 2, 3, 2},
           pool_attrs("EXPLICIT", {1, 2, 2, 1}, {1, 2, 2, 1},
                      {{"explicit_paddings", std::vector<int64_t>{0, 0, 1, 0, 1, 1, 0, 0}}})},
          {{1, 2, 3, 3},
           {1, 2, 2, 2},
           pool_attrs("EXPLICIT", {1, 1, 3, 3}, {1, 1, 2, 2},
                      {{"explicit_paddings", std::vector<int64_t>{0, 0, 0, 0, 2, 0, 1, 1}}, {"data_format", "NCHW"}})},
          {{1, 2, 4, 1},
           {1, 0, 3, 1},
           pool_attrs("EXPLICIT", {1, 4, 2, 1}, kOnes,
                      {{"explicit_paddings", std::vector<int64_t>{0, 0, 1, 0, 0, 0, 0, 0}}})}};
}

enum class Takes : uint8_t { kInput, kInputOutputGrad, kInputOutputGradGrad, kSizesGrad };

std::vector<Sample> pool_samples(Takes takes, const std::vector<PoolShapes>& shapes) {
  std::vector<Sample> samples;
  for (const PoolShapes& s : shapes) {
    const Array input = draw(s.input, -20, 20), output = draw(s.output, -2, 2, 1), grad = draw(s.output, -2, 2, 2);
    switch (takes) {
      case Takes::kInput: samples.push_back({.in = {input}, .attrs = s.attrs}); break;
      case Takes::kInputOutputGrad: samples.push_back({.in = {input, output, grad}, .attrs = s.attrs}); break;
      case Takes::kInputOutputGradGrad:
        samples.push_back({.in = {input, output, draw(s.input, -2, 2, 3)}, .attrs = s.attrs});
        break;
      case Takes::kSizesGrad: samples.push_back({.in = {sizes(s.input), grad}, .attrs = s.attrs}); break;
    }
  }
  return samples;
}

// TensorFlow has no op for it; the gradient itself is that of MaxPool-explicit.
void explicit_second_order() {
  const Tensor x = to_tensor(draw({1, 2, 2, 1}), kFloat32), dy = to_tensor(draw({1, 2, 2, 1}), kFloat32);
  GradientTape tape;
  tape.watch(dy);
  const Tensor dx =
      max_pool_grad(x, dy, dy, {1, 2, 2, 1}, {1, 1, 1, 1}, "EXPLICIT", {.explicit_paddings = {0, 0, 1, 0, 1, 0, 0, 0}});
  expect_error_begins([&] { tape.gradient(dx, dy); },
                      "Unimplemented: gradient of MaxPoolGrad: expected padding SAME or VALID, got EXPLICIT");
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const Array kEqualOnes = array({1, 2, 4, 1}, {3, 3, 1, 2, 3, 0, 2, 2});
const Array kNans = array({1, 1, 6, 1}, {1, kNan, 2, 3, kNan, kNan});
const Attrs kTwoByTwo = pool_attrs("VALID", {1, 2, 2, 1}, {1, 2, 2, 1});
const Attrs kPairs = pool_attrs("VALID", {1, 1, 2, 1}, kOnes);

const Family pooling(
    "pooling",
    {
        {"MaxPool",
         {.samples = pool_samples(Takes::kInput, pools()),
          .reference = max_pool<Pool>,
          .errors = {{.in = {draw({4, 4, 1})}, .attrs = kTwoByTwo, .text = "input: expected rank 4, got shape [4,4,1]"},
                     {.in = {kImage},
                      .attrs = pool_attrs("VALID", {1, 2, 2}, kOnes),
                      .text = "ksize: expected at least 4 elements, got 3"},
                     {.in = {kImage},
                      .attrs = pool_attrs("VALID", {1, 2, 2, 1, 1}, kOnes),
                      .text = "ksize: expected 4 numbers, got 5"},
                     {.in = {kImage},
                      .attrs = pool_attrs("VALID", {1, 0, 2, 1}, kOnes),
                      .text = "ksize[1]: expected at least 1, got 0"},
                     {.in = {kImage},
                      .attrs = pool_attrs("VALID", {1, 1, 1, 2}, kOnes),
                      .code = Code::kUnimplemented,
                      .text = "ksize of batch and channels: expected 1, got 2"},
                     {.in = {kImage},
                      .attrs = pool_attrs("VALID", {1, 6, 2, 1}, kOnes),
                      .text = "height of the input: expected at least 5 for a window of 6 and a stride of 1, got 4"},
                     {.in = {kImage},
                      .attrs = pool_attrs("EXPLICIT", {1, 2, 2, 1}, kOnes,
                                          {{"explicit_paddings", std::vector<int64_t>{0, 0, 0, 0, 0, 2, 0, 0}}}),
                      .text = "explicit_paddings: expected less than the window's 2, got 0 and 2"},
                     {.in = {kImage},
                      .attrs = pool_attrs("VALID", {1, 1, 1, 1}, kOnes, {{"data_format", "NCHW_VECT_C"}}),
                      .code = Code::kUnimplemented,
                      .text = "data_format: expected NHWC or NCHW, got NCHW_VECT_C"}}}},
        {"MaxPool",
         {.samples = pool_samples(Takes::kInput, explicit_pools()),
          .reference = max_pool<Pool>,
          .label = "explicit",
          .second_order = false}},
        {"MaxPool",
         {.samples = {{.in = {kEqualOnes}, .attrs = kTwoByTwo}},
          .reference = max_pool<Pool>,
          .label = "equal",
          .gradient = false}},
        {"MaxPool",
         {.samples = {{.in = {kNans}, .attrs = kPairs}},
          .reference = max_pool<Pool>,
          .label = "nan",
          .gradient = false}},
        {"MaxPoolGrad",
         {.samples = pool_samples(Takes::kInputOutputGrad, pools()),
          .reference = max_pool_grad<Pool>,
          .errors = {{.in = {kImage, draw({1, 2, 3, 2}), draw({1, 2, 2, 2})},
                      .attrs = kTwoByTwo,
                      .text = "orig_output: expected shape [1,2,2,2], got [1,2,3,2]"},
                     {.in = {kImage, draw({1, 2, 2, 2}), draw({1, 2, 2, 1})},
                      .attrs = kTwoByTwo,
                      .text = "grad: expected shape [1,2,2,2], got [1,2,2,1]"}}}},
        {"MaxPoolGrad",
         {.samples = pool_samples(Takes::kInputOutputGrad, explicit_pools()),
          .reference = max_pool_grad<Pool>,
          .own = {{"second_order", explicit_second_order}},
          .label = "explicit",
          .types = {kInt32, kInt64}}},
        {"MaxPoolGrad",
         {.samples = {{.in = {kEqualOnes, draw({1, 1, 2, 1}), draw({1, 1, 2, 1})}, .attrs = kTwoByTwo}},
          .reference = max_pool_grad<Pool>,
          .label = "equal",
          .gradient = false}},
        {"MaxPoolGrad",
         {.samples = {{.in = {kNans, draw({1, 1, 5, 1}), draw({1, 1, 5, 1})}, .attrs = kPairs}},
          .reference = max_pool_grad<Pool>,
          .label = "nan",
          .gradient = false}},
        {"MaxPoolGradGrad",
         {.samples = pool_samples(Takes::kInputOutputGradGrad, pools()),
          .reference = max_pool_grad_grad<Pool>,
          .errors = {{.in = {kImage, draw({1, 2, 2, 2}), draw({1, 2, 2, 2})},
                      .attrs = kTwoByTwo,
                      .text = "grad: expected shape [1,4,4,2], got [1,2,2,2]"}}}},
        {"AvgPool",
         {.samples = pool_samples(Takes::kInput, pools()),
          .reference = avg_pool<Pool>,
          .errors =
              {{.in = {draw({4, 4, 1})}, .attrs = kTwoByTwo, .text = "value: expected rank 4, got shape [4,4,1]"}},
          .units = 16,
          .floor = 16}},
        {"AvgPoolGrad",
         {.samples = pool_samples(Takes::kSizesGrad, pools()),
          .reference = avg_pool_grad<Pool>,
          .errors = {{.in = {list({1, 4, 4}).as(kInt32), draw({1, 2, 2, 1})},
                      .attrs = kTwoByTwo,
                      .text = "orig_input_shape: expected 4 numbers, got 3"},
                     {.in = {list({1, 4, 4, 1}).as(kInt32), draw({1, 2, 3, 1})},
                      .attrs = kTwoByTwo,
                      .text = "grad: expected shape [1,2,2,1], got [1,2,3,1]"}},
          .units = 16,
          .floor = 2}},
    });

}  // namespace
}  // namespace panto::test::pooling_rows
