// Lists of tensors, held by variant scalars (lib/core/collections/tensor_list.h), and arithmetic on them.

#include "panto/lib/core/collections/tensor_list.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "panto/device/cpu/collections/stacked.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/shape_kernels.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/depth.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/collections/optional_value.h"
#include "panto/lib/core/collections/ragged_value.h"
#include "panto/lib/ops/lists/element_shape.h"

namespace panto {
namespace {

// Whether the list at input 0 has no other user after this call.
bool is_last_use(const KernelContext& c) { return c.may_take(0) && c.data<Variant>(0)->value.use_count() == 1; }

// Returns the list at input 0 for changes in place, with its memory as output 0; null if the list has other users.
// Lists of lists are never changed in place: one could become its own element.
TensorList* list_to_change(KernelContext& c, const TensorList& list) {
  if (list.element_dtype() == kVariant || !is_last_use(c)) return nullptr;
  c.set_out(0, view_tensor(c.in(0), c.shape(0)));
  return const_cast<TensorList*>(&list);  // NOLINT(*-const-cast): nobody else has it
}

const TensorList& list_of_type(const KernelContext& c) {
  const TensorList& list = list_of(c.in(0));
  expect_list_dtype(list.element_dtype(), c.type("element_dtype"));
  return list;
}

// The common shape of all elements, as far as the list, input `spelled` and the elements tell it.
PartialShape common_shape(const TensorList& list, std::span<const Tensor> elements, const Tensor& spelled) {
  PartialShape shape = merged_element_shape(list.element_shape(), spelled_element_shape(spelled));
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!elements[i].defined()) continue;
    if (!shape.compatible_with(elements[i].shape())) {
      invalid("element {}: expected shape {}, got {}", i, shape.to_string(), elements[i].shape().to_string());
    }
    shape = elements[i].shape();
  }
  return shape;
}

Shape known_shape(const PartialShape& shape) {
  if (!shape.fully_known()) {
    invalid("element_shape: expected every dimension, as no element was set, got {}", shape.to_string());
  }
  return Shape(shape);
}

// Returns `found`, element i of the list, as an output with a separate handle. An undefined element becomes zeros.
Tensor as_output(const TensorList& list, Tensor found, int64_t i, const Tensor& spelled) {
  if (found.defined()) {
    expect_element_shape(found.shape(), spelled_element_shape(spelled), "element_shape");
    if (!exclusively_owned(found)) return view_tensor(found, found.shape());
    // The element was taken out of the list, and nobody else has the handle: it only needs a new id.
    found.impl()->id = next_tensor_id();
    found.impl()->literal = false;
    return found;
  }
  expect_zeros(list.element_dtype(), i);
  PartialShape shape = merged_element_shape(list.element_shape(), spelled_element_shape(spelled));
  if (!shape.fully_known()) shape = common_shape(list, list.elements(), spelled);
  return zeros_of(list.element_dtype(), known_shape(shape));
}
Tensor element(const TensorList& list, int64_t i, const Tensor& spelled) {
  return as_output(list, list.at(i), i, spelled);
}

void run_empty(KernelContext& c) {
  const int64_t most = *c.data<int32_t>(1);
  c.set_out(0, list_tensor(TensorList(c.type("element_dtype"), spelled_element_shape(c.in(0)), most)));
}

void run_reserve(KernelContext& c) {
  const int64_t count = *c.data<int32_t>(1);
  if (count < 0) invalid("num_elements: expected at least 0, got {}", count);
  const TensorList empty(c.type("element_dtype"), spelled_element_shape(c.in(0)));
  c.set_out(0, list_tensor(empty.with_size(count, false)));
}

void run_push_back(KernelContext& c) {
  const TensorList& list = list_of_type(c);
  if (list.most() >= 0 && list.size() >= list.most()) {
    invalid("list: expected fewer than its max_num_elements {}, got {} elements", list.most(), list.size());
  }
  if (TensorList* own = list_to_change(c, list)) return own->push(c.in(1));
  c.set_out(0, list_tensor(list.with_pushed(c.in(1), is_last_use(c))));
}

void run_pop_back(KernelContext& c) {
  const TensorList& list = list_of_type(c);
  if (list.size() == 0) fail(Code::kInvalidArgument, "list: expected at least 1 element, got none");
  if (TensorList* own = list_to_change(c, list)) {
    Tensor last = own->pop();
    return c.set_out(1, as_output(list, std::move(last), list.size(), c.in(1)));
  }
  c.set_out(1, element(list, list.size() - 1, c.in(1)));
  c.set_out(0, list_tensor(list.with_popped(is_last_use(c))));
}

void run_length(KernelContext& c) {
  *c.out_data<int32_t>(0) = checked_cast<int32_t>(list_of(c.in(0)).size(), "number of elements");
}

void run_element_shape(KernelContext& c) {
  const PartialShape shape = list_of(c.in(0)).element_shape();
  const DType type = c.type("shape_type");
  for (const int64_t d : shape.dims()) {
    if (type == kInt32) checked_cast<int32_t>(d, "dimension");
  }
  const Shape result = shape.known_rank() ? Shape{shape.rank()} : Shape{};
  c.set_out(0, allocate_tensor(cpu_device(), type, result));
  if (!shape.known_rank()) return kernels::put_integer(c, 0, kUnknownDim);
  for (int i = 0; i < shape.rank(); ++i) kernels::put_integer(c, i, shape.dim(i));
}

void run_get_item(KernelContext& c) {
  const TensorList& list = list_of_type(c);
  const int64_t index = *c.data<int32_t>(1);
  if (index < 0 || index >= list.size()) invalid("index: expected one in [0, {}), got {}", list.size(), index);
  c.set_out(0, element(list, index, c.in(2)));
}

void run_set_item(KernelContext& c) {
  const TensorList& list = list_of_type(c);
  const int64_t index = *c.data<int32_t>(1);
  const bool grows = c.flag("resize_if_index_out_of_bounds") && index >= list.size();
  if (index < 0 || (index >= list.size() && !grows)) {
    invalid("index: expected one in [0, {}), got {}", list.size(), index);
  }
  c.set_out(0, list_tensor(list.with_element(index, c.in(2), is_last_use(c))));
}

void run_resize(KernelContext& c) {
  const int64_t size = *c.data<int32_t>(1);
  if (size < 0) invalid("size: expected at least 0, got {}", size);
  c.set_out(0, list_tensor(list_of(c.in(0)).with_size(size, is_last_use(c))));
}

void run_stack(KernelContext& c) {
  const TensorList& list = list_of_type(c);
  const int64_t wanted = c.integer("num_elements");
  if (wanted >= 0 && wanted != list.size()) {
    invalid("num_elements: expected the list's {}, got {}", list.size(), wanted);
  }
  if (const Tensor rows = list.rows(); rows.defined()) {  // the list is stored as stacked rows already
    SmallVector<int64_t, 8> dims(rows.shape().dims().begin(), rows.shape().dims().end());
    const Shape one(std::span<const int64_t>(dims.data() + 1, dims.size() - 1));
    expect_element_shape(one, spelled_element_shape(c.in(1)), "element_shape");
    dims[0] = list.size();
    return c.set_out(0, view_tensor(rows, Shape(std::span<const int64_t>(dims.data(), dims.size()))));
  }
  const std::vector<Tensor> elements = list.elements();
  c.set_out(0, stacked(elements, list.element_dtype(), known_shape(common_shape(list, elements, c.in(1)))));
}

void run_from_tensor(KernelContext& c) {
  const Tensor& tensor = c.in(0);
  const Shape& shape = c.shape(0);
  const Shape rows(shape.dims().subspan(1));
  const PartialShape declared = spelled_element_shape(c.in(1));
  expect_element_shape(declared, rows, "tensor");
  if (is_plain(tensor.dtype()) && tensor.device().kind() == DeviceKind::kCpu && shape.dim(0) > 0) {
    const TensorList empty(tensor.dtype(), declared);
    return c.set_out(0, list_tensor(empty.with_rows(view_tensor(tensor, shape), shape.dim(0))));
  }
  const int64_t size = rows.numel();
  std::vector<Tensor> elements;
  elements.reserve(static_cast<size_t>(shape.dim(0)));
  for (int64_t i = 0; i < shape.dim(0); ++i) elements.push_back(view_tensor(tensor, rows, i * size));
  c.set_out(0, list_tensor(TensorList(tensor.dtype(), declared).with_elements(elements)));
}

const CpuKernel empty_kernel("EmptyTensorList", dtypes::kIndex, run_empty);
const CpuKernel reserve_kernel("TensorListReserve", dtypes::kIndex, run_reserve);
const CpuKernel push_back_kernel("TensorListPushBack", dtypes::kAny, run_push_back);
const CpuKernel pop_back_kernel("TensorListPopBack", dtypes::kAny, run_pop_back);
const CpuKernel length_kernel("TensorListLength", run_length);
const CpuKernel element_shape_kernel("TensorListElementShape", dtypes::kIndex, run_element_shape);
const CpuKernel get_item_kernel("TensorListGetItem", dtypes::kAny, run_get_item);
const CpuKernel set_item_kernel("TensorListSetItem", dtypes::kAny, run_set_item);
const CpuKernel resize_kernel("TensorListResize", run_resize);
const CpuKernel stack_kernel("TensorListStack", dtypes::kAny, run_stack);
const CpuKernel from_tensor_kernel("TensorListFromTensor", dtypes::kAny, run_from_tensor);

// ---- Arithmetic ----------------------------------------------------------------------------------------------------

// Limits the depth of nested lists and optionals that this thread computes with, since each level is a recursive call.
class Nesting : DepthScope {
 public:
  Nesting() : DepthScope(depth(), 1000, "sums and zeros of lists") {}

 private:
  static int& depth() noexcept {
    thread_local constinit int depth = 0;
    return depth;
  }
};

TensorList sum_of_lists(const KernelContext& c, const std::vector<const TensorList*>& lists) {
  const TensorList& first = *lists[0];
  PartialShape shape = first.element_shape();
  std::vector<std::vector<Tensor>> elements;
  for (const TensorList* list : lists) {
    if (list->element_dtype() != first.element_dtype()) {
      invalid("lists: expected one element_dtype, got {} and {}", dtype_name(first.element_dtype()),
              dtype_name(list->element_dtype()));
    }
    if (list->size() != first.size()) invalid("lists: expected one length, got {} and {}", first.size(), list->size());
    shape = merged_element_shape(shape, list->element_shape());
    elements.push_back(list->elements());
  }
  std::vector<Tensor> sums(static_cast<size_t>(first.size()));
  std::vector<const Tensor*> terms;
  for (size_t i = 0; i < sums.size(); ++i) {
    terms.clear();
    for (const std::vector<Tensor>& e : elements) {
      if (e[i].defined()) terms.push_back(&e[i]);
    }
    if (!terms.empty()) sums[i] = terms.size() == 1 ? *terms[0] : sum_of(c, terms);
  }
  return TensorList(first.element_dtype(), shape, first.most()).with_elements(sums);
}

const OptionalValue* optional_in(const Variant& variant) {
  return dynamic_cast<const OptionalValue*>(variant.value.get());
}

bool is_ragged(const Variant& variant) { return dynamic_cast<const RaggedValue*>(variant.value.get()) != nullptr; }

OptionalValue sum_of_optionals(const KernelContext& c, const std::vector<const OptionalValue*>& terms) {
  const OptionalValue& first = *terms[0];
  for (const OptionalValue* term : terms) {
    if (term->has_value() != first.has_value() || term->components().size() != first.components().size()) {
      fail(Code::kInvalidArgument, "optionals: expected all with as many components, or all without, got others");
    }
  }
  if (!first.has_value()) return first;
  std::vector<Tensor> sums;
  for (size_t i = 0; i < first.components().size(); ++i) {
    std::vector<const Tensor*> parts;
    for (const OptionalValue* term : terms) parts.push_back(&term->components()[i]);
    // These types have no gradients, and sums of variants are sums of gradients: any of the terms will do.
    const DType type = parts[0]->dtype();
    sums.push_back(type == kBool || type == kString || type == kResource ? *parts[0] : sum_of(c, parts));
  }
  return OptionalValue(std::move(sums));
}

RaggedValue sum_of_ragged(const KernelContext& c, const std::vector<const RaggedValue*>& terms) {
  const RaggedValue& first = *terms[0];
  std::vector<const Tensor*> values;
  for (const RaggedValue* term : terms) {
    const bool alike = std::ranges::equal(term->row_splits(), first.row_splits(), [](const Tensor& a, const Tensor& b) {
      return a.dtype() == b.dtype() && a.numel() == b.numel() &&
             std::memcmp(a.impl()->data, b.impl()->data, a.nbytes()) == 0;
    });
    if (!alike) fail(Code::kInvalidArgument, "ragged tensors: expected all with the same row_splits, got others");
    values.push_back(&term->values());
  }
  return {first.row_splits(), sum_of(c, values)};
}

// Undefined terms (from FakeParam) have no value, so the caller leaves them out; returns null if there are no terms.
std::shared_ptr<VariantValue> sum_of_variants(const KernelContext& c, const std::vector<const Variant*>& terms) {
  if (terms.empty()) return nullptr;
  const Nesting deeper;
  if (is_ragged(*terms[0])) {
    std::vector<const RaggedValue*> ragged;
    for (const Variant* term : terms) ragged.push_back(&ragged_of(*term, 0));
    return std::make_shared<RaggedValue>(sum_of_ragged(c, ragged));
  }
  if (optional_in(*terms[0]) == nullptr) {
    std::vector<const TensorList*> lists;
    for (const Variant* term : terms) lists.push_back(&list_in(*term));
    return std::make_shared<TensorList>(sum_of_lists(c, lists));
  }
  std::vector<const OptionalValue*> optionals;
  for (const Variant* term : terms) {
    if (optional_in(*term) == nullptr) fail(Code::kInvalidArgument, "variants: expected optionals, got another");
    optionals.push_back(optional_in(*term));
  }
  return std::make_shared<OptionalValue>(sum_of_optionals(c, optionals));
}

void run_add_n(KernelContext& c) {
  for (int64_t i = 0; i < c.out_numel(0); ++i) {
    std::vector<const Variant*> terms;
    for (int k = 0; k < c.num_inputs(); ++k) {
      if (c.data<Variant>(k)[i].value != nullptr) terms.push_back(&c.data<Variant>(k)[i]);
    }
    c.out_data<Variant>(0)[i].value = sum_of_variants(c, terms);
  }
}

std::shared_ptr<VariantValue> zeros_like_variant(const Variant& variant);

// Returns a tensor of the same shape with zero elements. `i`: its position in a list, for error messages.
Tensor zeros_like_element(const Tensor& t, int64_t i) {
  if (t.dtype() != kVariant) {
    expect_zeros(t.dtype(), i);
    return zeros_of(t.dtype(), t.shape());
  }
  const Tensor zeros = allocate_tensor(cpu_device(), kVariant, t.shape());
  for (int64_t k = 0; k < zeros.numel(); ++k) {
    mutable_data<Variant>(zeros)[k].value = zeros_like_variant(t.data<Variant>()[static_cast<size_t>(k)]);
  }
  return zeros;
}

TensorList zeros_like_list(const TensorList& list) {
  std::vector<Tensor> elements = list.elements();
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].defined()) elements[i] = zeros_like_element(elements[i], static_cast<int64_t>(i));
  }
  return list.with_elements(elements);
}

std::shared_ptr<VariantValue> zeros_like_variant(const Variant& variant) {
  if (variant.value == nullptr) return nullptr;
  const Nesting deeper;
  if (is_ragged(variant)) {
    const RaggedValue& ragged = ragged_of(variant, 0);
    return std::make_shared<RaggedValue>(ragged.row_splits(), zeros_like_element(ragged.values(), 0));
  }
  const OptionalValue* optional = optional_in(variant);
  if (optional == nullptr) return std::make_shared<TensorList>(zeros_like_list(list_in(variant)));
  if (!optional->has_value()) return std::make_shared<OptionalValue>();
  std::vector<Tensor> components;
  for (const Tensor& t : optional->components()) components.push_back(zeros_like_element(t, 0));
  return std::make_shared<OptionalValue>(std::move(components));
}

void run_zeros_like(KernelContext& c) {
  for (int64_t i = 0; i < c.out_numel(0); ++i) {
    c.out_data<Variant>(0)[i].value = zeros_like_variant(c.data<Variant>(0)[i]);
  }
}

const CpuKernel add_n_kernel("AddN", DTypeSet{kVariant}, run_add_n);
const CpuKernel zeros_like_kernel("ZerosLike", DTypeSet{kVariant}, run_zeros_like);

}  // namespace
}  // namespace panto
