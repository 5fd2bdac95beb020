// Gaussian elimination of matrices that are cut into blocks, on both sides of the borders of blocks: against the
// definition, and what must not change the bits.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "panto/lib/base/error.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/reductions.h"
#include "panto/ops/linalg.h"
#include "panto/tests/device/support.h"
#include "panto/tests/expect.h"

namespace panto {
namespace {

using test::random_tensor;
using test::random_values;
using test::same_bits;
using test::ThreadCount;

constexpr int64_t kSizes[] = {15, 16, 17, 18, 20, 24, 31, 32, 33, 47, 48, 49, 64, 100, 129, 257};

template <class T>
constexpr double kEpsilon = std::numeric_limits<T>::epsilon();

// Elimination by the definition, in which every row is finished before the next: the first of the largest pivots.
template <class T>
struct Elimination {
  int64_t n;
  std::vector<T> a;
  std::vector<int32_t> rows;

  Elimination(std::vector<T> matrix, int64_t n) : n(n), a(std::move(matrix)), rows(static_cast<size_t>(n)) {
    std::iota(rows.begin(), rows.end(), 0);
    for (int64_t k = 0; k < n; ++k) {
      int64_t pivot = k;
      for (int64_t i = k; i < n; ++i) pivot = std::abs(at(i, k)) > std::abs(at(pivot, k)) ? i : pivot;
      std::swap(rows[static_cast<size_t>(k)], rows[static_cast<size_t>(pivot)]);
      for (int64_t j = 0; j < n; ++j) std::swap(at(k, j), at(pivot, j));
      for (int64_t i = k + 1; i < n; ++i) {
        at(i, k) /= at(k, k);
        for (int64_t j = k + 1; j < n; ++j) at(i, j) -= at(i, k) * at(k, j);
      }
    }
  }
  T& at(int64_t i, int64_t j) { return a[static_cast<size_t>(i * n + j)]; }
};

template <class T>
double largest(const std::vector<T>& values) {
  double most = 0;
  for (T v : values) most = std::max(most, std::abs(static_cast<double>(v)));
  return most;
}

// The largest distance of a[m, k] b[k, n] from c.
template <class T>
double distance(int64_t m, int64_t n, int64_t k, const std::vector<T>& a, const std::vector<T>& b,
                const std::vector<T>& c, bool transpose_a = false) {
  double most = 0;
  std::vector<double> row(static_cast<size_t>(n));
  for (int64_t i = 0; i < m; ++i) {
    std::fill(row.begin(), row.end(), 0);
    for (int64_t p = 0; p < k; ++p) {
      const double left = a[static_cast<size_t>(transpose_a ? p * m + i : i * k + p)];
      for (int64_t j = 0; j < n; ++j) row[static_cast<size_t>(j)] += left * b[static_cast<size_t>(p * n + j)];
    }
    for (int64_t j = 0; j < n; ++j) {
      const double far = std::abs(row[static_cast<size_t>(j)] - c[static_cast<size_t>(i * n + j)]);
      if (!(far <= most)) most = far;
    }
  }
  return most;
}

bool is_permutation(const Tensor& p) {
  std::vector<int32_t> rows = p.to_vector<int32_t>();
  std::sort(rows.begin(), rows.end());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != static_cast<int32_t>(i)) return false;
  }
  return true;
}

// Sylvester's matrix of 1 and -1, of a size that is a power of two, in another order of rows. Its elimination has ties
// in every step and is exact.
template <class T>
std::vector<T> signs(int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(5));
  std::vector<T> values;
  for (int64_t i : order) {
    for (int64_t j = 0; j < n; ++j) values.push_back(__builtin_parityll(static_cast<uint64_t>(i & j)) != 0 ? -1 : 1);
  }
  return values;
}

template <class T>
void check_factors(int64_t n) {
  const std::vector<T> a = random_values<T>(n * n, static_cast<unsigned>(n));
  const auto [factors, p] = lu(tensor(a, {n, n}));
  const std::vector<int32_t> rows = p.template to_vector<int32_t>();
  BOOST_REQUIRE(is_permutation(p));
  if (std::is_same_v<T, double> || n <= 64) {
    const Elimination<long double> exact({a.begin(), a.end()}, n);
    BOOST_TEST(rows == exact.rows, n);
  }
  std::vector<T> lower = factors.template to_vector<T>(), upper = lower, swapped(lower.size());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const auto at = static_cast<size_t>(i * n + j);
      if (j >= i) lower[at] = i == j;
      if (j < i) upper[at] = 0;
      swapped[at] = a[static_cast<size_t>(rows[static_cast<size_t>(i)] * n + j)];
    }
  }
  BOOST_TEST(largest(lower) == 1);
  BOOST_TEST(distance(n, n, n, lower, upper, swapped) <= 4 * kEpsilon<T> * std::sqrt(n) * largest(upper), n);
}

template <class T>
void check_solution(int64_t n, int64_t columns, bool adjoint) {
  const std::vector<T> a = random_values<T>(n * n, 1), b = random_values<T>(n * columns, 2);
  const std::vector<T> x =
      matrix_solve(tensor(a, {n, n}), tensor(b, {n, columns}), {.adjoint = adjoint}).template to_vector<T>();
  BOOST_TEST(distance(n, columns, n, a, x, b, adjoint) <= 8 * kEpsilon<T> * static_cast<double>(n) * largest(x),
             n << ", " << columns << " columns");
}

template <class T>
void check_inverse(int64_t n, bool adjoint) {
  const std::vector<T> a = random_values<T>(n * n, 1);
  std::vector<T> identity(a.size());
  for (int64_t i = 0; i < n; ++i) identity[static_cast<size_t>(i * n + i)] = 1;
  const std::vector<T> x = matrix_inverse(tensor(a, {n, n}), {.adjoint = adjoint}).template to_vector<T>();
  BOOST_TEST(distance(n, n, n, a, x, identity, adjoint) <= 8 * kEpsilon<T> * static_cast<double>(n) * largest(x), n);
}

template <class T>
std::vector<T> scaled_identity(int64_t n, T first) {
  std::vector<T> values(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i * n + i)] = i == 0 ? first : 1;
  return values;
}

BOOST_AUTO_TEST_SUITE(linalg_elimination)

BOOST_AUTO_TEST_CASE(factors_of_every_size) {
  for (int64_t n : kSizes) {
    check_factors<float>(n);
    check_factors<double>(n);
  }
}

BOOST_AUTO_TEST_CASE(the_first_of_equal_pivots) {
  for (int64_t n : {16, 32, 64, 128}) {
    const Elimination<double> exact(signs<double>(n), n);
    const auto [factors, p] = lu(tensor(signs<double>(n), {n, n}));
    BOOST_TEST(p.to_vector<int32_t>() == exact.rows, n);
    BOOST_TEST(factors.to_vector<double>() == exact.a, n);
    const auto [floats, rows] = lu(tensor(signs<float>(n), {n, n}));
    BOOST_TEST(rows.to_vector<int32_t>() == exact.rows, n);
    BOOST_TEST(cast(floats, kFloat64).to_vector<double>() == exact.a, n);
  }
}

BOOST_AUTO_TEST_CASE(solutions_of_every_size) {
  for (int64_t n : kSizes) {
    for (int64_t columns : {1, 3, 7, 8, 9, 16, 33, 64, 200}) {
      const bool adjoint = (n + columns) % 2 == 0;
      check_solution<float>(n, columns, adjoint);
      check_solution<double>(n, columns, adjoint);
    }
    for (const bool adjoint : {false, true}) {
      check_inverse<float>(n, adjoint);
      check_inverse<double>(n, adjoint);
    }
  }
}

BOOST_AUTO_TEST_CASE(determinants_of_large_matrices) {
  for (int64_t n : {17, 33, 64, 100}) {
    const std::vector<double> a = random_values<double>(n * n, 3);
    Elimination<long double> exact({a.begin(), a.end()}, n);
    long double logarithm = 0;
    int sign = 1;
    for (int64_t i = 0; i < n; ++i) {
      logarithm += std::log(std::abs(exact.at(i, i)));
      if (exact.at(i, i) < 0) sign = -sign;
    }
    for (size_t i = 0; i < exact.rows.size(); ++i) {  // a cycle of an even length changes the sign
      while (exact.rows[i] != static_cast<int32_t>(i)) {
        std::swap(exact.rows[i], exact.rows[static_cast<size_t>(exact.rows[i])]);
        sign = -sign;
      }
    }
    const auto [got_sign, got] = log_matrix_determinant(tensor(a, {n, n}));
    BOOST_TEST(got_sign.item<double>() == sign);
    BOOST_TEST(std::abs(got.item<double>() - static_cast<double>(logarithm)) <= 1e-10);
    const double determinant = sign * static_cast<double>(std::exp(logarithm));
    BOOST_TEST(std::abs(matrix_determinant(tensor(a, {n, n})).item<double>() / determinant - 1) <= 1e-10);
  }
}

BOOST_AUTO_TEST_CASE(singular_matrices) {
  const int64_t n = 64;
  std::vector<double> equal_rows = signs<double>(n), no_column = random_values<double>(n * n, 1);
  std::copy_n(equal_rows.begin() + 20 * n, n, equal_rows.begin() + 50 * n);
  for (int64_t i = 0; i < n; ++i) no_column[static_cast<size_t>(i * n + 37)] = 0;
  for (const std::vector<double>& values : {equal_rows, no_column, std::vector<double>(static_cast<size_t>(n * n))}) {
    for (const DType type : {kFloat32, kFloat64}) {
      const Tensor a = cast(tensor(values, {n, n}), type);
      const std::string_view text =
          "InvalidArgument: input: expected a matrix that can be inverted, got a singular one";
      expect_error_begins([&] { (void)matrix_inverse(a); }, text);
      expect_error_begins([&] { (void)lu(a); }, text);
      expect_error_begins([&] { (void)matrix_solve(a, a); },
                          "InvalidArgument: matrix: expected one that can be inverted, got a singular one");
      BOOST_TEST(cast(matrix_determinant(a), kFloat64).item<double>() == 0);
      const auto [sign, logarithm] = log_matrix_determinant(a);
      BOOST_TEST(cast(sign, kFloat64).item<double>() == 0);
      BOOST_TEST(cast(logarithm, kFloat64).item<double>() == -std::numeric_limits<double>::infinity());
    }
  }
}

BOOST_AUTO_TEST_CASE(numbers_that_are_none) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const auto all_nan = [](const Tensor& t) { return bool(all(not_equal(t, t))); };
  for (int64_t n : {17, 64, 100}) {
    for (int64_t place : {int64_t{0}, n * n / 2, n * n - 1}) {
      std::vector<float> values = random_values<float>(n * n, 1);
      values[static_cast<size_t>(place)] = nan;
      const Tensor a = tensor(values, {n, n});
      BOOST_TEST(all_nan(matrix_inverse(a)));
      BOOST_TEST(all_nan(matrix_determinant(a)));
      for (int64_t columns : {1, 20}) BOOST_TEST(all_nan(matrix_solve(a, ones({n, columns}))));
      BOOST_TEST(lu(a).p.to_vector<int32_t>() == [&] {
        std::vector<int32_t> rows(static_cast<size_t>(n));
        std::iota(rows.begin(), rows.end(), 0);
        return rows;
      }());
      // With infinities, and numbers that overflow, pivots are rows of the matrix all the same.
      values[static_cast<size_t>(place)] = inf;
      BOOST_TEST(is_permutation(lu(tensor(values, {n, n})).p));
    }
    std::vector<float> huge = random_values<float>(n * n, 4);
    for (float& v : huge) v *= std::numeric_limits<float>::max();
    BOOST_TEST(is_permutation(lu(tensor(huge, {n, n})).p));
    BOOST_TEST(is_permutation(lu(tensor(std::vector<float>(static_cast<size_t>(n * n), inf), {n, n})).p));
    const Tensor a = tensor(scaled_identity(n, inf), {n, n});
    BOOST_TEST(matrix_inverse(a).to_vector<float>() == scaled_identity(n, 0.F));
    BOOST_TEST(matrix_determinant(a).item<float>() == inf);
  }
}

BOOST_AUTO_TEST_CASE(bits_do_not_depend_on_threads_or_batches) {
  for (int64_t n : {130, 257, 520}) {
    for (const DType type : {kFloat32, kFloat64}) {
      const Tensor a = cast(random_tensor<float>({n, n}, 1), type), b = cast(random_tensor<float>({n, 200}, 2), type);
      const auto run = [&](int threads) {
        const ThreadCount scope(threads);
        return std::vector{matrix_inverse(a), matrix_solve(a, b), lu(a).lu, matrix_determinant(a)};
      };
      const std::vector<Tensor> one = run(1), three = run(3);
      for (size_t i = 0; i < one.size(); ++i) BOOST_TEST(same_bits(one[i], three[i]), n << ", result " << i);
    }
  }
  const Tensor a = random_tensor<float>({5, 40, 40}, 1), b = random_tensor<float>({5, 40, 9}, 2);
  const Tensor inverses = matrix_inverse(a), solutions = matrix_solve(a, b);
  for (int64_t i = 0; i < 5; ++i) {
    const Tensor each = slice(a, {i, 0, 0}, {1, 40, 40});
    BOOST_TEST(same_bits(slice(inverses, {i, 0, 0}, {1, 40, 40}), matrix_inverse(each)));
    BOOST_TEST(same_bits(slice(solutions, {i, 0, 0}, {1, 40, 9}), matrix_solve(each, slice(b, {i, 0, 0}, {1, 40, 9}))));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
