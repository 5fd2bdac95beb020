// TensorArrays and stacks, which are changed in place. The handle owns the resource: each run of the op that creates
// one creates another.

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/device/cpu/collections/stacked.h"
#include "panto/device/cpu/collections/storage.h"
#include "panto/device/cpu/kernel.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/resource.h"

namespace panto {
namespace {

// More elements than any program needs. Without this limit a few bytes of a graph file could request them.
constexpr int64_t kMostElements = int64_t{1} << 24;

template <class Held>
std::shared_ptr<Held> held_by(const Tensor& handle, std::string_view kind) {
  const ResourceHandle& resource = *static_cast<const ResourceHandle*>(handle.impl()->data);
  if (handle.impl()->numel != 1 || resource == nullptr) {
    invalid("handle: expected one of a {}, got none in shape {}", kind, handle.shape().to_string());
  }
  auto held = std::dynamic_pointer_cast<Held>(resource);
  if (held == nullptr) {
    invalid("handle: expected one of a {}, got one of a {} named \"{}\"", kind, resource->kind(), resource->name());
  }
  return held;
}

// ---- Arrays --------------------------------------------------------------------------------------------------------

class TensorArray final : public Resource {
 public:
  struct Form {
    DType dtype = DType::kInvalid;
    PartialShape element_shape = {};
    bool grows = false;
    bool read_once = false;
    bool one_shape = false;  // the first element that is written sets the shape
    bool adds = false;       // for gradients: written values are added to the old ones
  };

  TensorArray(std::string name, Form form, int64_t size)
      : Resource("", std::move(name)), form_(std::move(form)), elements_(static_cast<size_t>(size)) {}
  std::string_view kind() const noexcept override { return "TensorArray"; }

  int64_t size() const {
    const std::lock_guard lock(mutex_);
    expect_open();
    return static_cast<int64_t>(elements_.size());
  }

  void write(const KernelContext& c, int64_t index, const Tensor& value) {
    const std::lock_guard lock(mutex_);
    expect_open();
    expect_dtype(value.dtype());
    if (index < 0 || (index >= count() && !form_.grows)) {
      invalid("index: expected one in [0, {}), got {}", count(), index);
    }
    if (index >= kMostElements) {
      failf(Code::kResourceExhausted, "index: expected less than {}, got {}", kMostElements, index);
    }
    if (!form_.element_shape.compatible_with(value.shape())) {
      invalid("value: expected the array's element shape {}, got {}", form_.element_shape.to_string(),
              value.shape().to_string());
    }
    if (index >= count()) elements_.resize(static_cast<size_t>(index) + 1);
    Element& e = elements_[static_cast<size_t>(index)];
    if (e.was_read) invalid("element {}: expected one that was not read yet, got one that was", index);
    if (e.value.defined() && !form_.adds) {
      invalid("element {}: expected one that was not written yet, got one that was", index);
    }
    const Tensor* terms[] = {&e.value, &value};
    e.value = e.value.defined() ? sum_of(c, terms) : value;
    e.shape = value.shape();
    if (form_.one_shape) form_.element_shape = value.shape();
  }

  // Returns a separate handle to the element.
  Tensor read(int64_t index) {
    const std::lock_guard lock(mutex_);
    return take(index);
  }

  std::vector<Tensor> read_all(std::span<const int32_t> indices) {
    const std::lock_guard lock(mutex_);
    expect_open();
    std::vector<Tensor> all;
    for (const int32_t i : indices) all.push_back(take(i));
    return all;
  }
  std::vector<Tensor> read_all() {
    const std::lock_guard lock(mutex_);
    expect_open();
    std::vector<Tensor> all;
    for (int64_t i = 0; i < count(); ++i) all.push_back(take(i));
    return all;
  }

  // The element shape, merged with `given`, as far as it is known.
  PartialShape element_shape(const PartialShape& given) const {
    const std::lock_guard lock(mutex_);
    if (!form_.element_shape.compatible_with(given)) {
      invalid("element_shape: expected the array's {}, got {}", form_.element_shape.to_string(), given.to_string());
    }
    return form_.element_shape.merged_with(given);
  }

  void expect_dtype(DType wanted) const {
    if (wanted == form_.dtype) return;
    invalid("dtype: expected the array's {}, got {}", dtype_name(form_.dtype), dtype_name(wanted));
  }

  // Returns the gradient array for `source`. `before`: dimensions that its elements have before those of this array's
  // elements.
  std::shared_ptr<TensorArray> gradient(const std::string& source, std::span<const int32_t> before = {}) {
    const std::lock_guard lock(mutex_);
    expect_open();
    form_.grows = false;
    std::shared_ptr<TensorArray>& found = gradients_[source];
    if (found != nullptr) return found;
    Form form = form_;
    form.adds = true;
    form.read_once = form.one_shape = false;
    form.element_shape = behind(before, form.element_shape);
    found = std::make_shared<TensorArray>(name() + "@" + source, std::move(form), count());
    for (size_t i = 0; i < elements_.size(); ++i) {
      found->elements_[i].shape = behind(before, elements_[i].shape);
    }
    return found;
  }

  void close() {
    std::vector<Element> dropped;
    std::map<std::string, std::shared_ptr<TensorArray>> gradients;
    const std::lock_guard lock(mutex_);
    dropped.swap(elements_);
    gradients.swap(gradients_);
    closed_ = true;
  }

 private:
  struct Element {
    Tensor value = {};
    PartialShape shape = {};  // of the value written here or, for gradients, to the original array
    bool was_read = false;
  };

  static PartialShape behind(std::span<const int32_t> before, const PartialShape& shape) {
    if (before.empty() || !shape.known_rank()) return shape;
    std::vector<int64_t> dims(before.begin(), before.end());
    dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
    return PartialShape(dims);
  }
  int64_t count() const { return static_cast<int64_t>(elements_.size()); }
  void expect_open() const {
    if (closed_) fail(Code::kInvalidArgument, "array: expected an open one, got one that was closed");
  }

  Tensor take(int64_t index) {
    expect_open();
    if (index < 0 || index >= count()) invalid("index: expected one in [0, {}), got {}", count(), index);
    Element& e = elements_[static_cast<size_t>(index)];
    if (e.was_read && !e.value.defined()) {
      invalid("element {}: expected one that is read once, as clear_after_read says, got a second read", index);
    }
    Tensor value;
    if (e.value.defined()) {
      value = view_tensor(e.value, e.value.shape());
    } else {
      const PartialShape& shape = e.shape.fully_known() ? e.shape : form_.element_shape;
      expect_zeros(form_.dtype, index);
      if (!shape.fully_known()) {
        invalid("element {}: expected one that was written, as the array does not know its shape {}, got none", index,
                shape.to_string());
      }
      value = zeros_of(form_.dtype, Shape(shape));
    }
    if (form_.read_once) {
      e.value = Tensor();
      e.was_read = true;
    }
    return value;
  }

  mutable std::mutex mutex_;
  Form form_;
  bool closed_ = false;
  std::vector<Element> elements_;
  std::map<std::string, std::shared_ptr<TensorArray>> gradients_;  // by source
};

std::shared_ptr<TensorArray> array_of(const KernelContext& c) { return held_by<TensorArray>(c.in(0), "TensorArray"); }

Tensor flow(float value) {
  const Tensor t = allocate_tensor(cpu_device(), kFloat32, Shape{});
  *mutable_data<float>(t) = value;
  return t;
}

void run_array(KernelContext& c) {
  const int64_t size = *c.data<int32_t>(0);
  if (size < 0) invalid("size: expected at least 0, got {}", size);
  if (size > kMostElements) failf(Code::kResourceExhausted, "size: expected at most {}, got {}", kMostElements, size);
  TensorArray::Form form;
  form.dtype = c.type("dtype");
  form.element_shape = c.shape_attr("element_shape");
  form.grows = c.flag("dynamic_size");
  form.read_once = c.flag("clear_after_read");
  form.one_shape = c.flag("identical_element_shapes");
  c.set_out(0, resource_tensor(std::make_shared<TensorArray>(std::string(c.text("tensor_array_name")), form, size)));
  c.set_out(1, flow(0));
}

void run_array_grad(KernelContext& c) {
  c.set_out(0, resource_tensor(array_of(c)->gradient(std::string(c.text("source")))));
  c.set_out(1, flow(*c.data<float>(1)));
}

void run_array_grad_with_shape(KernelContext& c) {
  const std::span before(c.data<int32_t>(2), static_cast<size_t>(c.numel(2)));
  for (const int32_t d : before) {
    if (d < 0) invalid("shape_to_prepend: expected dimensions of at least 0, got {}", d);
  }
  c.set_out(0, resource_tensor(array_of(c)->gradient(std::string(c.text("source")), before)));
  c.set_out(1, flow(*c.data<float>(1)));
}

void run_write(KernelContext& c) {
  array_of(c)->write(c, *c.data<int32_t>(1), c.in(2));
  *c.out_data<float>(0) = *c.data<float>(3);
}

void run_read(KernelContext& c) {
  const std::shared_ptr<TensorArray> array = array_of(c);
  array->expect_dtype(c.type("dtype"));
  c.set_out(0, array->read(*c.data<int32_t>(1)));
}

void run_gather(KernelContext& c) {
  const std::shared_ptr<TensorArray> array = array_of(c);
  array->expect_dtype(c.type("dtype"));
  PartialShape shape = array->element_shape(c.shape_attr("element_shape"));
  const std::vector<Tensor> elements = array->read_all({c.data<int32_t>(1), static_cast<size_t>(c.numel(1))});
  for (const Tensor& e : elements) {
    if (!shape.compatible_with(e.shape())) {
      invalid("elements: expected shape {}, got {}", shape.to_string(), e.shape().to_string());
    }
    shape = e.shape();
  }
  if (!shape.fully_known()) {
    invalid("element_shape: expected every dimension, as there are no elements, got {}", shape.to_string());
  }
  c.set_out(0, stacked(elements, c.type("dtype"), Shape(shape)));
}

void run_scatter(KernelContext& c) {
  const std::shared_ptr<TensorArray> array = array_of(c);
  const Shape rows(c.shape(2).dims().subspan(1));
  if (c.numel(1) != c.shape(2).dim(0)) {
    invalid("indices: expected {} for as many slices, got {}", c.shape(2).dim(0), c.numel(1));
  }
  for (int64_t i = 0; i < c.numel(1); ++i) {
    array->write(c, c.data<int32_t>(1)[i], view_tensor(c.in(2), rows, i * rows.numel()));
  }
  *c.out_data<float>(0) = *c.data<float>(3);
}

void run_concat(KernelContext& c) {
  const std::shared_ptr<TensorArray> array = array_of(c);
  const DType dtype = c.type("dtype");
  array->expect_dtype(dtype);
  const std::vector<Tensor> elements = array->read_all();
  PartialShape rows = c.shape_attr("element_shape_except0");
  int64_t total = 0;
  const Tensor lengths = allocate_tensor(cpu_device(), kInt64, Shape{elements.size()});
  for (size_t i = 0; i < elements.size(); ++i) {
    const Shape& shape = elements[i].shape();
    if (shape.rank() < 1) invalid("element {}: expected a rank of at least 1, got shape []", i);
    const Shape own(shape.dims().subspan(1));
    if (!rows.compatible_with(own)) {
      invalid("element {}: expected shape {} behind the first dimension, got {}", i, rows.to_string(), own.to_string());
    }
    rows = own;
    mutable_data<int64_t>(lengths)[i] = shape.dim(0);
    total = checked_add(total, shape.dim(0));
  }
  if (!rows.fully_known()) {
    invalid("element_shape_except0: expected every dimension, as there are no elements, got {}", rows.to_string());
  }
  std::vector<int64_t> dims = {total};
  dims.insert(dims.end(), rows.dims().begin(), rows.dims().end());
  const Tensor all = allocate_tensor(cpu_device(), dtype, Shape(dims));
  with_storage(dtype, [&]<class T>(T) {
    T* to = mutable_data<T>(all);
    for (const Tensor& e : elements) to = std::copy_n(static_cast<const T*>(e.impl()->data), e.impl()->numel, to);
  });
  c.set_out(0, all);
  c.set_out(1, lengths);
}

void run_split(KernelContext& c) {
  const std::shared_ptr<TensorArray> array = array_of(c);
  const Tensor& value = c.in(1);
  const std::span lengths(c.data<int64_t>(2), static_cast<size_t>(c.numel(2)));
  const Shape rows(value.shape().dims().subspan(1));
  int64_t total = 0;
  for (const int64_t n : lengths) {
    if (n < 0) invalid("lengths: expected at least 0, got {}", n);
    total = checked_add(total, n);
  }
  if (total != value.dim(0)) invalid("lengths: expected {} in all, got {}", value.dim(0), total);
  int64_t begin = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    std::vector<int64_t> dims = {lengths[i]};
    dims.insert(dims.end(), rows.dims().begin(), rows.dims().end());
    array->write(c, static_cast<int64_t>(i), view_tensor(value, Shape(dims), begin * rows.numel()));
    begin += lengths[i];
  }
  *c.out_data<float>(0) = *c.data<float>(3);
}

void run_array_size(KernelContext& c) { *c.out_data<int32_t>(0) = checked_cast<int32_t>(array_of(c)->size()); }
void run_array_close(KernelContext& c) { array_of(c)->close(); }

const CpuKernel array_kernel("TensorArrayV3", run_array);
const CpuKernel array_grad_kernel("TensorArrayGradV3", run_array_grad);
const CpuKernel array_grad_with_shape_kernel("TensorArrayGradWithShape", run_array_grad_with_shape);
const CpuKernel write_kernel("TensorArrayWriteV3", dtypes::kAny, run_write);
const CpuKernel read_kernel("TensorArrayReadV3", dtypes::kAny, run_read);
const CpuKernel gather_kernel("TensorArrayGatherV3", dtypes::kAny, run_gather);
const CpuKernel scatter_kernel("TensorArrayScatterV3", dtypes::kAny, run_scatter);
const CpuKernel concat_kernel("TensorArrayConcatV3", dtypes::kAny, run_concat);
const CpuKernel split_kernel("TensorArraySplitV3", dtypes::kAny, run_split);
const CpuKernel array_size_kernel("TensorArraySizeV3", run_array_size);
const CpuKernel array_close_kernel("TensorArrayCloseV3", run_array_close);

// ---- Stacks --------------------------------------------------------------------------------------------------------

class Stack final : public Resource {
 public:
  Stack(std::string name, DType dtype, int64_t most) : Resource("", std::move(name)), dtype_(dtype), most_(most) {}
  std::string_view kind() const noexcept override { return "Stack"; }

  void push(const Tensor& element) {
    const std::lock_guard lock(mutex_);
    expect(element.dtype());
    if (most_ >= 0 && static_cast<int64_t>(elements_.size()) >= most_) {
      invalid("stack: expected fewer than its max_size {}, got {} elements", most_, elements_.size());
    }
    elements_.push_back(element);
  }
  Tensor pop(DType dtype) {
    const std::lock_guard lock(mutex_);
    expect(dtype);
    if (elements_.empty()) fail(Code::kInvalidArgument, "stack: expected at least 1 element, got none");
    Tensor top = std::move(elements_.back());
    elements_.pop_back();
    return top;
  }
  void close() {
    std::vector<Tensor> dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(elements_);
    closed_ = true;
  }

 private:
  void expect(DType dtype) const {
    if (closed_) fail(Code::kInvalidArgument, "stack: expected an open one, got one that was closed");
    if (dtype != dtype_) invalid("element: expected the stack's {}, got {}", dtype_name(dtype_), dtype_name(dtype));
  }

  std::mutex mutex_;
  DType dtype_;
  int64_t most_;
  bool closed_ = false;
  std::vector<Tensor> elements_;
};

std::shared_ptr<Stack> stack_of(const KernelContext& c) { return held_by<Stack>(c.in(0), "Stack"); }

void run_stack(KernelContext& c) {
  c.set_out(0, resource_tensor(std::make_shared<Stack>(std::string(c.text("stack_name")), c.type("elem_type"),
                                                       *c.data<int32_t>(0))));
}
void run_push(KernelContext& c) {
  stack_of(c)->push(c.in(1));
  c.set_out(0, view_tensor(c.in(1), c.shape(1)));
}
void run_pop(KernelContext& c) {
  const Tensor top = stack_of(c)->pop(c.type("elem_type"));
  c.set_out(0, view_tensor(top, top.shape()));
}
void run_stack_close(KernelContext& c) { stack_of(c)->close(); }

const CpuKernel stack_kernel("StackV2", run_stack);
const CpuKernel push_kernel("StackPushV2", dtypes::kAny, run_push);
const CpuKernel pop_kernel("StackPopV2", dtypes::kAny, run_pop);
const CpuKernel stack_close_kernel("StackCloseV2", run_stack_close);

}  // namespace
}  // namespace panto
