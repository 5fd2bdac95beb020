#include "panto/tests/ops/list_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "panto/lib/core/collections/tensor_list.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/tests/ops/array_value.h"

namespace panto::test {

Variant variant_of(double value) {
  const Tensor element = tensor(value);
  return {std::make_shared<TensorList>(TensorList(kFloat64, Shape{}).with_elements({&element, 1}))};
}

bool is_number(const Variant& variant) {
  const auto* list = dynamic_cast<const TensorList*>(variant.value.get());
  return list != nullptr && list->size() == 1 && list->element_dtype() == kFloat64 && list->element_shape() == Shape{};
}

double number_of(const Variant& variant) {
  return is_number(variant) ? list_in(variant).at(0).item<double>() : std::nan("");
}

Tensor make_list(const Tensor& value) {
  const Shape rows(value.shape().dims().subspan(1));
  std::vector<Tensor> elements;
  for (int64_t i = 0; i < value.dim(0); ++i) elements.push_back(view_tensor(value, rows, i * rows.numel()));
  return list_tensor(TensorList(value.dtype(), rows).with_elements(elements));
}

namespace {

// Elements [at, at + size) of `all` are those of `e`, or zeros.
void put(const Tensor& all, int64_t at, int64_t size, const Tensor& e) {
  if (all.dtype() == kString) {
    if (e.defined()) std::ranges::copy(e.data<std::string>(), mutable_data<std::string>(all) + at);
    return;
  }
  const size_t width = dtype_size(all.dtype());
  char* to = mutable_data<char>(all) + static_cast<size_t>(at) * width;
  if (size == 0) return;
  if (e.defined()) {
    std::memcpy(to, e.impl()->data, static_cast<size_t>(size) * width);
  } else {
    std::memset(to, 0, static_cast<size_t>(size) * width);
  }
}

}  // namespace

Tensor stacked(const Tensor& variants) {
  const TensorList& first = list_in(variants.data<Variant>()[0]);
  if (!is_plain(first.element_dtype()) && first.element_dtype() != kString) {
    fail(Code::kInternal, "test array: expected a list of numbers or strings");
  }
  PartialShape shape = first.element_shape();
  for (const Tensor& e : first.elements()) {
    if (e.defined()) shape = e.shape();
  }
  std::vector<int64_t> dims(variants.shape().dims().begin(), variants.shape().dims().end());
  dims.push_back(first.size());
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  const Tensor all = allocate_tensor(cpu_device(), first.element_dtype(), Shape(dims));
  const int64_t size = Shape(shape).numel();
  int64_t at = 0;
  for (const Variant& v : variants.data<Variant>()) {
    if (list_in(v).size() != first.size()) fail(Code::kInternal, "test array: expected lists of one length");
    for (const Tensor& e : list_in(v).elements()) {
      if (e.defined() && !(e.shape() == shape)) fail(Code::kInternal, "test array: expected elements of one shape");
      put(all, at, size, e);
      at += size;
    }
  }
  return all;
}

std::string list_difference(const Variant& expected, const Variant& actual) {
  const TensorList &a = list_in(expected), &b = list_in(actual);
  if (a.element_dtype() != b.element_dtype() || a.size() != b.size()) {
    return fmt::format("expected {}, got {}", a.to_string(), b.to_string());
  }
  for (int64_t i = 0; i < a.size(); ++i) {
    const Tensor x = a.at(i), y = b.at(i);
    if (x.defined() != y.defined()) return fmt::format("item {}: expected it {}set", i, x.defined() ? "" : "not ");
    if (!x.defined()) continue;
    const std::string text = difference(x, y);
    if (!text.empty()) return fmt::format("item {}: {}", i, text);
  }
  return {};
}

}  // namespace panto::test
