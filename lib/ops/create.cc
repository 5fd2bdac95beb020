#include "panto/lib/ops/create.h"

#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

Tensor number(double value, DType dtype) { return cast(constant(tensor(value), kFloat64), dtype); }

}  // namespace

Tensor zeros(Arg shape, DType dtype) { return fill(shape, number(0, dtype)); }
Tensor ones(Arg shape, DType dtype) { return fill(shape, number(1, dtype)); }

Tensor eye(int64_t rows, int64_t columns, DType dtype) {
  if (rows < 0 || columns < 0) invalid("shape: expected no negative dimension, got [{},{}]", rows, columns);
  return one_hot(range(int64_t{0}, rows, int64_t{1}), columns, number(1, dtype), number(0, dtype));
}
Tensor eye(int64_t rows, DType dtype) { return eye(rows, rows, dtype); }

Tensor linspace(double start, double stop, int64_t count, DType dtype) {
  if (count < 1) invalid("count: expected at least 1, got {}", count);
  std::vector<double> numbers(static_cast<size_t>(count), start);
  const double step = (stop - start) / static_cast<double>(count - 1);
  for (int64_t i = 1; i < count - 1; ++i) numbers[static_cast<size_t>(i)] = start + static_cast<double>(i) * step;
  if (count > 1) numbers.back() = stop;
  return cast(constant(tensor(numbers), kFloat64), dtype);
}

}  // namespace panto
