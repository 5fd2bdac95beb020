// Parses numbers, for kernels of ops on strings.
#pragma once

#include <locale.h>

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>

#include "panto/device/cpu/strings/strings.h"
#include "panto/lib/base/error.h"

namespace panto::strings {

inline bool parse_real(const std::string& text, float& value, locale_t c_locale, char** end) {
  value = strtof_l(text.c_str(), end, c_locale);
  return *end == text.data() + text.size();
}
inline bool parse_real(const std::string& text, double& value, locale_t c_locale, char** end) {
  value = strtod_l(text.c_str(), end, c_locale);
  return *end == text.data() + text.size();
}

// Parses `text`, which may have white space around the number; returns false if it is not a number. Floats go through
// C's strtod: unlike from_chars, it accepts 0x and defines the result for numbers out of range.
template <class T>
bool parse_number(std::string_view text, T& value) {
  text = stripped(text);
  if (text.empty()) return false;
  if constexpr (std::is_floating_point_v<T>) {
    static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
    if (c_locale == nullptr) fail(Code::kResourceExhausted, "locale: expected memory for it, got none");
    char* end = nullptr;
    return parse_real(std::string(text), value, c_locale, &end);
  } else {
    if (text.front() == '+') {
      text.remove_prefix(1);
      if (text.starts_with('-')) return false;
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  }
}

}  // namespace panto::strings
