// Formatted errors for our own .cc files (public headers stay free of fmt).
//
// Strings among the arguments are shown as `printable` does: what a file or a user chose stays on one line and short.
// `whole(text)` is for what the library itself put together.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "panto/lib/base/error.h"
#include "panto/lib/base/text/quote.h"

namespace panto {

struct WholeText {
  std::string_view text;
};
inline WholeText whole(std::string_view text) { return {text}; }

namespace detail {

template <class T>
decltype(auto) shown(const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return printable(value);
  } else {
    return (value);
  }
}

template <class... Shown>
std::string format_shown(fmt::string_view text, const Shown&... shown) {
  return fmt::vformat(text, fmt::make_format_args(shown...));
}

}  // namespace detail

template <class... Args>
[[noreturn]] void failf(Code code, fmt::format_string<Args...> text, Args&&... args) {
  fail(code, detail::format_shown(text, detail::shown(args)...));
}

// The commonest fault: the caller passed something that cannot be.
template <class... Args>
[[noreturn]] void invalid(fmt::format_string<Args...> text, Args&&... args) {
  fail(Code::kInvalidArgument, detail::format_shown(text, detail::shown(args)...));
}

}  // namespace panto

// Not by way of fmt's formatter of strings: that one is defined in a header which this one does without.
template <>
struct fmt::formatter<panto::WholeText> {
  static constexpr const char* parse(const fmt::format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const panto::WholeText& whole, Context& context) const {
    return std::ranges::copy(whole.text, context.out()).out;
  }
};
