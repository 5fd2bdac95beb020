// Operation: what an assignment gives. Where a graph is being built it is the node that will assign, to be run, grouped
// or waited for:
//
//   Operation step = w.assign_sub(0.1f * dw);       // inside a GraphScope
//   session.run(step);
//
// Elsewhere the assignment has been done, and there is nothing to run: an undefined Operation.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "panto/lib/base/export.h"
#include "panto/lib/base/shared_impl.h"

namespace panto {

class PANTO_EXPORT Operation {
 public:
  Operation() = default;
  // Node `id`, made as `name`, of the graph with this identity (Graph::location).
  Operation(std::weak_ptr<const void> graph, int id, std::string name);

  bool defined() const noexcept { return node_ != nullptr; }
  // -1 if undefined.
  int id() const noexcept;
  // As the node was named when it was made; "" if undefined.
  std::string name() const;
  // Null if undefined, or if the graph is gone.
  const void* graph() const noexcept;
  // "Operation 'name'", or "Operation, done already".
  std::string to_string() const;
  // The same node; two undefined ones are equal.
  bool operator==(const Operation& other) const noexcept;

 private:
  struct Node;
  SharedImpl<const Node> node_;
};

}  // namespace panto
