// TensorList: what a variant tensor holds that the ops TensorList... make and read.
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

// A list of tensors of one type, whose shapes fit the list's element shape. What changes a list gives a new one, which
// shares the elements' memory with the old one; only who alone holds a list may change it itself.
//
// `last`: nobody reads this list any more. Then the new one takes its memory over, and every change takes constant
// time. Without it a push still does, on average, unless something else was pushed onto this list before, or the
// elements are lists; a pop does, too, but keeps the element in memory. Other changes copy the list, not the elements.
//
// Elements that somebody made side by side in one tensor stay there, as its rows, until somebody changes the list.
// Thread-safety: a value; lists that share memory may be used from several threads at once.
class PANTO_EXPORT TensorList final : public VariantValue {
 public:
  // An empty one. `most`: of elements; below 0: any number.
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
  // Element i, in [0, size()); undefined where none was set: such an element stands for zeros.
  Tensor at(int64_t i) const;
  std::vector<Tensor> elements() const;

  // Throw InvalidArgument for a tensor of another type, or of a shape that does not fit.
  TensorList with_pushed(Tensor element, bool last) const;
  // With i >= size(): a list that is longer by what it takes, of which the elements before are not set.
  TensorList with_element(int64_t i, Tensor element, bool last) const;
  // The same list without its last element. Precondition: it has one.
  TensorList with_popped(bool last) const;
  // The same in this list itself, for its only holder: no memory is needed but the element's. `pop` gives the element;
  // undefined where none was set.
  void push(Tensor element);
  Tensor pop();
  // Of another size: elements are left out at the end, or those added there are not set.
  TensorList with_size(int64_t size, bool last) const;
  // Of the same type, element shape and limit, with these elements.
  TensorList with_elements(std::span<const Tensor> elements) const;
  // The same with the first `count` rows of a tensor of plain elements, which nobody writes to any more.
  TensorList with_rows(Tensor rows, int64_t count) const;
  // The tensor whose first size() rows are the elements, where they lie so; undefined where they do not.
  Tensor rows() const;
  // The same list without its last `count` elements. Precondition: it has as many.
  TensorList without_last(int64_t count) const;

 private:
  struct Storage;
  // The storage of the first `size` elements, which nobody else sees.
  std::shared_ptr<Storage> own_storage(int64_t size, bool last) const;
  // Storage whose first size() + 1 elements are this list's and `element`.
  std::shared_ptr<Storage> pushed_storage(Tensor element, bool last) const;
  TensorList with_storage(std::shared_ptr<Storage> storage, int64_t size) const;
  // Whether a change that puts `element` in may be made in the list's own memory. A list that had itself in its memory
  // would never be freed.
  bool changes_in_place(const Tensor& element, bool last) const;
  // Throws InvalidArgument for an element that does not fit.
  void expect_element(const Tensor& element) const;

  DType element_dtype_;
  PartialShape element_shape_;
  int64_t most_;
  int64_t size_ = 0;
  std::shared_ptr<Storage> storage_;  // null: empty. It may have more elements, which are other lists'
};

// A scalar variant tensor that holds the list.
PANTO_EXPORT Tensor list_tensor(TensorList list);
// The list that a scalar variant tensor, or an element of one, holds. Throws InvalidArgument for anything else.
PANTO_EXPORT const TensorList& list_of(const Tensor& handle);
PANTO_EXPORT const TensorList& list_in(const Variant& variant);

// Of a list whose elements are `dtype` of shape `shape`, as far as that is known: what ops ask for must fit. Throw
// InvalidArgument.
PANTO_EXPORT void expect_list_dtype(DType dtype, DType wanted);
PANTO_EXPORT void expect_element_shape(const PartialShape& shape, const PartialShape& wanted, std::string_view what);
// What both say together.
PANTO_EXPORT PartialShape merged_element_shape(const PartialShape& shape, const PartialShape& wanted);

}  // namespace panto
