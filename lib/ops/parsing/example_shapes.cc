#include "panto/lib/ops/parsing/example_shapes.h"

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"

namespace panto::parsing {

PartialShape Batch::of(const PartialShape& rest) const {
  if (!known) return {};
  if (single) return rest;
  std::vector<int64_t> dims = {size};
  dims.insert(dims.end(), rest.dims().begin(), rest.dims().end());
  return PartialShape(dims);
}

Batch batch_of(const ShapeContext& c) {
  const int rank = c.rank(0);
  if (rank < 0) return {.known = false};
  if (rank > 1) invalid("serialized: expected a scalar or a vector, got shape {}", c.shape(0).to_string());
  return {.single = rank == 0, .size = rank == 0 ? 1 : c.dim(0, 0)};
}

void expect_names(const ShapeContext& c, int i, const Batch& batch) {
  if (!c.shape(i).known_rank()) return;
  const int64_t count = c.shape(i).numel();
  if (c.rank(i) > 1) invalid("names: expected a scalar or a vector, got shape {}", c.shape(i).to_string());
  if (count > 0 && batch.known && batch.size >= 0 && count != batch.size) {
    invalid("names: expected none or {}, one for each record, got {}", batch.size, count);
  }
}

void expect_feature_types(std::span<const DType> types, std::string_view what) {
  for (size_t k = 0; k < types.size(); ++k) {
    if (types[k] == kFloat32 || types[k] == kInt64 || types[k] == kString) continue;
    invalid("{}[{}]: expected float32, int64 or string, got {}", what, k, dtype_name(types[k]));
  }
}

void expect_split_types(std::span<const DType> types, std::string_view what) {
  for (size_t k = 0; k < types.size(); ++k) {
    if (types[k] == kInt32 || types[k] == kInt64) continue;
    invalid("{}[{}]: expected int32 or int64, got {}", what, k, dtype_name(types[k]));
  }
}

void expect_count(int64_t expected, int64_t got, std::string_view what) {
  if (expected != got) invalid("{}: expected {}, got {}", what, expected, got);
}

void expect_keys(const ShapeContext& c, int i, int64_t count, std::string_view what) {
  const int64_t there = c.vector(i);
  if (there >= 0) expect_count(count, there, fmt::format("number of {}", what));
}

void expect_dense(const ShapeContext& c, std::span<const PartialShape> shapes, int first, int last, bool variable,
                  std::string_view what) {
  expect_count(last - first, static_cast<int64_t>(shapes.size()), fmt::format("number of {}", what));
  for (int i = first; i < last; ++i) {
    const auto k = static_cast<size_t>(i - first);
    const PartialShape& shape = shapes[k];
    const bool open = variable && shape.rank() > 0 && shape.dim(0) < 0;
    const PartialShape fixed = open ? PartialShape(shape.dims().subspan(1)) : shape;
    if (!fixed.fully_known() || (open && fixed.numel() == 0)) {
      invalid("{}[{}]: expected a known shape{}, got {}", what, k,
              variable ? " with elements, but for the first dimension" : "", shape.to_string());
    }
    const PartialShape& standard = c.shape(i);
    if (!standard.known_rank() || standard.numel() == 0) {
      if (open && standard.known_rank()) {
        invalid("default of dense feature {}: expected one element to fill up with, got none", k);
      }
      continue;
    }
    if (open ? standard.numel() > 1 : !standard.compatible_with(shape)) {
      invalid("default of dense feature {}: expected {}, got shape {}", k,
              open ? "one element to fill up with" : fmt::format("shape {}", shape.to_string()), standard.to_string());
    }
  }
}

void Outputs::sparse(int64_t count, int rank) {
  const int64_t dims = batch_.single ? rank - 1 : rank;
  const int64_t shown = batch_.known ? dims : kUnknownDim;
  for (int64_t k = 0; k < count; ++k) put(PartialShape{kUnknownDim, shown});
  for (int64_t k = 0; k < count; ++k) put(PartialShape{kUnknownDim});
  for (int64_t k = 0; k < count; ++k) put(PartialShape{shown});
}

void Outputs::dense(std::span<const PartialShape> shapes) {
  for (const PartialShape& shape : shapes) put(batch_.of(shape));
}

void Outputs::splits(int64_t count, const PartialShape& single_splits) {
  for (int64_t k = 0; k < count; ++k) {
    if (!batch_.known) {
      put({});
    } else {
      put(batch_.single ? single_splits : PartialShape{batch_.size < 0 ? kUnknownDim : checked_add(batch_.size, 1)});
    }
  }
}

void Outputs::ragged(int64_t count, const PartialShape& single_splits) {
  for (int64_t k = 0; k < count; ++k) put(PartialShape{kUnknownDim});
  splits(count, single_splits);
}

void Outputs::dense_lists(std::span<const PartialShape> shapes, bool lengths) {
  for (const PartialShape& shape : shapes) {
    std::vector<int64_t> dims = {kUnknownDim};
    dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
    put(batch_.of(PartialShape(dims)));
  }
  if (!lengths) return;
  for (size_t k = 0; k < shapes.size(); ++k) put(batch_.of(Shape{}));
}

void Outputs::ragged_lists(int64_t count) {
  for (int64_t k = 0; k < count; ++k) put(PartialShape{kUnknownDim});
  splits(count, Shape{});
  for (int64_t k = 0; k < count; ++k) put(PartialShape{kUnknownDim});
}

}  // namespace panto::parsing
