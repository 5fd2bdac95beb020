// zeros, ones, eye, linspace: values as NumPy gives them, and that a trace records them.
#include "panto/lib/ops/create.h"

#include <boost/test/unit_test.hpp>

#include "panto/lib/base/error.h"
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

BOOST_AUTO_TEST_CASE(in_a_trace) {
  const Function f = trace([](const Tensor& x) { return x * ones(shape(x)) + eye(2) + linspace(0, 1, 2); },
                           {TensorSpec(kFloat32, {-1, 2}, "x")});
  check<float>(f(tensor({{1.f, 2.f}, {3.f, 4.f}})), {2, 2}, {2, 3, 3, 6});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace panto
