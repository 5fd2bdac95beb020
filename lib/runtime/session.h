// Session: runs a graph by names of feeds and fetches, as in TensorFlow 1.
//
//   Session s(read_graph("graph.pb"));
//   s.run("init");                                              // run a node for its effect
//   Tensor y = s.run("y:0", {{"x:0", x}});
//   auto [l, a] = s.run<2>({loss, accuracy}, {{images, batch}, {rate, 0.1}});
//   const SessionCallable step = s.make_callable({train, loss}, {images, labels});
//   step(batch, classes);                                        // repeated runs at lower cost
//
// A session has its own variables (by container and name), and stateful random nodes continue from run to run. Only
// nodes that the fetches need are run. For each combination of fetches, feeds and shapes the graph is optimized and
// planned once. docs/sessions.md shows all of it.
// Thread-safety: everything may be called from several threads at once while no thread changes the graph; updates of
// one variable are ordered by its lock.
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

// A fed value: a tensor, or a number, which becomes a scalar of the type that the graph expects.
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
  bool soft_placement = false;  // use the first CPU if a device does not exist or has no kernel
  // Runs TensorFlow 1's loops and conditionals as While and If where possible, unless something inside of them is
  // fetched or fed. Has no effect with passes "off".
  bool raise_control_flow = true;
  // The device of nodes that ask for none, e.g. "/gpu:0"; "": where the feeds are. A run throws NotFound if it does not
  // exist.
  std::string device = {};
  // One line for each node on standard error when it is placed, as TensorFlow writes it:
  // "b: (MatMul): /job:localhost/replica:0/task:0/device:CPU:1". Branches and bodies of loops are placed when they are
  // first run.
  bool log_device_placement = false;
  // "": as above. "by_cost": nodes that may run on several devices go where a simulation finishes them first
  // (lib/runtime/placement/cost_model.h; docs/devices.md).
  std::string placement = {};
  // Sends float32 between devices as bfloat16: half the bytes, with a relative error of at most 2^-8.
  bool narrow_transfers = false;
  // Threads that one node's kernel may use; 0: the process's default (lib/core/step/threads.h).
  int intra_op_threads = 0;
  // How many nodes of one run may be computed at once on the first CPU. 0 or 1: a run computes nodes one after the
  // other on the thread that calls `run`; only nodes that wait (for queues, for other runs) go on beside it. More:
  // independent nodes run at the same time, each with its share of the threads, if the first runs show that this is
  // faster. Nodes that have effects or read variables keep their order, and results are the same to the bit. This does
  // not apply to graphs with TensorFlow 1's loops, graphs on several devices, and the nodes inside bodies of loops and
  // branches.
  int inter_op_threads = 0;
  // Limit on the bytes that the plan of a run reserves (PlanStats::planned_bytes); -1: no limit. To stay within it,
  // outputs of elementwise ops and reductions are recomputed, and nodes run one after the other; results are the same
  // to the bit. A run throws ResourceExhausted if that is not enough, and InvalidArgument if the shapes of the feeds do
  // not determine all other shapes. Not counted: feeds, fetched values, and memory of functions that nodes call.
  int64_t memory_limit = -1;
  // Whether runs of this session may open files that the graph names. True does not override a process that forbids it
  // (lib/core/io/graph_files.h).
  bool allow_files = true;
  // Creates CPU devices until there are this many. They share the hardware, and other sessions see them too.
  int cpu_devices = 0;
  // How many plans, for different shapes, are kept for each combination of fetches and feeds.
  int max_plans = 16;
  // Where variables, tables and queues are found by container and name; null: the session has its own. Sessions with
  // the same ResourceManager share them.
  std::shared_ptr<ResourceManager> resources = nullptr;
};

// Options of one run.
struct RunOptions {
  // Tracing. kFull: RunMetadata tells for each node when it ran and what it produced; the run takes longer.
  enum class Trace : uint8_t { kNone, kFull };
  double timeout = 0;  // seconds after which the run throws DeadlineExceeded; 0: none
  Trace trace = Trace::kNone;
  bool partition_graphs = false;      // RunMetadata contains one graph per device
  bool report_out_of_memory = false;  // ResourceExhausted lists the largest tensors of the run; the run takes longer
};

class PANTO_EXPORT Session {
 public:
  // Refers to a graph that may grow: later runs see nodes that were added to it, as long as it lives (moved or not).
  // Changes to existing nodes may go unseen. Throws InvalidArgument for an invalid graph.
  explicit Session(const Graph& graph, SessionOptions options = {});
  // Takes over the graph.
  explicit Session(Graph&& graph, SessionOptions options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // Returns the values of `fetches`, in order. A fetch is a tensor (a name, or a symbolic tensor of a GraphScope), a
  // variable (read after everything has run), or a node to run for its effect (an Operation, "^name", or the name of a
  // node without outputs; its value is an undefined tensor). Any tensor of the graph may be fed.
  // Throws InvalidArgument for unknown names and for feeds that are missing, repeated or of the wrong type or shape;
  // FailedPrecondition for variables without a value; and what the ops throw, with the node's name and the user's line.
  std::vector<Tensor> run(const Fetches& fetches, const Feeds& feeds);
  std::vector<Tensor> run(const Fetches& fetches);  // an overload, as default arguments slow down compilation of users
  // Also throws DeadlineExceeded when the time is up; effects of nodes that ran by then remain. `metadata`, if given,
  // is overwritten, even if the run fails.
  std::vector<Tensor> run(const Fetches& fetches, const Feeds& feeds, const RunOptions& options,
                          RunMetadata* metadata = nullptr);
  // Returns an array, for structured bindings. Throws InvalidArgument unless there are N fetches.
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
  // Returns the value of a single fetch.
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

  // Partial runs: a run in several parts. Each node runs once: as soon as a part fetches it or, if it is fetched for
  // its effect, as soon as everything that it needs is fed. The setup names all fetches and feeds of all parts; each
  // may be fetched or fed once.
  //   const std::string handle = s.partial_run_setup({"y", "z"}, {"a", "b"});
  //   Tensor y = s.partial_run(handle, {"y"}, {{"a", 1.f}})[0];
  //   Tensor z = s.partial_run(handle, {"z"}, {{"b", y}})[0];
  // The handle ends when everything was fed and fetched, or when a node fails.
  // Throws InvalidArgument for an unknown or ended handle, for fetches and feeds that are not in the setup or were used
  // before, and for fetches that need feeds that were not given yet; nothing has run then.
  std::string partial_run_setup(const Fetches& fetches, const std::vector<GraphElement>& feeds);
  std::vector<Tensor> partial_run(const std::string& handle, const Fetches& fetches, const Feeds& feeds);
  std::vector<Tensor> partial_run(const std::string& handle, const Fetches& fetches);

  // Adds the nodes of `more`, whose names must be unused. A Placeholder of `more` that has the name and type of an
  // existing node stands for that node's first output. Throws FailedPrecondition if the session refers to a graph of
  // the caller: add the nodes there.
  void extend(const Graph& more);
  // Ends the session: running runs throw Cancelled, later ones FailedPrecondition. Fetched tensors stay valid. May be
  // called twice.
  void close();
  bool closed() const noexcept;
  // Empties these containers ({}: the unnamed one) of every session of this process, and closes all sessions.
  static void reset(const std::vector<std::string>& containers);

  // The graph as the session knows it. The reference is valid until a run finds new nodes.
  const Graph& graph() const;
  // The session's variables.
  ResourceManager& resources();
  // `node_positions` returns, as bytes, the positions of nodes that continue from run to run, such as random number
  // generators; `go_to` continues from such bytes. Nodes are identified by their position in the graph.
  // `node_positions` throws FailedPrecondition if such nodes have run in a conditional or loop, where they have no
  // fixed position; `go_to` throws DataLoss for malformed bytes.
  std::string node_positions() const;
  void go_to(std::string_view positions);
  // The costs that placement by cost uses: estimates only at first. The first runs of each plan are recorded in it;
  // measurements of earlier processes may be loaded before the first run.
  CostModel& costs();
  // The plan of the last `run`. Throws FailedPrecondition before the first run.
  PlanStats plan_stats() const;
  // The graph of that plan, after placement and optimization.
  Graph optimized_graph() const;

  class Impl;

 private:
  // Used by the templates, so that users of this header need not instantiate vectors.
  void run_into(const Fetches& fetches, const Feeds& feeds, Tensor* values, size_t count);
  void run_into(const Fetches& fetches, Tensor* values, size_t count);
  Tensor run_one(const GraphElement& fetch, const Feeds& feeds);
  Tensor run_one(const GraphElement& fetch);
  friend class SessionScope;
  SharedImpl<Impl> impl_;  // not shared; a unique_ptr would slow down compilation of users
};

// A run of a session with fixed fetches and feeds: `callable(x, 0.5)` returns the values of the fetches, for feeds in
// the order in which they were named. It keeps alive what it needs of the session, and uses the graph as it was when
// the callable was made. Thread-safe.
class PANTO_EXPORT SessionCallable {
 public:
  // Throws InvalidArgument for the wrong number of values, and what Session::run throws.
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

// While an instance lives, `eval` on this thread runs in its session. Scopes nest.
//
//   const SessionScope in(session);
//   std::cout << eval(loss, {{"x", x}});
class PANTO_EXPORT SessionScope {
 public:
  // The session may be moved while the scope lives.
  explicit SessionScope(Session& session);
  ~SessionScope();
  SessionScope(const SessionScope&) = delete;
  SessionScope& operator=(const SessionScope&) = delete;

 private:
  SharedImpl<Session::Impl> impl_;
};
// Returns the value of `fetch`, run in the session of this thread's innermost SessionScope. Throws FailedPrecondition
// if there is no SessionScope, and what Session::run throws.
PANTO_EXPORT Tensor eval(const GraphElement& fetch, const Feeds& feeds);
PANTO_EXPORT Tensor eval(const GraphElement& fetch);

}  // namespace panto
