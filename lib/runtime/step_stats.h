// StepStats: records the nodes of a traced ("watched") run. Internal.
//
// Each thread that works for a watched run points to the run's StepStats; the plans that it executes, also those of
// functions, record their nodes there. Other runs pay one pointer check per plan.
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
  // Nanoseconds since construction.
  int64_t now() const noexcept;
  void add(const Graph& graph, const Node& node, const Device& device, int64_t start, std::span<const Tensor> outputs);
  void add(std::string name, std::string op, const Device& device, int64_t start, std::span<const Tensor> outputs);
  // The nodes recorded so far.
  std::vector<NodeStats> nodes() const;
  int64_t began() const noexcept { return began_; }
  // Text for an out-of-memory error: the nodes with the largest outputs.
  std::string largest_outputs() const;

 protected:
  // Whether to compute the NodeWork for `keep`, which takes time.
  virtual bool wants_work() const { return false; }
  // Records one execution that has ended.
  virtual void keep(NodeStats stats, const NodeWork& work);
  // The number of the calling thread.
  int thread_number();

 private:
  NodeStats stats_of_run(std::string name, std::string op, const Device& device, int64_t start,
                         std::span<const Tensor> outputs) const;
  const int64_t began_;  // nanoseconds since 1970
  const int64_t zero_;   // steady clock time of construction
  mutable std::mutex mutex_;
  std::vector<NodeStats> nodes_;
  std::vector<std::thread::id> threads_;
};

OutputStats stats_of(const Tensor& t);

// The StepStats of this thread; null if it is not watched. A plain pointer in the fastest TLS model, as every run of a
// plan reads it.
extern thread_local constinit StepStats* watching_stats [[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]];

// While an instance lives, this thread records its nodes in `stats`; null turns recording off.
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
