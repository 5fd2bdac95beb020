// Shared code of transforms: calls a function of structures of tensors as a function of a list of tensors. Internal.
#pragma once

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/structure.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"

namespace panto::detail {

using Tensors = std::vector<Tensor>;
using TensorsFunction = Callable<Tensors(const Tensors&)>;

template <class T, class F>
void visit_argument(T& value, F&& f) {
  if constexpr (!std::is_same_v<std::remove_const_t<T>, Variable>) visit(value, f);  // variables are passed unchanged
}
template <class T>
Tensors tensors_of(const T& value) {
  Tensors all;
  visit_argument(value, [&](const Tensor& t) { all.push_back(t); });
  return all;
}
// Replaces the tensors in `value` by tensors[next], tensors[next + 1], ...; advances `next`.
template <class T>
void put_tensors(T& value, const Tensors& tensors, size_t& next) {
  visit_argument(value, [&](Tensor& t) { t = tensors[next++]; });
}

// Computes f(args...) through `around`, which gets f as a function of tensors and the tensors in `args`, and returns
// the tensors of the result.
template <class F, class Around, class... Args>
auto through_tensors(const F& f, const Around& around, const Args&... args) {
  using Result = std::decay_t<std::invoke_result_t<const F&, const Args&...>>;
  std::tuple<Args...> own(args...);
  std::unique_ptr<Result> result;
  const TensorsFunction call = [&](const Tensors& tensors) {
    size_t next = 0;
    std::apply([&](auto&... a) { (put_tensors(a, tensors, next), ...); }, own);
    result = std::make_unique<Result>(std::apply(f, std::as_const(own)));
    return tensors_of(*result);
  };
  Tensors flat;
  const auto append = [&](const auto& a) {
    for (Tensor& t : tensors_of(a)) flat.push_back(std::move(t));
  };
  (append(args), ...);
  const Tensors outputs = around(call, flat);
  size_t next = 0;
  put_tensors(*result, outputs, next);
  return std::move(*result);
}

}  // namespace panto::detail
