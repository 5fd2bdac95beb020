// Shared code of shape functions of ops that parse Examples.
#pragma once

#include <span>
#include <string_view>

#include "panto/lib/core/call/call.h"

namespace panto::parsing {

// Whether the input is one record or a batch of `size` (-1: unknown).
struct Batch {
  bool known = true;  // false: it is unknown which of the two
  bool single = false;
  int64_t size = -1;
  // [batch, *rest], or `rest` for a single record.
  PartialShape of(const PartialShape& rest) const;
};
// Reads input 0: a scalar or a vector.
Batch batch_of(const ShapeContext& c);
// Input `i` holds names for messages: none, or one per record.
void expect_names(const ShapeContext& c, int i, const Batch& batch);

// Throws InvalidArgument unless `types` are types of features.
void expect_feature_types(std::span<const DType> types, std::string_view what);
void expect_split_types(std::span<const DType> types, std::string_view what);
void expect_count(int64_t expected, int64_t got, std::string_view what);
// Throws InvalidArgument unless input i is a vector of `count` keys.
void expect_keys(const ShapeContext& c, int i, int64_t count, std::string_view what);

// Checks the shapes of dense features and their defaults, inputs [first, last), one per feature: a default has the
// feature's shape or no elements. With `variable` the first dimension may be unknown; the default is then one element.
void expect_dense(const ShapeContext& c, std::span<const PartialShape> shapes, int first, int last, bool variable,
                  std::string_view what);

// Sets the shapes of outputs, in order.
class Outputs {
 public:
  Outputs(ShapeContext& c, const Batch& batch) : c_(c), batch_(batch) {}
  void put(PartialShape shape) { c_.output(next_++, std::move(shape)); }
  // Indices, values and shapes of `count` sparse tensors, of `rank` dimensions including the batch's.
  void sparse(int64_t count, int rank);
  void dense(std::span<const PartialShape> shapes);
  // `count` values, then as many splits; for a single record the splits have the shape `single_splits`.
  void ragged(int64_t count, const PartialShape& single_splits);
  // [batch, steps, *shape] for each feature, then the lengths of all if `lengths`.
  void dense_lists(std::span<const PartialShape> shapes, bool lengths);
  // Values, then outer splits, then inner ones.
  void ragged_lists(int64_t count);

 private:
  void splits(int64_t count, const PartialShape& single_splits);

  ShapeContext& c_;
  Batch batch_;
  int next_ = 0;
};

}  // namespace panto::parsing
