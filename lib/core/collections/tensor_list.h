// TensorList: the value in a variant tensor that the ops TensorList... make and read.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/collections/variant.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// A list of tensors of one type, whose shapes fit the list's element shape. Operations return a new list, which shares
// the elements' memory with the old one. Only the sole owner of a list may change it in place.
//
// `last`: the old list will not be read again. Then the new list takes over its memory, and every change takes constant
// time. Without `last`, a push still takes constant time on average, unless another element was pushed onto the same
// list before, or the elements are lists. A pop takes constant time too, but keeps the element in memory. Other changes
// copy the list, but not the elements.
//
// Elements that were made as rows of one tensor stay rows of that tensor until the list is changed.
// Thread-safety: a value; lists that share memory may be used from several threads at once.
class PANTO_EXPORT TensorList final : public VariantValue {
 public:
  // An empty list. `most`: its maximal number of elements; negative: unlimited.
  TensorList(DType element_dtype, PartialShape element_shape, int64_t most = -1);
  ~TensorList() override;
  TensorList(const TensorList&);
  TensorList(TensorList&&) noexcept;
  TensorList& operator=(const TensorList&) = delete;
  TensorList& operator=(TensorList&&) = delete;

  std::string_view kind() const noexcept override { return "TensorList"; }
  std::string to_string() const override;

  DType element_dtype() const noexcept { return element_dtype_; }
  const PartialShape& element_shape() const noexcept { return element_shape_; }
  int64_t size() const noexcept { return size_; }
  int64_t most() const noexcept { return most_; }
  // Element i, in [0, size()); undefined if it was never set: such an element stands for zeros.
  Tensor at(int64_t i) const;
  std::vector<Tensor> elements() const;

  // Throw InvalidArgument for a tensor of another type, or of a shape that does not fit.
  TensorList with_pushed(Tensor element, bool last) const;
  // If i >= size(), the list grows to i + 1 elements, and the added ones before i are not set.
  TensorList with_element(int64_t i, Tensor element, bool last) const;
  // The list without its last element. Precondition: it is not empty.
  TensorList with_popped(bool last) const;
  // Change this list in place, for its only owner: only the element's memory is needed. `pop` returns the element;
  // undefined if it was never set.
  void push(Tensor element);
  Tensor pop();
  // A list of another size: elements at the end are dropped, or unset ones are added.
  TensorList with_size(int64_t size, bool last) const;
  // A list with these elements, of the same type, element shape and limit.
  TensorList with_elements(std::span<const Tensor> elements) const;
  // The same with the first `count` rows of a tensor of plain elements. Nothing may write to `rows` any more.
  TensorList with_rows(Tensor rows, int64_t count) const;
  // The tensor whose first size() rows are the elements, if they are stored so; otherwise undefined.
  Tensor rows() const;
  // The list without its last `count` elements. Precondition: size() >= count.
  TensorList without_last(int64_t count) const;

 private:
  struct Storage;
  // Storage with the first `size` elements, which no other list sees.
  std::shared_ptr<Storage> own_storage(int64_t size, bool last) const;
  // Storage whose first size() + 1 elements are this list's elements and `element`.
  std::shared_ptr<Storage> pushed_storage(Tensor element, bool last) const;
  TensorList with_storage(std::shared_ptr<Storage> storage, int64_t size) const;
  // True if a change that adds `element` may be made in the list's own memory. A list that contained itself would never
  // be freed.
  bool changes_in_place(const Tensor& element, bool last) const;
  // Throws InvalidArgument for an element that does not fit.
  void expect_element(const Tensor& element) const;

  DType element_dtype_;
  PartialShape element_shape_;
  int64_t most_;
  int64_t size_ = 0;
  std::shared_ptr<Storage> storage_;  // null: empty. It may have more elements, which belong to other lists
};

// A scalar variant tensor that holds the list.
PANTO_EXPORT Tensor list_tensor(TensorList list);
// The list that a scalar variant tensor, or an element of one, holds. Throws InvalidArgument for anything else.
PANTO_EXPORT const TensorList& list_of(const Tensor& handle);
PANTO_EXPORT const TensorList& list_in(const Variant& variant);

// Throw InvalidArgument if the dtype or element shape that an op expects does not fit a list of type `dtype` and
// element shape `shape`, as far as that is known.
PANTO_EXPORT void expect_list_dtype(DType dtype, DType wanted);
PANTO_EXPORT void expect_element_shape(const PartialShape& shape, const PartialShape& wanted, std::string_view what);
// Merges what both shapes tell.
PANTO_EXPORT PartialShape merged_element_shape(const PartialShape& shape, const PartialShape& wanted);

}  // namespace panto
