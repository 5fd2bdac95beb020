#include "panto/lib/core/op/function_body.h"

#include <algorithm>
#include <limits>

#include "panto/lib/base/error.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/call/recorder.h"

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

int gradient_orders(const Call& call) {
  int least = std::numeric_limits<int>::max();
  const auto& attrs = call.op->signature().attrs;
  for (size_t i = 0; i < attrs.size(); ++i) {
    const bool is_function = attrs[i].kind == AttrKind::kFunc || attrs[i].kind == AttrKind::kFuncList;
    if (!is_function || !call.attrs[i].set) continue;
    // A loop's condition has no gradient.
    if (call.op->is(OpKind::kLoop) && attrs[i].name == "cond") continue;
    const auto* first = static_cast<const FunctionRef*>(call.attrs[i].p);
    const uint32_t count = attrs[i].kind == AttrKind::kFunc ? 1 : call.attrs[i].n;
    for (uint32_t k = 0; k < count; ++k) {
      least = std::min(least, first[k].body == nullptr ? 0 : first[k].body->gradient_orders());
    }
  }
  return least;
}

int wanted_gradient_orders() {
  constexpr int kMost = 3;
  int orders = 0;
  for (const Recorder* r : recorders()) {
    if (r->computes_gradients()) orders += r->hears_own_gradients() ? 2 : 1;
  }
  return std::min(orders, kMost);
}

const FunctionRuntime& FunctionRuntime::get() {
  if (entered == nullptr) fail(Code::kInternal, "functions: expected a runtime that calls them, got none");
  return *entered;
}

void FunctionRuntime::enter(const FunctionRuntime* runtime) noexcept { entered = runtime; }

}  // namespace panto
