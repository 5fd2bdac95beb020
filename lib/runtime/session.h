// Session: runs a graph by names, TensorFlow-1 style.
//
//   Session s(read_graph("graph.pb"));
//   s.run("init");                                              // run a node for its effect
//   Tensor y = s.run("y:0", {{"x:0", x}});
//   auto [l, a] = s.run<2>({loss, accuracy}, {{images, batch}, {rate, 0.1}});
//   const SessionCallable step = s.make_callable({train, loss}, {images, labels});
//   step(batch, classes);                                        // the same run again and again, for less
//
// A session has variables of its own (by container and name), and stateful random nodes go on from run to run. Only
// what fetches need is run. For each combination of fetches, feeds and shapes the graph is optimized and planned once.
// docs/sessions.md shows all of it.
// Thread-safety: everything may be called from several threads at once, while nobody changes the graph; updates of one
// variable are ordered by its lock.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/base/shared_impl.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/graph/graph_element.h"
#include "panto/lib/runtime/plan/plan_stats.h"

namespace panto {

class CostModel;
class ResourceManager;
class SessionCallable;
struct RunMetadata;  // lib/runtime/session/run_metadata.h

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
  // "b: (MatMul): /job:localhost/replica:0/task:0/device:CPU:1". Branches and bodies of loops are placed when they are
  // first run.
  bool log_device_placement = false;
  // "" as above; "by_cost": nodes that may run on several devices run where a simulation ends soonest
  // (lib/runtime/placement/cost_model.h; docs/devices.md).
  std::string placement = {};
  // float32 goes from device to device as bfloat16: half the bytes, with an error of at most 2^-8 of each value.
  bool narrow_transfers = false;
  // Threads that the loops of one node may be shared by; 0: as many as elsewhere (lib/core/step/threads.h).
  int intra_op_threads = 0;
  // Nodes of one run that may be computed at once, on the first CPU. 0 or 1: a run computes one after the other, on the
  // thread that calls `run`; only those that wait (for queues, for other runs) go on beside it. More: nodes that do not
  // depend on one another go on side by side, each with its share of the threads, where the first runs show that this
  // is faster. What has effects or reads variables keeps its order, and results are the same to the bit. Graphs with
  // TensorFlow 1's loops, those on several devices, and what bodies of loops and branches do do not take part.
  int inter_op_threads = 0;
  // Bytes that the plan of a run may make room for (PlanStats::planned_bytes); -1: as many as it needs. Values of
  // elementwise ops and reductions are computed again where they would be more, and nodes one after the other; results
  // are the same to the bit. A run throws ResourceExhausted where that does not do, and InvalidArgument where the
  // shapes of feeds do not tell all others. What is fed and given out is not counted, nor what functions need that
  // nodes call.
  int64_t memory_limit = -1;
  // Whether what runs here may open files that the graph names. True says nothing against a process that forbids it
  // (lib/core/io/graph_files.h).
  bool allow_files = true;
  // CPU devices that there are to be at least. They share the hardware, and other sessions see them too.
  int cpu_devices = 0;
  // Of each combination of fetches and feeds: plans for other shapes that are kept.
  int max_plans = 16;
  // Where variables, tables and queues are found by container and name; null: in a place of the session's own. Sessions
  // with the same one share them.
  std::shared_ptr<ResourceManager> resources = nullptr;
};

// Of one run.
struct RunOptions {
  // How a run is watched. kFull: RunMetadata tells of each node when it ran and what it made; the run takes longer.
  enum class Trace : uint8_t { kNone, kFull };
  double timeout = 0;  // seconds after which it throws DeadlineExceeded; 0: none
  Trace trace = Trace::kNone;
  bool partition_graphs = false;      // RunMetadata has the graphs of the devices
  bool report_out_of_memory = false;  // ResourceExhausted tells what the run holds; the run takes longer
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
  // Throws DeadlineExceeded too, where the time is up: what had run by then has had its effects. `metadata`, if given,
  // is overwritten, also where the run fails.
  std::vector<Tensor> run(const Fetches& fetches, const Feeds& feeds, const RunOptions& options,
                          RunMetadata* metadata = nullptr);
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

  // A run whose fetches and feeds are looked up once: see SessionCallable. `options` hold for every call.
  SessionCallable make_callable(const Fetches& fetches, const std::vector<GraphElement>& feeds,
                                const RunOptions& options);
  SessionCallable make_callable(const Fetches& fetches, const std::vector<GraphElement>& feeds);
  SessionCallable make_callable(const Fetches& fetches);

  // A run in parts: each node runs once, as soon as a part asks for it, or, if it is fetched for its effect, as soon as
  // all is fed that it needs. What is fetched and fed in all of them is said first, each may be fetched and fed once.
  //   const std::string handle = s.partial_run_setup({"y", "z"}, {"a", "b"});
  //   Tensor y = s.partial_run(handle, {"y"}, {{"a", 1.f}})[0];
  //   Tensor z = s.partial_run(handle, {"z"}, {{"b", y}})[0];
  // The handle ends when everything was fed and fetched, and with an error of a node.
  // Throws InvalidArgument for a handle that is none (any more), for what is not among what was said, for what was fed
  // or fetched before, and for fetches that need feeds that are still to come; then nothing has run.
  std::string partial_run_setup(const Fetches& fetches, const std::vector<GraphElement>& feeds);
  std::vector<Tensor> partial_run(const std::string& handle, const Fetches& fetches, const Feeds& feeds);
  std::vector<Tensor> partial_run(const std::string& handle, const Fetches& fetches);

  // Adds the nodes of `more`, whose names must be free. Its Placeholders that have the name and type of a node here
  // stand for that node's first output. Throws FailedPrecondition for a session of a graph that somebody else builds:
  // add the nodes there.
  void extend(const Graph& more);
  // Runs that wait or compute throw Cancelled, later ones FailedPrecondition. What was fetched stays. Harmless twice.
  void close();
  bool closed() const noexcept;
  // Empties these containers ({}: the one without a name) of every session of this process, and closes them all.
  static void reset(const std::vector<std::string>& containers);

  // As the session knows it: the reference holds until a run finds new nodes.
  const Graph& graph() const;
  // The session's variables.
  ResourceManager& resources();
  // Where nodes stand that go on from run to run, as those that draw random numbers do, as bytes; and from there on.
  // They are known by their places in the graph. The first throws FailedPrecondition where such nodes in a conditional
  // or a loop have run, whose places are not known; the second DataLoss for other bytes.
  std::string node_positions() const;
  void go_to(std::string_view positions);
  // What placement by cost asks: nothing but estimates at first. The first runs of each plan are noted in it; what was
  // saved earlier may be loaded before the first.
  CostModel& costs();
  // Of the combination of fetches, feeds and shapes that `run` ran last. Throws FailedPrecondition before the first.
  PlanStats plan_stats() const;
  // Its graph, after placement and optimization.
  Graph optimized_graph() const;

  class Impl;

 private:
  // For the templates: in a class they would instantiate vectors for whoever includes this.
  void run_into(const Fetches& fetches, const Feeds& feeds, Tensor* values, size_t count);
  void run_into(const Fetches& fetches, Tensor* values, size_t count);
  Tensor run_one(const GraphElement& fetch, const Feeds& feeds);
  Tensor run_one(const GraphElement& fetch);
  friend class SessionScope;
  SharedImpl<Impl> impl_;  // of one session: a unique_ptr takes whoever includes this longer to compile
};

// A run of a session whose fetches and feeds are known: `callable(x, 0.5)` gives the values of the fetches for feeds in
// the order in which they were named. It keeps what it needs of the session, and knows the graph as it was when it was
// made. Thread-safe.
class PANTO_EXPORT SessionCallable {
 public:
  // Throws InvalidArgument for another number of values, and what Session::run throws.
  template <class... Values>
  std::vector<Tensor> operator()(const Values&... values) const {
    if constexpr (sizeof...(Values) == 0) {
      return run(nullptr, 0, nullptr);
    } else {
      const FeedValue given[] = {FeedValue(values)...};
      return run(given, sizeof...(Values), nullptr);
    }
  }
  // The same; `metadata`, if given, is overwritten.
  std::vector<Tensor> run(const FeedValue* values, size_t count, RunMetadata* metadata) const;

 private:
  friend class Session;
  struct Impl;
  explicit SessionCallable(SharedImpl<Impl> impl);
  SharedImpl<Impl> impl_;
};

// While one lives, its session is the one that `eval` of this thread runs in. Scopes nest.
//
//   const SessionScope in(session);
//   std::cout << eval(loss, {{"x", x}});
class PANTO_EXPORT SessionScope {
 public:
  // The session may be moved meanwhile.
  explicit SessionScope(Session& session);
  ~SessionScope();
  SessionScope(const SessionScope&) = delete;
  SessionScope& operator=(const SessionScope&) = delete;

 private:
  SharedImpl<Session::Impl> impl_;
};
// The value of one in the session of the innermost SessionScope of this thread. Throws FailedPrecondition outside of
// one, and what Session::run throws.
PANTO_EXPORT Tensor eval(const GraphElement& fetch, const Feeds& feeds);
PANTO_EXPORT Tensor eval(const GraphElement& fetch);

}  // namespace panto
