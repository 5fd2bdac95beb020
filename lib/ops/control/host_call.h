// host_call: a C++ function as a node of a graph.
//
//   const Tensor y = host_call([](const std::vector<Tensor>& x) { return std::vector{show(x[0])}; }, {x},
//                              {{kFloat32, {-1}}}, {.token = "show"})[0];
//
// The node is TensorFlow's PyFunc. A graph, and a file of it, holds only a token for the function: a process that runs
// the file must enter a function under that token, or the run fails when it reaches the node. Thread-safe. Functions
// may be called on several threads at once, by graphs that run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Inputs and outputs are in host memory. Ops that it calls are not recorded by tapes or traces.
using HostFunction = Callable<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

// The declared type and shape of one output; checked when the graph runs.
struct HostOutput {
  DType dtype = kFloat32;
  PartialShape shape = {};
};

struct HostCallOptions {
  std::string token = {};  // "": a unique one, which no other process knows
  bool stateless = false;  // it has no effects: the node may be dropped, merged, or computed once
};

// Returns f(inputs). In a trace or a graph that is being built, adds a node that calls `f`, which is then kept for
// ever. Throws AlreadyExists if another function has the token.
PANTO_EXPORT std::vector<Tensor> host_call(HostFunction f, const std::vector<Tensor>& inputs,
                                           const std::vector<HostOutput>& outputs, const HostCallOptions& options = {});

// Registers a function for loaded graphs. Throws AlreadyExists if another function has the token.
PANTO_EXPORT void enter_host_function(const std::string& token, HostFunction f);
// Removes a function: nodes with its token fail from then on. Returns false if there was none.
PANTO_EXPORT bool remove_host_function(const std::string& token);
// Calls the function of that token. Throws NotFound if there is none, InvalidArgument if its outputs are not of
// `types`.
PANTO_EXPORT std::vector<Tensor> call_host_function(const std::string& token, const std::vector<Tensor>& inputs,
                                                    const std::vector<DType>& types);

}  // namespace panto
