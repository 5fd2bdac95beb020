#include "panto/xtensor.h"

#include <boost/test/unit_test.hpp>
#include <complex>
#include <xtensor/xmath.hpp>
#include <xtensor/xrandom.hpp>
#include <xtensor/xview.hpp>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(xtensor)

BOOST_AUTO_TEST_CASE(a_tensor_is_read_where_it_is) {
  const Tensor t = tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
  const auto x = as_xarray<float>(t);
  BOOST_TEST(x.shape()[0] == 2U);
  BOOST_TEST(x.shape()[1] == 3U);
  BOOST_TEST(&x(0, 0) == t.data<float>().data());
  BOOST_TEST(x(1, 2) == 6.f);
  BOOST_TEST(xt::sum(x)() == 21.f);
  static_assert(!std::is_assignable_v<decltype((x(0, 0))), float>);
}

BOOST_AUTO_TEST_CASE(the_tensors_memory_is_kept) {
  auto x = as_xarray<float>(tensor({1.f, 2.f}) + tensor({10.f, 20.f}));
  BOOST_TEST(x(0) == 11.f);
  BOOST_TEST(x(1) == 22.f);
}

BOOST_AUTO_TEST_CASE(expressions_become_tensors) {
  const Tensor t = tensor({{1.f, 2.f}, {3.f, 4.f}});
  const auto x = as_xarray<float>(t);
  const Tensor columns = tensor(xt::mean(x, {0}));
  BOOST_TEST(columns.to_vector<double>() == (std::vector<double>{2, 3}), boost::test_tools::per_element());
  const Tensor turned = tensor(xt::transpose(x));
  BOOST_TEST(turned.shape() == Shape({2, 2}));
  BOOST_TEST(turned.to_vector<float>() == (std::vector<float>{1, 3, 2, 4}), boost::test_tools::per_element());
  BOOST_TEST(tensor(xt::view(x, 1, xt::all())).to_vector<float>() == (std::vector<float>{3, 4}),
             boost::test_tools::per_element());
  BOOST_TEST(tensor(x > 2.f).dtype() == kBool);
  BOOST_TEST(tensor(xt::sum(x)).shape() == Shape());
}

BOOST_AUTO_TEST_CASE(an_array_that_dies_gives_its_memory) {
  xt::xarray<double> x = {{1, 2}, {3, 4}};
  const double* const data = x.data();
  const Tensor moved = tensor(std::move(x));
  BOOST_TEST(moved.data<double>().data() == data);
  xt::xarray<double> y = {5, 6};
  const Tensor copied = tensor(y);
  y(0) = 7;
  BOOST_TEST(copied.to_vector<double>() == (std::vector<double>{5, 6}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(column_major_arrays_and_other_types) {
  const xt::xarray<int64_t, xt::layout_type::column_major> columns = {{1, 2, 3}, {4, 5, 6}};
  BOOST_TEST(tensor(columns).to_vector<int64_t>() == (std::vector<int64_t>{1, 2, 3, 4, 5, 6}),
             boost::test_tools::per_element());
  xt::xarray<std::complex<float>> complex_numbers = xt::zeros<std::complex<float>>({2, 2});
  complex_numbers(1, 0) = 3;
  const Tensor z = tensor(complex_numbers);
  BOOST_TEST(z.dtype() == kComplex64);
  BOOST_CHECK(as_xarray<std::complex<float>>(z)(1, 0) == std::complex<float>(3, 0));
  BOOST_TEST(tensor(xt::zeros<float>({0, 3})).shape() == Shape({0, 3}));
}

// d/dx sum(x * x), of a tensor that xtensor made.
BOOST_AUTO_TEST_CASE(they_are_tensors_like_others) {
  const Tensor x = tensor(xt::arange<float>(3));
  GradientTape tape;
  tape.watch(x);
  BOOST_TEST(tape.gradient(x * x, x).to_vector<float>() == (std::vector<float>{0, 2, 4}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(wrong_types) {
  expect_error_begins([] { static_cast<void>(as_xarray<float>(tensor({1, 2}))); }, "InvalidArgument: ");
  expect_error_begins([] { static_cast<void>(as_xarray<float>(meta_tensor(kFloat32, PartialShape({2})))); },
                      "FailedPrecondition: ");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
