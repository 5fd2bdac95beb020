// What the inputs of a session are compiled against. The command exports the functions declared here.
#pragma once

#include <panto/panto.h>
#include <panto/repl.h>

#include <cmath>
#include <functional>
#include <iostream>  // lint: allow(header) inputs use std::cout
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

extern "C" {
// Hands over the function that an input was made into; the session calls it after the compiler is done.
PANTO_EXPORT int panto_repl_enter(void (*run)());
// The value of an expression, to be shown.
PANTO_EXPORT void panto_repl_result(const char* text, size_t size);
// An object that an input made for a variable. `type` tells types apart by its address's contents (std::type_info);
// `assign` moves `from` into `to` and may be null; `describe` writes the value for :vars.
struct PantoReplObject {
  void* object;
  const std::type_info* type;
  void (*assign)(void* to, void* from);
  void (*destroy)(void* object);
  void (*retire)(void* object);
  void (*describe)(const void* object, void (*write)(const char*, size_t));
};
PANTO_EXPORT void panto_repl_keep(const PantoReplObject* object);
// The object that the last input kept.
PANTO_EXPORT void* panto_repl_kept();
// Calls body(n), which repeats an expression n times, until the time of one is known, and notes it.
PANTO_EXPORT void panto_repl_time(void (*body)(void* context, long n), void* context);
}

namespace panto::repl {

inline void show(End) {}
// Types that are common at a prompt are compiled into the command: their inputs answer sooner.
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
void show(Shown<T> shown) {
  using V = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<V, Operation>) {
    if (!shown.value.defined()) return;  // of an assignment, which is done
  }
  if constexpr (std::is_base_of_v<std::ios_base, V>) {
    // `std::cout << x` was written for what it prints.
  } else if constexpr (std::is_same_v<V, bool> || std::is_same_v<V, float> || std::is_same_v<V, double> ||
                       std::is_same_v<V, std::string> || std::is_same_v<V, Tensor> || std::is_same_v<V, Variable> ||
                       std::is_same_v<V, Function>) {
    show_value(shown.value);
  } else if constexpr (std::is_integral_v<V> && !std::is_same_v<V, char>) {
    show_value(std::conditional_t<std::is_signed_v<V>, long long, unsigned long long>(shown.value));
  } else {
    const std::string out = text(static_cast<const V&>(shown.value));
    panto_repl_result(out.data(), out.size());
  }
}

inline const Graph& graph_of(const Function& f) { return f.graph(); }
inline const Graph& graph_of(const Graph& g) { return g; }  // NOLINT(bugprone-return-const-ref-from-parameter)

// A variable that is declared again gives up what it holds, as far as others notice.
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
    const std::string out = text(*static_cast<const T*>(p));
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

// Keeps the compiler from leaving out what makes the value.
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
