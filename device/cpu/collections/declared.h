// Shared by the kernels of queues, tables, readers and similar resources: finding or making the declared resource, and
// waiting.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/collections/waiting_line.h"
#include "panto/lib/core/step/async.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {

// Returns a handle to the resource named by the attribute `shared_name` (or, if that is empty, by the node's name) in
// `container`. make(container, name) creates the resource if it does not exist. Without any name it always creates a
// new one.
template <class Make>
Tensor declared_resource(const KernelContext& c, const Make& make) {
  const std::string container(c.text("container"));
  std::string name(c.text("shared_name"));
  if (name.empty()) name = c.call().node_name;
  if (name.empty()) return resource_tensor(make(container, name));
  struct Declared {
    const Make& make;
    const std::string& container;
    const std::string& name;
  } declared{make, container, name};
  return resource_tensor(c.step().resource_manager().lookup_or_create(
      container, name,
      [](void* argument) -> ResourceHandle {
        const Declared& d = *static_cast<const Declared*>(argument);
        return d.make(d.container, d.name);
      },
      &declared));
}

// Completes the call when `attempt`, run under the lock of the resource's waiting line, has returned true or thrown. If
// the call is cancelled, its entry is removed from the line.
template <class R>
void wait_in_line(const std::shared_ptr<AsyncContext>& c, const Done& done, const std::shared_ptr<R>& resource,
                  WaitingLine::Attempt attempt) {
  const std::shared_ptr<Cancellation> cancellation = c->step().cancellation;  // read before the call can end
  const uint64_t number = resource->line().wait(std::move(attempt), [done](std::exception_ptr error) {
    if (error) {
      done(std::move(error));
    } else {
      done();
    }
  });
  cancellation->watch([resource, number] { resource->line().forget(number); });
}

}  // namespace panto
