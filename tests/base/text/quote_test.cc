// Quoted text.
#include "panto/lib/base/text/quote.h"

#include <boost/test/unit_test.hpp>

namespace panto::test {
namespace {

BOOST_AUTO_TEST_SUITE(quote_suite)

BOOST_AUTO_TEST_CASE(control_characters_quotes_and_backslashes_are_escaped) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", R"("")"},
      {"caf\xc3\xa9 'x'", "\"caf\xc3\xa9 'x'\""},
      {"say \"hi\"", R"("say \"hi\"")"},
      {"C:\\n", R"("C:\\n")"},
      {"a\nb\tc\rd", R"("a\nb\tc\rd")"},
      {std::string_view("\0\x1b\x7f", 3), R"("\x00\x1b\x7f")"},
  };
  for (const auto& [text, quoted] : cases) BOOST_TEST(quote(text) == quoted);
}

BOOST_AUTO_TEST_CASE(what_is_no_visible_utf8_is_escaped) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"caf\xc3\xa9 \\ \"x\"", "caf\xc3\xa9 \\ \"x\""},
      {"a\nb\x1b[31m", R"(a\nb\x1b[31m)"},
      {"\xff\xfe", R"(\xff\xfe)"},
      {"\xc3", R"(\xc3)"},                          // cut short
      {"\xc0\xaf", R"(\xc0\xaf)"},                  // longer than needed
      {"\xed\xa0\x80", R"(\xed\xa0\x80)"},          // a surrogate
      {"\xf4\x90\x80\x80", R"(\xf4\x90\x80\x80)"},  // above U+10FFFF
      {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
      {"\xc2\x9b", R"(\xc2\x9b)"},          // a control character of Latin-1
      {"\xe2\x80\xae", R"(\xe2\x80\xae)"},  // turns the direction of what follows
      {"\xe2\x82\xac", "\xe2\x82\xac"},
  };
  for (const auto& [text, expected] : cases) BOOST_TEST(escaped(text) == expected);
}

BOOST_AUTO_TEST_CASE(long_text_is_cut_in_the_middle) {
  BOOST_TEST(shortened("0123456789", 10) == "0123456789");
  BOOST_TEST(shortened("0123456789abcdef", 9) == "012345 ...(7 more)... def");
  BOOST_TEST(shortened("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 5) == "\xc3\xa9 ...(8 more)... ");
  const std::string shown = printable(std::string(1 << 20, '\xff'));
  BOOST_TEST(shown.size() < 1000u);
  BOOST_TEST(shown.find("more)") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
