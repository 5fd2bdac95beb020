// Structures of tensors: what traced and transformed functions can take and return besides tensors. A structure is a
// tensor; a pair, tuple, array, vector or map from strings of structures; or an aggregate struct of at most 16
// structures.
//
//   struct Batch { Tensor images, labels; };
//   std::map<std::string, Tensor> parameters;
//
// Internal: `trace` and the transforms use it.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto::detail {

template <class T>
concept MapOfTensors = requires(T map, typename T::key_type key, typename T::mapped_type value) {
  requires std::same_as<typename T::key_type, std::string>;
  map.emplace(key, value);
};
template <class T>
concept ListOfTensors = !MapOfTensors<T> && requires(T list, typename T::value_type value) { list.push_back(value); };
template <class T>
concept TupleOfTensors = requires { std::tuple_size<T>::value; };

struct AnyMember {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): never called
};
template <class T, size_t... I>
constexpr bool has_members(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), AnyMember())...}; };
}
// Number of members of an aggregate; 0 if T is not one, or has too many.
template <class T, size_t N = 16>
constexpr size_t member_count() {
  if constexpr (N == 0 || !std::is_aggregate_v<T>) {
    return 0;
  } else if constexpr (has_members<T>(std::make_index_sequence<N>()) &&
                       !has_members<T>(std::make_index_sequence<N + 1>())) {
    return N;
  } else {
    return member_count<T, N - 1>();
  }
}

// References to the members of an aggregate.
template <class T>
auto members_of(T& s) {
  constexpr size_t count = member_count<std::remove_const_t<T>>();
  static_assert(count > 0, "expected tensors, or pairs, tuples, arrays, vectors, maps or plain structs of them");
  if constexpr (count == 1) {
    auto& [a] = s;
    return std::tie(a);
  }
  if constexpr (count == 2) {
    auto& [a, b] = s;
    return std::tie(a, b);
  }
  if constexpr (count == 3) {
    auto& [a, b, c] = s;
    return std::tie(a, b, c);
  }
  if constexpr (count == 4) {
    auto& [a, b, c, d] = s;
    return std::tie(a, b, c, d);
  }
  if constexpr (count == 5) {
    auto& [a, b, c, d, e] = s;
    return std::tie(a, b, c, d, e);
  }
  if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = s;
    return std::tie(a, b, c, d, e, f);
  }
  if constexpr (count == 7) {
    auto& [a, b, c, d, e, f, g] = s;
    return std::tie(a, b, c, d, e, f, g);
  }
  if constexpr (count == 8) {
    auto& [a, b, c, d, e, f, g, h] = s;
    return std::tie(a, b, c, d, e, f, g, h);
  }
  if constexpr (count == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = s;
    return std::tie(a, b, c, d, e, f, g, h, i);
  }
  if constexpr (count == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  }
  if constexpr (count == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  }
  if constexpr (count == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  }
  if constexpr (count == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  }
  if constexpr (count == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  }
  if constexpr (count == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  }
  if constexpr (count == 16) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
  }
}

// True if the structure contains lists or maps, whose lengths or keys do not follow from the type.
template <class T>
constexpr bool is_dynamic() {
  if constexpr (std::same_as<T, Tensor>) {
    return false;
  } else if constexpr (MapOfTensors<T> || ListOfTensors<T>) {
    return true;
  } else if constexpr (TupleOfTensors<T>) {
    return []<size_t... I>(std::index_sequence<I...>) {
      return (is_dynamic<std::decay_t<std::tuple_element_t<I, T>>>() || ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    return is_dynamic<decltype(members_of(std::declval<T&>()))>();
  }
}

// Calls f(tensor) for each tensor of a structure, in order, and f.key(text), if f has that member, for lengths and
// keys: what distinguishes it from other structures of its type.
template <class T, class F>
void visit(T& value, F&& f) {
  using V = std::remove_const_t<T>;
  if constexpr (std::same_as<V, Tensor>) {
    f(value);
  } else if constexpr (MapOfTensors<V>) {
    if constexpr (requires { f.key(std::string()); }) f.key("{" + std::to_string(value.size()));
    for (auto& [key, member] : value) {
      if constexpr (requires { f.key(key); }) f.key(key);
      visit(member, f);
    }
  } else if constexpr (ListOfTensors<V>) {
    if constexpr (requires { f.key(std::string()); }) f.key("[" + std::to_string(value.size()));
    for (auto& member : value) visit(member, f);
  } else if constexpr (TupleOfTensors<V>) {
    std::apply([&](auto&... members) { (visit(members, f), ...); }, value);
  } else {
    std::apply([&](auto&... members) { (visit(members, f), ...); }, members_of(value));
  }
}

// The tensors of a structure, in order.
template <class T>
void append_tensors(const T& value, std::vector<Tensor>& tensors) {
  visit(value, [&](const Tensor& t) { tensors.push_back(t); });
}

// Collects the lengths and keys that distinguish structures of one type.
struct StructureText {
  void operator()(const Tensor&) {}
  void key(const std::string& part) { (text += std::to_string(part.size()) += ':') += part; }
  std::string text = {};
};

}  // namespace panto::detail
