// Tensor: an immutable value handle. Copying one copies a pointer.
//
//   Tensor x = tensor({{1.f, 2.f}, {3.f, 4.f}});
//   float v = x(0, 1).item<float>();
//
// Invariants: row-major and contiguous; shape, dtype, device and bytes never change once the handle is visible; an
// `id()` is never reused in a process. A tensor on the META device has a dtype, a possibly unknown shape and no bytes:
// it stands for a value in a symbolic trace.
// Thread-safety: a Tensor object is like a shared_ptr: distinct handles of the same tensor may be used from several
// threads at once.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/core/tensor/dtype.h"
#include "panto/lib/core/tensor/shape.h"

namespace panto {

class Arg;
class Buffer;
class Index;
struct MetaInfo;
struct PrintOptions;

// An axis number; excludes bool, which would otherwise match `keep_dims` passed in the axis's place.
template <class I>
concept AxisNumber = std::integral<I> && !std::same_as<I, bool>;

// Options of reductions.
struct ReduceOptions {
  std::vector<int64_t> axis = {};  // empty: all axes
  bool keep_dims = false;          // reduced dimensions stay, with size 1
};
struct VarianceOptions {
  std::vector<int64_t> axis = {};  // empty: all axes
  bool keep_dims = false;
  int64_t correction = 0;  // the sum of squares is divided by count - correction: NumPy's default; PyTorch's is 1
};

// The object behind a handle. Internal: use Tensor. Header, shape and, for small plain tensors in host memory, the
// bytes are one block from a per-thread free list (lib/core/tensor/tensor_alloc.cc).
struct TensorImpl {
  std::atomic<int32_t> refs{1};
  DType dtype = DType::kInvalid;
  bool inline_data = false;  // bytes follow this header
  bool literal = false;      // written in the source: a tracer makes it a Const instead of capturing it
  int64_t id = 0;
  int64_t numel = 0;  // -1: unknown (META)
  Device* device = nullptr;
  void* data = nullptr;      // null on META; never null otherwise, also for empty tensors
  Buffer* buffer = nullptr;  // owner of `data`, unless inline; views may share it
  MetaInfo* meta = nullptr;  // owned; only on META
  Shape shape;               // on META it may have unknown dimensions (then reachable only as PartialShape)

  PANTO_EXPORT static void destroy(TensorImpl* impl) noexcept;
};

class PANTO_EXPORT Tensor {
 public:
  using Where = std::source_location;  // of a call: the caller's line

  Tensor() noexcept = default;
  // Takes ownership of one reference.
  explicit Tensor(TensorImpl* impl) noexcept : impl_(impl) {}
  Tensor(const Tensor& other) noexcept : impl_(other.impl_) {
    if (impl_ != nullptr) impl_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  // Only for lvalues: x[0] and v.value() return temporaries, and assigning to one of these would have no effect.
  Tensor& operator=(const Tensor& other) & noexcept {
    Tensor copy(other);
    std::swap(impl_, copy.impl_);
    return *this;
  }
  Tensor& operator=(Tensor&& other) & noexcept {
    std::swap(impl_, other.impl_);
    return *this;
  }
  ~Tensor() { release(); }

  // False for a default-constructed handle; all functions below throw FailedPrecondition for such a handle.
  bool defined() const noexcept { return impl_ != nullptr; }
  DType dtype() const { return get().dtype; }
  // Throws FailedPrecondition for a META tensor with unknown dimensions: use `partial_shape()`, or the op `shape(x)`.
  const Shape& shape() const;
  const PartialShape& partial_shape() const { return get().shape; }
  // Throw FailedPrecondition if this number is unknown.
  int rank() const {
    const TensorImpl& impl = get();
    return impl.shape.known_rank() ? impl.shape.rank() : shape().rank();
  }
  int64_t dim(int i) const { return get().numel < 0 ? known_dim(i) : shape()[i]; }
  int64_t numel() const { return shape().numel(); }
  Device& device() const { return *get().device; }
  bool is_meta() const { return get().device->is_meta(); }
  int64_t id() const { return get().id; }
  // Size of the elements in bytes (for string, resource and variant: of their C++ objects).
  size_t nbytes() const;

  // The elements, in host memory. Throws InvalidArgument if T is not the dtype, FailedPrecondition if the tensor is
  // symbolic (the error names the calling line and the fix) or on a device: call `cpu()` first.
  template <class T>
  std::span<const T> data(std::source_location where = std::source_location::current()) const {
    return {static_cast<const T*>(read_host(dtype_of<T>, where)), static_cast<size_t>(get().numel)};
  }
  // The value of a tensor with one element, converted to T. Copies from a device. Throws InvalidArgument if there is
  // not exactly one element, FailedPrecondition if the tensor is symbolic.
  template <class T>
  T item(std::source_location where = std::source_location::current()) const;
  // The truth value of a tensor with one element, as in Python: `if (all(x == y))`. Throws as `item`. To test whether
  // the handle holds a tensor, use `defined()`.
  explicit operator bool() const { return item<bool>(); }
  // The elements as a flat vector. T must be the dtype.
  template <class T>
  std::vector<T> to_vector(std::source_location where = std::source_location::current()) const {
    const Tensor host = on_host(where);
    const std::span<const T> values = host.data<T>(where);
    return std::vector<T>(values.begin(), values.end());
  }
  // This tensor in the first CPU's memory; the same tensor if it is there already.
  Tensor cpu() const;
  Tensor to(Device& device) const;

  // NumPy-style indexing: x[i] is the i-th slice along the first dimension; x(i, j, ...) and x[{i, j, ...}] take
  // numbers, ranges, masks and positions (panto/lib/core/tensor/index.h); negative numbers count from the end. Recorded
  // like any op. Throws OutOfRange for a number out of range, InvalidArgument for indices that do not fit the shape.
  Tensor operator[](Index i) const;
  Tensor operator[](std::initializer_list<Index> indices) const;  // any number of them
  Tensor operator()(Index a) const;
  Tensor operator()(Index a, Index b) const;
  Tensor operator()(Index a, Index b, Index c) const;
  Tensor operator()(Index a, Index b, Index c, Index d) const;
  Tensor operator()(Index a, Index b, Index c, Index d, Index e) const;
  Tensor operator()(Index a, Index b, Index c, Index d, Index e, Index f) const;
  Tensor at(std::initializer_list<Dim> numbers) const;
  Tensor at(std::span<const Index> indices) const;  // any number of them

  // Functions that are often chained (lib/ops/methods.cc). ops.h and reductions.h have them as free functions, with
  // documentation.
  Tensor sum(const ReduceOptions& options = {}, Where where = Where::current()) const;
  Tensor mean(const ReduceOptions& options = {}, Where where = Where::current()) const;
  Tensor prod(const ReduceOptions& options = {}, Where where = Where::current()) const;
  Tensor max(const ReduceOptions& options = {}, Where where = Where::current()) const;
  Tensor min(const ReduceOptions& options = {}, Where where = Where::current()) const;
  Tensor all(const ReduceOptions& options = {}, Where where = Where::current()) const;
  Tensor any(const ReduceOptions& options = {}, Where where = Where::current()) const;
  Tensor var(const VarianceOptions& options = {}, Where where = Where::current()) const;
  Tensor std(const VarianceOptions& options = {}, Where where = Where::current()) const;
  // Over one axis, or a list: x.sum(1), x.max({0, 1}); x.mean(-1, true) keeps the axis with size 1.
  Tensor sum(AxisNumber auto axis, bool keep_dims = false, Where where = Where::current()) const {
    return sum(ReduceOptions{.axis = {axis}, .keep_dims = keep_dims}, where);
  }
  template <AxisNumber I>
  Tensor sum(std::initializer_list<I> axes, bool keep_dims = false, Where where = Where::current()) const {
    return sum(ReduceOptions{.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims}, where);
  }
  Tensor mean(AxisNumber auto axis, bool keep_dims = false, Where where = Where::current()) const {
    return mean(ReduceOptions{.axis = {axis}, .keep_dims = keep_dims}, where);
  }
  template <AxisNumber I>
  Tensor mean(std::initializer_list<I> axes, bool keep_dims = false, Where where = Where::current()) const {
    return mean(ReduceOptions{.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims}, where);
  }
  Tensor prod(AxisNumber auto axis, bool keep_dims = false, Where where = Where::current()) const {
    return prod(ReduceOptions{.axis = {axis}, .keep_dims = keep_dims}, where);
  }
  template <AxisNumber I>
  Tensor prod(std::initializer_list<I> axes, bool keep_dims = false, Where where = Where::current()) const {
    return prod(ReduceOptions{.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims}, where);
  }
  Tensor max(AxisNumber auto axis, bool keep_dims = false, Where where = Where::current()) const {
    return max(ReduceOptions{.axis = {axis}, .keep_dims = keep_dims}, where);
  }
  template <AxisNumber I>
  Tensor max(std::initializer_list<I> axes, bool keep_dims = false, Where where = Where::current()) const {
    return max(ReduceOptions{.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims}, where);
  }
  Tensor min(AxisNumber auto axis, bool keep_dims = false, Where where = Where::current()) const {
    return min(ReduceOptions{.axis = {axis}, .keep_dims = keep_dims}, where);
  }
  template <AxisNumber I>
  Tensor min(std::initializer_list<I> axes, bool keep_dims = false, Where where = Where::current()) const {
    return min(ReduceOptions{.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims}, where);
  }
  Tensor all(AxisNumber auto axis, bool keep_dims = false, Where where = Where::current()) const {
    return all(ReduceOptions{.axis = {axis}, .keep_dims = keep_dims}, where);
  }
  template <AxisNumber I>
  Tensor all(std::initializer_list<I> axes, bool keep_dims = false, Where where = Where::current()) const {
    return all(ReduceOptions{.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims}, where);
  }
  Tensor any(AxisNumber auto axis, bool keep_dims = false, Where where = Where::current()) const {
    return any(ReduceOptions{.axis = {axis}, .keep_dims = keep_dims}, where);
  }
  template <AxisNumber I>
  Tensor any(std::initializer_list<I> axes, bool keep_dims = false, Where where = Where::current()) const {
    return any(ReduceOptions{.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims}, where);
  }
  Tensor var(AxisNumber auto axis, bool keep_dims = false, Where where = Where::current()) const {
    return var(VarianceOptions{.axis = {axis}, .keep_dims = keep_dims}, where);
  }
  template <AxisNumber I>
  Tensor var(std::initializer_list<I> axes, bool keep_dims = false, Where where = Where::current()) const {
    return var(VarianceOptions{.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims}, where);
  }
  Tensor std(AxisNumber auto axis, bool keep_dims = false, Where where = Where::current()) const {
    return std(VarianceOptions{.axis = {axis}, .keep_dims = keep_dims}, where);
  }
  template <AxisNumber I>
  Tensor std(std::initializer_list<I> axes, bool keep_dims = false, Where where = Where::current()) const {
    return std(VarianceOptions{.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims}, where);
  }
  Tensor argmax(int64_t axis, Where where = Where::current()) const;
  Tensor argmin(int64_t axis, Where where = Where::current()) const;
  Tensor argmax(Where where = Where::current()) const;  // over all elements, as in NumPy
  Tensor argmin(Where where = Where::current()) const;
  // {3, -1}, of integers or scalar tensors: one dimension may be -1, which is computed from the number of elements.
  Tensor reshape(Arg shape, Where where = Where::current()) const;
  // {}: reverses all dimensions.
  Tensor transpose(const std::vector<int64_t>& perm = {}, Where where = Where::current()) const;
  Tensor T(Where where = Where::current()) const;  // the same with {}, as in NumPy
  Tensor cast(DType dtype, Where where = Where::current()) const;
  Tensor to(DType dtype, Where where = Where::current()) const;  // cast, as in PyTorch
  Tensor abs(Where where = Where::current()) const;
  Tensor exp(Where where = Where::current()) const;
  Tensor log(Where where = Where::current()) const;
  Tensor sqrt(Where where = Where::current()) const;
  Tensor round(Where where = Where::current()) const;
  Tensor pow(Arg exponent, Where where = Where::current()) const;
  Tensor clip(Arg low, Arg high, Where where = Where::current()) const;
  Tensor matmul(Arg right, Where where = Where::current()) const;
  Tensor norm(Where where = Where::current()) const;
  Tensor real(Where where = Where::current()) const;
  Tensor imag(Where where = Where::current()) const;
  Tensor flatten(Where where = Where::current()) const;
  Tensor squeeze(Where where = Where::current()) const;
  Tensor squeeze(int64_t axis, Where where = Where::current()) const;
  Tensor unsqueeze(int64_t axis, Where where = Where::current()) const;
  Tensor cumsum(int64_t axis, Where where = Where::current()) const;
  Tensor sort(int64_t axis = -1, Where where = Where::current()) const;
  Tensor argsort(int64_t axis = -1, Where where = Where::current()) const;

  // Like NumPy: "[[1. 2.]\n [3. 4.]]"; on META "<symbolic float32[?,2]>".
  std::string to_string() const;

  TensorImpl* impl() const noexcept { return impl_; }

 private:
  void release() noexcept {
    if (impl_ != nullptr && impl_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) TensorImpl::destroy(impl_);
  }
  TensorImpl& get() const {
    if (impl_ == nullptr) undefined();
    return *impl_;
  }
  [[noreturn]] static void undefined();
  int64_t known_dim(int i) const;
  const void* read_host(DType expected, std::source_location where) const;
  // This tensor, or a copy in host memory that is not recorded.
  Tensor on_host(std::source_location where) const;
  friend PANTO_EXPORT std::string print(const Tensor& t, const PrintOptions& options);

  TensorImpl* impl_ = nullptr;
};

extern template PANTO_EXPORT float Tensor::item<float>(std::source_location) const;
extern template PANTO_EXPORT double Tensor::item<double>(std::source_location) const;
extern template PANTO_EXPORT int32_t Tensor::item<int32_t>(std::source_location) const;
extern template PANTO_EXPORT int64_t Tensor::item<int64_t>(std::source_location) const;
extern template PANTO_EXPORT bool Tensor::item<bool>(std::source_location) const;
extern template PANTO_EXPORT std::string Tensor::item<std::string>(std::source_location) const;

PANTO_EXPORT std::ostream& operator<<(std::ostream& out, const Tensor& t);

// ---- Making tensors from host values. Nested lists must be regular, otherwise they throw InvalidArgument. -------

// Copies `bytes` bytes of elements of `dtype` (plain types only) from host memory to the device of the current device
// scope. Throws InvalidArgument unless the sizes agree.
PANTO_EXPORT Tensor tensor_from_bytes(DType dtype, const Shape& shape, const void* data, size_t bytes);
PANTO_EXPORT Tensor tensor_from_strings(const Shape& shape, std::vector<std::string> values);

// Replaces the one unknown dimension of `shape` so that it has `numel` elements: {3, -1} for 12 gives [3,4]. Throws
// InvalidArgument if no number fits.
PANTO_EXPORT Shape shape_of_elements(const PartialShape& shape, size_t numel);

// One dimension of `shape` may be -1: it is computed from the number of values. Throws InvalidArgument unless the
// values fill the shape.
template <class T>
Tensor tensor(std::span<const T> values, const PartialShape& shape) {
  return tensor_from_bytes(dtype_of<T>, shape_of_elements(shape, values.size()), values.data(),
                           values.size() * sizeof(T));
}
template <class T>
Tensor tensor(const std::vector<T>& values, const PartialShape& shape) {
  return tensor(std::span<const T>(values), shape);
}
template <class T>
Tensor tensor(const std::vector<T>& values) {
  return tensor(std::span<const T>(values), Shape{values.size()});
}
PANTO_EXPORT Tensor tensor(const std::vector<bool>& values);
namespace detail {
PANTO_EXPORT Tensor from_vector(const std::vector<std::string>& values);
}  // namespace detail
// A template, so that the compiler does not try to convert lists to this parameter.
template <std::same_as<std::string> T>
Tensor tensor(const std::vector<T>& values) {
  return detail::from_vector(values);
}

// Nested lists of one C++ type: tensor({1, 2}) is int32, tensor({1.f, 2.f}) float32, tensor({1., 2.}) float64,
// tensor({{"a", "b"}, {"c", "d"}}) string.
PANTO_EXPORT Tensor tensor(float value);
PANTO_EXPORT Tensor tensor(double value);
PANTO_EXPORT Tensor tensor(int32_t value);
PANTO_EXPORT Tensor tensor(int64_t value);
PANTO_EXPORT Tensor tensor(bool value);
PANTO_EXPORT Tensor tensor(const char* value);
PANTO_EXPORT Tensor tensor(std::string value);

namespace detail {

// An element of a list of literals and strings, {"a", s}. (Not std::string itself: {"a", "b"} would also convert to one
// string, as a range from one pointer to the other.)
class StringItem {
 public:
  // NOLINTBEGIN(google-explicit-constructor): in braces
  StringItem(const char* text) : text_(text) {}
  StringItem(std::string text) : text_(std::move(text)) {}
  // NOLINTEND(google-explicit-constructor)
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

template <class T>
concept ListElement = std::is_arithmetic_v<T> || std::is_same_v<T, const char*> || std::is_same_v<T, std::string>;

// Collects the elements and the dimensions of a nested list.
class PANTO_EXPORT ListReader {
 public:
  // Enters a list at this depth. Throws InvalidArgument if an earlier list at that depth had another size.
  void enter(int depth, size_t size);
  void append(const void* elements, size_t bytes);
  void append(std::string text);
  Tensor finish(DType dtype) const;

 private:
  static constexpr int kMaxDepth = 4;
  std::string bytes_;                 // the elements so far, if arithmetic
  std::vector<std::string> strings_;  // the elements so far, if strings
  int64_t dims_[kMaxDepth] = {};
  int rank_ = 0;
};

template <class T>
void read_list(ListReader& reader, int depth, const std::initializer_list<T>& list) {
  reader.enter(depth, list.size());
  if constexpr (std::is_arithmetic_v<T>) {
    reader.append(list.begin(), list.size() * sizeof(T));
  } else {
    for (const T& text : list) reader.append(std::string(text));
  }
}
template <class T>
void read_list(ListReader& reader, int depth, const std::initializer_list<std::initializer_list<T>>& list) {
  reader.enter(depth, list.size());
  for (const auto& inner : list) read_list(reader, depth + 1, inner);
}
template <class T, class List>
Tensor from_list(const List& list) {
  ListReader reader;
  read_list(reader, 0, list);
  if constexpr (std::is_arithmetic_v<T>) {
    return reader.finish(dtype_of<T>);
  } else {
    return reader.finish(kString);
  }
}

}  // namespace detail

template <detail::ListElement T>
Tensor tensor(std::initializer_list<T> list) {
  return detail::from_list<T>(list);
}
template <detail::ListElement T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> list) {
  return detail::from_list<T>(list);
}
template <detail::ListElement T>
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<T>>> list) {
  return detail::from_list<T>(list);
}
template <detail::ListElement T>
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<std::initializer_list<T>>>> list) {
  return detail::from_list<T>(list);
}
PANTO_EXPORT Tensor tensor(std::initializer_list<detail::StringItem> list);

}  // namespace panto

#include "panto/lib/core/tensor/index.h"
