#include "panto/lib/core/op/function_body.h"

#include "panto/lib/base/error.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/call/call.h"

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

bool calls_ready_functions(const Call& call) {
  const auto& attrs = call.op->signature().attrs;
  for (size_t i = 0; i < attrs.size(); ++i) {
    const bool is_function = attrs[i].kind == AttrKind::kFunc || attrs[i].kind == AttrKind::kFuncList;
    if (!is_function || !call.attrs[i].set) continue;
    // Of a loop the condition has no gradient.
    if (call.op->is(OpKind::kLoop) && attrs[i].name == "cond") continue;
    const auto* first = static_cast<const FunctionRef*>(call.attrs[i].p);
    const uint32_t count = attrs[i].kind == AttrKind::kFunc ? 1 : call.attrs[i].n;
    for (uint32_t k = 0; k < count; ++k) {
      if (first[k].body == nullptr || !first[k].body->is_ready_for_gradients()) return false;
    }
  }
  return true;
}

const FunctionRuntime& FunctionRuntime::get() {
  if (entered == nullptr) fail(Code::kInternal, "functions: expected a runtime that calls them, got none");
  return *entered;
}

void FunctionRuntime::enter(const FunctionRuntime* runtime) noexcept { entered = runtime; }

}  // namespace panto
