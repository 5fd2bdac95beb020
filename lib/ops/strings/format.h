// Shared code of shape functions and kernels of string ops.
#pragma once

#include <string_view>
#include <vector>

namespace panto {

// The maximal width of padded text, and maximal number of digits after the decimal point: an attribute must not ask for
// unlimited memory.
inline constexpr int kWidestText = 65536;

// Splits StringFormat's template at the placeholders: one piece more than there are placeholders. An empty placeholder
// makes every byte a piece.
std::vector<std::string_view> template_pieces(std::string_view text, std::string_view placeholder);

}  // namespace panto
