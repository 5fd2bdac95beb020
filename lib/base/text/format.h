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

// How an argument of an error travels: what fits into registers by value, all else where it lies.
template <class T>
using Passed = std::conditional_t<std::is_trivially_copyable_v<std::remove_cvref_t<T>> &&
                                      sizeof(T) <= 2 * sizeof(void*) && !std::is_array_v<std::remove_cvref_t<T>>,
                                  std::remove_cvref_t<T>, const std::remove_cvref_t<T>&>;

template <class... Shown>
std::string format_shown(fmt::string_view text, const Shown&... shown) {
  return fmt::vformat(text, fmt::make_format_args(shown...));
}

// Apart from the code that finds a fault: put together there, the text would cost registers of every call that finds
// none, and an argument by reference would have to lie in memory from the beginning.
template <class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void throw_formatted(Code code, fmt::string_view text, Args... args) {
  fail(code, format_shown(text, shown(args)...));
}

}  // namespace detail

template <class... Args>
[[noreturn, gnu::always_inline]] inline void failf(Code code, fmt::format_string<Args...> text, Args&&... args) {
  detail::throw_formatted<detail::Passed<Args>...>(code, text, args...);
}

// The commonest fault: the caller passed something that cannot be.
template <class... Args>
[[noreturn, gnu::always_inline]] inline void invalid(fmt::format_string<Args...> text, Args&&... args) {
  detail::throw_formatted<detail::Passed<Args>...>(Code::kInvalidArgument, text, args...);
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
