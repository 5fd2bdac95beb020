// Creation of tensors for the library itself: the dispatcher, kernels that return views, importers and back-ends.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// A small tensor of at most this many bytes stores them in the same block as its header.
inline constexpr size_t kInlineBytes = 256;

// Reference-counted memory of one device. Runs the elements' destructors if the dtype has them.
class PANTO_EXPORT Buffer {
 public:
  // `count` elements; uninitialised for plain dtypes, otherwise constructed. Throws ResourceExhausted.
  static Buffer* allocate(Device& device, DType dtype, int64_t count);
  // Wraps memory that `owner` keeps alive.
  static Buffer* adopt(Device& device, void* data, size_t bytes, std::shared_ptr<void> owner);

  void* data() const noexcept { return data_; }
  size_t bytes() const noexcept { return bytes_; }
  bool unique() const noexcept { return refs_.load(std::memory_order_acquire) == 1; }
  // True for wrapped memory, which must not be written to.
  bool adopted() const noexcept { return dtype_ == DType::kInvalid; }
  void retain() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

 private:
  Buffer() = default;
  std::atomic<int32_t> refs_{1};
  DType dtype_ = DType::kInvalid;
  int64_t count_ = 0;
  size_t bytes_ = 0;
  void* data_ = nullptr;
  Device* device_ = nullptr;
  std::shared_ptr<void> owner_;
};

// What is known of a symbolic tensor beyond its shape: the values of small integer tensors, which may determine the
// sizes of other tensors (design decision 14). Unknown elements are nullopt, because every integer, also -1, may be a
// value.
using PartialValues = std::vector<std::optional<int64_t>>;
inline constexpr int64_t kMaxPartialValues = 256;

// What is known of the object behind a symbolic handle: the variable of a resource tensor, the elements of the list in
// a variant tensor, or, in `components`, the components of a queue's elements.
struct HandleInfo {
  DType dtype = DType::kInvalid;
  PartialShape shape;
  std::vector<HandleInfo> components = {};
};

class Transform;

// What a tensor inside a transform stands for: in vmap a tensor with the batch dimension in front, in jvp a value and
// its tangent.
struct Lifted {
  std::shared_ptr<Transform> of;
  Tensor value;
  Tensor tangent = {};
};

struct MetaInfo {
  std::optional<PartialValues> values;
  const void* trace = nullptr;                         // the trace that the tensor belongs to
  std::shared_ptr<const HandleInfo> handle = nullptr;  // null: nothing is known
  std::unique_ptr<const Lifted> lifted = nullptr;      // null: does not belong to a transform
};

// A new tensor with memory that has no other owner; uninitialised for plain dtypes. Throws ResourceExhausted.
PANTO_EXPORT Tensor allocate_tensor(Device& device, DType dtype, const Shape& shape);
// The same, if the caller knows shape.numel().
PANTO_EXPORT Tensor allocate_tensor(Device& device, DType dtype, const Shape& shape, int64_t numel);
// A new tensor that shares the bytes of `base`: `shape` elements from element `offset` on. If they are few, they are
// copied instead.
PANTO_EXPORT Tensor view_tensor(const Tensor& base, const Shape& shape, int64_t offset = 0);
// Wraps memory owned by the caller (64-byte alignment is not required); `owner` is released with the last handle.
PANTO_EXPORT Tensor adopt_tensor(Device& device, DType dtype, const Shape& shape, void* data,
                                 std::shared_ptr<void> owner);
PANTO_EXPORT Tensor meta_tensor(DType dtype, const PartialShape& shape,
                                std::optional<PartialValues> values = std::nullopt, const void* trace = nullptr,
                                std::shared_ptr<const HandleInfo> handle = nullptr);
// A symbolic tensor of `shape` that stands for `lifted`.
PANTO_EXPORT Tensor lifted_tensor(const PartialShape& shape, Lifted lifted);
PANTO_EXPORT Tensor resource_tensor(ResourceHandle handle);
// Completes a tensor that was made from host values in the first CPU's memory, as by `tensor(values)`: moves it to the
// device scope's device, and marks it as a literal of the program if it is made inside a trace.
PANTO_EXPORT Tensor made_of_host_values(Tensor t);
// A copy of the elements on `device`, hidden from recorders (`Tensor::to` is recorded).
PANTO_EXPORT Tensor copy_to_device(const Tensor& t, Device& device);

// The bytes of a tensor that was just allocated and that no other code can see.
template <class T>
T* mutable_data(const Tensor& t) {
  return static_cast<T*>(t.impl()->data);
}
// True if this handle is the only one on the tensor and on its bytes, and the bytes are not wrapped memory: then they
// may be overwritten.
PANTO_EXPORT bool exclusively_owned(const Tensor& t) noexcept;
// A new id, from this thread's block of ids.
PANTO_EXPORT int64_t next_tensor_id() noexcept;

// Known integer values of `t`: the elements of a host tensor of an integer dtype, or the partial values of a symbolic
// tensor. nullopt if nothing is known or there are more than kMaxPartialValues.
PANTO_EXPORT std::optional<PartialValues> known_integers(const Tensor& t);

}  // namespace panto
