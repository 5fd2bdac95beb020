#include "panto/lib/core/collections/tensor_list.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <new>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

// Allocates from the first CPU device, which has a limit: a few bytes of a file may ask for more elements than fit into
// memory.
template <class T>
struct CpuAllocator {
  using value_type = T;
  CpuAllocator() = default;
  template <class U>
  CpuAllocator(const CpuAllocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor): as containers ask for
  T* allocate(size_t count) {
    if (count > std::numeric_limits<size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(cpu_device().allocate(count * sizeof(T)));
  }
  void deallocate(T* data, size_t count) noexcept { cpu_device().deallocate(data, count * sizeof(T)); }
  bool operator==(const CpuAllocator&) const noexcept { return true; }
};

}  // namespace

struct TensorList::Storage {
  std::mutex mutex;
  std::vector<Tensor, CpuAllocator<Tensor>> elements;
  // If defined, its first `count` rows are the elements, and `elements` is empty.
  Tensor rows = {};
  int64_t count = 0;

  Tensor row(int64_t i) const {
    const Shape shape(rows.shape().dims().subspan(1));
    return view_tensor(rows, shape, i * shape.numel());
  }
  // Moves the rows to `elements`, before these are changed. Call it under the lock.
  void spread() {
    if (!rows.defined()) return;
    std::vector<Tensor, CpuAllocator<Tensor>> each;
    each.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) each.push_back(row(i));
    elements = std::move(each);
    rows = Tensor();
  }
};

TensorList::TensorList(DType element_dtype, PartialShape element_shape, int64_t most)
    : element_dtype_(element_dtype), element_shape_(std::move(element_shape)), most_(most) {}
TensorList::~TensorList() = default;
TensorList::TensorList(const TensorList&) = default;
TensorList::TensorList(TensorList&&) noexcept = default;

std::string TensorList::to_string() const {
  return fmt::format("list of {} {}{}", size_, dtype_name(element_dtype_), element_shape_.to_string());
}

Tensor TensorList::at(int64_t i) const {
  const std::lock_guard lock(storage_->mutex);
  if (storage_->rows.defined()) return storage_->row(i);
  return storage_->elements[static_cast<size_t>(i)];
}

std::vector<Tensor> TensorList::elements() const {
  if (size_ == 0) return {};
  const std::lock_guard lock(storage_->mutex);
  storage_->spread();
  return {storage_->elements.begin(), storage_->elements.begin() + size_};
}

TensorList TensorList::with_storage(std::shared_ptr<Storage> storage, int64_t size) const {
  TensorList list(element_dtype_, element_shape_, most_);
  if (size > 0) list.storage_ = std::move(storage);
  list.size_ = size;
  return list;
}

void TensorList::expect_element(const Tensor& element) const {
  expect_list_dtype(element_dtype_, element.dtype());
  expect_element_shape(element_shape_, element.partial_shape(), "element");
}

// Returns storage that may be changed. Earlier users of the storage read it under the lock, so they do not see later
// changes, which also happen under the lock.
std::shared_ptr<TensorList::Storage> TensorList::own_storage(int64_t size, bool last) const {
  if (storage_ != nullptr && last && storage_.use_count() == 1) {
    const std::lock_guard lock(storage_->mutex);
    storage_->spread();
    storage_->elements.resize(static_cast<size_t>(std::min(size, size_)));
    storage_->elements.resize(static_cast<size_t>(size));
    return storage_;
  }
  auto own = std::make_shared<Storage>();
  own->elements.reserve(static_cast<size_t>(size));
  if (size_ > 0) {
    const std::lock_guard lock(storage_->mutex);
    storage_->spread();
    own->elements.assign(storage_->elements.begin(), storage_->elements.begin() + std::min(size, size_));
  }
  own->elements.resize(static_cast<size_t>(size));
  return own;
}

bool TensorList::changes_in_place(const Tensor& element, bool last) const {
  if (!last || storage_ == nullptr || storage_.use_count() != 1) return false;
  return element_dtype_ != kVariant ||
         std::ranges::none_of(element.data<Variant>(), [this](const Variant& v) { return v.value.get() == this; });
}

std::shared_ptr<TensorList::Storage> TensorList::pushed_storage(Tensor element, bool last) const {
  const bool in_place = changes_in_place(element, last);
  if (in_place || (storage_ != nullptr && element_dtype_ != kVariant)) {
    const std::lock_guard lock(storage_->mutex);
    storage_->spread();
    if (in_place) storage_->elements.resize(static_cast<size_t>(size_));
    if (static_cast<int64_t>(storage_->elements.size()) == size_) {
      storage_->elements.push_back(std::move(element));
      return storage_;
    }
  }
  std::shared_ptr<Storage> own = own_storage(size_, false);
  own->elements.push_back(std::move(element));
  return own;
}

TensorList TensorList::with_pushed(Tensor element, bool last) const {
  expect_element(element);
  return with_storage(pushed_storage(std::move(element), last), size_ + 1);
}

void TensorList::push(Tensor element) {
  expect_element(element);
  storage_ = pushed_storage(std::move(element), true);
  ++size_;
}

Tensor TensorList::pop() {
  const bool last = storage_.use_count() == 1;
  Tensor element;
  {
    const std::lock_guard lock(storage_->mutex);
    storage_->spread();
    Tensor& found = storage_->elements[static_cast<size_t>(size_ - 1)];
    if (last) {
      element = std::move(found);
      storage_->elements.resize(static_cast<size_t>(size_ - 1));
      // Long lists are consumed from their end: prefetch the next element.
      if (size_ > 1) __builtin_prefetch(storage_->elements.back().impl());
    } else {
      element = found;
    }
  }
  if (--size_ == 0) storage_ = nullptr;
  return element;
}

TensorList TensorList::with_element(int64_t i, Tensor element, bool last) const {
  expect_element(element);
  const int64_t size = std::max(size_, i + 1);
  std::shared_ptr<Storage> own = own_storage(size, changes_in_place(element, last));
  {
    const std::lock_guard lock(own->mutex);
    std::swap(own->elements[static_cast<size_t>(i)], element);
  }
  return with_storage(std::move(own), size);
}

TensorList TensorList::with_popped(bool last) const {
  if (last && storage_.use_count() == 1) return with_storage(own_storage(size_ - 1, last), size_ - 1);
  return without_last(1);
}

TensorList TensorList::with_size(int64_t size, bool last) const {
  if (size == 0) return with_storage(nullptr, 0);
  return with_storage(own_storage(size, last), size);
}

TensorList TensorList::with_elements(std::span<const Tensor> elements) const {
  for (const Tensor& element : elements) {
    if (element.defined()) expect_element(element);
  }
  auto own = std::make_shared<Storage>();
  own->elements.assign(elements.begin(), elements.end());
  return with_storage(std::move(own), static_cast<int64_t>(elements.size()));
}

TensorList TensorList::with_rows(Tensor rows, int64_t count) const {
  expect_list_dtype(element_dtype_, rows.dtype());
  expect_element_shape(element_shape_, Shape(rows.shape().dims().subspan(1)), "rows");
  auto own = std::make_shared<Storage>();
  own->rows = std::move(rows);
  own->count = count;
  return with_storage(std::move(own), count);
}

Tensor TensorList::rows() const {
  if (size_ == 0) return {};
  const std::lock_guard lock(storage_->mutex);
  return storage_->rows;
}

TensorList TensorList::without_last(int64_t count) const { return with_storage(storage_, size_ - count); }

Tensor list_tensor(TensorList list) {
  Tensor t = allocate_tensor(cpu_device(), kVariant, Shape{});
  mutable_data<Variant>(t)->value = std::make_shared<TensorList>(std::move(list));
  return t;
}

const TensorList& list_in(const Variant& variant) {
  const auto* list = dynamic_cast<const TensorList*>(variant.value.get());
  if (list == nullptr) {
    invalid("list: expected a variant that holds a TensorList, got {}",
            variant.value == nullptr ? "nothing" : variant.value->kind());
  }
  return *list;
}

const TensorList& list_of(const Tensor& handle) {
  if (handle.dtype() != kVariant || handle.is_meta() || handle.impl()->numel != 1) {
    invalid("list: expected a variant scalar, got {}{}", dtype_name(handle.dtype()),
            handle.partial_shape().to_string());
  }
  return list_in(*static_cast<const Variant*>(handle.impl()->data));
}

void expect_list_dtype(DType dtype, DType wanted) {
  if (dtype == wanted || dtype == DType::kInvalid) return;
  invalid("element_dtype: expected the list's {}, got {}", dtype_name(dtype), dtype_name(wanted));
}

void expect_element_shape(const PartialShape& shape, const PartialShape& wanted, std::string_view what) {
  if (shape.compatible_with(wanted)) return;
  invalid("{}: expected the list's element shape {}, got {}", what, shape.to_string(), wanted.to_string());
}

PartialShape merged_element_shape(const PartialShape& shape, const PartialShape& wanted) {
  expect_element_shape(shape, wanted, "element_shape");
  return shape.merged_with(wanted);
}

}  // namespace panto
