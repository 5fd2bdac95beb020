// custom_gradient: a function with a gradient that the user wrote. checkpoint: a function whose gradient recomputes
// intermediate values instead of keeping them.
//
//   auto clipped = custom_gradient([](const Tensor& x) { return x; },
//                                  [](const Tensor& x, const Tensor& y, const Tensor& dy) { return clip(dy, -1, 1); });
//   auto block = checkpoint([&](const Tensor& x) { return layer(x); });    // keeps x only
//
// Both are ops in eager calls, under tapes, in traces, and inside vmap and jvp.
#pragma once

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "panto/autograd/transforms/function.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {
namespace detail {

// Computes the gradients of the arguments' tensors from the arguments, the results and the results' gradients.
using PullbackFunction = Callable<Tensors(const Tensors& args, const Tensors& results, const Tensors& gradients)>;
PANTO_EXPORT Tensors custom_gradient_call(const TensorsFunction& f, const Tensors& args,
                                          const PullbackFunction& pullback);
// `again`: a copy of f that lives as long as gradients may be asked for.
PANTO_EXPORT Tensors checkpoint_call(const TensorsFunction& f, const Tensors& args, const TensorsFunction& again);

}  // namespace detail

// Returns f with the gradient `vjp`. vjp(arguments..., result, result's gradient) returns the gradients of all tensors
// in the arguments, in order: a tensor, or a structure with as many tensors; an undefined one is zero. For use with jvp
// it should be linear in the result's gradient. Other tensors that f uses get no gradient. Throws InvalidArgument if
// the number, a shape or a dtype of the gradients does not match the arguments.
template <class F, class Vjp>
auto custom_gradient(F f, Vjp vjp) {
  return [f = std::move(f), vjp = std::make_shared<const Vjp>(std::move(vjp))](const auto&... args) {
    using Result = std::decay_t<decltype(f(args...))>;
    auto structure = std::make_shared<std::unique_ptr<Result>>();  // the structure of the result, once f has run
    const auto noted = [&f, &structure](const auto&... own) {
      Result result = f(own...);
      *structure = std::make_unique<Result>(result);
      return result;
    };
    const detail::PullbackFunction pullback = [vjp, structure,
                                               own = std::tuple<std::decay_t<decltype(args)>...>(args...)](
                                                  const detail::Tensors& inputs, const detail::Tensors& outputs,
                                                  const detail::Tensors& gradients) {
      auto values = own;
      Result result = **structure, by_result = **structure;
      size_t next = 0;
      std::apply([&](auto&... a) { (detail::put_tensors(a, inputs, next), ...); }, values);
      next = 0;
      detail::put_tensors(result, outputs, next);
      next = 0;
      detail::put_tensors(by_result, gradients, next);
      return detail::tensors_of(std::apply([&](const auto&... a) { return (*vjp)(a..., result, by_result); }, values));
    };
    return detail::through_tensors(
        noted,
        [&](const detail::TensorsFunction& call, const detail::Tensors& flat) {
          return detail::custom_gradient_call(call, flat, pullback);
        },
        args...);
  };
}

// Returns f, keeping only its arguments for gradients: a gradient calls f again to recompute its inner values.
// Gradients also flow to variables and tensors that f uses besides its arguments; inside a trace, tensors computed in
// the trace must be arguments (InvalidArgument). f must return the same when called again, so random ops in it need a
// seed.
template <class F>
auto checkpoint(F f) {
  return [f = std::make_shared<const F>(std::move(f))](const auto&... args) {
    const detail::TensorsFunction again =
        [f, own = std::tuple<std::decay_t<decltype(args)>...>(args...)](const detail::Tensors& tensors) {
          auto values = own;
          size_t next = 0;
          std::apply([&](auto&... a) { (detail::put_tensors(a, tensors, next), ...); }, values);
          return detail::tensors_of(std::apply(*f, std::as_const(values)));
        };
    return detail::through_tensors(
        *f,
        [&](const detail::TensorsFunction& call, const detail::Tensors& flat) {
          return detail::checkpoint_call(call, flat, again);
        },
        args...);
  };
}

}  // namespace panto
