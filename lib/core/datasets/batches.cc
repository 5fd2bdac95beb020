// Datasets that combine several input elements into one.
#include <algorithm>
#include <deque>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/collections/tensor_value.h"
#include "panto/lib/core/datasets/datasets.h"
#include "panto/lib/core/datasets/element_tensors.h"
#include "panto/lib/core/datasets/simple_dataset.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::datasets {
namespace {

using Iterator = std::unique_ptr<ElementIterator>;

void expect_at_least_one(int64_t value, std::string_view what) {
  if (value < 1) invalid("{}: expected at least 1, got {}", what, value);
}

// Reads up to `size` elements of the pass. Returns false if there are none, or too few for `drop_remainder`.
bool gather(ElementIterator& pass, int64_t size, bool drop_remainder, std::vector<ElementTensors>& to) {
  to.clear();
  for (ElementTensors element; static_cast<int64_t>(to.size()) < size && pass.next(element);) {
    to.push_back(std::move(element));
    element = {};
  }
  return !to.empty() && (!drop_remainder || static_cast<int64_t>(to.size()) == size);
}

using Join = Callable<ElementTensors(const std::vector<ElementTensors>& elements)>;

// `dense`: the result counts as a batch of `size` elements.
DatasetHandle joined_dataset(std::string name, DatasetHandle input, int64_t size, bool drop_remainder, ElementSpec spec,
                             Join join, bool dense = true) {
  expect_at_least_one(size, "batch_size");
  const int64_t cardinality = batched_cardinality(input->cardinality(), size, drop_remainder);
  return simple_dataset(
      std::move(name), std::move(spec), {std::move(input)},
      {.cardinality = cardinality,
       .batch = dense ? size : SimpleDataset::kNoBatch,
       .begin = [size, drop_remainder, join = std::move(join)](const DatasetValue& self) -> ElementFunctionOfPass {
         return [size, drop_remainder, &join, pass = self.input().iterate()](ElementTensors& element) {
           std::vector<ElementTensors> parts;
           if (!gather(*pass, size, drop_remainder, parts)) return false;
           element = join(parts);
           return true;
         };
       }});
}

// A dataset of given elements, for windows.
DatasetHandle dataset_of_rows(std::vector<Tensor> rows, DType type, PartialShape shape) {
  const auto count = static_cast<int64_t>(rows.size());
  return simple_dataset(
      "WindowDataset", {{type}, {std::move(shape)}}, {},
      {.cardinality = count, .begin = [rows = std::move(rows)](const DatasetValue&) -> ElementFunctionOfPass {
         return [&rows, at = size_t{0}](ElementTensors& element) mutable {
           if (at == rows.size()) return false;
           element.push_back(shared_tensor(rows[at++]));
           return true;
         };
       }});
}

// Reads the windows of a pass, one after the other.
class Windows {
 public:
  Windows(Iterator pass, int64_t size, int64_t shift, int64_t stride, bool drop_remainder)
      : pass_(std::move(pass)), size_(size), shift_(shift), stride_(stride), drop_(drop_remainder) {}

  bool next(std::vector<ElementTensors>& window) {
    window.clear();
    const uint64_t reach = static_cast<uint64_t>(size_ - 1) * static_cast<uint64_t>(stride_) + 1;
    ElementTensors element;
    while (!ended_ && buffer_.size() < reach) {
      if (!pass_->next(element)) {
        ended_ = true;
        break;
      }
      buffer_.push_back(std::move(element));
      element = {};
    }
    if (buffer_.empty() || (drop_ && buffer_.size() < reach)) return false;
    for (uint64_t i = 0; i < reach && i < buffer_.size(); i += static_cast<uint64_t>(stride_))
      window.push_back(buffer_[i]);
    // Drop the elements before the next window.
    const auto shift = static_cast<uint64_t>(shift_);
    const uint64_t drop = std::min<uint64_t>(shift, buffer_.size());
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(drop));
    for (uint64_t i = drop; i < shift && !ended_; ++i) ended_ = !pass_->next(element);
    return true;
  }

 private:
  Iterator pass_;
  int64_t size_, shift_, stride_;
  bool drop_, ended_ = false;
  std::deque<ElementTensors> buffer_;
};

int64_t windows_cardinality(int64_t n, int64_t size, int64_t shift, int64_t stride, bool drop_remainder) {
  if (n < 0) return n;
  if (!drop_remainder) return n / shift + (n % shift == 0 ? 0 : 1);
  const int64_t rest = n - ((size - 1) * stride + 1);
  return rest < 0 ? 0 : rest / shift + 1;
}

void expect_windows(int64_t size, int64_t shift, int64_t stride) {
  expect_at_least_one(size, "size");
  expect_at_least_one(shift, "shift");
  expect_at_least_one(stride, "stride");
  if (size - 1 > (INT64_MAX - 1) / stride) invalid("size: expected fewer elements {} apart, got {}", stride, size);
}

DatasetHandle windows_dataset(std::string name, DatasetHandle input, int64_t size, int64_t shift, int64_t stride,
                              bool drop_remainder, ElementSpec spec, Join join) {
  expect_windows(size, shift, stride);
  const int64_t cardinality = windows_cardinality(input->cardinality(), size, shift, stride, drop_remainder);
  return simple_dataset(std::move(name), std::move(spec), {std::move(input)},
                        {.cardinality = cardinality,
                         .begin = [=, join = std::move(join)](const DatasetValue& self) -> ElementFunctionOfPass {
                           return [&join, windows = Windows(self.input().iterate(), size, shift, stride,
                                                            drop_remainder)](ElementTensors& element) mutable {
                             std::vector<ElementTensors> window;
                             if (!windows.next(window)) return false;
                             element = join(window);
                             return true;
                           };
                         }});
}

// A sparse tensor with all elements of the rows as entries.
Tensor sparse_rows(const std::vector<Tensor>& rows, const PartialShape& said) {
  const int rank = said.rank();
  std::vector<int64_t> dims(said.dims().begin(), said.dims().end());
  dims.insert(dims.begin(), static_cast<int64_t>(rows.size()));
  int64_t count = 0;
  for (const Tensor& t : rows) {
    if (t.shape().rank() != rank) {
      invalid("element: expected {} dimensions, as row_shape has, got {}", rank, t.shape().rank());
    }
    for (int i = 0; i < rank; ++i) {
      int64_t& dim = dims[static_cast<size_t>(i) + 1];
      if (said.dim(i) < 0) {
        dim = std::max(dim, t.shape().dim(i));
      } else if (t.shape().dim(i) > dim) {
        failf(Code::kDataLoss, "element: expected at most {} in dimension {}, got {}", dim, i, t.shape().dim(i));
      }
    }
    count += t.numel();
  }
  Tensor indices = allocate_tensor(cpu_device(), kInt64, Shape{count, rank + 1});
  auto* index = mutable_data<int64_t>(indices);
  for (size_t r = 0; r < rows.size(); ++r) {
    std::vector<int64_t> at(static_cast<size_t>(rank), 0);
    for (int64_t i = 0; i < rows[r].numel(); ++i) {
      *index++ = static_cast<int64_t>(r);
      index = std::ranges::copy(at, index).out;
      for (int d = rank; d-- > 0 && ++at[static_cast<size_t>(d)] == rows[r].shape().dim(d);) {
        at[static_cast<size_t>(d)] = 0;
      }
    }
  }
  for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 0);
  Tensor shape = allocate_tensor(cpu_device(), kInt64, Shape{rank + 1});
  std::ranges::copy(dims, mutable_data<int64_t>(shape));
  return sparse_variants(indices, joined_elements(rows, "element"), shape);
}

Tensor padded(const std::vector<ElementTensors>& elements, size_t k, const PartialShape& said, const Tensor& padding) {
  std::vector<Tensor> rows;
  for (const ElementTensors& element : elements) rows.push_back(element[k]);
  const int rank = said.rank();
  std::vector<int64_t> dims(said.dims().begin(), said.dims().end());
  for (const Tensor& t : rows) {
    if (t.dtype() != padding.dtype()) {
      invalid("component {}: expected {}, as its padding is, got {}", k, dtype_name(padding.dtype()),
              dtype_name(t.dtype()));
    }
    if (t.shape().rank() != rank) {
      invalid("component {}: expected {} dimensions, as in its padded shape, got {}", k, rank, t.shape().rank());
    }
    for (int i = 0; i < rank; ++i) {
      int64_t& dim = dims[static_cast<size_t>(i)];
      if (said.dim(i) < 0) {
        dim = std::max(dim, t.shape().dim(i));
      } else if (t.shape().dim(i) > dim) {
        failf(Code::kDataLoss, "component {}: expected at most {} in dimension {}, got {}", k, dim, i,
              t.shape().dim(i));
      }
    }
  }
  return padded_rows(rows, Shape(dims), padding);
}

}  // namespace

int64_t batched_cardinality(int64_t elements, int64_t size, bool drop_remainder) {
  if (elements < 0) return elements;
  return elements / size + (elements % size == 0 || drop_remainder ? 0 : 1);
}

DatasetHandle batch_dataset(DatasetHandle input, int64_t size, bool drop_remainder, ElementSpec spec) {
  return joined_dataset("BatchDataset", std::move(input), size, drop_remainder, std::move(spec),
                        [](const std::vector<ElementTensors>& elements) { return stacked_elements(elements); });
}

DatasetHandle padded_batch_dataset(DatasetHandle input, int64_t size, std::vector<PartialShape> shapes,
                                   std::vector<Tensor> padding, bool drop_remainder, ElementSpec spec) {
  const ElementSpec& from = input->spec();
  if (shapes.size() != from.types.size() || padding.size() != from.types.size()) {
    invalid("padded_shapes: expected {}, one for each component, got {} and {} padding values", from.types.size(),
            shapes.size(), padding.size());
  }
  for (size_t k = 0; k < shapes.size(); ++k) {
    if (padding[k].shape().rank() != 0)
      invalid("padding_values: expected scalars, got {}", padding[k].shape().to_string());
    if (padding[k].dtype() != from.types[k]) {
      invalid("padding_values: expected {} for component {}, got {}", dtype_name(from.types[k]), k,
              dtype_name(padding[k].dtype()));
    }
    if (from.shapes[k].known_rank() && from.shapes[k].rank() != shapes[k].rank()) {
      invalid("padded_shapes: expected one of {} dimensions for component {}, got {}", from.shapes[k].rank(), k,
              shapes[k].to_string());
    }
  }
  return joined_dataset(
      "PaddedBatchDataset", std::move(input), size, drop_remainder, std::move(spec),
      [shapes = std::move(shapes), padding = std::move(padding)](const std::vector<ElementTensors>& elements) {
        for (const ElementTensors& element : elements) {
          if (element.size() == shapes.size()) continue;
          invalid("element: expected {} components, got {}", shapes.size(), element.size());
        }
        ElementTensors all;
        for (size_t k = 0; k < shapes.size(); ++k) all.push_back(padded(elements, k, shapes[k], padding[k]));
        return all;
      });
}

DatasetHandle dense_to_sparse_batch_dataset(DatasetHandle input, int64_t size, PartialShape row_shape,
                                            ElementSpec spec) {
  const ElementSpec& from = input->spec();
  if (from.types.size() != 1) invalid("input_dataset: expected elements of one tensor, got {}", whole(to_string(from)));
  if (!is_plain(from.types[0]) && from.types[0] != kString) {
    invalid("input_dataset: expected elements with values, got {}", dtype_name(from.types[0]));
  }
  if (from.shapes[0].known_rank() && from.shapes[0].rank() != row_shape.rank()) {
    invalid("row_shape: expected {} dimensions, as the elements have, got {}", from.shapes[0].rank(),
            row_shape.to_string());
  }
  return joined_dataset(
      "DenseToSparseBatchDataset", std::move(input), size, false, std::move(spec),
      [row_shape = std::move(row_shape)](const std::vector<ElementTensors>& elements) {
        std::vector<Tensor> rows;
        for (const ElementTensors& element : elements) rows.push_back(component_of(element, 0));
        return ElementTensors{sparse_rows(rows, row_shape)};
      },
      false);
}

DatasetHandle window_dataset(DatasetHandle input, int64_t size, int64_t shift, int64_t stride, bool drop_remainder,
                             ElementSpec spec) {
  ElementSpec from = input->spec();
  return windows_dataset(
      "WindowDataset", std::move(input), size, shift, stride, drop_remainder, std::move(spec),
      [from = std::move(from)](const std::vector<ElementTensors>& elements) {
        ElementTensors all;
        for (size_t k = 0; k < from.types.size(); ++k) {
          std::vector<Tensor> rows;
          for (const ElementTensors& element : elements) rows.push_back(component_of(element, k));
          all.push_back(dataset_tensor(dataset_of_rows(std::move(rows), from.types[k], from.shapes[k])));
        }
        return all;
      });
}

DatasetHandle sliding_window_dataset(DatasetHandle input, int64_t size, int64_t shift, int64_t stride,
                                     bool drop_remainder, ElementSpec spec) {
  return windows_dataset("SlidingWindowDataset", std::move(input), size, shift, stride, drop_remainder, std::move(spec),
                         [](const std::vector<ElementTensors>& elements) { return stacked_elements(elements); });
}

DatasetHandle rebatch_dataset(DatasetHandle input, std::vector<int64_t> sizes, bool drop_remainder, ElementSpec spec) {
  if (sizes.empty()) invalid("batch_sizes: expected at least one, got none");
  for (const int64_t size : sizes) expect_at_least_one(size, "batch_sizes");
  DatasetHandle rows = unbatch_dataset(std::move(input), {});
  return simple_dataset(
      "RebatchDatasetV2", std::move(spec), {std::move(rows)},
      {.begin = [sizes = std::move(sizes), drop_remainder](const DatasetValue& self) -> ElementFunctionOfPass {
        return
            [&sizes, drop_remainder, at = size_t{0}, pass = self.input().iterate()](ElementTensors& element) mutable {
              std::vector<ElementTensors> parts;
              if (!gather(*pass, sizes[at++ % sizes.size()], drop_remainder, parts)) return false;
              element = stacked_elements(parts);
              return true;
            };
      }});
}

}  // namespace panto::datasets
