// The graphs that TensorFlow wrote (tests/reference/graphs), with the runs it made and what it got.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::test {

struct ReferenceRun {
  std::vector<std::pair<std::string, Tensor>> feeds;
  std::vector<std::string> fetches;
  std::vector<Tensor> expected;  // by fetch
  std::vector<std::string> targets;
};

struct ReferenceGraph {
  std::string name;  // "train_step.pb"
  std::string path;
  std::vector<ReferenceRun> runs;  // in one session, in this order
};

const std::vector<ReferenceGraph>& reference_graphs();

// Ints, bools and strings must be equal, floats within rtol = atol = 2e-6. "" or what differs.
std::string graph_difference(const Tensor& got, const Tensor& expected);

}  // namespace panto::test
