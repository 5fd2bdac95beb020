// Shared code of sparse ops. A sparse tensor is an int64 matrix of indices [entries, rank], a vector of values
// [entries], and a vector with the shape. Internal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/array/values.h"

namespace panto::sparse {

struct Entries {
  int64_t count, rank;  // -1: unknown
};

// Checks inputs `indices`, `values` (unless it is -1) and `shape` of a sparse tensor.
Entries entries(const ShapeContext& c, int indices, int values, int shape);

// The positions of entries in a dense tensor that broadcasts to their shape. `dims`: its dimensions, an int64 vector;
// they align with the last dimensions of the entries, and dimensions of 1 are broadcast.
Tensor broadcast_positions(const Tensor& indices, const Tensor& dims);

// The values of entries with indices `from`, looked up at the indices `to`; 0 if there is no entry. Both are sorted.
Tensor moved(const Tensor& values, const Tensor& from, const Tensor& to);

// Throws InvalidArgument if a known dimension is negative.
void expect_none_negative(const KnownIntegers& dims, const char* what);

// Resolves the shape `to`, in which one dimension may be -1, for a tensor of shape `from`. Throws InvalidArgument
// unless it has as many elements.
PANTO_EXPORT std::vector<int64_t> reshaped(std::span<const int64_t> from, std::span<const int64_t> to);

}  // namespace panto::sparse
