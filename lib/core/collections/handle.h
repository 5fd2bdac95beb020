// The resource that a handle (a scalar resource tensor) refers to: a queue, a table, a reader ...
//
//   const std::shared_ptr<Queue> queue = resource_as<Queue>(handle, "queue");
#pragma once

#include <memory>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/resource.h"

namespace panto {

// The resource that `handle` refers to. Throws InvalidArgument if the tensor is not a handle, or is an empty one.
// `what` names the expected kind of resource in messages.
PANTO_EXPORT const ResourceHandle& resource_in(const Tensor& handle, std::string_view what);
[[noreturn]] PANTO_EXPORT void fail_other_resource(const Resource& resource, std::string_view what);

template <class R>
std::shared_ptr<R> resource_as(const Tensor& handle, std::string_view what) {
  const ResourceHandle& resource = resource_in(handle, what);
  auto of_kind = std::dynamic_pointer_cast<R>(resource);
  if (of_kind == nullptr) fail_other_resource(*resource, what);
  return of_kind;
}

}  // namespace panto
