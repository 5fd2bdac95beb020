// zeros, ones, eye, linspace, grids, differences, padding: values as NumPy gives them, and that a trace records them.
#include "panto/lib/ops/create.h"

#include <boost/test/unit_test.hpp>

#include "panto/lib/base/error.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

template <class T>
void check(const Tensor& got, const Shape& shape, const std::vector<T>& expected) {
  BOOST_TEST_REQUIRE(got.shape().to_string() == shape.to_string());
  BOOST_TEST(got.to_vector<T>() == expected, boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(create)

BOOST_AUTO_TEST_CASE(zeros_and_ones) {
  check<float>(zeros({2, 3}), {2, 3}, {0, 0, 0, 0, 0, 0});
  check<int64_t>(ones({2}, kInt64), {2}, {1, 1});
  check<double>(ones({}, kFloat64), {}, {1});
  check<float>(zeros({0, 4}), {0, 4}, {});
  BOOST_TEST(zeros({2}, kBool).to_string() == "[False False]");
  const Tensor x = tensor({{1.f, 2.f}});
  check<float>(ones(shape(x)), {1, 2}, {1, 1});
  BOOST_CHECK_THROW(zeros({-1}), Error);
  BOOST_CHECK_THROW(ones({2}, kString), Error);
}

BOOST_AUTO_TEST_CASE(the_identity) {
  check<float>(eye(2), {2, 2}, {1, 0, 0, 1});
  check<float>(eye(2, 3), {2, 3}, {1, 0, 0, 0, 1, 0});
  check<int32_t>(eye(3, 1, kInt32), {3, 1}, {1, 0, 0});
  check<float>(eye(0), {0, 0}, {});
  BOOST_CHECK_THROW(eye(-1), Error);
  BOOST_CHECK_THROW(eye(2, -1), Error);
}

BOOST_AUTO_TEST_CASE(equal_distances) {
  check<double>(linspace(0.1, 0.7, 4, kFloat64), {4}, {0.1, 0.3, 0.5, 0.7});  // numpy.linspace
  check<float>(linspace(2, -1, 7), {7}, {2, 1.5, 1, 0.5, 0, -0.5, -1});
  check<float>(linspace(3, 5, 1), {1}, {3});
  check<float>(linspace(3, 5, 2), {2}, {3, 5});
  BOOST_CHECK_EXCEPTION(linspace(0, 1, 0), Error, [](const Error& e) {
    return std::string(e.what()).find("expected at least 1, got 0") != std::string::npos;
  });
}

// As NumPy gives them.
BOOST_AUTO_TEST_CASE(grids) {
  const Tensor a = tensor({1, 2, 3}), b = tensor({10, 20});
  check<int32_t>(outer(a, b), {3, 2}, {10, 20, 20, 40, 30, 60});
  check<int32_t>(outer(reshape(a, {3, 1}), 2), {3, 1}, {2, 4, 6});
  const std::vector<Tensor> xy = meshgrid({a, b}), ij = meshgrid({a, b}, {.indexing = "ij"});
  check<int32_t>(xy[0], {2, 3}, {1, 2, 3, 1, 2, 3});
  check<int32_t>(xy[1], {2, 3}, {10, 10, 10, 20, 20, 20});
  check<int32_t>(ij[0], {3, 2}, {1, 1, 2, 2, 3, 3});
  check<int32_t>(ij[1], {3, 2}, {10, 20, 10, 20, 10, 20});
  const std::vector<Tensor> three = meshgrid({a, b, tensor({7})});
  check<int32_t>(three[0], {2, 3, 1}, {1, 2, 3, 1, 2, 3});
  check<int32_t>(three[2], {2, 3, 1}, {7, 7, 7, 7, 7, 7});
  check<int32_t>(meshgrid({a})[0], {3}, {1, 2, 3});
  BOOST_TEST(meshgrid({}).empty());
  BOOST_CHECK_THROW(meshgrid({a, b}, {.indexing = "yx"}), Error);
}

BOOST_AUTO_TEST_CASE(diagonals) {
  const Tensor a = tensor({1, 2}), x = tensor({{1, 2, 3}, {4, 5, 6}});
  check<int32_t>(diag(a), {2, 2}, {1, 0, 0, 2});
  check<int32_t>(diag(a, 1), {3, 3}, {0, 1, 0, 0, 0, 2, 0, 0, 0});
  check<int32_t>(diag(a, -1), {3, 3}, {0, 0, 0, 1, 0, 0, 0, 2, 0});
  check<int32_t>(diag(x), {2}, {1, 5});
  check<int32_t>(diag(x, 1), {2}, {2, 6});
  check<int32_t>(diag(x, -1), {1}, {4});
  check<int32_t>(set_diag(x, tensor({8, 9})), {2, 3}, {8, 2, 3, 4, 9, 6});
  check<int32_t>(set_diag(x, tensor({8, 9}), 1), {2, 3}, {1, 8, 3, 4, 5, 9});
  BOOST_CHECK_THROW(diag(x, 3), Error);
}

BOOST_AUTO_TEST_CASE(differences) {
  const Tensor x = tensor({{1, 4, 9}, {2, 2, 5}});
  check<int32_t>(diff(x), {2, 2}, {3, 5, 0, 3});
  check<int32_t>(diff(x, 2), {2, 1}, {2, 3});
  check<int32_t>(diff(x, 1, 0), {1, 3}, {1, -2, -4});
  check<int32_t>(diff(x, 0), {2, 3}, {1, 4, 9, 2, 2, 5});
  check<int32_t>(diff(tensor({5})), {0}, {});
  BOOST_CHECK_THROW(diff(x, -1), Error);
  BOOST_CHECK_THROW(diff(x, 1, 2), Error);
}

BOOST_AUTO_TEST_CASE(padding_modes) {
  const Tensor x = tensor({1, 2, 3}), one_two = tensor({{1, 2}});
  check<int32_t>(pad(x, one_two), {6}, {0, 1, 2, 3, 0, 0});
  check<int32_t>(pad(x, one_two, {.mode = "constant"}), {6}, {0, 1, 2, 3, 0, 0});
  check<int32_t>(pad(x, one_two, {.mode = "reflect"}), {6}, {2, 1, 2, 3, 2, 1});
  check<int32_t>(pad(x, one_two, {.mode = "symmetric"}), {6}, {1, 1, 2, 3, 3, 2});
  BOOST_CHECK_THROW(pad(x, one_two, {.mode = "wrap"}), Error);
}

BOOST_AUTO_TEST_CASE(in_a_trace) {
  const Function f = trace([](const Tensor& x) { return x * ones(shape(x)) + eye(2) + linspace(0, 1, 2); },
                           {TensorSpec(kFloat32, {-1, 2}, "x")});
  check<float>(f(tensor({{1.f, 2.f}, {3.f, 4.f}})), {2, 2}, {2, 3, 3, 6});
  const Function g =
      trace([](const Tensor& x) { return outer(diff(x), meshgrid({x, x})[0]); }, {TensorSpec(kFloat32, {-1}, "x")});
  check<float>(g(tensor({1.f, 3.f})), {1, 4}, {2, 6, 2, 6});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace panto
