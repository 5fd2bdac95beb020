// Formatted errors for our own .cc files (public headers stay free of fmt).
//
// String arguments are shown by `printable`: text from a file or a user stays short and on one line. Text that the
// library itself built is passed as `whole(text)`.
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

// How an argument of an error is passed: by value if it fits into registers, else by reference.
template <class T>
using Passed = std::conditional_t<std::is_trivially_copyable_v<std::remove_cvref_t<T>> &&
                                      sizeof(T) <= 2 * sizeof(void*) && !std::is_array_v<std::remove_cvref_t<T>>,
                                  std::remove_cvref_t<T>, const std::remove_cvref_t<T>&>;

template <class... Shown>
std::string format_shown(fmt::string_view text, const Shown&... shown) {
  return fmt::vformat(text, fmt::make_format_args(shown...));
}

// Separate from the code that finds the fault: formatting there would cost registers in every call that finds none, and
// an argument passed by reference would have to lie in memory from the beginning.
template <class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void throw_formatted(Code code, fmt::string_view text, Args... args) {
  fail(code, format_shown(text, shown(args)...));
}

}  // namespace detail

template <class... Args>
[[noreturn, gnu::always_inline]] inline void failf(Code code, fmt::format_string<Args...> text, Args&&... args) {
  detail::throw_formatted<detail::Passed<Args>...>(code, text, args...);
}

// The most common fault: the caller passed an invalid value.
template <class... Args>
[[noreturn, gnu::always_inline]] inline void invalid(fmt::format_string<Args...> text, Args&&... args) {
  detail::throw_formatted<detail::Passed<Args>...>(Code::kInvalidArgument, text, args...);
}

}  // namespace panto

// Does not use fmt's formatter of strings, which is defined in a header that this one avoids.
template <>
struct fmt::formatter<panto::WholeText> {
  static constexpr const char* parse(const fmt::format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const panto::WholeText& whole, Context& context) const {
    return std::ranges::copy(whole.text, context.out()).out;
  }
};
