#include "panto/lib/core/op/function_body.h"

#include "panto/lib/base/error.h"
#include "panto/lib/base/format.h"
#include "panto/lib/base/quote.h"

namespace panto {
namespace {

constinit const FunctionRuntime* entered = nullptr;

}  // namespace

FunctionBody::FunctionBody() = default;
FunctionBody::~FunctionBody() = default;
FunctionLibrary::FunctionLibrary() = default;
FunctionLibrary::~FunctionLibrary() = default;
FunctionRuntime::~FunctionRuntime() = default;

std::shared_ptr<const FunctionBody> body_of(const FunctionRef& function) {
  if (function.body != nullptr) return function.body;
  if (function.library != nullptr) return function.library->find(function.name);
  failf(Code::kNotFound, "function: expected one that is known here, got the name '{}'", printable(function.name));
}

const FunctionRuntime& FunctionRuntime::get() {
  if (entered == nullptr) fail(Code::kInternal, "functions: expected a runtime that calls them, got none");
  return *entered;
}

void FunctionRuntime::enter(const FunctionRuntime* runtime) noexcept { entered = runtime; }

}  // namespace panto
