// Session: runs a graph by names, TensorFlow-1 style.
//
//   Session s(read_graph("graph.pb"));
//   s.run("init");                                              // run a node for its effect
//   Tensor y = s.run("y:0", {{"x:0", x}});
//   auto [l, a] = s.run<2>({loss, accuracy}, {{images, batch}, {rate, 0.1}});
//
// A session has variables of its own (by container and name), and stateful random nodes go on from run to run. Only
// what fetches need is run. For each combination of fetches, feeds and shapes the graph is optimized and planned once.
// Thread-safety: `run` may be called from several threads at once, while nobody changes the graph; updates of one
// variable are ordered by its lock.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/base/shared_impl.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/graph/graph_element.h"
#include "panto/lib/runtime/plan_stats.h"

namespace panto {

class CostModel;
class ResourceManager;

// What is fed: a tensor, or a number, which becomes a scalar of the type that is wanted.
class PANTO_EXPORT FeedValue {
 public:
  // NOLINTBEGIN(google-explicit-constructor): written as {"x:0", x} and {"rate", 0.5}
  FeedValue(Tensor tensor) : tensor_(std::move(tensor)) {}
  FeedValue(const Variable& variable) : tensor_(variable.value()) {}
  FeedValue(bool value) : kind_(Kind::kBool), integer_(value) {}
  FeedValue(std::floating_point auto value) : kind_(Kind::kReal), real_(value) {}
  template <std::integral Integer>
    requires(sizeof(Integer) < 8 || std::is_signed_v<Integer>)
  FeedValue(Integer value) : kind_(Kind::kInteger), integer_(value) {}
  // NOLINTEND(google-explicit-constructor)
  enum class Kind : uint8_t { kTensor, kBool, kInteger, kReal };
  Kind kind() const noexcept { return kind_; }
  const Tensor& tensor() const noexcept { return tensor_; }
  int64_t integer() const noexcept { return integer_; }
  double real() const noexcept { return real_; }

 private:
  Kind kind_ = Kind::kTensor;
  Tensor tensor_;
  int64_t integer_ = 0;
  double real_ = 0;
};

using Fetches = std::vector<GraphElement>;
using Feeds = std::vector<std::pair<GraphElement, FeedValue>>;

struct SessionOptions {
  std::string passes = {};      // "" all, "off", "cse,fusion", "-cse": see lib/runtime/optimizer.h
  bool soft_placement = false;  // a device that is not there, or has no kernel, becomes the first CPU
  // TensorFlow 1's loops and conditionals run as While and If where they can, but for what is fetched or fed inside of
  // them, and where no pass is wanted.
  bool raise_control_flow = true;
  // Where nodes run that ask for no device, "/gpu:0"; "": where the feeds are. A run throws NotFound if there is none.
  std::string device = {};
  // One line for each node on standard error when it is placed, as TensorFlow writes it:
  // "b: (MatMul): /job:localhost/replica:0/task:0/device:CPU:1".
  bool log_device_placement = false;
  // "" as above; "by_cost": nodes that may run on several devices run where a simulation ends soonest
  // (lib/runtime/cost_model.h; docs/devices.md).
  std::string placement = {};
  // float32 goes from device to device as bfloat16: half the bytes, with an error of at most 2^-8 of each value.
  bool narrow_transfers = false;
};

class PANTO_EXPORT Session {
 public:
  // Of a graph that may grow: nodes that are added to it later are known to later runs, as long as it lives (moved or
  // not). Changes to nodes that were there before are none that a session must see. Throws InvalidArgument for a graph
  // that is not in order.
  explicit Session(const Graph& graph, SessionOptions options = {});
  // Of a graph of its own.
  explicit Session(Graph&& graph, SessionOptions options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // The values of `fetches`, in order. A fetch is a tensor, by name or by the symbolic tensor that a GraphScope gave; a
  // variable, which is read when everything has run; or a node that is run only, whose value is an undefined tensor: an
  // Operation, "^name", the name of a node without outputs. Feeds may be any tensors of the graph.
  // Throws InvalidArgument for names that are no tensors or nodes, feeds that are given twice, do not fit or are
  // missing, FailedPrecondition for variables without a value; and what the ops throw, with the node's name and the
  // user's line.
  std::vector<Tensor> run(const Fetches& fetches, const Feeds& feeds);
  std::vector<Tensor> run(const Fetches& fetches);  // no defaults: they take whoever includes this longer to compile
  // As an array, for structured bindings. Throws InvalidArgument for another number of fetches.
  template <size_t N>
  std::array<Tensor, N> run(const Fetches& fetches, const Feeds& feeds) {
    std::array<Tensor, N> values;
    run_into(fetches, feeds, values.data(), N);
    return values;
  }
  template <size_t N>
  std::array<Tensor, N> run(const Fetches& fetches) {
    std::array<Tensor, N> values;
    run_into(fetches, values.data(), N);
    return values;
  }
  // The value of one.
  template <class Fetch>
    requires std::convertible_to<const Fetch&, GraphElement>
  Tensor run(const Fetch& fetch, const Feeds& feeds) {
    return run_one(GraphElement(fetch), feeds);
  }
  template <class Fetch>
    requires std::convertible_to<const Fetch&, GraphElement>
  Tensor run(const Fetch& fetch) {
    return run_one(GraphElement(fetch));
  }

  // As the session knows it: the reference holds until a run finds new nodes.
  const Graph& graph() const;
  // The session's variables.
  ResourceManager& resources();
  // What placement by cost asks: nothing but estimates at first. The first runs of each plan are noted in it; what was
  // saved earlier may be loaded before the first.
  CostModel& costs();
  // Of the combination of fetches, feeds and shapes that ran last. Throws FailedPrecondition before the first.
  PlanStats plan_stats() const;
  // Its graph, after placement and optimization.
  Graph optimized_graph() const;

 private:
  // For the templates: in a class they would instantiate vectors for whoever includes this.
  void run_into(const Fetches& fetches, const Feeds& feeds, Tensor* values, size_t count);
  void run_into(const Fetches& fetches, Tensor* values, size_t count);
  Tensor run_one(const GraphElement& fetch, const Feeds& feeds);
  Tensor run_one(const GraphElement& fetch);
  class Impl;
  SharedImpl<Impl> impl_;  // of one session: a unique_ptr takes whoever includes this longer to compile
};

}  // namespace panto
