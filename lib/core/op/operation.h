// Operation: the result of an assignment. While a graph is built it is the node that will assign, which can be run,
// grouped or waited for:
//
//   Operation step = w.assign_sub(0.1f * dw);       // inside a GraphScope
//   session.run(step);
//
// In eager mode the assignment is already done and there is nothing to run: the Operation is undefined.
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
  // `id` and `name` of a node of the graph with this identity (Graph::location).
  Operation(std::weak_ptr<const void> graph, int id, std::string name);

  bool defined() const noexcept { return node_ != nullptr; }
  // -1 if undefined.
  int id() const noexcept;
  // The name that the node had when it was made; "" if undefined.
  std::string name() const;
  // Null if undefined, or if the graph is gone.
  const void* graph() const noexcept;
  // "Operation 'name'", or "Operation, done already".
  std::string to_string() const;
  // True for the same node. Two undefined operations are equal.
  bool operator==(const Operation& other) const noexcept;

 private:
  struct Node;
  SharedImpl<const Node> node_;
};

}  // namespace panto
