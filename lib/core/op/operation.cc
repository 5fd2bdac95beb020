#include "panto/lib/core/op/operation.h"

#include <utility>

namespace panto {

struct Operation::Node {
  std::weak_ptr<const void> graph;
  int id;
  std::string name;
};

Operation::Operation(std::weak_ptr<const void> graph, int id, std::string name)
    : node_(std::make_shared<const Node>(Node{std::move(graph), id, std::move(name)})) {}

int Operation::id() const noexcept { return node_ == nullptr ? -1 : node_->id; }
std::string Operation::name() const { return node_ == nullptr ? std::string() : node_->name; }

const void* Operation::graph() const noexcept { return node_ == nullptr ? nullptr : node_->graph.lock().get(); }

bool Operation::operator==(const Operation& other) const noexcept {
  return id() == other.id() && graph() == other.graph();
}

std::string Operation::to_string() const {
  return defined() ? "Operation '" + node_->name + "'" : "Operation, done already";
}

}  // namespace panto
