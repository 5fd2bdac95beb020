// Sums over broadcast dimensions: every pair of small shapes that broadcasts, against the definition.
#include <algorithm>
#include <optional>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

using Dims = std::vector<int64_t>;

std::vector<Dims> all_shapes(int max_rank, const Dims& sizes) {
  std::vector<Dims> shapes{{}};
  size_t first = 0;
  for (int rank = 1; rank <= max_rank; ++rank) {
    const size_t last = shapes.size();
    for (size_t i = first; i < last; ++i) {
      for (int64_t d : sizes) {
        shapes.push_back(shapes[i]);
        shapes.back().push_back(d);
      }
    }
    first = last;
  }
  return shapes;
}

std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()));
  for (size_t k = 1; k <= out.size(); ++k) {
    const int64_t x = k <= a.size() ? a[a.size() - k] : 1;
    const int64_t y = k <= b.size() ? b[b.size() - k] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out[out.size() - k] = x == 1 ? y : x;
  }
  return out;
}

size_t count(const Dims& dims) {
  size_t n = 1;
  for (int64_t d : dims) n *= static_cast<size_t>(d);
  return n;
}

// Where in an input of shape `in` element `at` of shape `out` comes from.
size_t source(const Dims& in, const Dims& out, size_t at) {
  size_t result = 0, stride = 1;
  for (size_t k = 1; k <= out.size(); ++k) {
    const auto size = static_cast<size_t>(out[out.size() - k]);
    const size_t index = at % size;
    at /= size;
    if (k > in.size()) continue;
    if (in[in.size() - k] != 1) result += index * stride;
    stride *= static_cast<size_t>(in[in.size() - k]);
  }
  return result;
}

std::vector<double> numbers(size_t n, double first) {
  std::vector<double> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = first + 0.37 * static_cast<double>(i);
  return v;
}

void check_pair(const Dims& a, const Dims& b, const Dims& out) {
  const std::vector<double> x = numbers(count(a), 1), y = numbers(count(b), -2), w = numbers(count(out), 0.25);
  std::vector<double> dx_sum(x.size()), dy_difference(y.size()), dx_product(x.size()), dy_product(y.size());
  for (size_t i = 0; i < w.size(); ++i) {
    const size_t ix = source(a, out, i), iy = source(b, out, i);
    dx_sum[ix] += w[i];
    dy_difference[iy] -= w[i];
    dx_product[ix] += w[i] * y[iy];
    dy_product[iy] += w[i] * x[ix];
  }
  const Tensor tx = tensor(x, Shape(a)), ty = tensor(y, Shape(b)), seed = tensor(w, Shape(out));
  const GradSource sources[] = {tx, ty};
  GradientTape tape({.persistent = true});
  for (const GradSource& s : sources) tape.watch(s);
  auto grads = tape.gradient(tx - ty, sources, seed);
  expect_near(grads[0], Shape(a), dx_sum, 1e-12);
  expect_near(grads[1], Shape(b), dy_difference, 1e-12);
  grads = tape.gradient(tx * ty, sources, seed);
  expect_near(grads[0], Shape(a), dx_product, 1e-12);
  expect_near(grads[1], Shape(b), dy_product, 1e-12);
}

BOOST_AUTO_TEST_SUITE(broadcast_sums)

BOOST_AUTO_TEST_CASE(all_pairs_of_shapes) {
  const std::vector<Dims> shapes = all_shapes(3, {0, 1, 2, 3});
  int pairs = 0;
  for (const Dims& a : shapes) {
    for (const Dims& b : shapes) {
      if (const auto out = broadcast(a, b)) {
        BOOST_TEST_CONTEXT(Shape(a).to_string() << " and " << Shape(b).to_string()) { check_pair(a, b, *out); }
        ++pairs;
      }
    }
  }
  BOOST_TEST(pairs > 1500);
}

BOOST_AUTO_TEST_CASE(of_higher_rank) {
  check_pair({2, 1, 3, 1, 2}, {3, 1, 2, 2}, {2, 3, 3, 2, 2});
  check_pair({1, 1, 1, 1, 1, 1, 2}, {1}, {1, 1, 1, 1, 1, 1, 2});
  check_pair({2}, {1, 2, 1, 2, 1, 2, 1, 2}, {1, 2, 1, 2, 1, 2, 1, 2});
}

// select broadcasts three ways.
BOOST_AUTO_TEST_CASE(three_inputs) {
  const Tensor c = tensor({{true}, {false}});
  const Tensor x = tensor({1.0, 2.0, 3.0}), y = tensor(5.0);
  GradientTape tape;
  tape.watch(x);
  tape.watch(y);
  const auto grads = tape.gradient(select(c, x, y), {x, y});
  expect_near(grads[0], {3}, {1, 1, 1});
  expect_near(grads[1], 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
