// Session: runs a graph by names, TensorFlow-1 style.
//
//   Session s(read_graph("graph.pb"));
//   auto r = s.run({{"x:0", x}}, {"y:0"});          // r[0] is y
//   s.run({}, {}, {"init"});                        // run a node for its effect
//
// A session has variables of its own (by container and name), and stateful random nodes go on from run to run. It works
// on a copy of the graph: nodes added to the original later are not seen. Only what fetches and targets need is run.
// For each combination of feeds, fetches, targets and shapes the graph is optimized and planned once. Thread-safety:
// `run` may be called from several threads at once; updates of one variable are ordered by its lock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/runtime/plan_stats.h"

namespace panto {

class ResourceManager;

// A tensor of the graph: by name ("x:0"; "x" is "x:0"), or by the symbolic tensor that a GraphScope gave.
class PANTO_EXPORT TensorRef {
 public:
  // NOLINTBEGIN(google-explicit-constructor): written as {"x:0", x} and {"y"}
  TensorRef(std::string name) : name_(std::move(name)) {}
  TensorRef(const char* name) : name_(name) {}
  TensorRef(Tensor symbolic) : symbolic_(std::move(symbolic)) {}
  // NOLINTEND(google-explicit-constructor)
  const std::string& name() const noexcept { return name_; }
  const Tensor& symbolic() const noexcept { return symbolic_; }
  bool operator==(const TensorRef& other) const noexcept {
    return name_ == other.name_ && symbolic_.impl() == other.symbolic_.impl();
  }

 private:
  std::string name_;
  Tensor symbolic_;
};

using Feeds = std::vector<std::pair<TensorRef, Tensor>>;
using Fetches = std::vector<TensorRef>;

struct SessionOptions {
  std::string passes = {};      // "" all, "off", "cse,fusion", "-cse": see lib/runtime/optimizer.h
  bool soft_placement = false;  // a device that is not there, or has no kernel, becomes the first CPU
  // Where nodes run that ask for no device, "/gpu:0"; "": where the feeds are. A run throws NotFound if there is none.
  std::string device = {};
};

class PANTO_EXPORT Session {
 public:
  // Throws InvalidArgument for a graph that is not in order.
  explicit Session(Graph graph, SessionOptions options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // The values of `fetches`, in order, after the nodes `targets` (names without ":0") have run too.
  // Throws InvalidArgument for names that are no tensors or nodes, feeds that are given twice, do not fit or are
  // missing; and what the ops throw, with the node's name and the user's line.
  std::vector<Tensor> run(const Feeds& feeds, const Fetches& fetches, const std::vector<std::string>& targets = {});

  const Graph& graph() const;
  // The session's variables.
  ResourceManager& resources();
  // Of the combination of feeds, fetches, targets and shapes that ran last. Throws FailedPrecondition before the first.
  PlanStats plan_stats() const;
  // Its graph, after placement and optimization.
  Graph optimized_graph() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
