// The gradient of a product, where quotients by the factors would not do: against the products of the other factors.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/trace/trace.h"

namespace panto::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

// Element i: the product of all factors but `skip`.
double product_without(const std::vector<double>& x, std::initializer_list<size_t> skip) {
  double product = 1;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::ranges::find(skip, i) == skip.end()) product *= x[i];
  }
  return product;
}

void check(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  BOOST_TEST_REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const bool same = got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i])) ||
                      std::abs(got[i] - expected[i]) <= tolerance * std::abs(expected[i]);
    BOOST_CHECK_MESSAGE(same, "element " << i << ": expected " << expected[i] << ", got " << got[i]);
  }
}

std::vector<double> wide(const Tensor& t) { return cast(t, kFloat64).to_vector<double>(); }

const std::vector<std::vector<double>> kFactors = {
    {1e20, 1e20},
    {1e-25, 1e-25},
    {kInfinity, 2},
    {kInfinity, 0},
    {kInfinity, -kInfinity, 3},
    {kNan, 2},
    {0, 3, 2},
    {0, 3, 0, 2},
    {0, 0, 0},
    {5},
    {1e30, 1e30, 1e-30, 1e-30},
    {2, -3, 0.5, 7},
    {},
};

// Beyond the largest float is infinite.
std::vector<double> as_floats(std::vector<double> values) {
  for (double& v : values) v = static_cast<double>(static_cast<float>(v));
  return values;
}

std::vector<double> products_of_others(const std::vector<double>& x) {
  std::vector<double> expected;
  for (size_t i = 0; i < x.size(); ++i) expected.push_back(product_without(x, {i}));
  return expected;
}

BOOST_AUTO_TEST_SUITE(ops)
BOOST_AUTO_TEST_SUITE(prod_gradient)

BOOST_AUTO_TEST_CASE(is_the_product_of_the_other_factors) {
  for (const std::vector<double>& factors : kFactors) {
    for (const DType type : {kFloat32, kFloat64}) {
      BOOST_TEST_CONTEXT(dtype_name(type) << " " << tensor(factors).to_string()) {
        const Tensor x = cast(tensor(factors), type);
        GradientTape tape;
        tape.watch(x);
        const Tensor y = reduce_prod(x);
        check(wide(tape.gradient(y, x)),
              type == kFloat64 ? products_of_others(factors) : as_floats(products_of_others(factors)),
              type == kFloat64 ? 1e-14 : 1e-6);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(holds_over_any_axes) {
  const std::vector<double> values = {2, 0, 3, 5, 0, 7, 1e20, 1e20, -1, 4, 0, 6};  // [2,3,2]
  struct Case {
    std::vector<int64_t> axes;
    bool keep_dims;
  };
  for (const auto& [axes, keep_dims] :
       {Case{{0}, false}, Case{{1}, true}, Case{{-1}, false}, Case{{0, 2}, false}, Case{{2, 0}, true},
        Case{{0, 1, 2}, false}, Case{{}, false}, Case{{1, 2}, false}}) {
    std::vector<bool> reduced(3, false);
    for (const int64_t axis : axes) reduced[static_cast<size_t>((axis + 3) % 3)] = true;
    std::vector<double> expected;
    const auto together = [&](size_t i, size_t j) {  // factors of one product
      const size_t a[] = {i / 6, i / 2 % 3, i % 2}, b[] = {j / 6, j / 2 % 3, j % 2};
      for (size_t k = 0; k < 3; ++k) {
        if (!reduced[k] && a[k] != b[k]) return false;
      }
      return true;
    };
    for (size_t i = 0; i < 12; ++i) {
      double others = 1;
      for (size_t j = 0; j < 12; ++j) {
        if (i != j && together(i, j)) others *= values[j];
      }
      expected.push_back(others);
    }
    const auto gradient = [&, keep = keep_dims](const Tensor& x, const Tensor& over) {
      GradientTape tape;
      tape.watch(x);
      const Tensor y = reduce_prod(x, over, {.keep_dims = keep});
      return tape.gradient(y, x);
    };
    const Tensor x = reshape(tensor(values), {2, 3, 2});
    const Tensor over = cast(tensor(axes), kInt32);
    BOOST_TEST_CONTEXT("axes " << over.to_string() << " keep_dims " << keep_dims) {
      check(wide(gradient(x, over)), expected, 1e-14);
      check(wide(gradient(cast(x, kFloat32), over)), as_floats(expected), 1e-6);
      // Where shapes, ranks and axes are known at run time only.
      const int64_t count = static_cast<int64_t>(axes.size());
      const std::vector<TensorSpec> specs[] = {{TensorSpec(kFloat64, {-1, -1, -1}), TensorSpec(kInt32, {count})},
                                               {TensorSpec(kFloat64, PartialShape()), TensorSpec(kInt32, {-1})}};
      for (const std::vector<TensorSpec>& spec : specs) {
        const auto traced = trace([&](const Tensor& a, const Tensor& b) { return gradient(a, b); }, {spec[0], spec[1]});
        check(wide(traced(x, over)), expected, 1e-14);
      }
    }
  }
}

// Row i of the Hessian: the products without i and one more.
BOOST_AUTO_TEST_CASE(second_derivatives_hold_too) {
  for (const std::vector<double>& factors : {std::vector<double>{2, -3, 0.5, 7},
                                             {0, 3, 2},
                                             {0, 3, 0, 2},
                                             {0, 0, 0, 4},
                                             {1e20, 1e20, 2},
                                             {1e-25, 1e-25, 3},
                                             {5}}) {
    const Tensor x = tensor(factors);
    for (size_t i = 0; i < factors.size(); ++i) {
      GradientTape outer;
      outer.watch(x);
      GradientTape inner;
      inner.watch(x);
      const Tensor y = reduce_prod(x);
      const Tensor dx = inner.gradient(y, x);
      const Tensor row = outer.gradient(slice(dx, {static_cast<int64_t>(i)}, {1}), x);
      std::vector<double> expected;
      for (size_t j = 0; j < factors.size(); ++j) expected.push_back(i == j ? 0 : product_without(factors, {i, j}));
      BOOST_TEST_CONTEXT("row " << i << " of " << x.to_string()) { check(wide(row), expected, 1e-14); }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
