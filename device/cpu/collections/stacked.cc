#include "panto/device/cpu/collections/stacked.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "panto/device/cpu/collections/storage.h"
#include "panto/device/cpu/parallel.h"
#include "panto/lib/base/text/format.h"
#include "panto/ops/math.h"

namespace panto {

Tensor zeros_of(DType dtype, const Shape& shape) {
  Tensor zeros = allocate_tensor(cpu_device(), dtype, shape);
  if (is_plain(dtype) && zeros.nbytes() > 0) std::memset(zeros.impl()->data, 0, zeros.nbytes());
  return zeros;  // strings are empty
}

void expect_zeros(DType dtype, int64_t i) {
  if (dtype == kResource || dtype == kVariant) {
    invalid("element {}: expected one that was set, since no {} is zero, got none", i, dtype_name(dtype));
  }
}

Tensor stacked(std::span<const Tensor> elements, DType dtype, const Shape& shape) {
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!elements[i].defined()) expect_zeros(dtype, static_cast<int64_t>(i));
  }
  std::vector<int64_t> dims = {static_cast<int64_t>(elements.size())};
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  Tensor all = allocate_tensor(cpu_device(), dtype, Shape(dims));
  with_storage(dtype, [&]<class T>(T) {
    T* to = mutable_data<T>(all);
    const int64_t size = shape.numel();
    const int64_t bytes = all.impl()->numel * static_cast<int64_t>(sizeof(T));
    cpu::parallel_ranges(dims[0], bytes, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Tensor& from = elements[static_cast<size_t>(i)];
        if (from.defined()) {
          std::copy_n(static_cast<const T*>(from.impl()->data), size, to + i * size);
        } else {
          std::fill_n(to + i * size, size, T{});
        }
      }
    });
  });
  return all;
}

Tensor sum_of(const KernelContext& c, std::span<const Tensor* const> terms) {
  const Tensor& first = *terms[0];
  for (const Tensor* term : terms) {
    if (term->shape() == first.shape()) continue;
    invalid("elements: expected one shape, got {} and {}", first.shape().to_string(), term->shape().to_string());
  }
  const Kernel& kernel = kAddN.kernel(DeviceKind::kCpu, first.dtype());
  if (kernel.run == nullptr) {
    invalid("elements: expected numbers or lists of numbers, got {}", dtype_name(first.dtype()));
  }
  std::vector<AttrSlot> attrs(kAddN.signature().attrs.size());
  attrs[static_cast<size_t>(kAddN.signature().find_attr("N"))] = AttrSlot(static_cast<int64_t>(terms.size()));
  attrs[static_cast<size_t>(kAddN.primary_attr())] = AttrSlot(first.dtype());
  Call call;
  call.op = &kAddN;
  call.inputs = terms;
  call.attrs = attrs;
  call.outputs.push_back(allocate_tensor(cpu_device(), first.dtype(), first.shape()));
  call.device = c.call().device;
  call.step = c.call().step;
  KernelContext context(call);
  kernel.run(context);
  return std::move(call.outputs[0]);
}

}  // namespace panto
