#include "panto/device/state_rows.h"

#include <algorithm>

#include "panto/device/shape/indexing.h"
#include "panto/lib/base/text/format.h"

namespace panto::state {

Rows rows_of(const VariableResource& variable, const Shape& shape) {
  if (shape.rank() == 0) {
    with_context([&] { return fmt::format("variable \"{}\"", variable.name()); },
                 [] { invalid("variable: expected a rank of at least 1, got shape []"); });
  }
  return {shape[0], row_size(shape)};
}

Positions positions_in(const KernelContext& c, const Shape& shape) {
  const int64_t depth = c.shape(1).dim(c.shape(1).rank() - 1);
  if (depth > shape.rank()) {
    invalid("last dimension of indices: expected at most {}, the number of dimensions, got {}", shape.rank(), depth);
  }
  return {c.shape(1), shape};
}

void expect_pieces(const KernelContext& c, const VariableResource& variable, int64_t count, int64_t width,
                   const char* what) {
  if (c.out_numel(0) == count * width) return;
  invalid("variable \"{}\": expected {} of {} elements, got {}", variable.name(), what,
          c.out_numel(0) / std::max<int64_t>(1, count), width);
}

void expect_elements(const KernelContext& c, int i, const char* what, int64_t wanted) {
  if (c.numel(i) != wanted) invalid("{}: expected {} elements, got {}", what, wanted, c.numel(i));
}

}  // namespace panto::state
