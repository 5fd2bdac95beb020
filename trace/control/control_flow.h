// Conditionals and loops that can be traced.
//
//   Tensor y = cond(sum(x) > 0.f, [&] { return sqrt(x); }, [&] { return zeros_like(x); });
//
//   auto [i, power] = while_loop([&](const Tensor& i, const Tensor&) { return i < n; },
//                                [&](const Tensor& i, const Tensor& p) { return std::tuple(i + 1, p * x); },
//                                std::tuple(tensor(0), ones_like(x)));
//
// Called eagerly they run as C++ does: the branch that is taken, round after round. While a function is traced, or a
// graph is made, each is one node (StatelessIf, StatelessCase, StatelessWhile, or, where something in it has an effect,
// If, Case, While), which chooses when it runs. Functions may use tensors and variables from outside, as lambdas do.
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
  int64_t maximum_iterations = -1;   // the loop ends after so many rounds in any case; -1: no limit
  int64_t parallel_iterations = 10;  // kept for who runs the graph elsewhere: results do not depend on it
  // Of the values, in order: dimensions that change from round to round are unknown (-1). Empty: what changes is found
  // out.
  std::vector<PartialShape> shape_invariants = {};
};

namespace detail {

using Tensors = std::vector<Tensor>;
using BranchFunction = Callable<Tensors()>;
using RoundFunction = Callable<Tensors(std::span<const Tensor>)>;

// Whether it is to be a node: somebody writes a graph, or the value is not there yet.
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
// Calls f with the structure, or with its members.
template <class F, class V>
auto call_with(F& f, const V& values) {
  if constexpr (std::is_invocable_v<F&, const V&>) {
    return f(values);
  } else {
    return std::apply(f, values);
  }
}
// The branch as one that gives tensors; `like` is set to what it gave.
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

// What `then` gives if `pred` is true, else what `otherwise` gives: nothing, a tensor or a structure of tensors, of the
// same dtypes in both. `pred`: a scalar that is a bool, a number (true: not 0) or a string (true: not empty).
// Throws InvalidArgument where the branches give different numbers of tensors, or other dtypes.
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

// What branch number `index` (int32) gives; the last one where there is none of that number. Branches are functions
// without arguments, of one result type R: nothing, a tensor or a structure of tensors.
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

// `values`, or what `body` makes of them, again and again, while `condition` of them is true. Dtypes stay what they
// are; shapes may change from round to round.
// Throws InvalidArgument where the body gives other tensors than it takes.
template <class C, class B, class V>
V while_loop(C condition, B body, V values, const WhileOptions& options = {},
             std::source_location where = std::source_location::current()) {
  WhileOptions left = options;
  if (!detail::makes_node()) {
    for (; left.maximum_iterations != 0; left.maximum_iterations -= left.maximum_iterations > 0 ? 1 : 0) {
      const Tensor more = detail::call_with(condition, values);
      if (more.is_meta()) break;  // inside a transform, which examples go on is not known here
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
