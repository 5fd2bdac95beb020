// The one exception type of the library, and the framework's way to add context to it.
//
//   fail(Code::kInvalidArgument, "inner dimensions: expected 3, got 4");
//
// The code that finds a fault states one fact, `expected X, got Y`. Its callers (dispatcher, importer, executor) add
// where it happened with `with_context`; a leaf never repeats the op's name or its shapes.
// A message is always one line of UTF-8 of at most 4 KB, even if it contains a user's data: control characters and
// invalid bytes are escaped, and the middle of a longer message is left out.
// Thread-safety: values; an Error may be copied and read from several threads.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "panto/lib/base/export.h"
#include "panto/lib/base/shared_impl.h"

namespace panto {

// Stable error codes. Their names are part of the command's contract (`error: <Code>: <message>`).
enum class Code : uint8_t {
  kCancelled,
  kInvalidArgument,
  kDeadlineExceeded,
  kNotFound,
  kAlreadyExists,
  kPermissionDenied,
  kResourceExhausted,
  kFailedPrecondition,
  kAborted,
  kOutOfRange,
  kUnimplemented,
  kInternal,
  kUnavailable,
  kDataLoss,
};

// "InvalidArgument", "OutOfRange", ...
PANTO_EXPORT std::string_view code_name(Code code) noexcept;

class PANTO_EXPORT Error : public std::exception {
 public:
  Error(Code code, std::string message);

  Code code() const noexcept;
  // The leaf's text and all added contexts, on one line: `leaf [in MatMul(...)] [node 'mm']`.
  const std::string& message() const noexcept;
  // `<Code>: <message>`.
  const char* what() const noexcept override;

  // Appends ` [context]`. Used by the framework while the error passes through it.
  void add_context(std::string_view context);

 private:
  struct State;
  SharedImpl<State> state_;  // shared, so that copying an exception cannot throw
};

[[noreturn]] PANTO_EXPORT void fail(Code code, std::string message);

// Runs `body`; an Error that leaves it gets `describe()` as context. Costs nothing when nothing is thrown.
template <class Describe, class Body>
decltype(auto) with_context(Describe&& describe, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (Error& error) {
    error.add_context(describe());
    throw;
  }
}

}  // namespace panto
