// Function: a traced C++ function: a graph that runs instead of the C++ code.
//
//   Function f = trace([&](const Tensor& a) { return relu(matmul(a, k)); }, {TensorSpec(kFloat32, {-1, 2}, "a")});
//   Tensor out = f(x);                     // the same numbers, computed by the graph
//   f.save("model.pb");                    // a frozen GraphDef
//   Function g = load("model.pb");
//
// The C++ function is called once per signature, on symbolic tensors: dtypes and shapes without values. Reading a value
// there throws and names the line (design decision 6). Variables and tensors from outside are captured by reference: a
// variable's value is read when the graph runs. Assignments and prints happen at every run, in program order. Under a
// gradient tape, a call of a Function is one record, whose backward function is traced once; inside another trace, the
// call becomes part of that graph. State of nodes (a seeded random op's generator, Print's counter) belongs to the
// Function and is shared by all signatures.
// Thread-safety: a Function is a handle; calls may be made from several threads at once. One thread at a time traces a
// function without a fixed signature; while it is traced, the function may call itself with other dtypes or shapes.
#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/base/shared_impl.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/graph/graph.h"

namespace panto {

class ConcreteFunction;

// The dtype and shape of an argument of a traced function. Unknown dimensions are -1.
struct TensorSpec {
  DType dtype = kFloat32;
  PartialShape shape;
  std::string name;  // of the Placeholder; "": arg_0, arg_1 ...

  TensorSpec(DType dtype, PartialShape shape, std::string name = "")
      : dtype(dtype), shape(std::move(shape)), name(std::move(name)) {}
  // {} is a scalar's shape here, not an unknown one.
  PANTO_EXPORT TensorSpec(DType dtype, std::initializer_list<Dim> dims, std::string name = "");
  // float32[?,2]
  PANTO_EXPORT std::string to_string() const;
};

using TensorFunction = Callable<std::vector<Tensor>(std::span<const Tensor>)>;

namespace detail {

// What a call of a traced function passes besides tensors. `variant`: lengths and keys of arguments; each variant is
// traced separately. `arguments`: the arguments themselves, for tracing. `result`: the structure of the result when it
// was traced.
struct CallStructure {
  std::string variant;
  const void* arguments = nullptr;
  std::shared_ptr<const void> result;
};
// The CallStructure of this thread's current trace; null if there is none.
PANTO_EXPORT CallStructure* structure_of_trace() noexcept;

}  // namespace detail

class PANTO_EXPORT Function {
 public:
  Function() = default;

  bool defined() const noexcept { return impl_ != nullptr; }
  // Calls the function. Throws InvalidArgument for arguments that do not fit the signature. A function without a fixed
  // signature is traced for each new combination of dtypes and shapes; the reason is logged at level info. After 64
  // traces it throws FailedPrecondition: use a signature with -1 for dimensions that change.
  std::vector<Tensor> call(std::span<const Tensor> inputs,
                           std::source_location where = std::source_location::current()) const;
  // For functions with one output; a function without outputs returns an undefined tensor. Throws FailedPrecondition if
  // there are more outputs, InvalidArgument for arguments that are neither tensors nor variables.
  // Overloads rather than a template, so that an Arg can record the caller's line.
  Tensor operator()() const;
  Tensor operator()(Arg a) const;
  Tensor operator()(Arg a, Arg b) const;
  Tensor operator()(Arg a, Arg b, Arg c) const;
  Tensor operator()(Arg a, Arg b, Arg c, Arg d) const;
  template <class... More>
    requires(sizeof...(More) > 3)
  Tensor operator()(Arg a, const More&... more) const {
    return std::move(call<1>(std::move(a), more...)[0]);
  }
  // For functions with N outputs: auto [loss, accuracy] = f.call<2>(x, y). Throws the same.
  template <size_t N, class... More>
  std::array<Tensor, N> call(Arg a, const More&... more) const {
    Arg args[] = {std::move(a), Arg(more)...};
    std::array<Tensor, N> outputs;
    call_into(args, outputs);
    return outputs;
  }
  template <size_t N>
  std::array<Tensor, N> call() const {
    std::array<Tensor, N> outputs;
    call_into({}, outputs);
    return outputs;
  }

  // For `trace`. Sets structure.result.
  std::vector<Tensor> call(std::span<const Tensor> inputs, detail::CallStructure& structure,
                           std::source_location where) const;
  // The tensors of arguments. Throws InvalidArgument for an argument that is neither a tensor nor a variable.
  static std::vector<Tensor> tensors_of(std::span<Arg> args);

  // Of the only signature, or of the one traced last. Throw FailedPrecondition if nothing was traced yet.
  const Graph& graph() const;
  std::vector<TensorSpec> inputs() const;
  std::vector<TensorSpec> outputs() const;
  std::vector<Variable> variables() const;        // captured ones
  const std::vector<std::string>& baked() const;  // values that C++ code read during trace_with, as "file:line: what"
  int num_traces() const;
  // "(a: float32[?,2]) -> (float32[?,3]), 5 nodes"
  std::string to_string() const;

  // Writes one frozen GraphDef (".pb" binary, ".pbtxt" text): captured variables and tensors become Const nodes with
  // their present values. The file records the inputs and outputs, in order. Throws FailedPrecondition if the graph
  // assigns to a variable, Unimplemented for a SavedModel folder (any other file name), and what writing files throws.
  // Leaves no half-written file behind.
  void save(const std::string& path) const;
  // Returns the function in TensorFlow's format: the bytes of a FunctionDef of that name, or of a FunctionDefLibrary
  // with it and the functions that it calls (branches, bodies of loops). Captured values become constants.
  // to_function_def throws InvalidArgument if the function calls others.
  std::string to_function_def(const std::string& name) const;
  std::string to_function_library(const std::string& name) const;
  Graph frozen_graph() const;

  // The passes that run on the graph: "" all, "off", or "-cse,-fusion" as in the command's --optimize. Affects later
  // calls. Throws InvalidArgument, listing the passes, for an unknown pass.
  void set_optimizer(std::string passes) const;

 private:
  class Impl;
  friend PANTO_EXPORT Function make_traced(TensorFunction, const std::vector<TensorSpec>&, std::source_location);
  friend PANTO_EXPORT Function make_traced_with(const TensorFunction&, const std::vector<Tensor>&,
                                                std::source_location);
  friend PANTO_EXPORT Function make_polymorphic(TensorFunction, std::source_location);
  friend Function function_of(std::shared_ptr<ConcreteFunction> only);
  explicit Function(std::shared_ptr<Impl> impl);

  Impl& impl() const;
  static constexpr size_t kMaxArgs = 4;  // of operator()
  Tensor call_one(std::span<Arg* const> args) const;
  void call_into(std::span<Arg> args, std::span<Tensor> outputs) const;

  SharedImpl<Impl> impl_;
};

// The type-erased forms of `trace` (trace/trace.h).
PANTO_EXPORT Function make_traced(TensorFunction fn, const std::vector<TensorSpec>& specs, std::source_location where);
PANTO_EXPORT Function make_traced(TensorFunction fn, std::initializer_list<TensorSpec> specs,
                                  std::source_location where);
PANTO_EXPORT Function make_traced_with(const TensorFunction& fn, const std::vector<Tensor>& values,
                                       std::source_location where);
PANTO_EXPORT Function make_polymorphic(TensorFunction fn, std::source_location where);
// Makes a function from a graph. The graph of a saved function records its inputs and outputs (in internal attributes
// of nodes, which TensorFlow keeps); throws InvalidArgument if it was edited so that these are incomplete. In other
// graphs, the inputs are the Placeholders, in node order; the outputs are the outputs of nodes without consumers; and
// nodes without outputs that no node waits for run too.
PANTO_EXPORT Function function_of(Graph graph);
// Makes a function that computes `outputs` from `inputs`, in this order. Each is the name of a tensor, "x" or "x:0".
// Any node output may be an input; nodes that only that output depends on are not run. Throws what Graph::output throws
// for a name, and InvalidArgument for an input that is named twice, or a Placeholder that is needed but not named.
PANTO_EXPORT Function function_of(Graph graph, const std::vector<std::string>& inputs,
                                  const std::vector<std::string>& outputs);
// Reads a GraphDef (.pb, .pbtxt). Throws what read_graph throws; Unimplemented for a SavedModel folder.
PANTO_EXPORT Function load(const std::string& path);
// The same with the names of inputs and outputs, as function_of takes them: for graphs of other programs, which do not
// record them.
PANTO_EXPORT Function load(const std::string& path, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs);

// Reads a FunctionDef, or the function `name` of a FunctionDefLibrary. Throws DataLoss for malformed bytes, NotFound if
// the library has no such function, and what reading a graph throws.
PANTO_EXPORT Function function_from_def(std::string_view bytes);
PANTO_EXPORT Function function_from_library(std::string_view bytes, const std::string& name);

}  // namespace panto
