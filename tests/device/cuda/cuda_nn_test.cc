// Softmax, losses, normalisation and pools on the GPU against the CPU: sizes and alignments that the rows of the op
// table do not have. Without a GPU these are skipped.
#include <boost/test/unit_test.hpp>
#include <limits>

#include "panto/lib/base/error.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/operators.h"
#include "panto/tests/device/cuda/gpu_compare.h"
#include "panto/tests/device/support.h"

namespace panto {
namespace {

namespace utf = boost::unit_test;
using test::compare_on_gpu;
using test::gpu;
using test::has_gpu;
using test::random_tensor;
using test::same_bits;
using test::Tensors;

// Rows of every kind: of parts of warps, warps and blocks, in registers and read again.
const Shape kRows[] = {{1, 1},      {1000, 3},   {77, 10},    {33, 128}, {20, 129},  {20, 512},  {20, 513},
                       {9, 1000},   {9, 1024},   {5, 1025},   {5, 4096}, {3, 4099},  {3, 8192},  {2, 10'000},
                       {2, 16'384}, {2, 16'385}, {1, 70'001}, {0, 4},    {2, 3, 40}, {10'000, 4}};

template <class T>
void rows(double tolerance) {
  for (const Shape& shape : kRows) {
    const Tensor x = mul(random_tensor<T>(shape), tensor(T{8}));
    const Tensor scale = random_tensor<T>({shape[-1]}, 2);
    const Tensor offset = random_tensor<T>({shape[-1]}, 3);
    const auto f = [](const Tensors& in) {
      return Tensors{softmax(in[0]), log_softmax(in[0]), layer_norm(in[0], in[1], in[2])};
    };
    compare_on_gpu(f, {x, scale, offset}, tolerance, "rows of " + shape.to_string());
    if (shape.rank() != 2) continue;
    const auto entropy = [](const Tensors& in) {
      const auto [loss, backprop] = softmax_cross_entropy_and_backprop(in[0], in[1]);
      return Tensors{loss, backprop};
    };
    compare_on_gpu(entropy, {x, random_tensor<T>(shape, 4)}, 16 * tolerance, "cross entropy of " + shape.to_string());
    compare_on_gpu(entropy, {x, random_tensor<T>({1, shape[1]}, 4)}, 16 * tolerance, "one row of labels");
    compare_on_gpu(entropy, {slice(x, {0, 0}, {shape[0], 1}), random_tensor<T>(shape, 4)}, 16 * tolerance,
                   "one column of features");
    const auto sparse = [](const Tensors& in) {
      const auto [loss, backprop] = sparse_softmax_cross_entropy_and_backprop(in[0], in[1]);
      return Tensors{loss, backprop};
    };
    const Tensor labels = floor_mod(random_tensor<int64_t>({shape[0]}, 5), shape[1]);
    compare_on_gpu(sparse, {x, labels}, tolerance, "sparse cross entropy of " + shape.to_string());
    compare_on_gpu(sparse, {x, cast(labels, kInt32)}, tolerance, "sparse cross entropy of " + shape.to_string());
  }
}

BOOST_AUTO_TEST_SUITE(cuda_nn, *utf::label("cuda") * utf::precondition(has_gpu))

BOOST_AUTO_TEST_CASE(rows_of_floats) { rows<float>(1e-5); }
BOOST_AUTO_TEST_CASE(rows_of_doubles) { rows<double>(1e-12); }

BOOST_AUTO_TEST_CASE(rows_of_what_is_no_number) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const int64_t size : {5, 200, 3000, 20'000}) {
    std::vector<float> values(static_cast<size_t>(5 * size), 1.f);
    const auto at = [&](int64_t row, int64_t i) -> float& { return values[static_cast<size_t>(row * size + i)]; };
    at(0, 3) = nan;
    at(1, 2) = infinity;
    at(2, 1) = -infinity;
    for (int64_t i = 0; i < size; ++i) at(3, i) = -infinity;
    const auto f = [](const Tensors& in) { return Tensors{softmax(in[0]), log_softmax(in[0])}; };
    compare_on_gpu(f, {tensor(values, Shape{5, size})}, 1e-5, "rows of " + std::to_string(size));
  }
}

BOOST_AUTO_TEST_CASE(labels_out_of_range_are_thrown_at_the_next_read) {
  const Tensor x = random_tensor<float>({4, 10}).to(*gpu());
  for (const int64_t wrong : {int64_t{-1}, int64_t{10}, int64_t{1} << 40}) {
    const Tensor labels = tensor(std::vector<int64_t>{1, wrong, 3, 9}).to(*gpu());
    const auto [loss, backprop] = sparse_softmax_cross_entropy_and_backprop(x, labels);
    BOOST_CHECK_EXCEPTION(loss.cpu(), Error, [](const Error& e) { return e.code() == Code::kInvalidArgument; });
  }
}

BOOST_AUTO_TEST_CASE(unaligned_rows) {
  const auto f = [](const Tensors& in) {
    const Tensor row = view_tensor(in[0], {35, 1027}, 35 * 1027);  // begins where no unit of 16 bytes does
    return Tensors{softmax(row), l2_loss(row), bias_add(row, in[1])};
  };
  compare_on_gpu(f, {random_tensor<float>({3, 35, 1027}), random_tensor<float>({1027})}, 1e-5, "a view");
}

BOOST_AUTO_TEST_CASE(biases) {
  for (const Shape& shape : {Shape{3, 5}, Shape{1000, 64}, Shape{7, 6, 5, 4}, Shape{4, 3, 16, 16}, Shape{4, 3, 5, 5},
                             Shape{2, 1, 1, 1}, Shape{0, 3}, Shape{2, 8, 3, 3, 4}, Shape{30, 100, 9}}) {
    for (const std::string format : {"NHWC", "NCHW"}) {
      const Tensor bias = random_tensor<float>({format == "NCHW" ? shape[1] : shape[-1]});
      const auto f = [&](const Tensors& in) { return Tensors{bias_add(in[0], in[1], {.data_format = format})}; };
      compare_on_gpu(f, {random_tensor<float>(shape), bias}, 0, format + " " + shape.to_string());
      compare_on_gpu(f, {cast(mul(random_tensor<float>(shape), 100.f), kInt64), cast(mul(bias, 100.f), kInt64)}, 0,
                     format + " " + shape.to_string());
    }
  }
}

BOOST_AUTO_TEST_CASE(half_sums_of_squares) {
  for (const int64_t n : {0, 1, 1000, 100'003}) {
    const auto f = [](const Tensors& in) { return Tensors{l2_loss(in[0])}; };
    compare_on_gpu(f, {random_tensor<float>({n})}, 1e-6, std::to_string(n));
    compare_on_gpu(f, {random_tensor<double>({n})}, 1e-13, std::to_string(n));
  }
}

BOOST_AUTO_TEST_CASE(batch_norms) {
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{8, 14, 14, 64}, Shape{4, 64, 28, 28}, Shape{3, 5, 7, 9},
                             Shape{1, 1, 1, 1}, Shape{64, 1, 1, 1000}, Shape{2, 3, 4, 5, 6}, Shape{0, 2, 2, 3}}) {
    for (const std::string format : {"NHWC", "NCHW"}) {
      const std::string data_format = shape.rank() == 4 ? format : format == "NHWC" ? "NDHWC" : "NCDHW";
      const int64_t channels = shape[format == "NHWC" ? shape.rank() - 1 : 1];
      // Far from 0: the variance must not be lost in the mean.
      const Tensor x = add(random_tensor<float>(shape), 100.f);
      const Tensor variance = add(square(random_tensor<float>({channels}, 5)), 0.5f);
      const Tensors in{x,
                       random_tensor<float>({channels}, 2),
                       random_tensor<float>({channels}, 3),
                       random_tensor<float>({channels}, 4),
                       variance,
                       random_tensor<float>(shape, 6)};
      const std::string what = data_format + " " + shape.to_string();
      for (const bool training : {true, false}) {
        for (const float factor : {1.f, 0.1f}) {
          const auto forward = [&](const Tensors& in) {
            const auto r = fused_batch_norm(
                in[0], in[1], in[2], in[3], in[4],
                {.exponential_avg_factor = factor, .data_format = data_format, .is_training = training});
            return Tensors{
                r.y, r.batch_mean, r.batch_variance, r.reserve_space_1, r.reserve_space_2, r.reserve_space_3};
          };
          compare_on_gpu(forward, in, 1e-4, what);
        }
        const auto backward = [&](const Tensors& in) {
          const auto r = fused_batch_norm_grad(in[5], in[0], in[1], add(in[3], 100.f), in[4], tensor(0.f),
                                               {.data_format = data_format, .is_training = training});
          return Tensors{r.x_backprop, r.scale_backprop, r.offset_backprop};
        };
        compare_on_gpu(backward, in, 1e-4, what + " gradient");
      }
    }
  }
}

struct PoolCase {
  Shape shape;
  std::vector<int64_t> ksize, strides;  // height and width
  std::string padding;
};

std::vector<int64_t> four(const std::vector<int64_t>& two, const std::string& format) {
  if (format == "NCHW") return {1, 1, two[0], two[1]};
  return {1, two[0], two[1], 1};
}

template <class T>
void pools(const PoolCase& c, const std::string& format) {
  const auto k = four(c.ksize, format), s = four(c.strides, format);
  // Of integers many are equal.
  const Tensor x = random_tensor<T>(c.shape);
  const Tensor y = max_pool(x, k, s, c.padding, {.data_format = format});
  const Tensors in{x, y, random_tensor<T>(y.shape(), 2), random_tensor<T>(c.shape, 3)};
  const auto f = [&](const Tensors& in) {
    const std::string& p = c.padding;
    Tensors out{max_pool(in[0], k, s, p, {.data_format = format}),
                max_pool_grad(in[0], in[1], in[2], k, s, p, {.data_format = format}),
                max_pool_grad_grad(in[0], in[1], in[3], k, s, p, {.data_format = format})};
    if constexpr (std::is_floating_point_v<T>) {
      out.push_back(avg_pool(in[0], k, s, p, {.data_format = format}));
      const Tensor shape = tensor(std::vector<int32_t>(c.shape.dims().begin(), c.shape.dims().end()));
      out.push_back(avg_pool_grad(shape, in[2], k, s, p, {.data_format = format}));
    }
    return out;
  };
  // The same additions in the same order.
  compare_on_gpu(f, in, 1e-6, format + " " + c.shape.to_string() + " " + c.padding);
}

BOOST_AUTO_TEST_CASE(image_pools) {
  const PoolCase cases[] = {
      {{2, 7, 8, 6}, {2, 2}, {2, 2}, "VALID"},  {{2, 7, 8, 6}, {3, 3}, {2, 2}, "SAME"},
      {{3, 9, 11, 5}, {3, 2}, {1, 1}, "SAME"},  {{3, 9, 11, 5}, {1, 1}, {3, 2}, "SAME"},
      {{1, 6, 6, 130}, {5, 5}, {1, 1}, "SAME"}, {{2, 32, 32, 16}, {3, 3}, {2, 2}, "SAME"},
      {{2, 5, 5, 3}, {5, 5}, {1, 1}, "VALID"},  {{2, 10, 10, 3}, {2, 2}, {4, 4}, "SAME"},
      {{0, 4, 4, 3}, {2, 2}, {2, 2}, "SAME"},   {{1, 1, 1, 1}, {3, 3}, {2, 2}, "SAME"},
  };
  for (const PoolCase& c : cases) {
    for (const std::string format : {"NHWC", "NCHW"}) {
      // In either format there is room for the windows, unless nothing may be padding.
      if (format == "NCHW" && c.padding == "VALID" && (c.shape[2] < c.ksize[0] || c.shape[3] < c.ksize[1])) continue;
      pools<float>(c, format);
      pools<double>(c, format);
      pools<int32_t>(c, format);
      pools<int64_t>(c, format);
    }
  }
}

BOOST_AUTO_TEST_CASE(pools_of_padding_only) {
  const auto f = [](const Tensors& in) {
    return Tensors{
        max_pool(in[0], {1, 2, 2, 1}, {1, 1, 1, 1}, "EXPLICIT", {.explicit_paddings = {0, 0, 1, 1, 1, 1, 0, 0}})};
  };
  compare_on_gpu(f, {random_tensor<float>({1, 0, 4, 2})}, 0, "no rows");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
