#include "panto/lib/base/log.h"

#include "panto/tests/expect.h"
#include "panto/tests/written.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(log)

BOOST_AUTO_TEST_CASE(lines_below_the_level_are_not_written) {
  const auto all = [] {
    return test::written([] {
      log_debug("fine");
      log_info("plain");
      log_warn("odd");
    });
  };
  const std::string before = set_log_level("info");
  BOOST_TEST(all() == "I plain\nW odd\n");
  BOOST_TEST(!log_debug_enabled());
  BOOST_TEST(set_log_level("debug") == "info");
  BOOST_TEST(all() == "D fine\nI plain\nW odd\n");
  BOOST_TEST(log_debug_enabled());
  set_log_level("error");
  BOOST_TEST(all().empty());
  set_log_level("off");
  BOOST_TEST(all().empty());
  set_log_level("warn");
  BOOST_TEST(all() == "W odd\n");
  expect_error([] { set_log_level("loud"); },
               "InvalidArgument: log level: expected debug, info, warn, error or off, got 'loud'");
  BOOST_TEST(all() == "W odd\n");
  set_log_level(before);
}

BOOST_AUTO_TEST_CASE(a_warning_may_be_written_once) {
  const auto twice = [](const char* text) {
    return test::written([&] {
      log_warn_once(text);
      log_warn_once(text);
    });
  };
  BOOST_TEST(twice("slow") == "W slow\n");
  BOOST_TEST(twice("slower") == "W slower\n");
  BOOST_TEST(twice("slow") == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
