// Three examples with features of all kinds, and columns of them. What TensorFlow 2.21 makes of them stands in the
// tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "panto/lib/ops/ops.h"
#include "panto/nn/columns/columns.h"

namespace panto {

inline Features examples() {
  const Tensor places = tensor<int64_t>({{0, 0}, {0, 1}, {2, 0}}), size = tensor<int64_t>({3, 2});
  return {{"age", tensor({17.f, 30.f, 65.f})},
          {"pair", tensor({{1.f, -2.f}, {0.5f, 4.f}, {9.f, 3.f}})},
          {"words", SparseTensor{places, tensor({"cat", "dog", "cat"}), size}},
          {"w", SparseTensor{places, tensor({0.5f, 2.f, 3.f}), size}},
          {"city", tensor({"Paris", "", "Rome"})},
          {"month", tensor<int64_t>({3, 11, -1})},
          {"ids", SparseTensor{tensor<int64_t>({{0, 0}, {1, 0}, {1, 1}}), tensor<int64_t>({2, 0, 2}), size}}};
}

// Rows 0, 1, 2, ... less 3.
inline Tensor counted(const Shape& shape, DType dtype) {
  return reshape(cast(range(0, shape.numel(), 1), dtype), shape) - cast(3, dtype);
}

struct ExampleColumns {
  NumericColumnPtr age = numeric_column("age");
  NumericColumnPtr pair =
      numeric_column("pair", {.shape = {2}, .normalizer_fn = [](const Tensor& x) { return x * 2.f; }});
  BucketizedColumnPtr ages = bucketized_column(age, {18, 30, 65});
  BucketizedColumnPtr pairs = bucketized_column(pair, {0, 5});
  CategoricalColumnPtr words = categorical_column_with_hash_bucket("words", 7);
  CategoricalColumnPtr months = categorical_column_with_hash_bucket("month", 5, kInt64);
  CategoricalColumnPtr cities = categorical_column_with_vocabulary_list("city", {"Rome", "Oslo", "Paris"});
  CategoricalColumnPtr ids = categorical_column_with_identity("ids", 3);
  CategoricalColumnPtr weighted = weighted_categorical_column(words, "w");
  CategoricalColumnPtr where_and_when = crossed_column({"city", "month"}, 11);
};

}  // namespace panto
