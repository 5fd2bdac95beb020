// Making tensors from the inside: for the dispatcher, kernels that give out views, importers and back-ends.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Bytes of a small tensor that live in the same block as its header.
inline constexpr size_t kInlineBytes = 256;

// Reference-counted memory of one device. Destroys its elements where the dtype asks for it.
class PANTO_EXPORT Buffer {
 public:
  // `count` elements; plain dtypes are left uninitialised, others constructed. Throws ResourceExhausted.
  static Buffer* allocate(Device& device, DType dtype, int64_t count);
  // Memory of somebody else, kept alive by `owner`.
  static Buffer* adopt(Device& device, void* data, size_t bytes, std::shared_ptr<void> owner);

  void* data() const noexcept { return data_; }
  size_t bytes() const noexcept { return bytes_; }
  bool unique() const noexcept { return refs_.load(std::memory_order_acquire) == 1; }
  // True for memory of somebody else: nobody may write to it.
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

// What is known of a symbolic tensor beyond its shape: the values of small integer tensors, which may size other
// tensors (design decision 14). -1... any integer may be a value, so unknown elements are nullopt.
using PartialValues = std::vector<std::optional<int64_t>>;
inline constexpr int64_t kMaxPartialValues = 256;

// What is known of the variable that a symbolic resource tensor refers to, or of the elements of the list that a
// symbolic variant tensor holds. Of a queue: of the components of its elements.
struct HandleInfo {
  DType dtype = DType::kInvalid;
  PartialShape shape;
  std::vector<HandleInfo> components = {};
};

class Transform;

// What a tensor inside a transform (vmap, jvp) stands for: one with the batch's dimension in front, or a value and its
// tangent.
struct Lifted {
  std::shared_ptr<Transform> of;
  Tensor value;
  Tensor tangent = {};
};

struct MetaInfo {
  std::optional<PartialValues> values;
  const void* trace = nullptr;                         // the trace that the tensor belongs to
  std::shared_ptr<const HandleInfo> handle = nullptr;  // null: nothing is known
  std::unique_ptr<const Lifted> lifted = nullptr;      // null: not of a transform
};

// A new tensor with bytes that nobody else sees yet; uninitialised for plain dtypes. Throws ResourceExhausted.
PANTO_EXPORT Tensor allocate_tensor(Device& device, DType dtype, const Shape& shape);
// The same for a caller that knows shape.numel().
PANTO_EXPORT Tensor allocate_tensor(Device& device, DType dtype, const Shape& shape, int64_t numel);
// A new handle on (part of) the bytes of `base`: `shape` elements from element `offset`. Copies where the bytes are
// few.
PANTO_EXPORT Tensor view_tensor(const Tensor& base, const Shape& shape, int64_t offset = 0);
// Memory of somebody else (64-byte alignment is not required); `owner` is released with the last handle.
PANTO_EXPORT Tensor adopt_tensor(Device& device, DType dtype, const Shape& shape, void* data,
                                 std::shared_ptr<void> owner);
PANTO_EXPORT Tensor meta_tensor(DType dtype, const PartialShape& shape,
                                std::optional<PartialValues> values = std::nullopt, const void* trace = nullptr,
                                std::shared_ptr<const HandleInfo> handle = nullptr);
// A tensor of `shape` that stands for `lifted`.
PANTO_EXPORT Tensor lifted_tensor(const PartialShape& shape, Lifted lifted);
PANTO_EXPORT Tensor resource_tensor(ResourceHandle handle);
// A tensor that was made of host values in the first CPU's memory, as `tensor(values)` gives it: on the scope's device,
// and written in the program where it is made inside a trace.
PANTO_EXPORT Tensor made_of_host_values(Tensor t);
// A copy of the elements in the memory of `device`, which no recorder hears of (`Tensor::to` is the recorded one).
PANTO_EXPORT Tensor copy_to_device(const Tensor& t, Device& device);

// The bytes of a tensor that was just allocated and is not visible to anybody else.
template <class T>
T* mutable_data(const Tensor& t) {
  return static_cast<T*>(t.impl()->data);
}
// True if this handle is the only one on the tensor and on its bytes, which are the library's own: it may be written
// over.
PANTO_EXPORT bool exclusively_owned(const Tensor& t) noexcept;
// A fresh id, from this thread's block.
PANTO_EXPORT int64_t next_tensor_id() noexcept;

// Integer values of `t` as far as they are known: of a host tensor of an integer dtype, or a symbolic tensor's partial
// values; nullopt if nothing is known or there are more than kMaxPartialValues.
PANTO_EXPORT std::optional<PartialValues> known_integers(const Tensor& t);

}  // namespace panto
