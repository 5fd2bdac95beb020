// Partial runs: runs of a session in several parts. Internal.
//
// A stage is the set of nodes that a part runs: what it fetches and what that needs, without nodes that ran earlier. It
// becomes a graph that is fed the values of earlier stages and returns what is fetched now or read by later stages. The
// plans of stages are kept with the setup, for runs that come in the same parts. A loop lies entirely in one stage.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "panto/lib/runtime/session/session_impl.h"

namespace panto {

// The nodes that run in a part.
struct Stage {
  std::vector<int> nodes;         // in order of their ids
  std::vector<uint8_t> contains;  // by node id
};

// The data that all partial runs with the same fetches and feeds share.
struct PartialSetup {
  explicit PartialSetup(std::shared_ptr<const CallPlans> of);
  // Position among the feeds; -1 if `output` is not fed.
  int feed(NodeOutput output) const;

  const std::shared_ptr<const CallPlans> call;  // all fetches and feeds; never run itself
  std::vector<uint8_t> needed;                  // by node id: whether a fetch or target needs it
  std::vector<std::vector<int>> loops;          // the needed nodes of each outermost loop, including its inner loops
  std::vector<int> loop_of;                     // by node id: index in `loops`; -1: in no loop
  std::mutex mutex;
  std::map<std::vector<int>, std::shared_ptr<CallPlans>> stages;  // by the ids of their nodes
};

struct PartialRun {
  explicit PartialRun(std::shared_ptr<PartialSetup> of);
  bool has(NodeOutput output) const { return values.contains(output); }
  bool all_done() const;
  // Adds `root`, and what it needs and has not run, to `stage`. Returns false if feeds are missing that may still come;
  // they are then in `missing`.
  bool reach(int root, Stage& stage, std::vector<NodeOutput>& missing) const;

  const std::shared_ptr<PartialSetup> setup;
  std::mutex mutex;
  std::vector<uint8_t> fed, fetched;    // by position among feeds and fetch outputs
  std::vector<uint8_t> ran;             // by node id
  std::map<NodeOutput, Tensor> values;  // fed values and outputs of stages
  bool ended = false;
};

}  // namespace panto
