// Tensors as xtensor's arrays and the other way round, without a copy. Opt-in: panto.h does not include it, and it
// needs the headers of xtensor.
//
//   #include <panto/panto.h>
//   #include <panto/xtensor.h>
//
//   const panto::Tensor t = panto::tensor({{1.f, 2.f}, {3.f, 4.f}});
//   auto x = panto::as_xarray<float>(t);                        // reads the tensor's memory, and keeps it
//   const panto::Tensor means = panto::tensor(xt::mean(x, {0}));  // any expression, computed (of doubles)
//   const panto::Tensor moved = panto::tensor(std::move(array));  // an xarray that dies gives its memory
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {

// The elements of `t`, of type T, as an array that can only be read; row-major, and valid as long as it lives: it keeps
// the tensor. A tensor that is on another device is copied to the host. Throws InvalidArgument where T is not its
// dtype, FailedPrecondition for a tensor without a value.
template <class T>
auto as_xarray(const Tensor& t) {
  auto kept = std::make_shared<const Tensor>(t.cpu());
  const T* const data = kept->template data<T>().data();
  const std::vector<size_t> shape(kept->shape().dims().begin(), kept->shape().dims().end());
  return xt::adapt_smart_ptr<xt::layout_type::row_major>(data, shape, std::move(kept));
}

// The elements that an expression of xtensor has, on the device where `tensor(values)` would put them.
template <class E>
  requires xt::is_xexpression<std::remove_cvref_t<E>>::value
Tensor tensor(E&& expression) {
  using T = typename std::remove_cvref_t<E>::value_type;
  static_assert(dtype_of<T> != DType::kInvalid);
  const auto shape_of = [](const auto& e) { return Shape(std::vector<int64_t>(e.shape().begin(), e.shape().end())); };
  if constexpr (std::is_same_v<E, xt::xarray<T>>) {  // an rvalue
    auto kept = std::make_shared<xt::xarray<T>>(std::forward<E>(expression));
    return made_of_host_values(adopt_tensor(cpu_device(), dtype_of<T>, shape_of(*kept), kept->data(), kept));
  } else {
    Tensor made = allocate_tensor(cpu_device(), dtype_of<T>, shape_of(expression));
    const std::vector<size_t> shape(expression.shape().begin(), expression.shape().end());
    auto there = xt::adapt<xt::layout_type::row_major>(mutable_data<T>(made), static_cast<size_t>(made.numel()),
                                                       xt::no_ownership(), shape);
    there = std::forward<E>(expression);
    return made_of_host_values(std::move(made));
  }
}

}  // namespace panto
