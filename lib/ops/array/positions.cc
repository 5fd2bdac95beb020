#include "panto/lib/ops/array/positions.h"

#include <span>
#include <string_view>

#include "panto/lib/base/small_vector.h"
#include "panto/lib/base/text/format.h"

namespace panto {

void expect_error_policy(const ShapeContext& c) {
  const std::string_view policy = c.text("bad_indices_policy");
  if (policy.empty() || policy == "DEFAULT" || policy == "ERROR") return;
  failf(Code::kUnimplemented, "bad_indices_policy: expected ERROR, got {}", policy);
}

int64_t depth_of_indices(const ShapeContext& c, int i, int rank) {
  c.expect_rank_at_least(i, 1);
  const int64_t depth = c.dim(i, -1);
  if (depth >= 0 && rank >= 0 && depth > rank) {
    invalid("last dimension of indices: expected at most {}, the number of dimensions, got {}", rank, depth);
  }
  return depth;
}

PartialShape shape_at(const PartialShape& indices, const PartialShape& whole, int64_t depth) {
  if (!whole.known_rank() || !indices.known_rank() || depth < 0) return PartialShape();
  SmallVector<int64_t, 8> dims;
  for (int i = 0; i + 1 < indices.rank(); ++i) dims.push_back(indices.dim(i));
  for (int i = static_cast<int>(depth); i < whole.rank(); ++i) dims.push_back(whole.dim(i));
  return PartialShape(std::span<const int64_t>(dims.data(), dims.size()));
}

void expect_updates(const PartialShape& updates, const PartialShape& indices, const PartialShape& whole,
                    int64_t depth) {
  const PartialShape expected = shape_at(indices, whole, depth);
  if (updates.compatible_with(expected)) return;
  invalid("updates: expected shape {}, got {}", expected.to_string(), updates.to_string());
}

}  // namespace panto
