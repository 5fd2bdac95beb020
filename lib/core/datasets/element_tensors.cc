#include "panto/lib/core/datasets/element_tensors.h"

#include <algorithm>
#include <cstring>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

std::string spelled(const Tensor& t) { return fmt::format("{}{}", dtype_name(t.dtype()), t.shape().to_string()); }

template <class T>
void copy_objects(const Tensor& from, int64_t at, const Tensor& to, int64_t to_at, int64_t count) {
  std::copy_n(static_cast<const T*>(from.impl()->data) + at, count, mutable_data<T>(to) + to_at);
}

// Copies `count` elements from position `at` of one tensor to position `to_at` of another one of the same type.
void copy_elements(const Tensor& from, int64_t at, const Tensor& to, int64_t to_at, int64_t count) {
  if (count == 0) return;
  switch (from.dtype()) {
    case kString: return copy_objects<std::string>(from, at, to, to_at, count);
    case kResource: return copy_objects<ResourceHandle>(from, at, to, to_at, count);
    case kVariant: return copy_objects<Variant>(from, at, to, to_at, count);
    default: break;
  }
  const size_t size = dtype_size(from.dtype());
  std::memcpy(static_cast<char*>(to.impl()->data) + static_cast<size_t>(to_at) * size,
              static_cast<const char*>(from.impl()->data) + static_cast<size_t>(at) * size,
              static_cast<size_t>(count) * size);
}

std::vector<int64_t> with_rows(size_t rows, const Shape& shape) {
  std::vector<int64_t> dims = {static_cast<int64_t>(rows)};
  for (int i = 0; i < shape.rank(); ++i) dims.push_back(shape.dim(i));
  return dims;
}

// Copies `from`, of shape `inner`, into the first corner of the part of `to` that begins at element `at` and has shape
// `outer`, one row of the last dimension after the other.
void copy_corner(const Tensor& from, const Shape& inner, const Tensor& to, int64_t at, const Shape& outer) {
  const int rank = inner.rank();
  if (rank == 0) return copy_elements(from, 0, to, at, 1);
  const int64_t length = inner.dim(rank - 1);
  if (inner.numel() == 0) return;
  std::vector<int64_t> index(static_cast<size_t>(rank), 0);
  for (int64_t read = 0; read < inner.numel(); read += length) {
    int64_t write = 0;
    for (int i = 0; i < rank; ++i) write = write * outer.dim(i) + index[static_cast<size_t>(i)];
    copy_elements(from, read, to, at + write, length);
    for (int i = rank - 2; i >= 0; --i) {
      if (++index[static_cast<size_t>(i)] < inner.dim(i)) break;
      index[static_cast<size_t>(i)] = 0;
    }
  }
}

}  // namespace

const Tensor& component_of(const ElementTensors& element, size_t k) {
  if (k >= element.size()) invalid("element: expected at least {} components, got {}", k + 1, element.size());
  return element[k];
}

Tensor shared_tensor(const Tensor& t) { return is_plain(t.dtype()) ? view_tensor(t, t.shape()) : t; }

namespace {
// The elements [at, at + shape.numel()), in `shape`.
Tensor part_of(const Tensor& t, int64_t at, const Shape& shape) {
  if (is_plain(t.dtype())) return view_tensor(t, shape, at);
  Tensor copy = allocate_tensor(cpu_device(), t.dtype(), shape);
  copy_elements(t, at, copy, 0, shape.numel());
  return copy;
}
}  // namespace

Tensor row_of(const Tensor& t, int64_t i) {
  const Shape row(t.shape().dims().subspan(1));
  return part_of(t, i * row.numel(), row);
}

Tensor rows_of(const Tensor& t, int64_t first, int64_t count) {
  const Shape row(t.shape().dims().subspan(1));
  return part_of(t, first * row.numel(), Shape(with_rows(static_cast<size_t>(count), row)));
}

Tensor stacked_rows(std::span<const Tensor> rows, std::string_view what) {
  const Tensor& first = rows[0];
  for (const Tensor& t : rows) {
    if (t.dtype() == first.dtype() && t.shape() == first.shape()) continue;
    invalid("{}: expected elements of one shape, {} as the first one, got {}", whole(what), whole(spelled(first)),
            whole(spelled(t)));
  }
  Tensor all = allocate_tensor(cpu_device(), first.dtype(), Shape(with_rows(rows.size(), first.shape())));
  const int64_t count = first.numel();
  for (size_t i = 0; i < rows.size(); ++i) copy_elements(rows[i], 0, all, static_cast<int64_t>(i) * count, count);
  return all;
}

Tensor joined_elements(std::span<const Tensor> tensors, std::string_view what) {
  int64_t count = 0;
  for (const Tensor& t : tensors) {
    if (t.dtype() != tensors[0].dtype()) {
      invalid("{}: expected elements of {}, got {}", whole(what), dtype_name(tensors[0].dtype()),
              dtype_name(t.dtype()));
    }
    count += t.numel();
  }
  Tensor all = allocate_tensor(cpu_device(), tensors[0].dtype(), Shape{count});
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    copy_elements(t, 0, all, at, t.numel());
    at += t.numel();
  }
  return all;
}

ElementTensors stacked_elements(std::span<const ElementTensors> elements) {
  ElementTensors all;
  std::vector<Tensor> rows;
  for (size_t k = 0; k < elements[0].size(); ++k) {
    rows.clear();
    for (const ElementTensors& element : elements) {
      if (element.size() != elements[0].size()) {
        invalid("batch: expected elements of {} components, got one of {}", elements[0].size(), element.size());
      }
      rows.push_back(element[k]);
    }
    all.push_back(stacked_rows(rows, fmt::format("batch, component {}", k)));
  }
  return all;
}

Tensor padded_rows(std::span<const Tensor> rows, const Shape& shape, const Tensor& padding) {
  Tensor all = allocate_tensor(cpu_device(), padding.dtype(), Shape(with_rows(rows.size(), shape)));
  const int64_t count = shape.numel();
  const bool full = std::ranges::all_of(rows, [&](const Tensor& t) { return t.shape() == shape; });
  // Writes one element, then doubles the filled part each time.
  if (!full && all.numel() > 0) {
    copy_elements(padding, 0, all, 0, 1);
    for (int64_t done = 1; done < all.numel(); done *= 2) {
      copy_elements(all, 0, all, done, std::min(done, all.numel() - done));
    }
  }
  for (size_t i = 0; i < rows.size(); ++i)
    copy_corner(rows[i], rows[i].shape(), all, static_cast<int64_t>(i) * count, shape);
  return all;
}

}  // namespace panto
