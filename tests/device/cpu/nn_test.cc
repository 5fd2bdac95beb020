// Biases, softmax and the cross entropies on sizes that the samples of ops do not have: long rows, many rows, rows
// shorter than a vector; against double arithmetic.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>

#include "panto/autograd/tape.h"
#include "panto/lib/base/error.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/device/support.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

using test::random_tensor;
using test::same_bits;
using test::ThreadCount;

std::vector<double> softmax_of(std::span<const float> x) {
  double shift = -std::numeric_limits<double>::infinity(), total = 0;
  for (float v : x) shift = std::max(shift, double{v});
  std::vector<double> y;
  for (float v : x) total += y.emplace_back(std::exp(v - shift));
  for (double& v : y) v /= total;
  return y;
}

BOOST_AUTO_TEST_SUITE(nn_kernels)

// One op where nobody records, as many as its body has under a tape, and one again in an optimized graph: of any
// length, beyond that from which on a row is added up in parts, the same bits.
void check_layer_norm(DType type, int64_t n) {
  const auto numbers = [&](const Shape& shape, unsigned seed) {
    return cast(random_tensor<double>(shape, seed), type);
  };
  const Tensor x = numbers({3, n}, 1), scale = numbers({n}, 2), offset = numbers({n}, 3);
  const Tensor whole = layer_norm(x, scale, offset);
  Tensor by_ops;
  {
    GradientTape tape;
    tape.watch(x);
    by_ops = layer_norm(x, scale, offset);
  }
  const std::string what = std::to_string(n) + ", " + std::string(dtype_name(type));
  BOOST_TEST(same_bits(whole, by_ops), what << " eager");
  const auto traced = trace([](const Tensor& a, const Tensor& b, const Tensor& c) { return layer_norm(a, b, c); });
  BOOST_TEST(same_bits(traced(x, scale, offset), by_ops), what << " traced");
}

BOOST_AUTO_TEST_CASE(layer_norm_of_any_length) {
  for (int64_t n : {1, 2, 3, 31, 33, 511, 512, 513, 1000, 4096, 5001, 65'536, 65'537, 140'000}) {
    for (const DType type : {kFloat16, kBFloat16, kFloat32, kFloat64}) check_layer_norm(type, n);
  }
}

// Of 16 bits, few, many and long rows, past the caches and not: the nearest of what floats give.
BOOST_AUTO_TEST_CASE(rows_of_16_bits_are_rounded_once) {
  for (const Shape& shape : {Shape{70, 1}, Shape{1000, 3}, Shape{7, 1000}, Shape{3, 16'384}, Shape{2, 16'385},
                             Shape{1, 140'000}, Shape{9'000, 2'000}}) {
    for (const DType type : {kFloat16, kBFloat16}) {
      const Tensor x = cast(random_tensor<float>(shape), type), wide = cast(x, kFloat32);
      const Tensor scale = x[0], offset = x[0] - 1;
      const Tensor norm = layer_norm(wide, cast(scale, kFloat32), cast(offset, kFloat32));
      BOOST_TEST(same_bits(softmax(x), cast(softmax(wide), type)), shape.to_string() << dtype_name(type));
      BOOST_TEST(same_bits(log_softmax(x), cast(log_softmax(wide), type)), shape.to_string() << dtype_name(type));
      BOOST_TEST(same_bits(layer_norm(x, scale, offset), cast(norm, type)), shape.to_string() << dtype_name(type));
      BOOST_TEST(same_bits(softmax(x + 0), softmax(x)), "in place, " << shape.to_string());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_nan_in_a_row_reaches_all_of_it) {
  for (const int64_t n : {3, 40, 5000}) {
    for (const int64_t at : {int64_t{0}, n / 2, n - 1}) {
      std::vector<float> row(static_cast<size_t>(n), 1.f);
      row[static_cast<size_t>(at)] = std::numeric_limits<float>::quiet_NaN();
      const Tensor x = tensor(row, {1, n});
      const auto sparse = sparse_softmax_cross_entropy_and_backprop(x, tensor({n - 1}));
      const auto dense = softmax_cross_entropy_and_backprop(x, one_hot(tensor({n - 1}), n, 1.f, 0.f));
      for (const Tensor& y : {softmax(x), log_softmax(x), sparse.loss, sparse.backprop, dense.loss, dense.backprop}) {
        const auto values = y.data<float>();
        BOOST_TEST(std::ranges::all_of(values, [](float v) { return std::isnan(v); }), n << ", at " << at);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(softmax_of_any_length) {
  for (int64_t n : {1, 2, 3, 10, 31, 32, 33, 512, 513, 5000}) {
    const Tensor x = 10 * random_tensor<float>({4, n});
    const Tensor y = softmax(x), z = log_softmax(x);
    const Tensor labels = tensor(std::vector<int64_t>{0, n - 1, n / 2, 0});
    const auto sparse = sparse_softmax_cross_entropy_and_backprop(x, labels);
    const auto dense = softmax_cross_entropy_and_backprop(x, one_hot(labels, n, 1.f, 0.f));
    for (int64_t r = 0; r < 4; ++r) {
      const auto row = x[r].to_vector<float>(), got = y[r].to_vector<float>(), logs = z[r].to_vector<float>();
      const auto expected = softmax_of(row);
      const auto backprop = sparse.backprop[r].to_vector<float>(), backprop2 = dense.backprop[r].to_vector<float>();
      const auto label = static_cast<size_t>(labels.data<int64_t>()[static_cast<size_t>(r)]);
      for (size_t j = 0; j < row.size(); ++j) {
        BOOST_REQUIRE(std::abs(got[j] - expected[j]) <= 2e-6 * expected[j]);
        BOOST_REQUIRE(std::abs(logs[j] - std::log(expected[j])) <= 3e-6);
        BOOST_REQUIRE(std::abs(backprop[j] - (expected[j] - (j == label ? 1 : 0))) <= 2e-6);
        BOOST_REQUIRE(std::abs(backprop2[j] - backprop[j]) <= 0x1p-23f);  // one product may be rounded, or not
      }
      const double loss = -std::log(expected[label]);
      BOOST_TEST(std::abs(sparse.loss(r).item<float>() - loss) <= 3e-6);
      BOOST_TEST(std::abs(dense.loss(r).item<float>() - loss) <= 3e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(bits_do_not_depend_on_the_number_of_threads) {
  for (const Shape& shape : {Shape{10000, 10}, Shape{100, 1000}, Shape{3, 100000}}) {
    const Tensor x = random_tensor<float>(shape);
    const Tensor labels = broadcast_to(3, {shape[0]});
    const auto run = [&](int threads) {
      const ThreadCount scope(threads);
      const auto sparse = sparse_softmax_cross_entropy_and_backprop(x, labels);
      const auto dense = softmax_cross_entropy_and_backprop(x, x);
      return std::vector<Tensor>{softmax(x), log_softmax(x), sparse.loss,       sparse.backprop,
                                 dense.loss, dense.backprop, bias_add(x, x[0]), bias_add_grad(x)};
    };
    const auto one = run(1), three = run(3);
    for (size_t i = 0; i < one.size(); ++i) BOOST_TEST(same_bits(one[i], three[i]), i);
  }
}

BOOST_AUTO_TEST_CASE(in_place) {
  // A temporary gives its memory to the result.
  for (int64_t n : {3, 700}) {
    const Tensor x = random_tensor<float>({50, n});
    const auto copy = [&] { return x + 0; };
    BOOST_TEST(same_bits(softmax(copy()), softmax(x)));
    BOOST_TEST(same_bits(log_softmax(copy()), log_softmax(x)));
    BOOST_TEST(same_bits(bias_add(copy(), x[1]), bias_add(x, x[1])));
    for (int axis : {0, 1}) {
      for (const bool exclusive : {false, true}) {
        for (const bool reverse : {false, true}) {
          BOOST_TEST(same_bits(cumsum(copy(), axis, {.exclusive = exclusive, .reverse = reverse}),
                               cumsum(x, axis, {.exclusive = exclusive, .reverse = reverse})));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(biases) {
  for (int64_t channels : {1, 2, 3, 31, 32, 33, 600}) {
    for (int64_t rows : {1, 7, 8, 300}) {
      const Tensor x = random_tensor<float>({rows, channels}), b = random_tensor<float>({channels}, 2);
      BOOST_TEST(same_bits(bias_add(x, b), add(x, b)));
    }
  }
  const Tensor x = random_tensor<float>({20, 5, 3, 7}), b = random_tensor<float>({5}, 2);
  BOOST_TEST(same_bits(bias_add(x, b, {.data_format = "NCHW"}), add(x, reshape(b, {5, 1, 1}))));
  BOOST_TEST((bias_add(random_tensor<float>({0, 4}), random_tensor<float>({4})).shape() == Shape{0, 4}));
  BOOST_TEST((bias_add(random_tensor<float>({4, 0}), random_tensor<float>({0})).shape() == Shape{4, 0}));
}

BOOST_AUTO_TEST_CASE(a_bad_label_leaves_nothing) {
  const Tensor x = random_tensor<float>({3, 4});
  for (const Tensor& labels : {tensor({0, 4, 1}), tensor({0, 1, -1})}) {
    BOOST_CHECK_EXCEPTION(sparse_softmax_cross_entropy_and_backprop(x, labels), Error, [](const Error& e) {
      return e.code() == Code::kInvalidArgument &&
             e.message().find("expected a class in [0, 4), got ") != std::string::npos;
    });
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
