// A string as a template argument: the name of an op or of a kind of devices.
//
//   template <LiteralName kOp>
//   struct Kernel { static constexpr std::string_view name = kOp.text; };
//   Kernel<"Sum">::name;
#pragma once

#include <algorithm>
#include <cstddef>

namespace panto {

template <size_t N>
struct LiteralName {
  char text[N];
  // NOLINTNEXTLINE(google-explicit-constructor): written as a literal
  consteval LiteralName(const char (&name)[N]) { std::copy_n(name, N, text); }
};

}  // namespace panto
