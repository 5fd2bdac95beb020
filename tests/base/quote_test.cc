// Quoted text.
#include "panto/lib/base/quote.h"

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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
