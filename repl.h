// How a prompt shows values: text(x) for whatever x is.
//
//   panto::repl::text(std::vector<int>{1, 2})       [1, 2]
//   panto::repl::text(tensor({1.f, 2.f}))           [1. 2.]  float32[2], CPU:0
//
// A type of your own is shown by its member `to_string()`, by its operator<< where <ostream> was included, or else by
// its name. Brings little more than panto.h does.
#pragma once

#include <concepts>
#include <exception>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>

#include "panto/lib/core/tensor/structure.h"
#include "panto/trace/describe.h"
#include "panto/trace/value_text.h"

namespace panto::repl {

template <class T>
std::string text(const T& value);

namespace detail {

// Of exactly this type: what converts to a Shape is none.
template <class T>
concept Described = requires { static_cast<std::string (*)(const T&)>(describe); } ||
                    std::is_enum_v<T> && requires { static_cast<std::string (*)(T)>(describe); };
template <class T>
concept HasToString = requires(const T& v) {
  { v.to_string() } -> std::convertible_to<std::string>;
};
template <class T>
concept Range = requires(const T& v) {
  v.begin() != v.end();
  ++v.begin();
  *v.begin();
};
template <class T>
concept Streamable = requires(std::ostream& out, const T& v) { out << v; };
template <class T>
concept OptionalLike = requires(const T& v) {
  v.has_value();
  v.value();
};
template <class T>
concept PointerLike = requires(const T& v) {
  v.get();
  v == nullptr;
  *v;
};
template <class T>
concept TupleLike = requires { std::tuple_size<T>::value; };
template <class T>
concept VariantLike = requires(const T& v) {
  v.index();
  v.valueless_by_exception();
};

template <class T>
std::string tuple_text(const T& value) {
  ListText list;
  std::apply([&](const auto&... item) { (list.add(text(item)), ...); }, value);
  return list.finish('(', ')');
}

template <class T>
std::string range_text(const T& value) {
  ListText list;
  for (auto at = std::begin(value); at != std::end(value); ++at) {
    if (list.wants_more()) {
      list.add(text(static_cast<const std::decay_t<decltype(*at)>&>(*at)));
    } else {
      list.skip();
    }
  }
  return list.finish('[', ']');
}

// What an op with several outputs gives, each by its name: panto/ops/*.h.
template <class T>
concept NamedOutputs = std::is_aggregate_v<T> && requires { T::kNames[0]; };

template <class T>
std::string outputs_text(const T& value) {
  std::string all;
  size_t at = 0;
  const auto add = [&](const auto& output) {
    const std::string shown = text(output);
    all += all.empty() ? "" : "\n";
    all += T::kNames[at++];
    all += shown.find('\n') == std::string::npos ? ": " : ":\n";
    all += shown;
  };
  std::apply([&](const auto&... output) { (add(output), ...); }, panto::detail::members_of(value));
  return all;
}

template <class T, size_t I = 0>
std::string variant_text(const T& value) {
  if constexpr (I < std::variant_size_v<T>) {
    return value.index() == I ? text(*std::get_if<I>(&value)) : variant_text<T, I + 1>(value);
  } else {
    return "<valueless>";
  }
}

}  // namespace detail

template <class T>
std::string text(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, char>) {
    return "'" + std::string(1, value) + "'";
  } else if constexpr (std::is_floating_point_v<T>) {
    return number_text(std::conditional_t<std::is_same_v<T, float>, float, double>(value));
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_same_v<T, std::nullptr_t>) {
    return "nullptr";
  } else if constexpr (std::is_array_v<T> && std::is_same_v<std::remove_extent_t<T>, char>) {
    return quote(value);
  } else if constexpr (std::is_same_v<T, const char*> || std::is_same_v<T, char*>) {
    return value == nullptr ? "nullptr" : quote(value);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return quote(std::string_view(value));
  } else if constexpr (detail::Described<T>) {
    return describe(value);
  } else if constexpr (std::is_base_of_v<std::exception, T>) {
    return describe(static_cast<const std::exception&>(value));
  } else if constexpr (std::is_base_of_v<Device, T>) {
    return describe(static_cast<const Device&>(value));
  } else if constexpr (detail::HasToString<T>) {
    return value.to_string();
  } else if constexpr (detail::PointerLike<T>) {
    return value == nullptr ? std::string("nullptr") : "-> " + text(*value);
  } else if constexpr (detail::Streamable<T> && !std::is_pointer_v<T> && !std::is_array_v<T> && !std::is_enum_v<T> &&
                       !std::is_function_v<T> && std::is_class_v<T> && !std::is_convertible_v<T, bool>) {
    return streamed([](std::ostream& out, const void* p) { out << *static_cast<const T*>(p); }, &value);
  } else if constexpr (std::is_array_v<T>) {
    return detail::range_text(value);
  } else if constexpr (std::is_enum_v<T>) {
    return type_name(typeid(T)) + "(" + std::to_string(static_cast<long long>(value)) + ")";
  } else if constexpr (detail::VariantLike<T>) {
    return detail::variant_text(value);
  } else if constexpr (detail::OptionalLike<T>) {
    return value.has_value() ? text(value.value()) : "none";
  } else if constexpr (detail::Range<T>) {
    return detail::range_text(value);
  } else if constexpr (detail::TupleLike<T>) {
    return detail::tuple_text(value);
  } else if constexpr (detail::NamedOutputs<T>) {
    return detail::outputs_text(value);
  } else if constexpr (std::is_pointer_v<T>) {
    if (value == nullptr) return "nullptr";
    using Target = std::remove_cv_t<std::remove_pointer_t<T>>;
    if constexpr (detail::Described<Target> || std::is_base_of_v<Device, Target>) return "-> " + text(*value);
    return type_name(typeid(T)) + " " + address_text(reinterpret_cast<const void*>(value));
  } else {
    return "<" + type_name(typeid(T)) + ">";
  }
}

// `(expression, End{})` is what `expression` is, or End where it is void.
struct End {};
template <class T>
struct Shown {
  T&& value;
};
template <class T>
Shown<T> operator,(T&& value, End) {
  return {static_cast<T&&>(value)};
}
// What a saved session does with an expression that was shown.
inline void print(End) {}
template <class T>
void print(Shown<T> shown) {
  using V = std::remove_cvref_t<T>;
  if constexpr (!std::is_base_of_v<std::ios_base, V>) print_line(text(static_cast<const V&>(shown.value)));
}

}  // namespace panto::repl
