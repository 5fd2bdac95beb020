// Helpers for UTF-8 text.
#pragma once

#include <string_view>

#include "panto/lib/base/export.h"

namespace panto {

// True if the text consists of whole UTF-8 characters only (RFC 3629).
PANTO_EXPORT bool is_utf8(std::string_view text) noexcept;

// True if the byte is a continuation byte of a character.
constexpr bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

}  // namespace panto
