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

#include <initializer_list>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/arg.h"
#include "panto/lib/core/tensor.h"
#include "panto/lib/core/variable.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// What is known of an argument when a function is traced. Unknown dimensions are -1.
struct TensorSpec {
  DType dtype = kFloat32;
  PartialShape shape;
  std::string name;  // of the Placeholder; "": arg_0, arg_1 ...

  TensorSpec(DType dtype, PartialShape shape, std::string name = "")
      : dtype(dtype), shape(std::move(shape)), name(std::move(name)) {}
  // {} is a scalar's shape here, not an unknown one.
  TensorSpec(DType dtype, std::initializer_list<int64_t> dims, std::string name = "")
      : TensorSpec(dtype, PartialShape(dims), std::move(name)) {}
  // float32[?,2]
  PANTO_EXPORT std::string to_string() const;
};

using TensorFunction = Callable<std::vector<Tensor>(std::span<const Tensor>)>;

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
  Graph frozen_graph() const;

  // The passes that run on the graph: "" all, "off", or "-cse,-fusion" as in the command's --optimize. Affects later
  // calls. Throws InvalidArgument, naming the passes there are, for another.
  void set_optimizer(std::string passes) const;

 private:
  class Impl;
  friend PANTO_EXPORT Function make_traced(TensorFunction, std::vector<TensorSpec>, std::source_location);
  friend PANTO_EXPORT Function make_traced_with(const TensorFunction&, std::span<const Tensor>, std::source_location);
  friend PANTO_EXPORT Function make_polymorphic(TensorFunction, std::source_location);
  friend PANTO_EXPORT Function function_of(Graph graph);
  friend PANTO_EXPORT Function function_of(Graph graph, const std::vector<std::string>& inputs,
                                           const std::vector<std::string>& outputs);
  explicit Function(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  Impl& impl() const;
  static constexpr size_t kMaxArgs = 4;  // of operator()
  Tensor call_one(std::span<Arg* const> args) const;

  std::shared_ptr<Impl> impl_;
};

// The type-erased forms of trace below.
PANTO_EXPORT Function make_traced(TensorFunction fn, std::vector<TensorSpec> specs, std::source_location where);
PANTO_EXPORT Function make_traced_with(const TensorFunction& fn, std::span<const Tensor> values,
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

namespace detail {

template <size_t>
using TensorAt = const Tensor&;

template <class F, size_t... I>
constexpr bool invocable_with(std::index_sequence<I...>) {
  return std::is_invocable_v<F, TensorAt<I>...>;
}

inline std::vector<Tensor> as_vector(Tensor t) { return {std::move(t)}; }
inline std::vector<Tensor> as_vector(std::vector<Tensor> list) { return list; }
template <class... Ts>
std::vector<Tensor> as_vector(std::tuple<Ts...> list) {
  return std::apply([](auto&... t) { return std::vector<Tensor>{std::move(t)...}; }, list);
}
inline std::vector<Tensor> as_vector(std::pair<Tensor, Tensor> list) {
  return {std::move(list.first), std::move(list.second)};
}

[[noreturn]] PANTO_EXPORT void wrong_argument_count(size_t expected, size_t got);

template <class F, size_t... I>
TensorFunction erase_arity(F fn, std::index_sequence<I...>) {
  return [fn = std::move(fn)](std::span<const Tensor> in) mutable -> std::vector<Tensor> {
    if (in.size() != sizeof...(I)) wrong_argument_count(sizeof...(I), in.size());
    if constexpr (std::is_void_v<decltype(fn(in[I]...))>) {
      fn(in[I]...);
      return {};
    } else {
      return as_vector(fn(in[I]...));
    }
  };
}

// A callable that takes up to eight tensors, or one span of them, as one that takes a span.
template <class F, size_t N = 0>
TensorFunction erase(F fn) {
  if constexpr (std::is_invocable_v<F, std::span<const Tensor>> && !std::is_invocable_v<F, const Tensor&>) {
    return [fn = std::move(fn)](std::span<const Tensor> in) mutable { return as_vector(fn(in)); };
  } else {
    static_assert(N <= 8, "expected a function of at most eight tensors, or of one std::span<const Tensor>");
    if constexpr (invocable_with<F>(std::make_index_sequence<N>())) {
      return erase_arity(std::move(fn), std::make_index_sequence<N>());
    } else {
      return erase<F, N + 1>(std::move(fn));
    }
  }
}

}  // namespace detail

// Traces `fn` at once with symbolic arguments of these specs. `fn` takes tensors and gives a Tensor, a vector, pair or
// tuple of them, or nothing.
template <class F>
Function trace(F fn, std::vector<TensorSpec> specs, std::source_location where = std::source_location::current()) {
  return make_traced(detail::erase(std::move(fn)), std::move(specs), where);
}
// As it is mostly written: `trace(fn, {TensorSpec(...), ...})`. With `{}`, `fn` has no arguments.
template <class F>
Function trace(F fn, std::initializer_list<TensorSpec> specs,
               std::source_location where = std::source_location::current()) {
  return make_traced(detail::erase(std::move(fn)), specs, where);
}
// Traces at the first call with arguments of new dtypes or shapes.
template <class F>
Function trace(F fn, std::source_location where = std::source_location::current()) {
  return make_polymorphic(detail::erase(std::move(fn)), where);
}
// Traces by running `fn` with these values: it may read them, and what it read is listed by `baked()`; branches taken
// are fixed. The function fits arguments of the same dtypes and shapes.
template <class F>
Function trace_with(F fn, const std::vector<Tensor>& values,
                    std::source_location where = std::source_location::current()) {
  return make_traced_with(detail::erase(std::move(fn)), values, where);
}

}  // namespace panto
