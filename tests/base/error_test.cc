#include "panto/lib/base/error.h"

#include <thread>
#include <vector>

#include "panto/lib/base/text/format.h"
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

BOOST_AUTO_TEST_CASE(a_message_is_one_line_of_at_most_4_kb) {
  Error error(Code::kDataLoss, "name: expected a\nb, got \x01\xff" + std::string(1 << 20, 'x') + "end");
  BOOST_TEST(std::string(error.what()).starts_with("DataLoss: name: expected a\\nb, got \\x01\\xffxxx"));
  for (int i = 0; i < 20; ++i) error.add_context("node '" + std::string(100000, 'n') + "\r'");
  BOOST_TEST(std::string(error.what()).size() < 4096u);
  BOOST_TEST(error.message().find_first_of("\n\r\x01\xff") == std::string::npos);
  BOOST_TEST(error.message().ends_with("nn\\r']"));
}

BOOST_AUTO_TEST_CASE(text_from_outside_is_short_in_formatted_errors) {
  const std::string name = std::string(1000, 'a') + "\n" + std::string(1000, 'z');
  const std::string text = error_text([&] { invalid("name: expected {}, got '{}'", 3, name); });
  BOOST_TEST(text.size() < 300u);
  BOOST_TEST(text.starts_with("InvalidArgument: name: expected 3, got 'aaaa"));
  BOOST_TEST(text.ends_with("zzzz'"));
  BOOST_TEST(error_text([&] { invalid("{}", whole(std::string(1000, 'a'))); }).size() > 1000u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
