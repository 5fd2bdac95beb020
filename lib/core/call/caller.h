// Whose line errors, nodes and logs name while functions of the library call ops: their caller's, not their own.
// Internal.
//
//   Tensor norm(Arg x, ...) {
//     return from_caller(x.where(), [&] { return sqrt(sum(square(x))); });
//   }
#pragma once

#include <source_location>
#include <utility>

#include "panto/lib/base/error.h"
#include "panto/lib/base/export.h"

namespace panto {

// While it lives, this thread's ops are called from `where`. Of nested ones the outermost counts.
class PANTO_EXPORT CallerScope {
 public:
  explicit CallerScope(const std::source_location& where) noexcept;
  // Ops are called from their own lines again: of a user's function that the library calls.
  explicit CallerScope(std::nullptr_t) noexcept;
  ~CallerScope();
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;
  // Adds the line to what passes through the outermost one.
  void add_line(Error& error) const;

 private:
  std::source_location where_;
  const std::source_location* previous_;
};

// Where this thread's ops are called from; null: from their own lines.
PANTO_EXPORT const std::source_location* current_caller() noexcept;

// body() as called from `where`.
template <class Body>
decltype(auto) from_caller(const std::source_location& where, Body&& body) {
  const CallerScope scope(where);
  try {
    return std::forward<Body>(body)();
  } catch (Error& error) {
    scope.add_line(error);
    throw;
  }
}

}  // namespace panto
