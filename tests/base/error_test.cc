#include "panto/lib/base/error.h"

#include <thread>
#include <vector>

#include "panto/lib/base/format.h"
#include "panto/tests/expect.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(error)

BOOST_AUTO_TEST_CASE(every_code_has_its_name) {
  const std::vector<std::pair<Code, std::string_view>> names = {
      {Code::kCancelled, "Cancelled"},
      {Code::kInvalidArgument, "InvalidArgument"},
      {Code::kDeadlineExceeded, "DeadlineExceeded"},
      {Code::kNotFound, "NotFound"},
      {Code::kAlreadyExists, "AlreadyExists"},
      {Code::kPermissionDenied, "PermissionDenied"},
      {Code::kResourceExhausted, "ResourceExhausted"},
      {Code::kFailedPrecondition, "FailedPrecondition"},
      {Code::kAborted, "Aborted"},
      {Code::kOutOfRange, "OutOfRange"},
      {Code::kUnimplemented, "Unimplemented"},
      {Code::kInternal, "Internal"},
      {Code::kUnavailable, "Unavailable"},
      {Code::kDataLoss, "DataLoss"},
  };
  for (const auto& [code, name] : names) BOOST_TEST(code_name(code) == name);
}

BOOST_AUTO_TEST_CASE(context_is_appended_from_the_inside_out) {
  const auto inner = [] { invalid("rank: expected {}, got {}", 2, 3); };
  const auto outer = [&] { with_context([] { return "in MatMul"; }, inner); };
  expect_error([&] { with_context([] { return std::string("node 'mm'"); }, outer); },
               "InvalidArgument: rank: expected 2, got 3 [in MatMul] [node 'mm']");
}

BOOST_AUTO_TEST_CASE(context_is_not_made_when_nothing_is_thrown) {
  bool made = false;
  const int value = with_context(
      [&] {
        made = true;
        return "never";
      },
      [] { return 7; });
  BOOST_TEST(value == 7);
  BOOST_TEST(!made);
}

BOOST_AUTO_TEST_CASE(other_exceptions_pass) {
  BOOST_CHECK_THROW(with_context([] { return "here"; }, []() -> int { throw 3; }), int);
}

BOOST_AUTO_TEST_CASE(a_copy_keeps_its_text) {
  Error a(Code::kDataLoss, "x");
  const Error b = a;
  a.add_context("more");
  BOOST_TEST(a.what() == "DataLoss: x [more]");
  BOOST_TEST(b.what() == "DataLoss: x");
  BOOST_TEST(b.message() == "x");
}

BOOST_AUTO_TEST_CASE(copies_are_read_in_other_threads_while_context_is_added) {
  Error error(Code::kInternal, "x");
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([copy = error] {
      for (int k = 0; k < 1000; ++k) {
        if (copy.message() != "x") std::terminate();
      }
    });
  }
  for (int k = 0; k < 10; ++k) error.add_context("c");
  for (std::thread& t : readers) t.join();
  BOOST_TEST(error.message() == "x [c] [c] [c] [c] [c] [c] [c] [c] [c] [c]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
