// Characters of UTF-8.
#pragma once

namespace panto {

// Whether the byte is a further one of a character.
constexpr bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

}  // namespace panto
