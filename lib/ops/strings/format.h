// What shape functions and kernels of ops on strings share.
#pragma once

#include <string_view>
#include <vector>

namespace panto {

// No text is padded to more characters than this, and no number has more digits behind its point: an attribute must not
// ask for memory without end.
inline constexpr int kWidestText = 65536;

// What of StringFormat's template stands between the placeholders: one piece more than there are of them. Without a
// placeholder every byte is a piece.
std::vector<std::string_view> template_pieces(std::string_view text, std::string_view placeholder);

}  // namespace panto
