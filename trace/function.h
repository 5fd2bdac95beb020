// Function: what tracing makes of a C++ function: a graph that runs instead of it.
//
//   Function f = trace([&](const Tensor& a) { return relu(matmul(a, k)); }, {TensorSpec(kFloat32, {-1, 2}, "a")});
//   Tensor out = f(x);                     // the same numbers, run by the static pipeline
//   f.save("model.pb");                    // a frozen GraphDef
//   Function g = load("model.pb");
//
// The function is called once for each signature, on symbolic tensors: dtypes and shapes without values. Reading a
// value there throws and names the line (design decision 6). Variables and tensors from outside are captured by
// reference: a variable's value is read when the graph runs. Assignments and prints happen at every run, in the
// program's order. A Function called under a gradient tape is one record whose backward function is traced once; called
// inside another trace it becomes part of that graph. What nodes keep between runs (a seeded stateful random op's
// generator, how often Print has printed) belongs to the function, whatever shapes it is called with. Thread-safety: a
// Function is a handle; calls may be made from several threads at once. One thread at a time traces a function without
// a fixed signature; it may call itself, with other dtypes or shapes, while it is traced.
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

// What is known of an argument when a function is traced. Unknown dimensions are -1.
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

// What a call of a traced function has beside its tensors: what tells arguments of one type apart (lengths, keys),
// which are traced each by itself; the arguments themselves, for the function if it is traced; and what it gave when it
// was.
struct CallStructure {
  std::string variant;
  const void* arguments = nullptr;
  std::shared_ptr<const void> result;
};
// Of the trace that this thread is making; null if there is none.
PANTO_EXPORT CallStructure* structure_of_trace() noexcept;

}  // namespace detail

class PANTO_EXPORT Function {
 public:
  Function() = default;

  bool defined() const noexcept { return impl_ != nullptr; }
  // Calls it. Throws InvalidArgument for arguments that do not fit the signature; a function without a fixed signature
  // is traced anew for each combination of dtypes and shapes (the reason is logged at level info; 64 at most, then
  // FailedPrecondition: give it a signature with -1 for dimensions that change).
  std::vector<Tensor> call(std::span<const Tensor> inputs,
                           std::source_location where = std::source_location::current()) const;
  // For functions with one output; one without outputs gives an undefined tensor. Throws FailedPrecondition otherwise,
  // InvalidArgument for arguments that are neither tensors nor variables.
  // Overloads rather than a template, so that an Arg can tell the caller's line.
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

  // For `trace`. Sets the structure's result.
  std::vector<Tensor> call(std::span<const Tensor> inputs, detail::CallStructure& structure,
                           std::source_location where) const;
  // Tensors of arguments. Throws InvalidArgument for what is neither a tensor nor a variable.
  static std::vector<Tensor> tensors_of(std::span<Arg> args);

  // Of the only, or the last traced, signature. Throw FailedPrecondition where nothing was traced yet.
  const Graph& graph() const;
  std::vector<TensorSpec> inputs() const;
  std::vector<TensorSpec> outputs() const;
  std::vector<Variable> variables() const;        // captured ones
  const std::vector<std::string>& baked() const;  // values that C++ code read during trace_with, as "file:line: what"
  int num_traces() const;
  // "(a: float32[?,2]) -> (float32[?,3]), 5 nodes"
  std::string to_string() const;

  // Writes one frozen GraphDef (".pb" binary, ".pbtxt" text): captured variables and tensors become Const nodes with
  // their present values. It says which the inputs and outputs are, in their order. Throws FailedPrecondition if the
  // graph assigns to a variable, Unimplemented for a SavedModel folder (any other name), and what writing files throws.
  // Nothing half-written is left behind.
  void save(const std::string& path) const;
  // The function as TensorFlow has functions: the bytes of a FunctionDef of that name, or of a FunctionDefLibrary with
  // it and those that it calls (branches, bodies of loops). What is captured is in it as constants. Throws
  // InvalidArgument for a FunctionDef of one that calls others.
  std::string to_function_def(const std::string& name) const;
  std::string to_function_library(const std::string& name) const;
  Graph frozen_graph() const;

  // The passes that run on the graph: "" all, "off", or "-cse,-fusion" as in the command's --optimize. Affects later
  // calls. Throws InvalidArgument, naming the passes there are, for another.
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
// A function around a graph. A graph that a function was saved as says which its inputs and outputs are (internal
// attributes of nodes, which TensorFlow keeps); InvalidArgument if it was cut or joined so that it says so no more.
// Others do not say it: their Placeholders, in the order of the nodes, are the inputs; the outputs of nodes that nobody
// consumes are the outputs; nodes without outputs that nobody waits for run too.
PANTO_EXPORT Function function_of(Graph graph);
// The part that computes `outputs` from `inputs`, each the name of a tensor, "x" or "x:0", in this order. Any output of
// a node may be an input; what only that was made of is not asked for. Throws what Graph::output throws for a name, and
// InvalidArgument for an input that is named twice, or a Placeholder that is needed and not named.
PANTO_EXPORT Function function_of(Graph graph, const std::vector<std::string>& inputs,
                                  const std::vector<std::string>& outputs);
// Reads a GraphDef (.pb, .pbtxt). Throws what read_graph throws; Unimplemented for a SavedModel folder.
PANTO_EXPORT Function load(const std::string& path);
// The same, with the function's inputs and outputs by name, as function_of takes them: for graphs of others, which do
// not say what is meant.
PANTO_EXPORT Function load(const std::string& path, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs);

// The function of a FunctionDef, or of that name in a FunctionDefLibrary. Throws DataLoss for bytes that are none,
// NotFound where the library has none of that name, and what reading a graph throws.
PANTO_EXPORT Function function_from_def(std::string_view bytes);
PANTO_EXPORT Function function_from_library(std::string_view bytes, const std::string& name);

}  // namespace panto
