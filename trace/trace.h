// trace: makes a Function from a C++ function.
//
//   auto f = trace([](const Tensor& x) { return std::pair(sum(x), mean(x)); });
//   auto [total, average] = f(x);
//
// The C++ function takes any number of tensors, or structures of tensors: pairs, tuples, arrays, vectors, maps with
// string keys, and plain structs. It returns one of these, or nothing. The result of `trace` has the same signature as
// the C++ function. It is also a Function, so it can be stored, saved and inspected.
#pragma once

#include <concepts>
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
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/structure.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/trace/function.h"

namespace panto {
namespace detail {

// ---- Arguments -----------------------------------------------------------------------------------------------------

template <size_t>
struct TensorAt {
  using Type = const Tensor&;
};

template <class F, size_t... I>
constexpr bool invocable_with(std::index_sequence<I...>) {
  return std::is_invocable_v<F&, typename TensorAt<I>::Type...>;
}
constexpr int kMostTensors = 32;
// The smallest number of tensors with which F can be called; -1 if there is none up to kMostTensors.
template <class F, int N = 0>
constexpr int tensors_taken() {
  if constexpr (N > kMostTensors) {
    return -1;
  } else if constexpr (invocable_with<F>(std::make_index_sequence<N>())) {
    return N;
  } else {
    return tensors_taken<F, N + 1>();
  }
}
template <class F>
constexpr bool kTakesSpan = std::is_invocable_v<F&, std::span<const Tensor>> && !std::is_invocable_v<F&, const Tensor&>;

template <class F, size_t... I>
auto result_of_tensors(std::index_sequence<I...>) -> std::invoke_result_t<F&, typename TensorAt<I>::Type...>;

// The parameter types of a function that is not a template.
template <class... P>
struct Parameters {};
template <class F>
struct ParametersOf : ParametersOf<decltype(&F::operator())> {};
template <class R, class... P>
struct ParametersOf<R (*)(P...)> {
  using Type = Parameters<std::decay_t<P>...>;
};
template <class R, class C, class... P>
struct ParametersOf<R (C::*)(P...)> : ParametersOf<R (*)(P...)> {};
template <class R, class C, class... P>
struct ParametersOf<R (C::*)(P...) const> : ParametersOf<R (*)(P...)> {};
template <class F>
concept HasParameters = requires { typename ParametersOf<F>::Type; };

// ---- Results -------------------------------------------------------------------------------------------------------

// One tensor or nothing, as Function's own operator() returns.
template <class R>
constexpr bool kPlainResult = std::is_void_v<R> || std::is_same_v<std::decay_t<R>, Tensor>;
// Whether R is a structure with lengths or keys that must be remembered; not for a plain vector of tensors.
template <class R>
constexpr bool keeps_structure() {
  if constexpr (kPlainResult<R> || std::is_same_v<R, std::vector<Tensor>>) {
    return false;
  } else {
    return is_dynamic<R>();
  }
}

// Returns the tensors of call()'s result. While tracing, records the structure of the result.
template <class Call>
std::vector<Tensor> result_tensors(const Call& call) {
  using R = std::decay_t<decltype(call())>;
  if constexpr (std::is_void_v<R>) {
    call();
    return {};
  } else if constexpr (std::is_same_v<R, std::vector<Tensor>>) {
    return call();
  } else {
    R result = call();
    std::vector<Tensor> tensors;
    append_tensors(result, tensors);
    if constexpr (keeps_structure<R>()) {
      visit(result, [](Tensor& t) { t = Tensor(); });
      if (CallStructure* trace = structure_of_trace()) trace->result = std::make_shared<const R>(std::move(result));
    }
    return tensors;
  }
}

// `like` with its tensors replaced.
template <class T>
T with_tensors(T like, std::span<const Tensor> tensors) {
  const Tensor* next = tensors.data();
  visit(like, [&](Tensor& t) { t = *next++; });
  return like;
}

// Calls the traced function f and rebuilds the result of type R.
template <class R>
R call_traced(const Function& f, std::span<const Tensor> inputs, CallStructure& structure, std::source_location where) {
  std::vector<Tensor> tensors = f.call(inputs, structure, where);
  if constexpr (std::is_void_v<R>) {
    return;
  } else if constexpr (std::is_same_v<R, std::vector<Tensor>>) {
    return tensors;
  } else if constexpr (keeps_structure<R>()) {
    return with_tensors(*static_cast<const R*>(structure.result.get()), tensors);
  } else {
    return with_tensors(R(), tensors);
  }
}

}  // namespace detail

// The traced form of a function that takes tensors and does not return a single tensor.
template <class R>
class TracedTensors : public Function {
 public:
  explicit TracedTensors(Function function) : Function(std::move(function)) {}
  R operator()(std::source_location where = std::source_location::current()) const { return run({}, where); }
  template <class... More>
  R operator()(Arg a, const More&... more) const {
    Arg args[] = {std::move(a), Arg(more)...};
    return run(tensors_of(args), args[0].where());
  }

 private:
  R run(const std::vector<Tensor>& inputs, std::source_location where) const {
    detail::CallStructure structure;
    return detail::call_traced<R>(*this, inputs, structure, where);
  }
};

// The traced form of a function that takes structures of tensors. Each length of vectors, and each set of keys of maps,
// is traced separately.
template <class R, class... P>
class TracedStructures : public Function {
 public:
  explicit TracedStructures(Function function) : Function(std::move(function)) {}
  R operator()(const P&... args, std::source_location where = std::source_location::current()) const {
    std::vector<Tensor> inputs;
    (detail::append_tensors(args, inputs), ...);
    detail::CallStructure structure;
    const std::tuple<const P&...> all(args...);
    if constexpr ((detail::is_dynamic<P>() || ...)) {
      detail::StructureText text;
      (detail::visit(args, text), ...);
      structure.variant = std::move(text.text);
      structure.arguments = &all;
    }
    return detail::call_traced<R>(*this, inputs, structure, where);
  }
};

namespace detail {

[[noreturn]] PANTO_EXPORT void wrong_argument_count(size_t expected, size_t got);

template <class F, size_t... I>
auto erase_tensors(F fn, std::index_sequence<I...>) {
  return [fn = std::move(fn)](std::span<const Tensor> in) mutable -> std::vector<Tensor> {
    if (in.size() != sizeof...(I)) wrong_argument_count(sizeof...(I), in.size());
    return result_tensors([&]() -> decltype(auto) { return fn(in[I]...); });
  };
}

// Builds the arguments from the tensors, with the lengths and keys of the call's arguments.
template <class... P>
std::tuple<P...> arguments_of(std::span<const Tensor> in) {
  std::tuple<P...> args;
  if constexpr ((is_dynamic<P>() || ...)) {
    const CallStructure* trace = structure_of_trace();
    args = *static_cast<const std::tuple<const P&...>*>(trace->arguments);
  }
  size_t wanted = 0;
  visit(args, [&](Tensor&) { ++wanted; });
  if (in.size() != wanted) wrong_argument_count(wanted, in.size());
  return with_tensors(std::move(args), in);
}

template <class F, class... P>
auto erase_structures(F fn, Parameters<P...>) {
  return [fn = std::move(fn)](std::span<const Tensor> in) mutable -> std::vector<Tensor> {
    return result_tensors([&]() -> decltype(auto) { return std::apply(fn, arguments_of<P...>(in)); });
  };
}

template <class R>
auto typed(Function f) {
  if constexpr (kPlainResult<R>) {
    return f;
  } else {
    return TracedTensors<std::decay_t<R>>(std::move(f));
  }
}

// Whether a parameter has lengths or keys that a list of specs does not determine.
template <class... P>
constexpr bool any_dynamic(Parameters<P...>) {
  return (is_dynamic<P>() || ...);
}

template <class R, class... P>
TracedStructures<std::decay_t<R>, P...> typed_structures(Function f, Parameters<P...>) {
  return TracedStructures<std::decay_t<R>, P...>(std::move(f));
}

template <class F, class... P>
auto result_type(Parameters<P...>) -> std::invoke_result_t<F&, P&...>;

// Passes `fn`, as a TensorFunction, to `make` and returns the result with fn's signature. kSpecs: arguments are
// described by specs only.
template <bool kSpecs, class F, class Make>
auto make_typed(F fn, const Make& make) {
  if constexpr (kTakesSpan<F>) {
    using R = std::invoke_result_t<F&, std::span<const Tensor>>;
    return typed<R>(make([fn = std::move(fn)](std::span<const Tensor> in) mutable {
      return result_tensors([&]() -> decltype(auto) { return fn(in); });
    }));
  } else if constexpr (constexpr int n = tensors_taken<F>(); n >= 0) {
    constexpr auto each = std::make_index_sequence<static_cast<size_t>(n < 0 ? 0 : n)>();
    using R = decltype(result_of_tensors<F>(each));
    return typed<R>(make(erase_tensors(std::move(fn), each)));
  } else if constexpr (HasParameters<F>) {
    using All = typename ParametersOf<F>::Type;
    static_assert(!kSpecs || !any_dynamic(All()),
                  "trace: vectors and maps as arguments need no specs: leave them out, and the first call tells");
    using R = decltype(result_type<F>(All()));
    return typed_structures<R>(make(erase_structures(std::move(fn), All())), All());
  } else {
    static_assert(HasParameters<F>,
                  "trace: expected a function of tensors, or of structures of tensors; if it is "
                  "one, the errors before this one say what is wrong in it");
  }
}

}  // namespace detail

// Traces `fn` at once with symbolic arguments of these specs.
template <class F>
auto trace(F fn, const std::vector<TensorSpec>& specs, std::source_location where = std::source_location::current()) {
  return detail::make_typed<true>(std::move(fn),
                                  [&](TensorFunction f) { return make_traced(std::move(f), specs, where); });
}
// The usual form: `trace(fn, {TensorSpec(...), ...})`. With `{}`, `fn` has no arguments.
template <class F>
auto trace(F fn, std::initializer_list<TensorSpec> specs,
           std::source_location where = std::source_location::current()) {
  return detail::make_typed<true>(std::move(fn),
                                  [&](TensorFunction f) { return make_traced(std::move(f), specs, where); });
}
// Traces at the first call with arguments of new dtypes or shapes.
template <class F>
auto trace(F fn, std::source_location where = std::source_location::current()) {
  return detail::make_typed<false>(std::move(fn),
                                   [&](TensorFunction f) { return make_polymorphic(std::move(f), where); });
}
// Traces by running `fn` with these values. `fn` may read them: values read, and so the branches taken, become fixed;
// `baked()` lists them. The result takes arguments of the same dtypes and shapes.
template <class F>
auto trace_with(F fn, const std::vector<Tensor>& values, std::source_location where = std::source_location::current()) {
  return detail::make_typed<true>(std::move(fn),
                                  [&](const TensorFunction& f) { return make_traced_with(f, values, where); });
}

}  // namespace panto
