#include "panto/nn/variables/partitioned.h"

#include <algorithm>
#include <cmath>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/ops/arrays.h"
#include "panto/ops/array.h"

namespace panto {
namespace {

// Sizes of `parts` parts of `size`, as equal as possible.
std::vector<int64_t> equal_sizes(int64_t size, int64_t parts) {
  std::vector<int64_t> sizes(static_cast<size_t>(parts), size / parts);
  for (int64_t i = 0; i < size % parts; ++i) ++sizes[static_cast<size_t>(i)];
  return sizes;
}

struct Cut {
  int axis = 0;
  int64_t parts = 1;
};

Cut cut_of(std::string_view name, const Shape& shape, DType dtype, const Partitioner& partitioner) {
  Cut cut;
  if (!partitioner) return cut;
  const std::vector<int64_t> counts = partitioner(shape, dtype);
  if (counts.size() != static_cast<size_t>(shape.rank())) {
    invalid("partitioner of '{}': expected a number for each of {} dimensions, got {}", name, shape.rank(),
            counts.size());
  }
  for (int k = 0; k < shape.rank(); ++k) {
    const int64_t parts = counts[static_cast<size_t>(k)];
    if (parts < 1 || parts > std::max<int64_t>(shape.dim(k), 1)) {
      invalid("partitioner of '{}': expected 1 to {} parts of dimension {}, got {}", name,
              std::max<int64_t>(shape.dim(k), 1), k, parts);
    }
    if (parts == 1) continue;
    if (cut.parts > 1)
      invalid("partitioner of '{}': expected one dimension that is cut, got {} and {}", name, cut.axis, k);
    cut = {k, parts};
  }
  return cut;
}

// Bytes per element, as partitioners count them.
double bytes_of(DType dtype, int64_t bytes_per_string) {
  return static_cast<double>(dtype == kString ? bytes_per_string : static_cast<int64_t>(dtype_size(dtype)));
}

int checked_axis(const Shape& shape, int axis) {
  if (axis < 0 || axis >= shape.rank()) {
    invalid("partitioner: expected an axis of a variable of shape {}, got {}", shape.to_string(), axis);
  }
  return axis;
}

std::vector<int64_t> counts_of(const Shape& shape, int axis, int64_t parts) {
  std::vector<int64_t> counts(static_cast<size_t>(shape.rank()), 1);
  counts[static_cast<size_t>(axis)] = std::clamp<int64_t>(parts, 1, std::max<int64_t>(shape.dim(axis), 1));
  return counts;
}

std::string name_in_scope(std::string_view name) {
  const std::string scope = VariableScope::current();
  return scope.empty() ? std::string(name) : fmt::format("{}/{}", scope, name);
}

int64_t positive(const char* what, int64_t value) {
  if (value < 1) invalid("{}: expected a positive number, got {}", what, value);
  return value;
}

}  // namespace

PartitionedVariable::PartitionedVariable(std::string name, const Shape& shape, int axis, std::vector<Variable> parts)
    : name_(std::move(name)), shape_(shape), axis_(axis), parts_(std::move(parts)) {
  if (parts_.empty()) invalid("parts of '{}': expected at least one, got none", name_);
  int64_t together = 0;
  for (const Variable& part : parts_) {
    bool fits = part.defined() && part.dtype() == parts_[0].dtype() && part.shape().rank() == shape.rank();
    for (int k = 0; fits && k < shape.rank(); ++k) fits = k == axis || part.shape().dim(k) == shape.dim(k);
    if (!fits) {
      invalid("parts of '{}': expected slices of {} along dimension {}, got {}", name_, shape.to_string(), axis,
              part.defined() ? part.shape().to_string() : "a default-constructed one");
    }
    together += shape.rank() == 0 ? 1 : part.shape().dim(axis);
  }
  const int64_t size = shape.rank() == 0 ? 1 : shape.dim(axis);
  if (together != size) invalid("parts of '{}': expected {} in all, got {}", name_, size, together);
}

Tensor PartitionedVariable::value(std::source_location where) const {
  return from_caller(where, [&] {
    if (parts_.size() == 1) return parts_[0].value();
    std::vector<Tensor> values;
    for (const Variable& part : parts_) values.push_back(part.value());
    return concat(values, axis_);
  });
}

std::vector<Operation> PartitionedVariable::assign(const Tensor& value, std::source_location where) const {
  return from_caller(where, [&]() -> std::vector<Operation> {
    if (value.dtype() != dtype() || !value.partial_shape().compatible_with(shape_)) {
      invalid("value of '{}': expected {}, got {}", name_, type_text(dtype(), shape_),
              type_text(value.dtype(), value.partial_shape()));
    }
    if (parts_.size() == 1) return {parts_[0].assign(value)};
    std::vector<int64_t> sizes;
    for (const Variable& part : parts_) sizes.push_back(part.shape().dim(axis_));
    const std::vector<Tensor> slices = split(value, sizes, axis_);
    std::vector<Operation> done;
    for (size_t i = 0; i < parts_.size(); ++i) done.push_back(parts_[i].assign(slices[i]));
    return done;
  });
}

PartitionedVariable get_partitioned_variable(std::string_view name, const Shape& shape,
                                             const GetVariableOptions& options, std::source_location where) {
  return from_caller(where, [&] {
    GetVariableOptions given = VariableScope::filled_in(options);
    if (!given.partitioner)
      return PartitionedVariable(name_in_scope(name), shape, 0, {get_variable(name, shape, given)});
    const Cut cut = cut_of(name, shape, given.dtype, std::exchange(given.partitioner, nullptr));
    const auto never = [](const Shape& dims, DType) {
      return std::vector<int64_t>(static_cast<size_t>(dims.rank()), 1);
    };
    given.partitioner = never;   // do not ask the scope's partitioner again
    std::vector<Tensor> values;  // of the parts that are made: slices of one tensor
    const std::vector<int64_t> sizes =
        shape.rank() == 0 ? std::vector<int64_t>{1} : equal_sizes(shape.dim(cut.axis), cut.parts);
    const Initializer whole = given.initializer;
    std::vector<Variable> parts;
    for (size_t i = 0; i < sizes.size(); ++i) {
      std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
      if (shape.rank() > 0) dims[static_cast<size_t>(cut.axis)] = sizes[i];
      given.initializer = [&, i](const Shape&, DType dtype) {
        if (values.empty()) {
          const Tensor first = whole(shape, dtype);
          values = sizes.size() == 1 ? std::vector<Tensor>{first} : split(first, sizes, cut.axis);
        }
        return values[i];
      };
      parts.push_back(get_variable(fmt::format("{}/part_{}", name, i), Shape(dims), given));
    }
    return PartitionedVariable(name_in_scope(name), shape, cut.axis, std::move(parts));
  });
}

Partitioner fixed_size_partitioner(int64_t parts, int axis) {
  positive("parts", parts);
  return [parts, axis](const Shape& shape, DType) { return counts_of(shape, checked_axis(shape, axis), parts); };
}

Partitioner variable_axis_size_partitioner(int64_t max_bytes, const VariableAxisSizeOptions& options) {
  positive("max_bytes", max_bytes);
  positive("bytes_per_string", options.bytes_per_string);
  if (options.max_parts < 0) invalid("max_parts: expected at least 0, got {}", options.max_parts);
  return [max_bytes, options](const Shape& shape, DType dtype) {
    const int axis = checked_axis(shape, options.axis);
    const auto size = static_cast<double>(shape.dim(axis));
    double slice = bytes_of(dtype, options.bytes_per_string);
    for (int k = 0; k < shape.rank(); ++k) slice *= k == axis ? 1 : static_cast<double>(shape.dim(k));
    const double in_one = slice > 0 ? std::max(1.0, std::floor(static_cast<double>(max_bytes) / slice)) : size;
    double parts = in_one > 0 ? std::ceil(size / in_one) : 1;
    if (options.max_parts > 0) parts = std::min(parts, static_cast<double>(options.max_parts));
    return counts_of(shape, axis, static_cast<int64_t>(parts));
  };
}

Partitioner min_max_variable_partitioner(int64_t max_parts, const MinMaxPartitionerOptions& options) {
  positive("max_parts", max_parts);
  positive("min_bytes", options.min_bytes);
  positive("bytes_per_string", options.bytes_per_string);
  return [max_parts, options](const Shape& shape, DType dtype) {
    const int axis = checked_axis(shape, options.axis);
    double bytes = bytes_of(dtype, options.bytes_per_string);
    for (int k = 0; k < shape.rank(); ++k) bytes *= static_cast<double>(shape.dim(k));
    const double parts =
        std::min(std::ceil(bytes / static_cast<double>(options.min_bytes)), static_cast<double>(max_parts));
    return counts_of(shape, axis, static_cast<int64_t>(parts));
  };
}

}  // namespace panto
