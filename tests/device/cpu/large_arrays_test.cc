// Kernels that go another way where tensors are large: long transforms are split, long rows sorted and places shared
// among threads. Answers are closed forms, or plain loops.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <vector>

#include "panto/panto.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(large_arrays)

// Numbers that look random, the same everywhere.
std::vector<uint32_t> numbers(size_t n) {
  std::vector<uint32_t> result(n);
  uint32_t state = 12345;
  for (uint32_t& x : result) x = state = state * 1664525U + 1013904223U;
  return result;
}

// Waves of three frequencies, each of its own size: there the transform is n times that, elsewhere nothing.
BOOST_AUTO_TEST_CASE(long_transforms) {
  // Split evenly and not, with large factors, and, of primes, as a convolution that is split.
  for (const int64_t n : {8192, 10000, 12007, 29791, 98304, 100003, 131072}) {
    const std::vector<std::pair<int64_t, double>> waves = {{1, 1.0}, {n / 3, -0.5}, {n - 7, 0.25}};
    std::vector<std::complex<double>> x(static_cast<size_t>(2 * n));
    for (int64_t row = 0; row < 2; ++row) {
      for (int64_t j = 0; j < n; ++j) {
        for (const auto& [frequency, size] : waves) {
          const double turns = static_cast<double>(j * frequency % n) / static_cast<double>(n);
          x[static_cast<size_t>(row * n + j)] +=
              std::polar(size * static_cast<double>(row + 1), 2 * std::numbers::pi * turns);
        }
      }
    }
    const auto y = fft(tensor(x, {2, n})).to_vector<std::complex<double>>();
    double worst = 0;
    for (int64_t row = 0; row < 2; ++row) {
      std::vector<double> expected(static_cast<size_t>(n));
      for (const auto& [frequency, size] : waves) {
        expected[static_cast<size_t>(frequency)] = size * static_cast<double>((row + 1) * n);
      }
      for (int64_t k = 0; k < n; ++k) {
        const auto at = static_cast<size_t>(k);
        worst = std::max(worst, std::abs(y[static_cast<size_t>(row * n) + at] - expected[at]) / static_cast<double>(n));
      }
    }
    BOOST_CHECK_MESSAGE(worst < 1e-12, n << ": " << worst);
    const auto back = ifft(tensor(y, {2, n})).to_vector<std::complex<double>>();
    double off = 0;
    for (size_t i = 0; i < x.size(); ++i) off = std::max(off, std::abs(back[i] - x[i]));
    BOOST_CHECK_MESSAGE(off < 1e-12, n << " and back: " << off);
  }
}

BOOST_AUTO_TEST_CASE(long_rows_in_order) {
  const int64_t n = 200000;
  std::vector<float> x;
  for (const uint32_t v : numbers(static_cast<size_t>(n))) {
    const uint32_t kind = v >> 28;
    x.push_back(kind == 0   ? 0.0F
                : kind == 1 ? -0.0F
                            : static_cast<float>(static_cast<int32_t>(v) >> 12));  // many twice
  }
  x[17] = x[150000] = std::numeric_limits<float>::quiet_NaN();
  x[18] = -std::numeric_limits<float>::infinity();
  std::vector<int32_t> expected(x.size());
  std::iota(expected.begin(), expected.end(), 0);
  std::stable_sort(expected.begin(), expected.end(), [&](int32_t a, int32_t b) {
    const float u = x[static_cast<size_t>(a)], v = x[static_cast<size_t>(b)];
    return std::isnan(u) ? !std::isnan(v) : u > v;
  });
  for (const int64_t k : {int64_t{1}, int64_t{100}, int64_t{30000}, n}) {
    const auto found = top_k(tensor(x), tensor(static_cast<int32_t>(k)));
    BOOST_TEST(found.indices.to_vector<int32_t>() == std::vector<int32_t>(expected.begin(), expected.begin() + k),
               k << " of floats");
    std::vector<double> wide(x.begin(), x.end());
    BOOST_TEST(top_k(tensor(wide), tensor(static_cast<int32_t>(k))).indices.to_vector<int32_t>() ==
                   std::vector<int32_t>(expected.begin(), expected.begin() + k),
               k << " of doubles");
  }
  const std::vector<int64_t> whole = {5, std::numeric_limits<int64_t>::min(), -1, std::numeric_limits<int64_t>::max(),
                                      5};
  BOOST_TEST(top_k(tensor(whole), tensor(5)).indices.to_vector<int32_t>() == (std::vector<int32_t>{3, 0, 4, 2, 1}));
}

BOOST_AUTO_TEST_CASE(what_is_different_and_where_it_is) {
  const int64_t n = 300000;
  std::vector<int32_t> x;
  for (const uint32_t v : numbers(static_cast<size_t>(n))) x.push_back(static_cast<int32_t>(v >> 16) - 30000);
  std::map<int32_t, int32_t> known;
  std::vector<int32_t> values, expected;
  for (const int32_t v : x) {
    const auto [at, is_new] = known.emplace(v, static_cast<int32_t>(values.size()));
    if (is_new) values.push_back(v);
    expected.push_back(at->second);
  }
  const auto found = unique(tensor(x));
  BOOST_TEST((found.y.to_vector<int32_t>() == values));
  BOOST_TEST((found.idx.to_vector<int32_t>() == expected));

  std::vector<int64_t> positions;
  for (int64_t i = 0; i < n; ++i) {
    if (x[static_cast<size_t>(i)] <= 0) continue;
    for (const int64_t p : {i / 3000, i / 60 % 50, i % 60}) positions.push_back(p);
  }
  BOOST_TEST((where(tensor(x, {100, 50, 60}) > 0).to_vector<int64_t>() == positions));
}

BOOST_AUTO_TEST_CASE(what_is_added_by_place) {
  const int64_t rows = 60000, width = 5, places = 700;
  std::vector<int32_t> at;
  std::vector<double> updates, expected(static_cast<size_t>(places * width), 1.0);
  const std::vector<uint32_t> drawn = numbers(static_cast<size_t>(rows));
  for (int64_t r = 0; r < rows; ++r) {
    at.push_back(static_cast<int32_t>((drawn[static_cast<size_t>(r)] >> 8) % places));
    for (int64_t i = 0; i < width; ++i) {
      updates.push_back(static_cast<double>(drawn[static_cast<size_t>(r)] >> (5 * i)) * 1e-6);
      expected[static_cast<size_t>(at.back() * width + i)] += updates.back();  // in this order
    }
  }
  const Tensor ids = tensor(at), values = tensor(updates, {rows, width});
  BOOST_TEST((tensor_scatter_add(ones({places, width}, kFloat64), expand_dims(ids, 1), values).to_vector<double>() ==
              expected));
  for (double& v : expected) v -= 1;
  const auto sums = unsorted_segment_sum(values, ids, tensor(static_cast<int32_t>(places))).to_vector<double>();
  for (size_t i = 0; i < sums.size(); ++i) BOOST_TEST(std::abs(sums[i] - expected[i]) <= 1e-9 * expected[i]);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
