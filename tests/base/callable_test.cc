#include "panto/lib/base/callable.h"

#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>

#include "panto/tests/expect.h"

namespace panto {
namespace {

int twice(int x) { return 2 * x; }

BOOST_AUTO_TEST_SUITE(callable)

BOOST_AUTO_TEST_CASE(calls_functions_lambdas_and_converts_results) {
  Callable<int(int)> f = twice;
  BOOST_TEST(f(4) == 8);
  f = [add = 3](int x) { return x + add; };
  BOOST_TEST(f(4) == 7);
  const Callable<std::string(const char*)> text = [](const char* s) { return s; };
  BOOST_TEST(text("a") == "a");
  const Callable<void(int&)> set = [](int& x) { return x = 5; };
  int value = 0;
  set(value);
  BOOST_TEST(value == 5);
}

BOOST_AUTO_TEST_CASE(takes_what_can_only_be_moved_and_shares_it_among_copies) {
  Callable<int()> count = [n = std::make_unique<int>(0)] { return ++*n; };
  const Callable<int()> copy = count;
  BOOST_TEST(count() == 1);
  BOOST_TEST(copy() == 2);
}

BOOST_AUTO_TEST_CASE(an_empty_one_says_so) {
  const Callable<int()> none;
  BOOST_TEST(!none);
  BOOST_TEST(!Callable<int()>(nullptr));
  expect_error([&] { none(); }, "FailedPrecondition: function: expected one to call, got an empty Callable");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
