// Datasets made from tensors.
#include <algorithm>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/datasets/datasets.h"
#include "panto/lib/core/datasets/element_tensors.h"
#include "panto/lib/core/datasets/simple_dataset.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::datasets {
namespace {

Tensor integer(DType type, int64_t value) {
  Tensor t = allocate_tensor(cpu_device(), type, Shape{});
  switch (type) {
    case kInt32: *mutable_data<int32_t>(t) = static_cast<int32_t>(value); break;
    case kInt64: *mutable_data<int64_t>(t) = value; break;
    case kFloat32: *mutable_data<float>(t) = static_cast<float>(value); break;
    case kFloat64: *mutable_data<double>(t) = static_cast<double>(value); break;
    default: invalid("output_types: expected int32, int64, float32 or float64, got {}", dtype_name(type));
  }
  return t;
}

struct Range {
  int64_t start, stop, step;
  uint64_t count() const {
    if (step > 0 ? start >= stop : start <= stop) return 0;
    const uint64_t distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                       : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
    const uint64_t by = step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
    return (distance - 1) / by + 1;
  }
};

std::vector<DType> types_of(const std::vector<Tensor>& tensors) {
  std::vector<DType> types;
  for (const Tensor& t : tensors) types.push_back(t.dtype());
  return types;
}

}  // namespace

DatasetHandle range_dataset(int64_t start, int64_t stop, int64_t step, ElementSpec spec) {
  if (step == 0) invalid("step: expected another number than 0, got 0");
  if (spec.types.size() != 1) invalid("output_types: expected one, got {}", spec.types.size());
  integer(spec.types[0], 0);
  const Range range{start, stop, step};
  const uint64_t count = range.count();
  const DType type = spec.types[0];
  return simple_dataset(
      "RangeDataset", std::move(spec), {},
      {.cardinality = static_cast<int64_t>(std::min<uint64_t>(count, INT64_MAX)),
       .begin = [range, count, type](const DatasetValue&) -> ElementFunctionOfPass {
         return [range, count, type, at = uint64_t{0}](ElementTensors& element) mutable {
           if (at == count) return false;
           element.push_back(integer(type, static_cast<int64_t>(static_cast<uint64_t>(range.start) +
                                                                at * static_cast<uint64_t>(range.step))));
           ++at;
           return true;
         };
       }});
}

DatasetHandle tensor_dataset(std::vector<Tensor> components, ElementSpec spec) {
  if (spec.types.empty()) spec.types = types_of(components);
  return simple_dataset(
      "TensorDataset", std::move(spec), {},
      {.cardinality = 1, .begin = [components = std::move(components)](const DatasetValue&) -> ElementFunctionOfPass {
         return [&components, done = false](ElementTensors& element) mutable {
           if (std::exchange(done, true)) return false;
           for (const Tensor& t : components) element.push_back(shared_tensor(t));
           return true;
         };
       }});
}

DatasetHandle tensor_slice_dataset(std::vector<Tensor> components, ElementSpec spec) {
  if (components.empty()) invalid("components: expected at least one, got none");
  int64_t count = -1;
  for (size_t k = 0; k < components.size(); ++k) {
    const Shape& shape = components[k].shape();
    if (shape.rank() == 0) invalid("component {}: expected at least one dimension, got a scalar", k);
    if (k == 0) count = shape.dim(0);
    if (shape.dim(0) != count) {
      invalid("component {}: expected {} rows, as component 0 has, got {}", k, count, shape.dim(0));
    }
  }
  return simple_dataset(
      "TensorSliceDataset", std::move(spec), {},
      {.cardinality = count,
       .begin = [components = std::move(components), count](const DatasetValue&) -> ElementFunctionOfPass {
         return [&components, count, at = int64_t{0}](ElementTensors& element) mutable {
           if (at == count) return false;
           for (const Tensor& t : components) element.push_back(row_of(t, at));
           ++at;
           return true;
         };
       }});
}

DatasetHandle sparse_slice_dataset(Tensor indices, Tensor values, Tensor shape, ElementSpec spec) {
  const auto expect = [](bool holds, std::string_view what, std::string_view expected, const Tensor& got) {
    if (!holds) invalid("{}: expected {}, got {}", what, expected, got.shape().to_string());
  };
  expect(indices.shape().rank() == 2, "indices", "a matrix", indices);
  expect(values.shape().rank() == 1, "values", "a vector", values);
  expect(shape.shape().rank() == 1 && shape.shape().dim(0) > 0, "dense_shape", "a vector with elements", shape);
  const int64_t count = values.shape().dim(0), rank = shape.shape().dim(0);
  expect(indices.shape().dim(0) == count, "indices", "as many rows as there are values", indices);
  expect(indices.shape().dim(1) == rank, "indices", "as many columns as there are dimensions", indices);
  const int64_t* at = indices.data<int64_t>().data();
  const int64_t rows = shape.data<int64_t>()[0];
  if (rows < 0) invalid("dense_shape: expected at least 0, got {}", rows);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = at[i * rank];
    if (row < 0 || row >= rows) invalid("indices: expected rows in [0, {}), got {}", rows, row);
    if (i > 0 && row < at[(i - 1) * rank])
      invalid("indices: expected them ordered by rows, got row {} behind {}", row, at[(i - 1) * rank]);
  }
  return simple_dataset(
      "SparseTensorSliceDataset", std::move(spec), {},
      {.cardinality = rows,
       .begin = [indices, values, shape, rows, rank, count](const DatasetValue&) -> ElementFunctionOfPass {
         return [&indices, &values, &shape, rows, rank, count, row = int64_t{0},
                 i = int64_t{0}](ElementTensors& element) mutable {
           if (row == rows) return false;
           const int64_t* from = indices.data<int64_t>().data();
           const int64_t first = i;
           while (i < count && from[i * rank] == row) ++i;
           Tensor index = allocate_tensor(cpu_device(), kInt64, Shape{i - first, rank - 1});
           Tensor dims = allocate_tensor(cpu_device(), kInt64, Shape{rank - 1});
           for (int64_t k = first; k < i; ++k) {
             std::copy_n(from + k * rank + 1, rank - 1, mutable_data<int64_t>(index) + (k - first) * (rank - 1));
           }
           std::copy_n(shape.data<int64_t>().data() + 1, rank - 1, mutable_data<int64_t>(dims));
           element.push_back(std::move(index));
           element.push_back(rows_of(values, first, i - first));
           element.push_back(std::move(dims));
           ++row;
           return true;
         };
       }});
}

}  // namespace panto::datasets
