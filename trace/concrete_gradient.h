// The gradient of a traced function: the values that a call keeps, and functions that compute gradients from them.
// Internal.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "panto/trace/concrete.h"

namespace panto {

// The forward graph extended by nodes that compute gradients of some outputs.
struct ConcreteFunction::Backward {
  Graph graph;
  std::vector<NodeOutput> seeds;    // Placeholders
  std::vector<int> seed_positions;  // by seed: the output whose gradient it is
  std::vector<NodeOutput> dxs;      // by argument and capture; invalid: no dependence, or not needed
  std::vector<NodeOutput> valid;    // the valid ones of dxs
  std::vector<NodeOutput> cuts;     // forward values that gradient nodes read (constants are copied)

  // Whether this serves a request for exactly these inputs and seeds: every input with a gradient is needed, and
  // exactly the `seeded` outputs have seeds.
  bool answers(std::span<const uint8_t> needed, std::span<const uint8_t> seeded) const {
    for (size_t i = 0; i < dxs.size(); ++i) {
      if (dxs[i].valid() && needed[i] == 0) return false;
    }
    std::vector<int> asked;
    for (size_t k = 0; k < seeded.size(); ++k) {
      if (seeded[k] != 0) asked.push_back(static_cast<int>(k));
    }
    return asked == seed_positions;
  }
};

// The function with its gradient: `forward` returns the outputs and the inner values that backward functions need.
struct ConcreteFunction::Gradient {
  // A backward function: computes gradients of some inputs from gradients of some outputs.
  struct Part {
    std::vector<uint8_t> needed;                 // by argument and capture
    std::vector<uint8_t> seeded;                 // by recorded output
    std::shared_ptr<ConcreteFunction> function;  // null: no needed input has a gradient
    std::vector<int> sources;  // by input of `function`: a position in `kept`, or ~k for the gradient of output k
    std::vector<int> results;  // by argument and capture: position in function's outputs, or -1
  };
  // A value that a Part may read: an argument or capture of `forward`, or one of its outputs.
  struct Kept {
    bool argument;
    int index;
  };

  std::shared_ptr<ConcreteFunction> forward;
  size_t recorded = 0;  // how many outputs of forward tapes record: visible ones; for higher orders inner values too
  bool any = false;     // an input has a gradient, possibly one that cannot be computed
  // The backward graph of all visible outputs with respect to all inputs, which was made to find `kept`. Held until the
  // first Part is made, as that usually is the same; null if an op on a path has no gradient.
  std::unique_ptr<Backward> all;
  std::vector<Kept> kept;
  std::vector<NodeOutput> kept_outputs;     // `kept` as outputs of forward's graph
  std::vector<std::vector<uint64_t>> ways;  // by recorded output: gradient_ways from the arguments and captures

  // Returns the Part for these inputs and defined output gradients. Throws Unimplemented if an op on a path has no
  // gradient. Thread-safe.
  std::shared_ptr<const Part> part(std::span<const uint8_t> needed, std::span<const Tensor> output_gradients);

 private:
  std::shared_ptr<const Part> make_part(std::vector<uint8_t> needed, std::vector<uint8_t> seeded);

  std::mutex mutex_;
  std::list<std::shared_ptr<const Part>> parts_;  // recently used ones, latest first
};

}  // namespace panto
