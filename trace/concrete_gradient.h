// The gradient of a traced function: what it keeps of a call, and functions that compute gradients from that. Internal.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "panto/trace/concrete.h"

namespace panto {

// Gradients with respect to outputs[...] of the forward function, as nodes after those of the forward part.
struct ConcreteFunction::Backward {
  Graph graph;
  std::vector<NodeOutput> seeds;    // Placeholders
  std::vector<int> seed_positions;  // which output each is the gradient of
  std::vector<NodeOutput> dxs;      // by argument and capture; invalid: no dependence, or not needed
  std::vector<NodeOutput> valid;    // those of them that there are
  std::vector<NodeOutput> cuts;     // what the gradient nodes read of the forward part (constants are copied)

  // Whether these inputs are all that have a gradient, and these outputs all that have a seed.
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

// The function with its gradient: forward gives the outputs and what backward functions need of the inner values.
struct ConcreteFunction::Gradient {
  // Computes the gradients with respect to some inputs from those of some outputs.
  struct Part {
    std::vector<uint8_t> needed;                 // by argument and capture
    std::vector<uint8_t> seeded;                 // by recorded output
    std::shared_ptr<ConcreteFunction> function;  // null: no needed input has a gradient
    std::vector<int> sources;  // where its inputs come from: a position in `kept`, or ~k: the gradient of output k
    std::vector<int> results;  // by argument and capture: position in its outputs, -1 if there is none
  };
  // A value that some part may read: an argument (or capture) of forward, or an output of it.
  struct Kept {
    bool argument;
    int index;
  };

  std::shared_ptr<ConcreteFunction> forward;
  size_t recorded = 0;  // forward's outputs that tapes hear of: the visible ones; for higher orders inner values too
  bool any = false;     // an input has a gradient, or one that cannot be computed
  // What was made to know what is kept: of all outputs that are no inner values, with respect to all inputs. Until the
  // first part is made, which mostly is this; null where an op on the way has no gradient.
  std::unique_ptr<Backward> all;
  std::vector<Kept> kept;
  std::vector<NodeOutput> kept_outputs;     // the same in forward's graph
  std::vector<std::vector<uint64_t>> ways;  // by recorded output: gradient_ways from the arguments and captures

  // Throws Unimplemented where an op on the way has no gradient. Thread-safe.
  std::shared_ptr<const Part> part(std::span<const uint8_t> needed, std::span<const Tensor> output_gradients);

 private:
  std::shared_ptr<const Part> make_part(std::vector<uint8_t> needed, std::vector<uint8_t> seeded);

  std::mutex mutex_;
  std::list<std::shared_ptr<const Part>> parts_;  // those asked for last, the latest first
};

}  // namespace panto
