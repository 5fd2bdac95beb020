#include "panto/lib/core/op/operation.h"

#include <utility>

namespace panto {

Operation::Operation(std::weak_ptr<const void> graph, int id, std::string name)
    : node_(std::make_shared<const Node>(Node{std::move(graph), id, std::move(name)})) {}

const void* Operation::graph() const noexcept { return node_ == nullptr ? nullptr : node_->graph.lock().get(); }

std::string Operation::to_string() const {
  return defined() ? "Operation '" + node_->name + "'" : "Operation, done already";
}

}  // namespace panto
