// Letters of five by seven dots. Internal.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace panto::plots {

inline constexpr int kGlyphWidth = 5, kGlyphHeight = 7;
using Glyph = std::array<uint8_t, kGlyphWidth>;  // columns; the lowest bit is the highest dot

// The glyphs of UTF-8 text: one per character, a box if the font lacks it.
std::vector<const Glyph*> glyphs_of(std::string_view text);

}  // namespace panto::plots
