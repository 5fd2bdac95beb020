// Text from outside (files, attributes, command lines) as part of a one-line message: escaped, and cut if it is long.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"

namespace panto {

// "say \"hi\"\n": quotes and backslashes get a backslash, \n, \t and \r stay by name, other control characters become
// \x1b and the like. Signatures read this form (lib/core/op/signature.h).
PANTO_EXPORT std::string quote(std::string_view text);

// Visible UTF-8: \n, \t and \r by name, other control characters and invalid bytes as \x1b. Quotes and backslashes
// stay.
PANTO_EXPORT std::string escaped(std::string_view text);
// About `longest` bytes at most: the middle of a longer text is left out, "abc ...(1048570 more)... xyz". Never cuts
// inside a UTF-8 character.
PANTO_EXPORT std::string shortened(std::string_view text, size_t longest);
// Escaped and shortened: how a message shows a name or a value from a user's data.
inline constexpr size_t kLongestShown = 200;
PANTO_EXPORT std::string printable(std::string_view text, size_t longest = kLongestShown);

}  // namespace panto
