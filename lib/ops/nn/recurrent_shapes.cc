#include <algorithm>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/nn/recurrent.h"

namespace panto::recurrent {

void expect_shape(const CallView& c, int i, const char* name, const PartialShape& expected) {
  const PartialShape& got = c.in(i).partial_shape();
  if (!expected.compatible_with(got))
    invalid("{}: expected shape {}, got {}", name, expected.to_string(), got.to_string());
}

int64_t dim_of(const CallView& c, int i, int k, int rank) {
  const PartialShape& s = c.in(i).partial_shape();
  return s.rank() == rank ? s.dim(k) : kUnknownDim;
}

int64_t first_known(std::initializer_list<int64_t> dims) {
  const auto found = std::ranges::find_if(dims, [](int64_t d) { return d >= 0; });
  return found == dims.end() ? kUnknownDim : *found;
}

int64_t part_of(int64_t whole, int64_t count) { return whole < 0 ? kUnknownDim : whole / count; }
int64_t times(int64_t part, int64_t count) { return part < 0 ? kUnknownDim : checked_mul(part, count); }
int64_t sum_of(int64_t a, int64_t b) { return a < 0 || b < 0 ? kUnknownDim : checked_add(a, b); }

LstmSizes expect_lstm(const CallView& c, int first, bool steps) {
  const int rank = steps ? 3 : 2, x = first, cs = first + 1, h = first + 2, w = first + 3, b = first + 7;
  expect_shape(c, x, "x", steps ? PartialShape{-1, -1, -1} : PartialShape{-1, -1});
  const int64_t inputs = dim_of(c, x, rank - 1, rank);
  const int64_t batch = first_known({dim_of(c, x, rank - 2, rank), dim_of(c, cs, 0, 2), dim_of(c, h, 0, 2)});
  expect_shape(c, cs, "cs_prev", {batch, -1});
  const int64_t units =
      first_known({dim_of(c, cs, 1, 2), dim_of(c, h, 1, 2), dim_of(c, first + 4, 0, 1), dim_of(c, first + 5, 0, 1),
                   dim_of(c, first + 6, 0, 1), part_of(dim_of(c, w, 1, 2), 4), part_of(dim_of(c, b, 0, 1), 4)});
  const int64_t gates = times(units, 4);
  expect_shape(c, h, "h_prev", {batch, units});
  expect_shape(c, w, "w", {sum_of(inputs, units), gates});
  expect_shape(c, first + 4, "wci", {units});
  expect_shape(c, first + 5, "wcf", {units});
  expect_shape(c, first + 6, "wco", {units});
  expect_shape(c, b, "b", {gates});
  return {batch, inputs, units, gates};
}

}  // namespace panto::recurrent
