// Kernels of images and quantization on the GPU: what they refuse when they run. The rest are rows (on_device/...).
#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>
#include <vector>

#include "panto/lib/ops/ops.h"
#include "panto/tests/device/cuda/gpu_compare.h"
#include "panto/tests/expect.h"
#include "panto/tests/gpu.h"

namespace panto {
namespace {

namespace utf = boost::unit_test;
using test::compare_on_gpu;
using test::gpu;
using test::has_gpu;
using test::ramp;
using test::Tensors;

Tensor there(const Tensor& t) { return t.to(*gpu()); }

BOOST_AUTO_TEST_SUITE(cuda_image, *utf::label("cuda") * utf::precondition(has_gpu))

BOOST_AUTO_TEST_CASE(bad_boxes_are_thrown_at_the_next_read) {
  const Tensor image = there(ramp({2, 3, 3, 1}, 0, 1)), boxes = there(tensor({{0.f, 0.f, 1.f, 1.f}}));
  const Tensor size = tensor({2, 2}), third = there(tensor({2}));
  expect_error_begins([&] { crop_and_resize(image, boxes, third, size).cpu(); }, "OutOfRange: box_ind: expected");
  const Tensor far = there(tensor({{0.f, 0.f, std::numeric_limits<float>::infinity(), 1.f}}));
  expect_error_begins([&] { crop_and_resize(image, far, there(tensor({1})), size).cpu(); },
                      "InvalidArgument: boxes: expected finite");
}

BOOST_AUTO_TEST_CASE(bad_scales_and_offsets_are_thrown_at_the_next_read) {
  const Tensor image = there(ramp({1, 3, 3, 1}, 0, 1)), size = tensor({2, 2});
  const Tensor one = there(tensor({1.f, 1.f})), nan = there(tensor({0.f, std::numeric_limits<float>::quiet_NaN()}));
  expect_error_begins([&] { scale_and_translate(image, size, there(tensor({1.f, 0.f})), one).cpu(); },
                      "InvalidArgument: scale: expected positive");
  expect_error_begins([&] { scale_and_translate(image, size, one, nan).cpu(); },
                      "InvalidArgument: translation: expected finite");
  expect_error_begins([&] { extract_glimpse(image, size, reshape(nan, {1, 2})).cpu(); },
                      "InvalidArgument: offsets: expected numbers");
}

BOOST_AUTO_TEST_CASE(reversed_ranges_are_thrown_at_the_next_read) {
  const Tensor x = there(tensor({1.f, 2.f})), low = there(tensor(1.f)), high = there(tensor(-1.f));
  expect_error_begins([&] { quantize_and_dequantize(x, low, high, {.range_given = true}).cpu(); },
                      "InvalidArgument: range: expected");
}

// Sums of more elements than the rows have: blocks of a GPU share them.
BOOST_AUTO_TEST_CASE(large_inputs_give_what_they_give_on_the_cpu) {
  const Tensor x = ramp({2, 9, 10, 11, 40}, -1, 0.003f), filter = ramp({3, 3, 3, 40, 24}, -0.5f, 0.001f);
  const auto convolve = [](const Tensors& in) { return Tensors{conv3d(in[0], in[1], {1, 1, 2, 1, 1}, "SAME")}; };
  compare_on_gpu(convolve, {x, filter}, 1e-3, "convolution of volumes");
  const Tensor rows = ramp({5000, 7}, -3, 0.007f);
  const auto gradient = [](const Tensors& in) {
    const auto [of_x, of_min, of_max] = fake_quant_with_min_max_vars_gradient(in[0], in[1], in[2], in[3]);
    return Tensors{of_x, of_min, of_max};
  };
  compare_on_gpu(gradient, {mul(rows, 0.5f), rows, tensor(-2.f), tensor(2.5f)}, 1e-5, "gradient of a learned range");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
