#include "panto/lib/core/step/threads.h"

#include <thread>

#include "panto/tests/expect.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(threads)

BOOST_AUTO_TEST_CASE(the_count_of_the_process_and_of_a_thread) {
  const int before = num_threads();
  BOOST_TEST(before >= 1);
  set_num_threads(5);
  BOOST_TEST(num_threads() == 5);
  {
    const ThreadShare share(2);
    BOOST_TEST(num_threads() == 2);
    {
      const ThreadShare none(0);
      BOOST_TEST(num_threads() == 1);
    }
    BOOST_TEST(num_threads() == 2);
    std::thread([] { BOOST_TEST(num_threads() == 5); }).join();
  }
  BOOST_TEST(num_threads() == 5);
  set_num_threads(before);
}

BOOST_AUTO_TEST_CASE(counts_that_cannot_be) {
  expect_error([] { set_num_threads(0); }, "InvalidArgument: threads: expected a number in [1, 1024], got 0");
  expect_error([] { set_num_threads(1025); }, "InvalidArgument: threads: expected a number in [1, 1024], got 1025");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
