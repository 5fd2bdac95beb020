// What ops of sparse tensors share: entries are rows of an int64 matrix of indices [entries, rank], a vector of as many
// values, and a vector that spells the shape. Internal.
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

// Inputs `indices` and `shape` must be those of entries; and `values`, unless it is -1.
Entries entries(const ShapeContext& c, int indices, int values, int shape);

// Where entries find their elements in a dense tensor that broadcasts to their shape, of dimensions `dims`, an int64
// vector: they are the last, and those of 1 have one element for all.
Tensor broadcast_positions(const Tensor& indices, const Tensor& dims);

// The values that entries at `from` have at the indices `to`, 0 where they have none. Both are in order.
Tensor moved(const Tensor& values, const Tensor& from, const Tensor& to);

// Throws InvalidArgument where one of the dimensions that are known is negative.
void expect_none_negative(const KnownIntegers& dims, const char* what);

// What `to`, of which one dimension may be -1, comes to where a tensor of shape `from` gets it. Throws InvalidArgument
// unless it has as many elements.
PANTO_EXPORT std::vector<int64_t> reshaped(std::span<const int64_t> from, std::span<const int64_t> to);

}  // namespace panto::sparse
