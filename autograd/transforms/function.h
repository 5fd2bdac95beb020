// What transforms share: calling a function of structures of tensors as one of a list of tensors. Internal.
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
  if constexpr (!std::is_same_v<std::remove_const_t<T>, Variable>) visit(value, f);  // variables are what they are
}
template <class T>
Tensors tensors_of(const T& value) {
  Tensors all;
  visit_argument(value, [&](const Tensor& t) { all.push_back(t); });
  return all;
}
// `value` with its tensors replaced by those from `next` on.
template <class T>
void put_tensors(T& value, const Tensors& tensors, size_t& next) {
  visit_argument(value, [&](Tensor& t) { t = tensors[next++]; });
}

// f(args...) by `around`, which gets the tensors in `args` and the function to call with those to put in their place,
// and gives those to put in place of the result's.
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
