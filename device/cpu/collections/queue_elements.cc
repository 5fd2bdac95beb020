#include "panto/device/cpu/collections/queue_elements.h"

#include <algorithm>
#include <cstring>

#include "panto/device/cpu/collections/storage.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

// Copies dimensions `axis` and up of an array of `shape` to the start of those of an array of shape `into`.
template <class T>
void copy_into(const T* from, const Shape& shape, T* to, const Shape& into, int axis) {
  if (axis == shape.rank()) {
    *to = *from;
    return;
  }
  int64_t from_step = 1, to_step = 1;
  for (int k = axis + 1; k < shape.rank(); ++k) {
    from_step *= shape.dim(k);
    to_step *= into.dim(k);
  }
  if (from_step == to_step) {  // all dimensions behind this one are equal
    std::copy_n(from, shape.dim(axis) * from_step, to);
    return;
  }
  for (int64_t i = 0; i < shape.dim(axis); ++i) {
    copy_into(from + i * from_step, shape, to + i * to_step, into, axis + 1);
  }
}

}  // namespace

Tensor own_memory(const Tensor& t) {
  const Buffer* buffer = t.impl()->buffer;
  if (buffer == nullptr || !buffer->adopted()) return t;
  const Tensor copy = allocate_tensor(t.device(), t.dtype(), t.shape());
  if (t.nbytes() > 0) std::memcpy(copy.impl()->data, t.impl()->data, t.nbytes());  // adopted memory is of plain types
  return copy;
}

std::vector<QueueElement> elements_along(const QueueElement& components) {
  std::vector<QueueElement> elements(static_cast<size_t>(components[0].dim(0)));
  for (const Tensor& t : components) {
    const Shape rows(t.shape().dims().subspan(1));
    for (size_t i = 0; i < elements.size(); ++i) {
      elements[i].push_back(view_tensor(t, rows, static_cast<int64_t>(i) * rows.numel()));
    }
  }
  return elements;
}

Tensor stacked_component(std::span<const QueueElement> elements, size_t k, DType dtype, const PartialShape& declared) {
  std::vector<int64_t> dims(declared.dims().begin(), declared.dims().end());
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] != kUnknownDim) continue;
    dims[d] = 0;
    for (const QueueElement& e : elements) dims[d] = std::max(dims[d], e[k].dim(static_cast<int>(d)));
  }
  const Shape largest(dims);
  dims.insert(dims.begin(), static_cast<int64_t>(elements.size()));
  const Tensor all = allocate_tensor(cpu_device(), dtype, Shape(dims));
  with_storage(dtype, [&]<class T>(T) {
    T* to = mutable_data<T>(all);
    const int64_t size = largest.numel();
    for (const QueueElement& e : elements) {
      const Shape& shape = e[k].shape();
      if (!(shape == largest)) std::fill_n(to, size, T{});
      if (shape.numel() > 0) copy_into(static_cast<const T*>(e[k].impl()->data), shape, to, largest, 0);
      to += size;
    }
  });
  return all;
}

}  // namespace panto
