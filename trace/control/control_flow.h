// Conditionals and loops that can be traced.
//
//   Tensor y = cond(sum(x) > 0.f, [&] { return sqrt(x); }, [&] { return zeros_like(x); });
//
//   auto [i, power] = while_loop([&](const Tensor& i, const Tensor&) { return i < n; },
//                                [&](const Tensor& i, const Tensor& p) { return std::tuple(i + 1, p * x); },
//                                std::tuple(tensor(0), ones_like(x)));
//
// Eagerly they run like C++ control flow. While a function is traced or a graph is built, each becomes one node, which
// decides at run time: StatelessIf, StatelessCase or StatelessWhile; or If, Case or While if something inside has an
// effect. Functions may capture tensors and variables from outside, as lambdas do.
//
// Values are tensors, or structures of them as `trace` takes them. The functions of a loop take the members of a tuple,
// pair or array one by one, or the structure as a whole.
#pragma once

#include <cstdint>
#include <source_location>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/structure.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

struct WhileOptions {
  int64_t maximum_iterations = -1;   // the loop ends after this many rounds; -1: no limit
  int64_t parallel_iterations = 10;  // stored in the node for other runtimes; has no effect on results
  // The shapes of the values, in order, with -1 for dimensions that change from round to round. Empty: found out by
  // tracing.
  std::vector<PartialShape> shape_invariants = {};
};

namespace detail {

using Tensors = std::vector<Tensor>;
using BranchFunction = Callable<Tensors()>;
using RoundFunction = Callable<Tensors(std::span<const Tensor>)>;

// Whether to add a node: a graph is being recorded, or the condition has no value yet.
PANTO_EXPORT bool makes_node(const Tensor& condition);
PANTO_EXPORT bool makes_node();
PANTO_EXPORT bool holds(const Tensor& condition);

PANTO_EXPORT Tensors record_cond(const Tensor& pred, const BranchFunction& then, const BranchFunction& otherwise,
                                 const std::source_location& where);
PANTO_EXPORT Tensors record_case(const Tensor& index, std::span<const BranchFunction> branches,
                                 const std::source_location& where);
PANTO_EXPORT Tensors record_while(const RoundFunction& condition, const RoundFunction& body, Tensors values,
                                  const WhileOptions& options, const std::source_location& where);
PANTO_EXPORT Tensor tensor_of(Arg arg);
[[noreturn]] PANTO_EXPORT void no_branch();

template <class R>
Tensors tensors_in(const R& value) {
  Tensors tensors;
  append_tensors(value, tensors);
  return tensors;
}
template <class R>
R like_with(R like, std::span<const Tensor> tensors) {
  const Tensor* next = tensors.data();
  visit(like, [&](Tensor& t) { t = *next++; });
  return like;
}
// Calls f with the structure if it takes that, else with its members.
template <class F, class V>
auto call_with(F& f, const V& values) {
  if constexpr (std::is_invocable_v<F&, const V&>) {
    return f(values);
  } else {
    return std::apply(f, values);
  }
}
// Wraps the branch as a function that returns tensors; sets `like` to the branch's result.
template <class R, class F>
BranchFunction erase_branch(F& f, R& like) {
  return [&f, &like]() -> Tensors {
    like = f();
    return tensors_in(like);
  };
}
template <class F>
BranchFunction erase_branch(F& f) {
  return [&f]() -> Tensors {
    f();
    return {};
  };
}

}  // namespace detail

// Returns the result of `then` if `pred` is true, else that of `otherwise`: nothing, a tensor or a structure of
// tensors, of the same dtypes in both. `pred`: a scalar that is a bool, a number (true: not 0) or a string (true: not
// empty).
// Throws InvalidArgument if the branches return different numbers of tensors, or other dtypes.
template <class F, class G>
auto cond(Arg pred, F then, G otherwise, std::source_location where = std::source_location::current()) {
  using R = std::decay_t<std::invoke_result_t<F&>>;
  const Tensor p = detail::tensor_of(std::move(pred));
  if constexpr (std::is_void_v<R>) {
    if (detail::makes_node(p)) {
      detail::record_cond(p, detail::erase_branch(then), detail::erase_branch(otherwise), where);
    } else if (detail::holds(p)) {
      then();
    } else {
      otherwise();
    }
  } else {
    if (!detail::makes_node(p)) return detail::holds(p) ? R(then()) : R(otherwise());
    R like, other;
    const detail::Tensors results =
        detail::record_cond(p, detail::erase_branch(then, like), detail::erase_branch(otherwise, other), where);
    return detail::like_with(std::move(like), results);
  }
}

// Returns the result of branch number `index` (int32); of the last branch if there is no such number. Branches are
// functions without arguments and with the same result type R: nothing, a tensor or a structure of tensors.
template <class R>
R switch_case(Arg index, const std::vector<Callable<R()>>& branches,
              std::source_location where = std::source_location::current()) {
  if (branches.empty()) detail::no_branch();
  const Tensor i = detail::tensor_of(std::move(index));
  if (!detail::makes_node(i)) {
    const int64_t number = i.item<int32_t>();
    const auto last = static_cast<int64_t>(branches.size()) - 1;
    return branches[static_cast<size_t>(number >= 0 && number <= last ? number : last)]();
  }
  std::vector<detail::BranchFunction> erased;
  if constexpr (std::is_void_v<R>) {
    for (const Callable<R()>& branch : branches) erased.push_back(detail::erase_branch(branch));
    detail::record_case(i, erased, where);
  } else {
    std::vector<R> likes(branches.size());
    for (size_t k = 0; k < branches.size(); ++k) erased.push_back(detail::erase_branch(branches[k], likes[k]));
    return detail::like_with(std::move(likes[0]), detail::record_case(i, erased, where));
  }
}
inline Tensor switch_case(Arg index, const std::vector<Callable<Tensor()>>& branches,
                          std::source_location where = std::source_location::current()) {
  return switch_case<Tensor>(std::move(index), branches, where);
}

// Replaces `values` by body(values) while condition(values) is true, and returns the last values. Dtypes must not
// change; shapes may change from round to round.
// Throws InvalidArgument if the body's results do not match its arguments in number and dtypes.
template <class C, class B, class V>
V while_loop(C condition, B body, V values, const WhileOptions& options = {},
             std::source_location where = std::source_location::current()) {
  WhileOptions left = options;
  if (!detail::makes_node()) {
    for (; left.maximum_iterations != 0; left.maximum_iterations -= left.maximum_iterations > 0 ? 1 : 0) {
      const Tensor more = detail::call_with(condition, values);
      if (more.is_meta()) break;  // inside a transform, the condition may differ by example
      if (!detail::holds(more)) return values;
      values = detail::call_with(body, values);
    }
    if (left.maximum_iterations == 0) return values;
  }
  const V like = values;
  const detail::RoundFunction erased_condition = [&](std::span<const Tensor> in) -> detail::Tensors {
    return {detail::call_with(condition, detail::like_with(like, in))};
  };
  const detail::RoundFunction erased_body = [&](std::span<const Tensor> in) -> detail::Tensors {
    return detail::tensors_in(static_cast<V>(detail::call_with(body, detail::like_with(like, in))));
  };
  return detail::like_with(
      like, detail::record_while(erased_condition, erased_body, detail::tensors_in(values), left, where));
}

}  // namespace panto
