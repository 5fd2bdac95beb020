// Describes a value in one line, as :vars lists it: its type and, if short, its content. Compiled with every input that
// declares a variable, so most code is in one_line.cc.
#pragma once

#include <panto/panto.h>
#include <panto/repl.h>

#include <string>
#include <type_traits>
#include <typeinfo>

namespace panto::repl {

// Returns a readable type name: without our namespace and allocators, and "lambda (int)" for lambdas.
PANTO_EXPORT std::string plain_type_name(const std::type_info& type);

PANTO_EXPORT std::string line_of(const Tensor& t);
PANTO_EXPORT std::string line_of(const Variable& v);
// For example "Dense(784, 128), 100480 parameters"; if to_string has several lines, "Sequential, 25 parameters: ..."
PANTO_EXPORT std::string line_of(const Layer& layer);
PANTO_EXPORT std::string line_of(const Optimizer& optimizer);
PANTO_EXPORT std::string line_of(const Function& f);
PANTO_EXPORT std::string line_of(const Graph& g);
PANTO_EXPORT std::string line_of(const panto::Session& session);
// For other types: the first line of `shown`, unless that is only the type's name.
PANTO_EXPORT std::string line_of(const std::type_info& type, const std::string& shown);

// A list of values in brackets, with the first ones of many.
class PANTO_EXPORT LineList {
 public:
  bool wants_more() const { return count_ < kShown; }
  void add(const std::string& item);
  std::string finish(char open, char close, bool more) const;

 private:
  static constexpr size_t kShown = 8;
  size_t count_ = 0;
  std::string text_;
};

template <class T>
std::string one_line(const T& value) {
  if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, Variable> || std::is_same_v<T, Graph> ||
                std::is_same_v<T, panto::Session>) {
    return line_of(value);
  } else if constexpr (std::is_base_of_v<Layer, T>) {
    return line_of(static_cast<const Layer&>(value));
  } else if constexpr (std::is_base_of_v<Optimizer, T>) {
    return line_of(static_cast<const Optimizer&>(value));
  } else if constexpr (std::is_base_of_v<Function, T>) {
    return line_of(static_cast<const Function&>(value));
  } else if constexpr (!std::is_class_v<T> || detail::Described<T> || detail::HasToString<T> ||
                       std::is_convertible_v<const T&, std::string_view> || detail::VariantLike<T>) {
    return line_of(typeid(T), text(value));
  } else if constexpr (detail::PointerLike<T>) {
    return value == nullptr ? std::string("nullptr") : "-> " + one_line(*value);
  } else if constexpr (detail::OptionalLike<T>) {
    return value.has_value() ? one_line(value.value()) : "none";
  } else if constexpr (detail::Range<T>) {
    LineList list;
    auto at = std::begin(value);
    for (; at != std::end(value) && list.wants_more(); ++at) {
      list.add(one_line(static_cast<const std::decay_t<decltype(*at)>&>(*at)));
    }
    return list.finish('[', ']', at != std::end(value));
  } else if constexpr (detail::TupleLike<T>) {
    LineList list;
    std::apply([&](const auto&... item) { (list.add(one_line(item)), ...); }, value);
    return list.finish('(', ')', false);
  } else {
    return line_of(typeid(T), text(value));
  }
}

}  // namespace panto::repl
