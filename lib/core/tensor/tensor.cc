#include "panto/lib/core/tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/call/thread_state.h"
#include "panto/lib/core/call/transform.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

std::string place(const std::source_location& where) {
  return fmt::format("at {}:{}", where.file_name(), where.line());
}

[[noreturn]] void fail_at(Code code, std::string text, const std::source_location& where) {
  Error error(code, std::move(text));
  error.add_context(place(where));
  throw error;
}

// Decision 6: reading a value never silently freezes it into a trace.
void check_readable(const TensorImpl& impl, const std::source_location& where) {
  if (impl.device->is_meta()) {
    if (impl.meta->lifted != nullptr) {
      fail_at(Code::kFailedPrecondition,
              fmt::format("value: expected a tensor that has one, got {}{} inside {}: {}", dtype_name(impl.dtype),
                          impl.shape.to_string(), impl.meta->lifted->of->name(), impl.meta->lifted->of->why_no_value()),
              where);
    }
    fail_at(
        Code::kFailedPrecondition,
        fmt::format(
            "value: expected a tensor that has one, got symbolic {}{} (it gets values when the graph runs); to "
            "decide by a value inside a trace use cond, switch_case or while_loop, or select, of which both sides are "
            "computed, or trace with real values (trace_with), which lists what it baked in",
            dtype_name(impl.dtype), impl.shape.to_string()),
        where);
  }
}

void tell_recorders_of_read(const Tensor& t, const std::source_location& where) {
  for_each_recorder([&](Recorder& r) { r.value_read(t, where); });
}

// ---- item ----------------------------------------------------------------------------------------------------------

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    // Both limits are exact in floating point: -2^n, and 2^n, which is the first number too large.
    constexpr auto low = static_cast<From>(std::numeric_limits<To>::min());
    constexpr To kHalf = std::numeric_limits<To>::max() / 2 + 1;
    constexpr From high = static_cast<From>(kHalf) * From{2};
    if (!(std::trunc(value) >= low && value < high)) {
      failf(Code::kOutOfRange, "item: expected a value that fits {}, got {}", dtype_name(dtype_of<To>), value);
    }
    return static_cast<To>(value);
  } else if constexpr (std::is_integral_v<To>) {
    if (!std::in_range<To>(value)) {
      failf(Code::kOutOfRange, "item: expected a value that fits {}, got {}", dtype_name(dtype_of<To>), value);
    }
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class To>
To number_at(DType dtype, const void* data) {
  const auto as = [data]<class T>(T*) { return *static_cast<const T*>(data); };
  switch (dtype) {
    case kFloat32: return convert<To>(as(static_cast<float*>(nullptr)));
    case kFloat64: return convert<To>(as(static_cast<double*>(nullptr)));
    case kFloat16: return convert<To>(static_cast<float>(as(static_cast<Half*>(nullptr))));
    case kBFloat16: return convert<To>(static_cast<float>(as(static_cast<BFloat16*>(nullptr))));
    case kInt8:
    case kQInt8: return convert<To>(as(static_cast<int8_t*>(nullptr)));
    case kInt16:
    case kQInt16: return convert<To>(as(static_cast<int16_t*>(nullptr)));
    case kInt32:
    case kQInt32: return convert<To>(as(static_cast<int32_t*>(nullptr)));
    case kInt64: return convert<To>(as(static_cast<int64_t*>(nullptr)));
    case kUint8:
    case kQUint8: return convert<To>(as(static_cast<uint8_t*>(nullptr)));
    case kUint16:
    case kQUint16: return convert<To>(as(static_cast<uint16_t*>(nullptr)));
    case kUint32: return convert<To>(as(static_cast<uint32_t*>(nullptr)));
    case kUint64: return convert<To>(as(static_cast<uint64_t*>(nullptr)));
    case kBool: return convert<To>(static_cast<uint8_t>(as(static_cast<bool*>(nullptr))));
    default: invalid("item: expected a real number's type, got {}", dtype_name(dtype));
  }
}

// ---- Making --------------------------------------------------------------------------------------------------------

// The device for tensors made from host values.
Device& maker_device() {
  const ThreadState& state = thread_state();
  const bool real = state.device != nullptr && symbolic_recorders() == 0 && !state.device->is_meta();
  return real ? *state.device : cpu_device();
}

template <class T>
Tensor scalar(T value) {
  return tensor_from_bytes(dtype_of<T>, Shape{}, &value, sizeof(T));
}

}  // namespace

// ---- Tensor --------------------------------------------------------------------------------------------------------

void Tensor::undefined() {
  fail(Code::kFailedPrecondition, "tensor: expected one with a value, got a default-constructed handle");
}

const Shape& Tensor::shape() const {
  const TensorImpl& impl = get();
  if (impl.numel < 0) {
    failf(Code::kFailedPrecondition,
          "shape: expected a known one, got {} of a symbolic tensor (partial_shape() tells what is known, the op "
          "shape(x) gives it when the graph runs)",
          impl.shape.to_string());
  }
  return impl.shape;
}

int64_t Tensor::known_dim(int i) const {
  const PartialShape& known = get().shape;
  if (!known.known_rank()) return shape()[i];
  const int64_t dim = known.dim(dimension_of(i, known.rank()));
  return dim == kUnknownDim ? shape()[i] : dim;
}

size_t Tensor::nbytes() const { return static_cast<size_t>(numel()) * dtype_size(dtype()); }

const void* Tensor::read_host(DType expected, std::source_location where) const {
  if (impl_ == nullptr) undefined();
  if (impl_->dtype != expected) {
    fail_at(Code::kInvalidArgument,
            fmt::format("element type: expected {}, got {}", dtype_name(impl_->dtype), dtype_name(expected)), where);
  }
  check_readable(*impl_, where);
  if (!impl_->device->host_memory()) {
    fail_at(
        Code::kFailedPrecondition,
        fmt::format("data: expected a tensor in host memory, got one on {} (call cpu() first)", impl_->device->name()),
        where);
  }
  tell_recorders_of_read(*this, where);
  return impl_->data;
}

Tensor Tensor::on_host(std::source_location where) const {
  const TensorImpl& impl = get();
  check_readable(impl, where);
  tell_recorders_of_read(*this, where);
  if (impl.device->host_memory()) return *this;
  return copy_to_device(*this, cpu_device());
}

template <class T>
T Tensor::item(std::source_location where) const {
  const TensorImpl& impl = get();
  check_readable(impl, where);
  if (impl.numel != 1) {
    fail_at(Code::kInvalidArgument,
            fmt::format("item: expected a tensor with one element, got shape {}", impl.shape.to_string()), where);
  }
  const Tensor host = on_host(where);
  return with_context([&] { return place(where); },
                      [&]() -> T {
                        if constexpr (std::is_same_v<T, std::string>) {
                          if (impl.dtype != kString)
                            invalid("item: expected a string tensor, got {}", dtype_name(impl.dtype));
                          return *static_cast<const std::string*>(host.impl()->data);
                        } else {
                          return number_at<T>(impl.dtype, host.impl()->data);
                        }
                      });
}

template float Tensor::item<float>(std::source_location) const;
template double Tensor::item<double>(std::source_location) const;
template int32_t Tensor::item<int32_t>(std::source_location) const;
template int64_t Tensor::item<int64_t>(std::source_location) const;
template bool Tensor::item<bool>(std::source_location) const;
template std::string Tensor::item<std::string>(std::source_location) const;

Tensor Tensor::to(Device& device) const {
  const TensorImpl& impl = get();
  if (impl.device == &device) return *this;
  if (device.is_meta()) return meta_tensor(impl.dtype, impl.shape);
  if (recorders().empty() && !impl.device->is_meta()) return copy_to_device(*this, device);
  // With recorders the copy is an op call, so that it has a gradient and a node.
  const Tensor* input = this;
  dispatch::CallOptions options;
  options.device = &device;
  return std::move(dispatch::call(get_op("Identity"), {&input, 1}, {}, options)[0]);
}

Tensor Tensor::cpu() const { return get().device->kind() == DeviceKind::kCpu ? *this : to(cpu_device()); }

Tensor Tensor::at(std::initializer_list<Dim> index) const {
  const PartialShape& shape = get().shape;
  const auto count = static_cast<int>(index.size());
  if (count == 0) return *this;
  if (shape.known_rank() && count > shape.rank()) {
    invalid("index: expected at most {} numbers for shape {}, got {}", shape.rank(), shape.to_string(), count);
  }
  if (count > 62) invalid("index: expected at most 62 numbers, got {}", count);
  const std::span<const int64_t> numbers = Dim::values(index);
  std::vector<int64_t> begin(numbers.begin(), numbers.end());
  for (int k = 0; shape.known_rank() && k < count; ++k) {
    const int64_t size = shape.dim(k);
    int64_t& i = begin[static_cast<size_t>(k)];
    if (size < 0) continue;  // symbolic: checked when the graph runs
    if (i < -size || i >= size) {
      failf(Code::kOutOfRange, "index: expected one in [{}, {}) along dimension {}, got {}", -size, size, k, i);
    }
    if (i < 0) i += size;
  }
  std::vector<int64_t> end(begin);
  for (int64_t& i : end) ++i;
  const auto literal = [](const std::vector<int64_t>& values) {
    Tensor t = allocate_tensor(cpu_device(), kInt64, Shape{static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), mutable_data<int64_t>(t));
    t.impl()->literal = true;
    return t;
  };
  const Tensor bounds[] = {literal(begin), literal(end), literal(std::vector<int64_t>(begin.size(), 1))};
  const Tensor* inputs[] = {this, &bounds[0], &bounds[1], &bounds[2]};

  static const Op& op = get_op("StridedSlice");
  static const auto shrink_mask = static_cast<size_t>(op.signature().find_attr("shrink_axis_mask"));
  SmallVector<AttrSlot, 8> attrs(op.signature().attrs.size());
  attrs[shrink_mask] = AttrSlot((int64_t{1} << count) - 1);
  return std::move(dispatch::call(op, inputs, std::span<const AttrSlot>(attrs.data(), attrs.size()))[0]);
}

std::string Tensor::to_string() const { return print(*this); }

std::ostream& operator<<(std::ostream& out, const Tensor& t) { return out << t.to_string(); }

// ---- Makers --------------------------------------------------------------------------------------------------------

Shape shape_of_elements(const PartialShape& shape, size_t numel) {
  int64_t known = 1;
  int unknown = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) >= 0) {
      known *= shape.dim(i);  // PartialShape checked that the product does not overflow
    } else if (unknown < 0) {
      unknown = i;
    } else {
      invalid("shape: expected at most one unknown dimension, got {}", shape.to_string());
    }
  }
  if (!shape.known_rank()) invalid("shape: expected a known rank, got {}", shape.to_string());
  if (unknown < 0) return Shape(shape);
  if (known == 0 || static_cast<int64_t>(numel) % known != 0) {
    invalid("shape: expected dimensions that divide {} elements, got {}", numel, shape.to_string());
  }
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[static_cast<size_t>(unknown)] = static_cast<int64_t>(numel) / known;
  return Shape(dims);
}

Tensor tensor_from_bytes(DType dtype, const Shape& shape, const void* data, size_t bytes) {
  if (!is_plain(dtype)) {
    invalid("tensor: expected an element type that can be copied as bytes, got {}", dtype_name(dtype));
  }
  const size_t size = dtype_size(dtype);
  const auto numel = static_cast<uint64_t>(shape.numel());
  if (bytes % size != 0 || bytes / size != numel) {
    invalid("tensor: expected {} elements of {} for shape {}, got {} bytes", numel, dtype_name(dtype),
            shape.to_string(), bytes);
  }
  Device& device = maker_device();
  Tensor t = allocate_tensor(device, dtype, shape);
  // Inside a trace, tensors made from host values are literals of the program.
  t.impl()->literal = symbolic_recorders() > 0;
  if (bytes == 0) return t;
  if (device.kind() == DeviceKind::kCpu) {
    std::memcpy(t.impl()->data, data, bytes);
  } else {
    device.copy_from_host(t.impl()->data, data, bytes);
  }
  return t;
}

Tensor made_of_host_values(Tensor t) {
  Device& device = maker_device();
  if (&device != &cpu_device()) t = copy_to_device(t, device);
  t.impl()->literal = symbolic_recorders() > 0;
  return t;
}

Tensor tensor_from_strings(const Shape& shape, std::vector<std::string> values) {
  if (static_cast<int64_t>(values.size()) != shape.numel()) {
    invalid("tensor: expected {} strings for shape {}, got {}", shape.numel(), shape.to_string(), values.size());
  }
  Tensor t = allocate_tensor(cpu_device(), kString, shape);
  std::move(values.begin(), values.end(), mutable_data<std::string>(t));
  t.impl()->literal = symbolic_recorders() > 0;
  return t;
}

Tensor tensor(const std::vector<bool>& values) {
  const std::vector<uint8_t> bytes(values.begin(), values.end());
  return tensor_from_bytes(kBool, Shape{static_cast<int64_t>(bytes.size())}, bytes.data(), bytes.size());
}

Tensor tensor(float value) { return scalar(value); }
Tensor tensor(double value) { return scalar(value); }
Tensor tensor(int32_t value) { return scalar(value); }
Tensor tensor(int64_t value) { return scalar(value); }
Tensor tensor(bool value) { return scalar(value); }
Tensor tensor(const char* value) { return tensor(std::string(value)); }
Tensor tensor(std::string value) {
  std::vector<std::string> values;
  values.push_back(std::move(value));
  return tensor_from_strings(Shape{}, std::move(values));
}

Tensor tensor(std::initializer_list<detail::StringItem> list) {
  std::vector<std::string> values;
  for (const detail::StringItem& item : list) values.push_back(item.text());
  return tensor(values);
}
Tensor detail::from_vector(const std::vector<std::string>& values) {
  return tensor_from_strings(Shape{static_cast<int64_t>(values.size())}, values);
}

void detail::ListReader::enter(int depth, size_t size) {
  int64_t& dim = dims_[depth];
  if (depth == rank_) {
    ++rank_;
    dim = static_cast<int64_t>(size);
  }
  if (dim != static_cast<int64_t>(size)) {
    invalid("nested list: expected {} elements as in the first list of that depth, got {}", dim, size);
  }
}

void detail::ListReader::append(const void* elements, size_t bytes) {
  bytes_.append(static_cast<const char*>(elements), bytes);
}

void detail::ListReader::append(std::string text) { strings_.push_back(std::move(text)); }

Tensor detail::ListReader::finish(DType dtype) const {
  const Shape shape(std::span<const int64_t>(dims_, static_cast<size_t>(rank_)));
  if (dtype == kString) return tensor_from_strings(shape, strings_);
  return tensor_from_bytes(dtype, shape, bytes_.data(), bytes_.size());
}

}  // namespace panto
