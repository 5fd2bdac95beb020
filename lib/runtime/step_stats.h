// StepStats: what the executors note of a run that is watched. Internal.
//
// A thread that runs for a watched run has the run's StepStats; plans that it executes meanwhile, those of functions
// too, note their nodes there. Nobody else pays more than one look for each run of a plan.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "panto/lib/core/tensor/device.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/runtime/placement/node_work.h"
#include "panto/lib/runtime/session/run_metadata.h"

namespace panto {

// Thread-safe.
class StepStats {
 public:
  StepStats();
  virtual ~StepStats();
  StepStats(const StepStats&) = delete;
  StepStats& operator=(const StepStats&) = delete;
  // Nanoseconds since it was made.
  int64_t now() const noexcept;
  void add(const Graph& graph, const Node& node, const Device& device, int64_t start, std::span<const Tensor> outputs);
  void add(std::string name, std::string op, const Device& device, int64_t start, std::span<const Tensor> outputs);
  // What was noted so far.
  std::vector<NodeStats> nodes() const;
  int64_t began() const noexcept { return began_; }
  // For an error: which nodes made the most, of the run that has no memory left.
  std::string largest_outputs() const;

 protected:
  // Whether `keep` is to hear what the node computes, which takes time.
  virtual bool wants_work() const { return false; }
  // Of one execution, whose end is known.
  virtual void keep(NodeStats stats, const NodeWork& work);
  // Of the calling thread.
  int thread_number();

 private:
  NodeStats stats_of_run(std::string name, std::string op, const Device& device, int64_t start,
                         std::span<const Tensor> outputs) const;
  const int64_t began_;  // nanoseconds since 1970
  const int64_t zero_;   // of the steady clock
  mutable std::mutex mutex_;
  std::vector<NodeStats> nodes_;
  std::vector<std::thread::id> threads_;
};

OutputStats stats_of(const Tensor& t);

// Null where nobody watches. A plain pointer with the fastest kind of access: every run of a plan reads it.
extern thread_local constinit StepStats* watching_stats [[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]];

// What this thread runs while one lives is noted in `stats`, if that is not null.
class StepStatsScope {
 public:
  explicit StepStatsScope(StepStats* stats) noexcept : previous_(watching_stats) { watching_stats = stats; }
  ~StepStatsScope() { watching_stats = previous_; }
  StepStatsScope(const StepStatsScope&) = delete;
  StepStatsScope& operator=(const StepStatsScope&) = delete;

 private:
  StepStats* previous_;
};

}  // namespace panto
