// The source line that errors, nodes and logs name while a library function calls ops: the line of the function's
// caller, not a line of the library. Internal.
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

// While it lives, ops that this thread calls appear to be called from `where`. If scopes nest, the outermost one
// counts.
class PANTO_EXPORT CallerScope {
 public:
  explicit CallerScope(const std::source_location& where) noexcept;
  // Ops are called from their own lines again: for a user's function that the library calls.
  explicit CallerScope(std::nullptr_t) noexcept;
  ~CallerScope();
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;
  // Adds the line to an error that leaves the outermost scope.
  void add_line(Error& error) const;

 private:
  std::source_location where_;
  const std::source_location* previous_;
};

// The line that this thread's ops appear to be called from; null: each op's own line.
PANTO_EXPORT const std::source_location* current_caller() noexcept;

// Runs body() as if called from `where`.
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
