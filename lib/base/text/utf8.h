// Characters of UTF-8.
#pragma once

#include <string_view>

#include "panto/lib/base/export.h"

namespace panto {

// Whether it is nothing but whole characters (RFC 3629).
PANTO_EXPORT bool is_utf8(std::string_view text) noexcept;

// Whether the byte is a further one of a character.
constexpr bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

}  // namespace panto
