// Kernels that serialize and deserialize sparse tensors. Serialized data is checked, as it may come from anywhere.
#include <algorithm>
#include <string>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/sparse/entries.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/core/collections/tensor_value.h"
#include "panto/lib/core/datasets/element_tensors.h"
#include "panto/lib/graph/files/wire/tensor_bytes.h"

namespace panto {
namespace {

using cpu::EntryIndices;

// Writes tensors to output 0: as bytes or as variants, whichever type the call asks for.
class Written {
 public:
  explicit Written(KernelContext& c)
      : text_(c.type("out_type") == kString ? c.out_data<std::string>(0) : nullptr),
        variant_(text_ == nullptr ? c.out_data<Variant>(0) : nullptr) {}
  void put(const Tensor& t) {
    if (text_ != nullptr) {
      *text_++ = tensor_to_bytes(t);
    } else {
      *variant_++ = variant_of(shared_tensor(t));
    }
  }

 private:
  std::string* text_;
  Variant* variant_;
};

void run_serialize(KernelContext& c) {
  Written to(c);
  for (int i = 0; i < 3; ++i) to.put(c.in(i));
}

struct RunSerializeMany {
  template <class T>
  static void run(KernelContext& c) {
    const EntryIndices indices(c, 0);
    cpu::check_within(indices, c.data<int64_t>(2), "sparse_indices");
    cpu::check_ascending(indices, "sparse_indices");
    Written to(c);
    cpu::for_each_slice<T>(c, indices, c.out_shape(0).dim(0),
                           [&](int64_t, const Tensor& part, const Tensor& values, const Tensor& shape) {
                             for (const Tensor* t : {&part, &values, &shape}) to.put(*t);
                           });
  }
};

struct Entries {
  Tensor indices, values, shape;
};

// Reads sparse tensor `i`.
Entries read(const KernelContext& c, int64_t i, DType dtype) {
  const auto part = [&](int64_t k) {
    if (c.in(0).dtype() == kVariant) return shared_tensor(tensor_in(c.data<Variant>(0)[3 * i + k]));
    return tensor_from_proto_bytes(c.data<std::string>(0)[3 * i + k]);
  };
  Entries e{part(0), part(1), part(2)};
  const auto expect = [&](const char* what, const Tensor& t, DType type, int rank) {
    if (t.dtype() == type && t.rank() == rank) return;
    invalid("serialized_sparse[{}]: expected {} of {} and {} dimensions, got {}{}", i, what, dtype_name(type), rank,
            dtype_name(t.dtype()), t.shape().to_string());
  };
  expect("indices", e.indices, kInt64, 2);
  expect("values", e.values, dtype, 1);
  expect("a shape", e.shape, kInt64, 1);
  if (e.indices.shape().dim(0) != e.values.numel() || e.indices.shape().dim(1) != e.shape.numel()) {
    invalid("serialized_sparse[{}]: expected indices of shape [{},{}], as values and shape say, got {}", i,
            e.values.numel(), e.shape.numel(), e.indices.shape().to_string());
  }
  return e;
}

struct RunDeserialize {
  template <class T>
  static void run(KernelContext& c) {
    const Shape& in = c.shape(0);
    const int64_t leading = in.rank() - 1, count = c.numel(0) / 3;
    if (count == 0) invalid("serialized_sparse: expected at least one tensor, got shape {}", in.to_string());
    std::vector<Entries> tensors;
    std::vector<int64_t> dims;
    int64_t total = 0;
    for (int64_t i = 0; i < count; ++i) {
      tensors.push_back(read(c, i, c.type("dtype")));
      const Tensor& shape = tensors.back().shape;
      if (i == 0) dims.assign(static_cast<size_t>(shape.numel()), 0);
      if (shape.numel() != static_cast<int64_t>(dims.size())) {
        invalid("serialized_sparse[{}]: expected {} dimensions, as the first has, got {}", i, dims.size(),
                shape.numel());
      }
      for (size_t d = 0; d < dims.size(); ++d) {
        const int64_t dim = static_cast<const int64_t*>(shape.impl()->data)[d];
        if (dim < 0) invalid("serialized_sparse[{}]: expected dimensions of at least 0, got {}", i, dim);
        dims[d] = std::max(dims[d], dim);
      }
      total = checked_add(total, tensors.back().values.numel(), "number of entries");
    }
    const auto inner = static_cast<int64_t>(dims.size()), rank = leading + inner;
    Tensor indices = allocate_tensor(c.device(), kInt64, Shape{total, rank});
    Tensor values = allocate_tensor(c.device(), c.type("dtype"), Shape{total});
    Tensor shape = allocate_tensor(c.device(), kInt64, Shape{rank});
    auto* index = mutable_data<int64_t>(indices);
    T* value = mutable_data<T>(values);
    for (int64_t i = 0; i < count; ++i) {
      const Entries& e = tensors[static_cast<size_t>(i)];
      const auto* from = static_cast<const int64_t*>(e.indices.impl()->data);
      for (int64_t k = 0; k < e.values.numel(); ++k) {
        int64_t rest = i;
        for (int64_t d = leading; d-- > 0;) {
          index[d] = rest % in.dim(static_cast<int>(d));
          rest /= in.dim(static_cast<int>(d));
        }
        std::copy_n(from + k * inner, inner, index + leading);
        index += rank;
      }
      value = std::copy_n(static_cast<const T*>(e.values.impl()->data), e.values.numel(), value);
    }
    auto* dim = mutable_data<int64_t>(shape);
    for (int64_t d = 0; d < leading; ++d) *dim++ = in.dim(static_cast<int>(d));
    std::ranges::copy(dims, dim);
    c.set_out(0, std::move(indices));
    c.set_out(1, std::move(values));
    c.set_out(2, std::move(shape));
  }
};

using plain = types::Join<types::numbers, TypeList<std::string>>::type;
const CpuKernel serialize_kernel("SerializeSparse", plain{}, []<class T>(KernelContext& c) { run_serialize(c); });
const CpuKernel serialize_many_kernel("SerializeManySparse", plain{}, RunSerializeMany{});
const CpuKernel deserialize_kernel("DeserializeSparse", plain{}, RunDeserialize{});

}  // namespace
}  // namespace panto
