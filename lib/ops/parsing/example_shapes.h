// What shape functions of ops that parse Examples share.
#pragma once

#include <span>
#include <string_view>

#include "panto/lib/core/call/call.h"

namespace panto::parsing {

// What records are: one, or a batch of so many (-1: unknown).
struct Batch {
  bool known = true;  // which of the two
  bool single = false;
  int64_t size = -1;
  // "[batch, *rest]", or, of a single record, the rest.
  PartialShape of(const PartialShape& rest) const;
};
// Input 0: a scalar or a vector.
Batch batch_of(const ShapeContext& c);
// Names for messages: input `i` has none, or as many as there are records.
void expect_names(const ShapeContext& c, int i, const Batch& batch);

// Throws InvalidArgument unless `types` are those that features have.
void expect_feature_types(std::span<const DType> types, std::string_view what);
void expect_split_types(std::span<const DType> types, std::string_view what);
void expect_count(int64_t expected, int64_t got, std::string_view what);
// `keys`: a vector input of so many.
void expect_keys(const ShapeContext& c, int i, int64_t count, std::string_view what);

// The shapes of dense features, as many as defaults, inputs [first, last), which have them or no elements. With
// `variable` the first dimension may be unknown; then the default is one element.
void expect_dense(const ShapeContext& c, std::span<const PartialShape> shapes, int first, int last, bool variable,
                  std::string_view what);

// Sets outputs in their order.
class Outputs {
 public:
  Outputs(ShapeContext& c, const Batch& batch) : c_(c), batch_(batch) {}
  void put(PartialShape shape) { c_.output(next_++, std::move(shape)); }
  // Indices, values and shapes of so many sparse tensors, of `rank` dimensions with the batch's.
  void sparse(int64_t count, int rank);
  void dense(std::span<const PartialShape> shapes);
  // Values, then splits, as many as types; of a single record the splits have the shape `single_splits`.
  void ragged(int64_t count, const PartialShape& single_splits);
  // [batch, steps, *shape] each, then the lengths of all where there are any.
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
