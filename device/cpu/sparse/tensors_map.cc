// Kernels of maps of sparse tensors. Handles and names are checked, as they come from graphs.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "panto/device/cpu/collections/declared.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/sparse/entries.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/collections/handle.h"

namespace panto {
namespace {

using cpu::EntryIndices;

struct SparseTensor {
  Tensor indices, values, shape;
};

class SparseTensorsMap final : public Resource {
 public:
  using Resource::Resource;
  std::string_view kind() const noexcept override { return "SparseTensorsMap"; }

  int64_t add(SparseTensor tensor) {
    const std::lock_guard lock(mutex_);
    tensors_.emplace(next_, std::move(tensor));
    return next_++;
  }
  // Takes all tensors, or throws InvalidArgument and takes none if one is missing or has another type.
  std::vector<SparseTensor> take(const int64_t* numbers, int64_t count, DType dtype) {
    const std::lock_guard lock(mutex_);
    std::vector<SparseTensor> taken;
    for (int64_t i = 0; i < count; ++i) {
      const auto found = tensors_.find(numbers[i]);
      if (found == tensors_.end() || std::find(numbers, numbers + i, numbers[i]) != numbers + i) {
        invalid("sparse_handles[{}]: expected the number of a tensor that is there, got {}", i, numbers[i]);
      }
      if (found->second.values.dtype() != dtype) {
        invalid("dtype: expected the {} of tensor {}, got {}", dtype_name(found->second.values.dtype()), numbers[i],
                dtype_name(dtype));
      }
      if (i > 0 && found->second.shape.numel() != taken[0].shape.numel()) {
        invalid("sparse_handles[{}]: expected a tensor of {} dimensions, as the first has, got {}", i,
                taken[0].shape.numel(), found->second.shape.numel());
      }
      taken.push_back(found->second);
    }
    for (int64_t i = 0; i < count; ++i) tensors_.erase(numbers[i]);
    return taken;
  }

 private:
  std::mutex mutex_;
  std::map<int64_t, SparseTensor> tensors_;
  int64_t next_ = 0;
};

std::shared_ptr<SparseTensorsMap> map_of(const KernelContext& c) {
  if (c.text("shared_name").empty() && c.call().node_name.empty()) {
    invalid("shared_name: expected one, by which a map of sparse tensors is found, got none");
  }
  const Tensor handle = declared_resource(c, [](const std::string& container, const std::string& name) {
    return std::make_shared<SparseTensorsMap>(container, name);
  });
  return resource_as<SparseTensorsMap>(handle, "map of sparse tensors");
}

struct Add {
  template <class T>
  static void run(KernelContext& c) {
    cpu::check_within(EntryIndices(c, 0), c.data<int64_t>(2), "sparse_indices");
    *c.out_data<int64_t>(0) = map_of(c)->add({c.in(0), c.in(1), c.in(2)});
  }
};

struct AddMany {
  template <class T>
  static void run(KernelContext& c) {
    const EntryIndices indices(c, 0);
    cpu::check_within(indices, c.data<int64_t>(2), "sparse_indices");
    cpu::check_ascending(indices, "sparse_indices");
    const auto map = map_of(c);
    auto* out = c.out_data<int64_t>(0);
    cpu::for_each_slice<T>(c, indices, c.out_shape(0).dim(0),
                           [&](int64_t r, const Tensor& part, const Tensor& values, const Tensor& shape) {
                             out[r] = map->add({part, values, shape});
                           });
  }
};

struct TakeMany {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t count = c.numel(0);
    const auto tensors = map_of(c)->take(c.data<int64_t>(0), count, c.type("dtype"));
    const int64_t inner = tensors[0].shape.numel();
    const Tensor shape = allocate_tensor(c.device(), kInt64, Shape{inner + 1});
    auto* dims = mutable_data<int64_t>(shape);
    std::fill_n(dims, inner + 1, int64_t{0});
    dims[0] = count;
    int64_t total = 0;
    for (const SparseTensor& t : tensors) {
      const auto* own = static_cast<const int64_t*>(t.shape.impl()->data);
      for (int64_t d = 0; d < inner; ++d) dims[d + 1] = std::max(dims[d + 1], own[d]);
      total = checked_add(total, t.values.numel(), "number of entries");
    }
    const Tensor indices = allocate_tensor(c.device(), kInt64, Shape{total, inner + 1});
    const Tensor values = allocate_tensor(c.device(), c.type("dtype"), Shape{total});
    auto* index = mutable_data<int64_t>(indices);
    T* value = mutable_data<T>(values);
    for (int64_t i = 0; i < count; ++i) {
      const SparseTensor& t = tensors[static_cast<size_t>(i)];
      const auto* from = static_cast<const int64_t*>(t.indices.impl()->data);
      for (int64_t k = 0; k < t.values.numel(); ++k) {
        *index++ = i;
        index = std::copy_n(from + k * inner, inner, index);
      }
      value = std::copy_n(static_cast<const T*>(t.values.impl()->data), t.values.numel(), value);
    }
    c.set_out(0, indices);
    c.set_out(1, values);
    c.set_out(2, shape);
  }
};

using plain = types::Join<types::numbers, TypeList<std::string>>::type;
const CpuKernel add("AddSparseToTensorsMap", plain{}, Add{});
const CpuKernel add_many("AddManySparseToTensorsMap", plain{}, AddMany{});
const CpuKernel take_many("TakeManySparseFromTensorsMap", plain{}, TakeMany{});

}  // namespace
}  // namespace panto
