// Ops on several elements of lists: gather, scatter, concat and split.

#include <algorithm>
#include <memory>
#include <vector>

#include "panto/device/cpu/collections/stacked.h"
#include "panto/device/cpu/collections/storage.h"
#include "panto/device/cpu/kernel.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/collections/tensor_list.h"
#include "panto/lib/ops/lists/element_shape.h"

namespace panto {
namespace {

const TensorList& list_of_type(const KernelContext& c) {
  const TensorList& list = list_of(c.in(0));
  expect_list_dtype(list.element_dtype(), c.type("element_dtype"));
  return list;
}

std::span<const int32_t> indices_in(const KernelContext& c, int i) {
  return {c.data<int32_t>(i), static_cast<size_t>(c.numel(i))};
}

Shape behind(int64_t first, const Shape& rows) {
  std::vector<int64_t> dims = {first};
  dims.insert(dims.end(), rows.dims().begin(), rows.dims().end());
  return Shape(dims);
}

// The shape of a slice of `tensor`.
Shape row_shape(const Tensor& tensor) { return Shape(tensor.shape().dims().subspan(1)); }

void run_gather(KernelContext& c) {
  const TensorList& list = list_of_type(c);
  PartialShape shape = merged_element_shape(list.element_shape(), spelled_element_shape(c.in(2)));
  std::vector<Tensor> elements;
  for (const int32_t i : indices_in(c, 1)) {
    if (i < 0 || i >= list.size()) invalid("indices: expected ones in [0, {}), got {}", list.size(), i);
    elements.push_back(list.at(i));
    const Tensor& e = elements.back();
    if (!e.defined()) continue;
    if (!shape.compatible_with(e.shape())) {
      invalid("element {}: expected shape {}, got {}", i, shape.to_string(), e.shape().to_string());
    }
    shape = e.shape();
  }
  if (!shape.fully_known()) {
    invalid("element_shape: expected every dimension, as no element was set, got {}", shape.to_string());
  }
  c.set_out(0, stacked(elements, list.element_dtype(), Shape(shape)));
}

// `size`: the minimum size of the result.
TensorList scattered(const TensorList& list, const Tensor& tensor, std::span<const int32_t> indices, int64_t size) {
  if (static_cast<int64_t>(indices.size()) != tensor.dim(0)) {
    invalid("indices: expected {} for as many slices, got {}", tensor.dim(0), indices.size());
  }
  const Shape rows = row_shape(tensor);
  expect_element_shape(list.element_shape(), rows, "tensor");
  for (const int32_t i : indices) {
    if (i < 0) invalid("indices: expected at least 0, got {}", i);
    size = std::max(size, int64_t{i} + 1);
  }
  std::vector<Tensor> elements = list.with_size(size, false).elements();
  for (size_t k = 0; k < indices.size(); ++k) {
    elements[static_cast<size_t>(indices[k])] = view_tensor(tensor, rows, static_cast<int64_t>(k) * rows.numel());
  }
  return list.with_elements(elements);
}

void run_scatter(KernelContext& c) {
  const int64_t count = *c.data<int32_t>(3);
  if (count < -1) invalid("num_elements: expected at least -1, got {}", count);
  const std::span<const int32_t> indices = indices_in(c, 1);
  for (const int32_t i : indices) {
    if (count >= 0 && i >= count) invalid("indices: expected less than num_elements, {}, got {}", count, i);
  }
  const TensorList empty(c.in(0).dtype(), spelled_element_shape(c.in(2)));
  c.set_out(0, list_tensor(scattered(empty, c.in(0), indices, std::max<int64_t>(0, count))));
}

void run_scatter_into(KernelContext& c) {
  const TensorList& list = list_of_type(c);
  c.set_out(0, list_tensor(scattered(list, c.in(1), indices_in(c, 2), list.size())));
}

void run_split(KernelContext& c) {
  const Tensor& tensor = c.in(0);
  const PartialShape declared = spelled_element_shape(c.in(1));
  const Shape rows = row_shape(tensor);
  const std::span lengths(c.data<int64_t>(2), static_cast<size_t>(c.numel(2)));
  int64_t total = 0;
  for (const int64_t n : lengths) {
    if (n < 0) invalid("lengths: expected at least 0, got {}", n);
    total = checked_add(total, n);
    expect_element_shape(declared, behind(n, rows), "tensor");
  }
  if (total != tensor.dim(0)) invalid("lengths: expected {} in all, got {}", tensor.dim(0), total);
  std::vector<Tensor> pieces;
  int64_t begin = 0;
  for (const int64_t n : lengths) {
    pieces.push_back(view_tensor(tensor, behind(n, rows), begin * rows.numel()));
    begin += n;
  }
  c.set_out(0, list_tensor(TensorList(tensor.dtype(), declared).with_elements(pieces)));
}

void run_concat(KernelContext& c) {
  const TensorList& list = list_of_type(c);
  const DType dtype = list.element_dtype();
  const std::span leading(c.data<int64_t>(2), static_cast<size_t>(c.numel(2)));
  const PartialShape element = merged_element_shape(list.element_shape(), spelled_element_shape(c.in(1)));
  if (element.rank() == 0) fail(Code::kInvalidArgument, "element_shape: expected a rank of at least 1, got []");
  PartialShape rows = element.known_rank() ? PartialShape(element.dims().subspan(1)) : PartialShape();
  const std::vector<Tensor> elements = list.elements();
  const Tensor lengths = allocate_tensor(cpu_device(), kInt64, Shape{elements.size()});
  int64_t total = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    int64_t length = 0;
    if (elements[i].defined()) {
      const Shape& shape = elements[i].shape();
      if (!element.compatible_with(shape) || shape.rank() < 1) {
        invalid("element {}: expected shape {}, of rank 1 at least, got {}", i, element.to_string(), shape.to_string());
      }
      const Shape own = row_shape(elements[i]);
      if (!rows.compatible_with(own)) {
        invalid("element {}: expected shape {} behind the first dimension, got {}", i, rows.to_string(),
                own.to_string());
      }
      rows = own;
      length = shape.dim(0);
    } else {
      expect_zeros(dtype, static_cast<int64_t>(i));
      if (i >= leading.size() || leading[i] < 0) {
        invalid("leading_dims: expected the length of element {}, which is not set, got none", i);
      }
      length = leading[i];
    }
    mutable_data<int64_t>(lengths)[i] = length;
    total = checked_add(total, length);
  }
  if (!rows.fully_known()) {
    invalid("element_shape: expected every dimension behind the first, as no element was set, got {}",
            element.to_string());
  }
  const int64_t row = Shape(rows).numel();
  const Tensor all = allocate_tensor(cpu_device(), dtype, behind(total, Shape(rows)));
  with_storage(dtype, [&]<class T>(T) {
    T* to = mutable_data<T>(all);
    for (size_t i = 0; i < elements.size(); ++i) {
      const int64_t size = lengths.data<int64_t>()[i] * row;
      to = elements[i].defined() ? std::copy_n(static_cast<const T*>(elements[i].impl()->data), size, to)
                                 : std::fill_n(to, size, T{});
    }
  });
  c.set_out(0, all);
  c.set_out(1, lengths);
}

TensorList concatenated(const TensorList& a, const TensorList& b) {
  std::vector<Tensor> elements = a.elements();
  const std::vector<Tensor> others = b.elements();
  elements.insert(elements.end(), others.begin(), others.end());
  return TensorList(a.element_dtype(), merged_element_shape(a.element_shape(), b.element_shape()))
      .with_elements(elements);
}

// For each list in input 0 makes a list, make(list, i); the output has the shape of input 0.
template <class Make>
void give_lists(KernelContext& c, const Make& make) {
  const Tensor out = allocate_tensor(cpu_device(), kVariant, c.shape(0));
  const Variant* from = c.data<Variant>(0);
  Variant* to = mutable_data<Variant>(out);
  for (int64_t i = 0; i < out.numel(); ++i) {
    const TensorList& list = list_in(from[i]);
    expect_list_dtype(list.element_dtype(), c.type("element_dtype"));
    to[i].value = std::make_shared<TensorList>(make(list, i));
  }
  c.set_out(0, out);
}

void run_concat_lists(KernelContext& c) {
  give_lists(c, [&](const TensorList& a, int64_t i) {
    const TensorList& b = list_in(c.data<Variant>(1)[i]);
    expect_list_dtype(b.element_dtype(), a.element_dtype());
    return concatenated(a, b);
  });
}

void run_push_back_batch(KernelContext& c) {
  const Tensor& elements = c.in(1);
  const Shape rows(elements.shape().dims().subspan(static_cast<size_t>(c.shape(0).rank())));
  give_lists(c, [&](const TensorList& list, int64_t i) {
    return list.with_pushed(view_tensor(elements, rows, i * rows.numel()), false);
  });
}

const CpuKernel gather_kernel("TensorListGather", dtypes::kAny, run_gather);
const CpuKernel scatter_kernel("TensorListScatterV2", dtypes::kAny, run_scatter);
const CpuKernel scatter_into_kernel("TensorListScatterIntoExistingList", dtypes::kAny, run_scatter_into);
const CpuKernel split_kernel("TensorListSplit", dtypes::kAny, run_split);
const CpuKernel concat_kernel("TensorListConcatV2", dtypes::kAny, run_concat);
const CpuKernel concat_lists_kernel("TensorListConcatLists", run_concat_lists);
const CpuKernel push_back_batch_kernel("TensorListPushBackBatch", dtypes::kAny, run_push_back_batch);

}  // namespace
}  // namespace panto
