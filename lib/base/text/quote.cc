#include "panto/lib/base/text/quote.h"

#include <cstdint>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/utf8.h"

namespace panto {
namespace {

// Number of bytes of the UTF-8 character at the beginning of `text`; 0 if it does not begin with a valid one (RFC 3629:
// no surrogates, nothing above U+10FFFF, no overlong form).
size_t character_size(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if (!continues_character(text[i])) return 0;
  }
  const unsigned second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
  return size;
}

// U+0080 to U+009F, the line and paragraph separators, and marks that change the direction of text.
bool is_control(std::string_view character) {
  if (character.size() == 1) {
    const auto byte = static_cast<unsigned char>(character[0]);
    return byte < 0x20 || byte == 0x7f;
  }
  if (character.size() == 2) return character[0] == '\xC2' && static_cast<unsigned char>(character[1]) < 0xA0;
  if (character.size() != 3 || character[0] != '\xE2') return false;
  const auto second = static_cast<unsigned char>(character[1]), third = static_cast<unsigned char>(character[2]);
  return (second == 0x80 && (third == 0x8E || third == 0x8F || (third >= 0xA8 && third <= 0xAE))) ||
         (second == 0x81 && third >= 0xA6 && third <= 0xA9);
}

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  while (!text.empty()) {
    const size_t size = character_size(text);
    const std::string_view character = text.substr(0, size == 0 ? 1 : size);
    text.remove_prefix(character.size());
    switch (character[0]) {
      case '\n': out += "\\n"; continue;
      case '\t': out += "\\t"; continue;
      case '\r': out += "\\r"; continue;
      default: break;
    }
    if (quotes && (character[0] == '"' || character[0] == '\\')) out += '\\';
    if (size == 0 || is_control(character)) {
      for (const char c : character) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += character;
    }
  }
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const size_t size = character_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  append_escaped(out, text, true);
  return out += '"';
}

std::string escaped(std::string_view text) {
  std::string out;
  append_escaped(out, text, false);
  return out;
}

std::string shortened(std::string_view text, size_t longest) {
  if (text.size() <= longest) return std::string(text);
  size_t first = longest * 2 / 3, last = text.size() - longest / 3;
  while (first > 0 && continues_character(text[first])) --first;
  while (last < text.size() && continues_character(text[last])) ++last;
  return fmt::format("{} ...({} more)... {}", text.substr(0, first), last - first, text.substr(last));
}

std::string printable(std::string_view text, size_t longest) {
  // Cut first, so that only a part of a very long text is escaped; cut again if escaping made it longer.
  if (text.size() <= longest) return shortened(escaped(text), longest * 2);
  return escaped(shortened(text, longest));
}

}  // namespace panto
