#include "panto/autograd/rows.h"

#include "panto/lib/base/text/format.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

Gradient joined(std::span<const IndexedSlices> parts) {
  const IndexedSlices& first = parts[0];
  if (parts.size() == 1) return {.indices = first.indices, .rows = first.rows, .num_rows = first.num_rows};
  bool one_type = true;
  for (const IndexedSlices& p : parts) one_type = one_type && p.indices.dtype() == first.indices.dtype();
  std::vector<Tensor> indices, rows;
  for (const IndexedSlices& p : parts) {
    indices.push_back(one_type ? p.indices : cast(p.indices, kInt64));
    rows.push_back(p.rows);
  }
  return {.indices = concat(indices, 0), .rows = concat(rows, 0), .num_rows = first.num_rows};
}

}  // namespace

void add_rows(Gradient& gradient, std::span<const IndexedSlices> parts) {
  if (parts.empty()) return;
  Gradient sum = joined(parts);
  if (gradient.whole.defined()) {
    gradient.whole = add(std::move(gradient.whole), sum.dense());
  } else {
    gradient = std::move(sum);
  }
}

Tensor Gradient::dense() const {
  if (!sparse()) return whole;
  if (!indices.defined() || !num_rows.defined()) {
    invalid("gradient: expected rows with indices and num_rows, got rows alone");
  }
  return unsorted_segment_sum(rows, indices, num_rows);
}

}  // namespace panto
