// A run in parts. Internal.
//
// What a part asks for and has not run, with all that it needs, is a stage: a graph that is fed what earlier stages
// made, and gives what was asked for and what later ones will read. Its plans are kept with those of the setup, for
// runs that come in the same parts. A loop is in one stage.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "panto/lib/runtime/session/session_impl.h"

namespace panto {

// What is to run in a part, by the ids of nodes.
struct Stage {
  std::vector<int> nodes;         // in order of their ids
  std::vector<uint8_t> contains;  // by node id
};

// What runs with the same fetches and feeds have in common.
struct PartialSetup {
  explicit PartialSetup(std::shared_ptr<const CallPlans> of);
  // Position among the feeds; -1: it is none.
  int feed(NodeOutput output) const;

  const std::shared_ptr<const CallPlans> call;  // all fetches and feeds; not run itself
  std::vector<uint8_t> needed;                  // by node id: a fetch or target needs it
  std::vector<std::vector<int>> loops;          // the needed nodes of each loop, with those of loops inside of it
  std::vector<int> loop_of;                     // by node id: the outermost, in `loops`; -1: in none
  std::mutex mutex;
  std::map<std::vector<int>, std::shared_ptr<CallPlans>> stages;  // by the ids of their nodes
};

struct PartialRun {
  explicit PartialRun(std::shared_ptr<PartialSetup> of);
  bool has(NodeOutput output) const { return values.contains(output); }
  bool all_done() const;
  // Adds what `root` needs and has not run. False: feeds are missing that are still to come, in `missing`.
  bool reach(int root, Stage& stage, std::vector<NodeOutput>& missing) const;

  const std::shared_ptr<PartialSetup> setup;
  std::mutex mutex;
  std::vector<uint8_t> fed, fetched;    // by position among feeds and fetch outputs
  std::vector<uint8_t> ran;             // by node id
  std::map<NodeOutput, Tensor> values;  // what was fed, and what stages gave
  bool ended = false;
};

}  // namespace panto
