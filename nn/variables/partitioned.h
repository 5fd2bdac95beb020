// PartitionedVariable: a variable in several parts, such as a table that is too large for one, or lies on several
// devices.
//
//   const PartitionedVariable table =
//       get_partitioned_variable("table", {100000, 64}, {.partitioner = fixed_size_partitioner(4)});
//   Tensor rows = embedding_lookup(table, ids, {.strategy = PartitionStrategy::kDiv});
//   Tensor whole = table;                         // reads and joins the parts
//
// The parts are variables "table/part_0", "table/part_1", ..., whose initial values are slices of one value, so that
// the numbers do not depend on the partition. Thread-safety: as that of the parts; each part is read by itself.
#pragma once

#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/shape.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/variables/variable_scope.h"

namespace panto {

class PANTO_EXPORT PartitionedVariable {
 public:
  // Throws InvalidArgument unless the parts, concatenated along `axis`, have the shape.
  PartitionedVariable(std::string name, const Shape& shape, int axis, std::vector<Variable> parts);

  const std::string& name() const { return name_; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return parts_[0].dtype(); }
  int axis() const { return axis_; }
  const std::vector<Variable>& variables() const { return parts_; }
  // The parts' values, joined.
  Tensor value(std::source_location where = std::source_location::current()) const;
  operator Tensor() const { return value(); }  // NOLINT(google-explicit-constructor): it reads as a tensor
  // Throws InvalidArgument for a value of another shape or dtype. In a graph returns the operations that assign.
  std::vector<Operation> assign(const Tensor& value,
                                std::source_location where = std::source_location::current()) const;

 private:
  std::string name_;
  Shape shape_;
  int axis_;
  std::vector<Variable> parts_;
};

// As get_variable, and throws as that. Without a partitioner it has one part, with the plain name. Also throws
// InvalidArgument for a partitioner that does not return, for each dimension, a number of parts from 1 to its size, or
// that cuts more than one dimension.
PANTO_EXPORT PartitionedVariable get_partitioned_variable(std::string_view name, const Shape& shape,
                                                          const GetVariableOptions& options = {},
                                                          std::source_location where = std::source_location::current());

// `parts` parts along `axis`, as equal as possible, the first ones larger by one; fewer if there are fewer elements.
// Throws InvalidArgument unless parts is positive.
PANTO_EXPORT Partitioner fixed_size_partitioner(int64_t parts, int axis = 0);

struct VariableAxisSizeOptions {
  int axis = 0;
  int64_t bytes_per_string = 16;
  int64_t max_parts = 0;  // 0: any number
};
// The fewest parts along an axis that have at most `max_bytes` each, unless a slice of size 1 is already larger.
PANTO_EXPORT Partitioner variable_axis_size_partitioner(int64_t max_bytes, const VariableAxisSizeOptions& options = {});

struct MinMaxPartitionerOptions {
  int axis = 0;
  int64_t min_bytes = 256 << 10;
  int64_t bytes_per_string = 16;
};
// The most parts along an axis that have at least `min_bytes` each, up to max_parts.
PANTO_EXPORT Partitioner min_max_variable_partitioner(int64_t max_parts, const MinMaxPartitionerOptions& options = {});

}  // namespace panto
