// What the rows of datasets share: calls by names, elements as text, and functions of elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/datasets/dataset_value.h"
#include "panto/ops/datasets.h"
#include "panto/panto.h"
#include "panto/tests/ops/table.h"
#include "panto/tests/trace/control/functions.h"

namespace panto::test::dataset_rows {

using Tensors = std::vector<Tensor>;
using AttrPairs = std::vector<std::pair<std::string, AttrValue>>;

inline const std::vector<DType> kOne = {kInt64};
inline const std::vector<PartialShape> kScalar = {Shape{}};
inline const std::vector<PartialShape> kVector = {PartialShape{-1}};
inline const OutputInfo kNumber{kInt64, Shape{}};
inline const OutputInfo kSet{kVariant, Shape{}};

inline Tensor number(int64_t value) { return tensor(value); }
inline Tensor empty_text() { return tensor(std::string()); }

// With elements of one int64 scalar, or, by `shapes`, others.
inline Tensors made(const char* op, const Tensors& inputs, AttrPairs attrs = {},
                    const std::vector<PartialShape>& shapes = kScalar, std::vector<DType> types = {}) {
  if (types.empty()) types.assign(shapes.size(), kInt64);
  for (const AttrDef& attr : get_op(op).signature().attrs) {
    const bool given = std::ranges::any_of(attrs, [&](const auto& pair) { return pair.first == attr.name; });
    if (attr.inferred || given) continue;
    if (attr.name == "output_types") attrs.emplace_back(attr.name, AttrValue(types));
    if (attr.name == "output_shapes") attrs.emplace_back(attr.name, AttrValue(shapes));
  }
  const dispatch::Outputs outputs = dispatch::call(op, inputs, attrs);
  return {outputs.begin(), outputs.end()};
}
inline Tensor one_made(const char* op, const Tensors& inputs, AttrPairs attrs = {},
                       const std::vector<PartialShape>& shapes = kScalar, const std::vector<DType>& types = {}) {
  return made(op, inputs, std::move(attrs), shapes, types).at(0);
}
inline Tensor numbers(int64_t count) { return one_made("RangeDataset", {number(0), number(count), number(1)}); }

inline std::string shown(const Tensor& t) {
  if (t.dtype() == kString) return t.numel() == 1 ? t.item<std::string>() : t.to_string();
  if (t.dtype() != kInt64) return t.to_string();
  if (t.rank() == 0) return std::to_string(t.item<int64_t>());
  std::string text = "[";
  for (const int64_t value : t.data<int64_t>()) text += (text.size() > 1 ? " " : "") + std::to_string(value);
  return text + "]";
}
inline std::string shown(const ElementTensors& element) {
  std::string text;
  for (const Tensor& t : element) text += (text.empty() ? "" : ",") + shown(t);
  return text;
}
// Of all elements, or of so many.
inline std::string elements_of(const Tensor& dataset, int most = 100) {
  std::string text;
  DatasetPass pass(dataset_of(dataset));
  for (ElementTensors element; most-- > 0 && pass.next(element);) text += (text.empty() ? "" : " ") + shown(element);
  return text;
}

inline FunctionRef of_numbers(const char* name, size_t count, const TensorFunction& fn) {
  return function_ref(name, std::vector<OutputInfo>(count, kNumber), fn);
}
inline std::pair<std::string, AttrValue> function(const char* attr, FunctionRef f) {
  return {attr, AttrValue(std::move(f))};
}

// Nothing beside the elements: of several lists the types must be said.
inline std::pair<std::string, AttrValue> none(const char* attr) { return {attr, AttrValue(std::vector<DType>())}; }

inline FunctionRef twice() {
  return of_numbers("twice", 1, [](std::span<const Tensor> in) { return Tensors{in[0] * 2}; });
}
inline FunctionRef plus() {
  return of_numbers("plus", 2, [](std::span<const Tensor> in) { return Tensors{in[0] + in[1]}; });
}
inline FunctionRef is_odd() {
  return of_numbers("is_odd", 1, [](std::span<const Tensor> in) { return Tensors{in[0] % 2 == 1}; });
}
inline FunctionRef below_three() {
  return of_numbers("below_three", 1, [](std::span<const Tensor> in) { return Tensors{in[0] < 3}; });
}
inline FunctionRef identity_of() {
  return of_numbers("same", 1, [](std::span<const Tensor> in) { return Tensors{identity(in[0])}; });
}
inline FunctionRef remainder() {
  return of_numbers("remainder", 1, [](std::span<const Tensor> in) { return Tensors{in[0] % 2}; });
}
// A dataset of as many numbers.
inline FunctionRef as_many() {
  return of_numbers("as_many", 1, [](std::span<const Tensor> in) {
    return Tensors{range_dataset(int64_t{0}, in[0], int64_t{1}, kOne, kScalar)};
  });
}

inline Tensor unchanged(const char* op, const Tensors& more = {}, AttrPairs attrs = {}) {
  Tensors inputs = {numbers(3)};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return one_made(op, inputs, std::move(attrs));
}
inline Tensor ragged_numbers() {
  return one_made("MapDataset", {numbers(4)},
                  {function("f", of_numbers("up_to", 1,
                                            [](std::span<const Tensor> in) {
                                              return Tensors{range(int64_t{0}, in[0], int64_t{1})};
                                            }))},
                  kVector);
}
inline Tensor counted(const char* op, int64_t count) { return one_made(op, {numbers(4), number(count)}); }

}  // namespace panto::test::dataset_rows
