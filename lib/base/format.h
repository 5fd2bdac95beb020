// Formatted errors for our own .cc files (public headers stay free of fmt).
#pragma once

#include <fmt/core.h>

#include <utility>

#include "panto/lib/base/error.h"

namespace panto {

template <class... Args>
[[noreturn]] void failf(Code code, fmt::format_string<Args...> text, Args&&... args) {
  fail(code, fmt::format(text, std::forward<Args>(args)...));
}

// The commonest fault: the caller passed something that cannot be.
template <class... Args>
[[noreturn]] void invalid(fmt::format_string<Args...> text, Args&&... args) {
  fail(Code::kInvalidArgument, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace panto
