// The header against which a session's inputs are compiled. The command exports the functions declared here.
#pragma once

#include <panto/apps/repl/one_line.h>
#include <panto/panto.h>
#include <panto/repl.h>

#include <cmath>
#include <functional>
#include <iostream>  // lint: allow(header) inputs use std::cout
#include <map>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// cling's <limits.h> has only the compiler's limits. <thread> and <semaphore> need the system's too
// (_POSIX_SEM_VALUE_MAX).
#if __has_include(<bits/posix1_lim.h>)
#include <bits/posix1_lim.h>  // lint: allow(header) cling's limits.h leaves it out
#endif

extern "C" {
// Passes the function compiled from an input to the session, which calls it after the compiler is done.
PANTO_EXPORT int panto_repl_enter(void (*run)());
// Passes the text of an expression's value, to be shown.
PANTO_EXPORT void panto_repl_result(const char* text, size_t size);
// Keeps a shown value for `_` and `Out[n]`: an object, or its bytes.
PANTO_EXPORT void panto_repl_shown(void* object, void (*destroy)(void* object));
PANTO_EXPORT void panto_repl_shown_bytes(const void* bytes, size_t size);
// Returns the value that piece `serial` showed.
PANTO_EXPORT void* panto_repl_out(int serial);
// An object that an input made for a variable. Types are compared by `*type`. `assign` moves `from` into `to` and may
// be null; `describe` writes the text for :vars.
struct PantoReplObject {
  void* object;
  const std::type_info* type;
  void (*assign)(void* to, void* from);
  void (*destroy)(void* object);
  void (*retire)(void* object);
  void (*describe)(const void* object, void (*write)(const char*, size_t));
};
PANTO_EXPORT void panto_repl_keep(const PantoReplObject* object);
// Returns the object that the last input kept.
PANTO_EXPORT void* panto_repl_kept();
// Measures an expression: calls body(n), which repeats it n times, until the time of one repetition is known.
PANTO_EXPORT void panto_repl_time(void (*body)(void* context, long n), void* context);
}

namespace panto::repl {

// The type as which a shown value is kept; void if it cannot be kept. Views are not kept, as their targets may vanish.
template <class V>
struct KeptAs {
  using type = V;
};
template <class V>
inline constexpr bool kIsView = false;
template <class E, size_t N>
inline constexpr bool kIsView<std::span<E, N>> = true;
template <class E>
inline constexpr bool kIsView<std::initializer_list<E>> = true;
// Checks items too: a vector claims to be copyable even if its items are not.
template <class V>
constexpr bool can_copy() {
  if constexpr (requires { typename V::value_type; }) {
    if constexpr (!std::is_same_v<typename V::value_type, V>) {
      return std::is_copy_constructible_v<V> && can_copy<typename V::value_type>();
    }
  }
  return std::is_copy_constructible_v<V>;
}
template <class T>
constexpr auto kept_as() {
  using V = std::decay_t<T>;
  constexpr bool kCopied = std::is_lvalue_reference_v<T>;
  if constexpr (std::is_same_v<V, std::string_view>) {
    return KeptAs<std::string>();
  } else if constexpr (kIsView<V> || std::is_base_of_v<std::ios_base, V> || !std::is_constructible_v<V, T&&> ||
                       !std::is_destructible_v<V>) {
    return KeptAs<void>();
  } else if constexpr (kCopied && !std::is_array_v<std::remove_reference_t<T>> && !can_copy<V>()) {
    return KeptAs<void>();
  } else {
    return KeptAs<V>();
  }
}
template <class T>
void keep_shown(T&& value) {
  using V = typename decltype(kept_as<T>())::type;
  if constexpr (std::is_void_v<V>) {
    return;
  } else if constexpr (std::is_trivially_copyable_v<V> && alignof(V) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
    V copy(static_cast<T&&>(value));
    panto_repl_shown_bytes(&copy, sizeof copy);
  } else {
    try {
      panto_repl_shown(new V(static_cast<T&&>(value)), [](void* p) { delete static_cast<V*>(p); });
    } catch (...) {
      return;  // if copying throws, the value is not kept; it was shown already
    }
  }
}
// Returns the kept object of piece `serial`.
template <class K>
typename K::type& out(int serial) {
  return *static_cast<typename K::type*>(panto_repl_out(serial));
}

inline KeptAs<void> show(End) { return {}; }
// Overloads for common types are compiled into the command, so that such inputs answer faster.
PANTO_EXPORT void show_value(long long value);
PANTO_EXPORT void show_value(unsigned long long value);
PANTO_EXPORT void show_value(double value);
PANTO_EXPORT void show_value(float value);
PANTO_EXPORT void show_value(bool value);
PANTO_EXPORT void show_value(const std::string& value);
PANTO_EXPORT void show_value(const Tensor& value);
PANTO_EXPORT void show_value(const Variable& value);
PANTO_EXPORT void show_value(const Function& value);
template <class T>
auto show(Shown<T> shown) {
  using V = std::remove_cvref_t<T>;
  const auto kept = kept_as<T>();
  if constexpr (std::is_same_v<V, Operation>) {
    if (!shown.value.defined()) return kept;  // an assignment, which has already run
  }
  if constexpr (std::is_base_of_v<std::ios_base, V>) {
    // `std::cout << x`: printing was its purpose; shows nothing.
  } else if constexpr (std::is_same_v<V, bool> || std::is_same_v<V, float> || std::is_same_v<V, double> ||
                       std::is_same_v<V, std::string> || std::is_same_v<V, Tensor> || std::is_same_v<V, Variable> ||
                       std::is_same_v<V, Function>) {
    show_value(shown.value);
  } else if constexpr (std::is_integral_v<V> && !std::is_same_v<V, char>) {
    show_value(std::conditional_t<std::is_signed_v<V>, long long, unsigned long long>(shown.value));
    keep_shown(shown.value);
  } else {
    const std::string out = text(static_cast<const V&>(shown.value));
    panto_repl_result(out.data(), out.size());
    keep_shown(static_cast<T&&>(shown.value));
  }
  return kept;
}

inline const Graph& graph_of(const Function& f) { return f.graph(); }
inline const Graph& graph_of(const Graph& g) { return g; }  // NOLINT(bugprone-return-const-ref-from-parameter)

// Called for the old object when a variable is declared again: ends effects that others would notice.
template <class T>
void retire(T&) {}
inline void retire(GradientTape& tape) { tape.stop(); }

template <class T>
void keep_object(T* object) {
  PantoReplObject entry{};
  entry.object = const_cast<std::remove_const_t<T>*>(object);
  entry.type = &typeid(T);
  if constexpr (std::is_move_assignable_v<T>) {
    entry.assign = [](void* to, void* from) { *static_cast<T*>(to) = std::move(*static_cast<T*>(from)); };
  }
  if constexpr (std::is_destructible_v<T>) entry.destroy = [](void* p) { delete static_cast<T*>(p); };
  entry.retire = [](void* p) { retire(*static_cast<T*>(p)); };
  entry.describe = [](const void* p, void (*write)(const char*, size_t)) {
    const std::string out = one_line(*static_cast<const T*>(p));
    write(out.data(), out.size());
  };
  panto_repl_keep(&entry);
}
template <class T>
void keep(T* object) {
  keep_object(object);
}
PANTO_EXPORT void keep(Tensor* object);
PANTO_EXPORT void keep(Variable* object);
PANTO_EXPORT void keep(Function* object);
PANTO_EXPORT void keep(GradientTape* object);
PANTO_EXPORT void keep(int* object);
PANTO_EXPORT void keep(float* object);
PANTO_EXPORT void keep(double* object);
PANTO_EXPORT void keep(std::string* object);
template <class T>
T& kept(T* (*)()) {
  return *static_cast<T*>(panto_repl_kept());
}

// Prevents the compiler from removing the computation of the value.
template <class T>
inline void used(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}
inline void discard(End) {}
template <class T>
inline void discard(const Shown<T>& shown) {
  used(shown.value);
}
template <class F>
void time(F f) {
  panto_repl_time(
      [](void* context, long n) {
        for (long i = 0; i < n; ++i) (*static_cast<F*>(context))();
      },
      &f);
}

}  // namespace panto::repl
