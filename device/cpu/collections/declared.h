// What the kernels of queues, tables, readers and the like share: finding or making what a call declares, and waiting.
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

// A handle to the resource `shared_name` (or, without one, of the node's name) in `container`, the call's attributes,
// which `make(container, name)` makes if there is none; without any name, to a new one.
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

// The call is done when `attempt`, made under the line's lock, returned true or threw. `resource` has the line, and
// does not know of the call any more when that is stopped.
template <class R>
void wait_in_line(const std::shared_ptr<AsyncContext>& c, const Done& done, const std::shared_ptr<R>& resource,
                  WaitingLine::Attempt attempt) {
  const std::shared_ptr<Cancellation> cancellation = c->step().cancellation;  // taken before the call could end
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
