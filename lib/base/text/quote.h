// Text from outside (files, attributes, command lines) on one line of a message: escaped, and cut where it is long.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"

namespace panto {

// "say \"hi\"\n": quotes and backslashes behind a backslash, \n, \t and \r by name, other control characters as \x1b.
// Signatures read it (lib/core/op/signature.h).
PANTO_EXPORT std::string quote(std::string_view text);

// Visible UTF-8: \n, \t and \r by name, other control characters and bytes that are no UTF-8 as \x1b. Quotes and
// backslashes stay.
PANTO_EXPORT std::string escaped(std::string_view text);
// At most about `longest` bytes: the middle of longer text is left out, "abc ...(1048570 more)... xyz". Never cuts a
// character of UTF-8.
PANTO_EXPORT std::string shortened(std::string_view text, size_t longest);
// Both: how a message shows a name or a value that a user's data chose.
inline constexpr size_t kLongestShown = 200;
PANTO_EXPORT std::string printable(std::string_view text, size_t longest = kLongestShown);

}  // namespace panto
