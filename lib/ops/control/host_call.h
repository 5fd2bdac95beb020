// host_call: a C++ function as a node of a graph.
//
//   const Tensor y = host_call([](const std::vector<Tensor>& x) { return std::vector{show(x[0])}; }, {x},
//                              {{kFloat32, {-1}}}, {.token = "show"})[0];
//
// The node is TensorFlow's PyFunc. A graph knows the function by a token only, a file has nothing else of it: who runs
// the file enters a function under that token, in whatever process, or the run fails where it reaches the node.
// Thread-safe. Functions may be called on several threads at once, by graphs that run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Its tensors are in host memory. What it calls is in no tape and no trace.
using HostFunction = Callable<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

// What is known of one output: the graph checks it.
struct HostOutput {
  DType dtype = kFloat32;
  PartialShape shape = {};
};

struct HostCallOptions {
  std::string token = {};  // "": one that no other call has, which no other process knows
  bool stateless = false;  // it does nothing but compute: the node may be dropped, merged, or computed once
};

// What `f` makes of `inputs`. In a trace or a graph that is being built, a node that calls it; `f` is then kept for
// ever. Throws AlreadyExists for a token that another function has.
PANTO_EXPORT std::vector<Tensor> host_call(HostFunction f, const std::vector<Tensor>& inputs,
                                           const std::vector<HostOutput>& outputs, const HostCallOptions& options = {});

// For graphs that were loaded. Throws AlreadyExists for a token that another function has.
PANTO_EXPORT void enter_host_function(const std::string& token, HostFunction f);
// Nodes that are reached after this fail. False if there was none.
PANTO_EXPORT bool remove_host_function(const std::string& token);
// Calls it. Throws NotFound where there is none, InvalidArgument where it gives other types than these.
PANTO_EXPORT std::vector<Tensor> call_host_function(const std::string& token, const std::vector<Tensor>& inputs,
                                                    const std::vector<DType>& types);

}  // namespace panto
