// Reductions against the definition in long double, by index; their accuracy on long inputs; and their independence of
// the number of threads.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>

#include "panto/lib/base/error.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/device/support.h"

namespace panto {
namespace {

using test::random_tensor;
using test::same_bits;
using test::ThreadCount;

// For each element of the result the elements it is made of.
template <class T>
std::vector<std::vector<T>> groups(const Tensor& x, const std::vector<int64_t>& axes) {
  const Shape& shape = x.shape();
  std::vector<bool> reduced(static_cast<size_t>(shape.rank()));
  for (int64_t a : axes) reduced[static_cast<size_t>(a)] = true;
  int64_t results = 1;
  for (int k = 0; k < shape.rank(); ++k) results *= reduced[static_cast<size_t>(k)] ? 1 : shape[k];
  std::vector<std::vector<T>> all(static_cast<size_t>(results));
  const auto data = x.data<T>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    int64_t at = 0, stride = 1, rest = i;
    for (int k = shape.rank() - 1; k >= 0; --k) {
      const int64_t index = rest % shape[k];
      rest /= shape[k];
      if (reduced[static_cast<size_t>(k)]) continue;
      at += index * stride;
      stride *= shape[k];
    }
    all[static_cast<size_t>(at)].push_back(data[static_cast<size_t>(i)]);
  }
  return all;
}

template <class T>
void check_all(const Shape& shape, const std::vector<int64_t>& axes) {
  const Tensor x = random_tensor<T>(shape, 5);
  const auto parts = groups<T>(x, axes);
  const auto total = sum(x, axes).template to_vector<T>(), average = mean(x, axes).template to_vector<T>();
  const auto most = reduce_max(x, axes).template to_vector<T>(), least = reduce_min(x, axes).template to_vector<T>();
  const auto product = reduce_prod(x, axes).template to_vector<T>();
  BOOST_REQUIRE(total.size() == parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    long double s = 0, size = 0, p = 1;
    uint64_t wrapped = 1;
    for (T v : parts[i]) {
      s += v;
      size += std::abs(static_cast<long double>(v));
      p *= v;
      wrapped *= static_cast<uint64_t>(static_cast<int64_t>(v));
    }
    const auto n = static_cast<long double>(parts[i].size());
    BOOST_REQUIRE(most[i] == *std::max_element(parts[i].begin(), parts[i].end()));
    BOOST_REQUIRE(least[i] == *std::min_element(parts[i].begin(), parts[i].end()));
    if constexpr (std::is_integral_v<T>) {
      BOOST_REQUIRE(total[i] == static_cast<T>(s));
      BOOST_REQUIRE(average[i] == static_cast<T>(s / n));
      BOOST_REQUIRE(product[i] == static_cast<T>(wrapped));
    } else {
      const auto unit = static_cast<long double>(std::numeric_limits<T>::epsilon());
      BOOST_REQUIRE(std::abs(total[i] - s) <= 2 * unit * size);
      BOOST_REQUIRE(std::abs(average[i] - s / n) <= 2 * unit * size / n);
      BOOST_REQUIRE(std::abs(product[i] - p) <= (n + 1) * unit * std::abs(p) + std::numeric_limits<T>::denorm_min());
    }
  }
}

std::vector<int64_t> axes_of(unsigned mask) {
  std::vector<int64_t> axes;
  for (int k = 0; mask >> k != 0; ++k) {
    if ((mask >> k & 1u) != 0) axes.push_back(k);
  }
  return axes;
}

BOOST_AUTO_TEST_SUITE(reduce)

BOOST_AUTO_TEST_CASE(every_set_of_axes) {
  const Shape shapes[] = {{7},       {1},          {3, 5},          {40, 3},        {2, 3, 4},
                          {5, 1, 6}, {2, 3, 2, 5}, {3, 1, 4, 1, 2}, {2, 3, 4, 3, 2}};
  for (const Shape& shape : shapes) {
    for (unsigned mask = 0; mask < 1u << shape.rank(); ++mask) {
      check_all<float>(shape, axes_of(mask));
      check_all<double>(shape, axes_of(mask));
      check_all<int32_t>(shape, axes_of(mask));
      check_all<int64_t>(shape, axes_of(mask));
    }
  }
}

BOOST_AUTO_TEST_CASE(sizes_around_blocks_and_parts, *boost::unit_test::label("heavy")) {
  for (int64_t n : {31, 32, 33, 1023, 1024, 1025, 2100, 65536, 65537, 200001}) {
    check_all<float>({n}, {0});
    check_all<double>({n}, {0});
    check_all<float>({2, n}, {1});
    check_all<float>({n, 3}, {0});
    check_all<float>({n, 2}, {1});
    check_all<int32_t>({3, n}, {0});
  }
  for (int64_t n : {63, 64, 65, 127, 128, 129, 511, 512, 513, 1500}) {
    check_all<float>({300, n}, {0});
    check_all<double>({3, 70, n}, {1});
    check_all<float>({5, 7, n}, {0, 2});
    check_all<float>({n, 5, 130}, {0, 2});
    check_all<float>({130, 5, n}, {0, 2});
  }
  check_all<float>({}, {});
}

BOOST_AUTO_TEST_CASE(sums_stay_accurate) {
  // 16 Mi times 0.1: a single running float would stop near 2 Mi.
  const int64_t n = 16 << 20;
  const Tensor x = broadcast_to(0.1f, {n});
  const double expected = static_cast<double>(0.1f) * static_cast<double>(n);
  constexpr double kUnit = 0x1p-23;
  BOOST_TEST(std::abs(sum(x).item<float>() - expected) <= 3 * kUnit * expected);
  BOOST_TEST(std::abs(mean(x).item<float>() - 0.1f) <= 3 * kUnit * 0.1);
  const Tensor columns = sum(reshape(x, {n / 4, 4}), 0);
  for (float v : columns.data<float>()) BOOST_TEST(std::abs(v - expected / 4) <= 3 * kUnit * expected / 4);
  const Tensor running = cumsum(x, 0);
  BOOST_TEST(std::abs(running.data<float>().back() - expected) <= kUnit * expected);
  const Tensor y = broadcast_to(0.1, {n});
  BOOST_TEST(std::abs(sum(y).item<double>() - 0.1 * static_cast<double>(n)) <= 0x1p-50 * expected);
}

// Of 16-bit numbers and narrow integers: what those that they are converted to give, converted back.
BOOST_AUTO_TEST_CASE(narrow_types_are_reduced_in_wider_ones, *boost::unit_test::label("heavy")) {
  const std::pair<DType, DType> types[] = {
      {kFloat16, kFloat32}, {kBFloat16, kFloat32}, {kInt8, kInt32}, {kUint16, kInt32}, {kUint32, kInt64}};
  for (const Shape& shape : {Shape{7, 33}, Shape{3, 1025}, Shape{1025, 3}, Shape{70000, 2}, Shape{1500, 600},
                             Shape{4, 40000, 3}, Shape{64, 9, 65}, Shape{140000}, Shape{0, 3}}) {
    for (const auto& [narrow, wide] : types) {
      const Tensor x = cast(random_tensor<float>(shape, 6) * 50.f, narrow), y = cast(x, wide);
      for (unsigned mask = 1; mask < 1u << static_cast<unsigned>(shape.rank()); ++mask) {
        std::vector<int64_t> axes;
        for (int k = 0; k < shape.rank(); ++k) {
          if ((mask >> k & 1u) != 0) axes.push_back(k);
        }
        BOOST_TEST(same_bits(sum(x, axes), cast(sum(y, axes), narrow)));
        BOOST_TEST(same_bits(reduce_prod(x, axes), cast(reduce_prod(y, axes), narrow)));
        if (shape.numel() == 0) continue;
        BOOST_TEST(same_bits(mean(x, axes), cast(mean(cast(y, wide == kInt32 ? kInt64 : wide), axes), narrow)));
        BOOST_TEST(same_bits(reduce_max(x, axes), cast(reduce_max(y, axes), narrow)));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(bits_do_not_depend_on_the_number_of_threads, *boost::unit_test::label("heavy")) {
  struct Case {
    Shape shape;
    std::vector<int64_t> axes;
  };
  const Case cases[] = {{{1000003}, {0}},         {{3, 400001}, {1}},  {{400001, 3}, {0}},
                        {{1000, 1000}, {0}},      {{1000, 1000}, {1}}, {{20, 300, 200}, {1}},
                        {{20, 300, 200}, {0, 2}}, {{2, 700000}, {0}},  {{100, 7, 1000}, {0}}};
  for (const Case& c : cases) {
    const Tensor x = random_tensor<float>(c.shape), y = random_tensor<double>(c.shape);
    const auto run = [&](int threads) {
      const ThreadCount scope(threads);
      return std::vector<Tensor>{
          sum(x, c.axes),       mean(y, c.axes), reduce_max(x, c.axes), reduce_prod(y, c.axes), argmax(x, c.axes[0]),
          cumsum(x, c.axes[0]), l2_loss(y)};
    };
    const std::vector<Tensor> one = run(1);
    for (int threads : {2, 3, 7}) {
      const std::vector<Tensor> more = run(threads);
      for (size_t i = 0; i < one.size(); ++i) BOOST_TEST(same_bits(one[i], more[i]), i << " on " << threads);
    }
  }
}

BOOST_AUTO_TEST_CASE(of_nothing) {
  const Tensor x = random_tensor<float>({0, 2});
  const auto inf = std::numeric_limits<float>::infinity();
  BOOST_TEST(sum(x).item<float>() == 0.f);
  BOOST_TEST(reduce_prod(x).item<float>() == 1.f);
  BOOST_TEST(std::isnan(mean(x).item<float>()));
  BOOST_TEST((reduce_max(x, 0).to_vector<float>() == std::vector<float>{-inf, -inf}));
  BOOST_TEST((reduce_min(x, 0).to_vector<float>() == std::vector<float>{inf, inf}));
  BOOST_TEST((sum(x, 1).shape() == Shape{0}));
  BOOST_TEST(mean(random_tensor<int32_t>({0})).item<int32_t>() == 0);
  BOOST_TEST(reduce_max(random_tensor<int32_t>({0})).item<int32_t>() == std::numeric_limits<int32_t>::min());
  BOOST_TEST(reduce_all(broadcast_to(false, {0})).item<bool>());
  BOOST_TEST(!reduce_any(broadcast_to(true, {0})).item<bool>());
  BOOST_TEST((cumsum(x, 0).shape() == Shape{0, 2}));
  BOOST_TEST(l2_loss(x).item<float>() == 0.f);
}

BOOST_AUTO_TEST_CASE(truth) {
  for (int64_t n : {1, 31, 32, 33, 5000}) {
    for (int64_t at : {int64_t{0}, n / 2, n - 1}) {
      std::vector<int32_t> values(static_cast<size_t>(n), 1);
      values[static_cast<size_t>(at)] = 0;
      const Tensor one_zero = cast(tensor(values), kBool);
      BOOST_TEST(!reduce_all(one_zero).item<bool>());
      BOOST_TEST(reduce_any(one_zero).item<bool>() == (n > 1));
      const Tensor one_true = logical_not(one_zero);
      BOOST_TEST(reduce_any(one_true).item<bool>());
      BOOST_TEST(reduce_all(one_true).item<bool>() == (n == 1));
      const Tensor columns = reduce_all(reshape(one_zero, {n, 1}), 0);
      BOOST_TEST(!columns(0).item<bool>());
    }
  }
}

BOOST_AUTO_TEST_CASE(positions_of_extremes) {
  for (const Shape& shape : {Shape{50}, Shape{100, 7}, Shape{7, 100}, Shape{3, 50, 300}}) {
    // Few different values: many ties.
    const Tensor x = floor_div(random_tensor<int32_t>(shape, 9), 20);
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const auto parts = groups<int32_t>(x, {axis});
      const auto most = argmax(x, axis).to_vector<int64_t>();
      const auto least = argmin(cast(x, kFloat32), axis, {.output_type = kInt32}).to_vector<int32_t>();
      for (size_t i = 0; i < parts.size(); ++i) {
        BOOST_REQUIRE(most[i] == std::max_element(parts[i].begin(), parts[i].end()) - parts[i].begin());
        BOOST_REQUIRE(least[i] == std::min_element(parts[i].begin(), parts[i].end()) - parts[i].begin());
      }
    }
  }
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  BOOST_TEST(argmax(tensor({1.f, nan, 3.f, 2.f}), 0).item<int64_t>() == 2);
  BOOST_TEST(argmax(tensor({nan, -inf}), 0).item<int64_t>() == 0);
  BOOST_TEST(argmin(tensor({nan, nan}), 0).item<int64_t>() == 0);
  BOOST_TEST(argmax(tensor({false, true, true}), 0).item<int64_t>() == 1);
  BOOST_CHECK_THROW(argmax(random_tensor<float>({0, 2}), 0), Error);
  BOOST_CHECK_THROW(argmax(broadcast_to(1.f, {40000}), 0, {.output_type = kInt16}), Error);
}

BOOST_AUTO_TEST_CASE(nan_wins) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t n : {2, 40, 3000}) {
    for (int64_t at : {int64_t{0}, n / 3, n - 1}) {
      std::vector<float> values(static_cast<size_t>(n), 1.f);
      values[static_cast<size_t>(at)] = nan;
      const Tensor x = tensor(values);
      BOOST_TEST(std::isnan(reduce_max(x).item<float>()));
      BOOST_TEST(std::isnan(reduce_min(x).item<float>()));
      BOOST_TEST(std::isnan(reduce_max(reshape(x, {n, 1}), 0)(0).item<float>()));
      BOOST_TEST(std::isnan(sum(x).item<float>()));
    }
  }
  const auto inf = std::numeric_limits<double>::infinity();
  BOOST_TEST(sum(tensor({inf, 1., 2.})).item<double>() == inf);
  BOOST_TEST(std::isnan(sum(tensor({inf, -inf})).item<double>()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
