#include "panto/lib/graph/files/wire/tensor_proto.h"

#include <bit>
#include <complex>
#include <cstring>
#include <limits>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/small_vector.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/proto/types.pb.h"

static_assert(std::endian::native == std::endian::little, "tensor_content is little-endian");

namespace panto {

void ExpansionBudget::take(int64_t bytes) {
  if (bytes > left_) {
    failf(Code::kResourceExhausted, "constants: expected at most {} more bytes of repeated values, got {}", left_,
          bytes);
  }
  left_ -= bytes;
}

DType dtype_from_proto(int number) {
  if (is_dtype(number)) return static_cast<DType>(number);
  if (number != 0 && graphdef::DataType_IsValid(number)) {
    const bool reference = number > 100;
    failf(Code::kUnimplemented, "{}: expected one of {}, got {}", reference ? "reference type" : "dtype",
          dtype_set_text(dtypes::kAny), graphdef::DataType_Name(static_cast<graphdef::DataType>(number)));
  }
  invalid("dtype: expected the number of a dtype, got {}", number);
}

PartialShape shape_from_proto(const graphdef::TensorShapeProto& proto) {
  if (proto.unknown_rank()) {
    if (proto.dim_size() > 0) invalid("shape: expected no dimensions beside unknown_rank, got {}", proto.dim_size());
    return PartialShape::unknown();
  }
  if (proto.dim_size() > kMaxRank) invalid("shape: expected a rank of at most {}, got {}", kMaxRank, proto.dim_size());
  SmallVector<int64_t, 8> dims;
  for (const auto& dim : proto.dim()) dims.push_back(dim.size());
  return PartialShape(std::span<const int64_t>(dims));
}

void shape_to_proto(const PartialShape& shape, graphdef::TensorShapeProto* proto) {
  proto->Clear();
  if (!shape.known_rank()) {
    proto->set_unknown_rank(true);
    return;
  }
  for (int64_t dim : shape.dims()) proto->add_dim()->set_size(dim);
}

namespace {

using graphdef::TensorProto;

// The number of values in all typed fields. Only the dtype's own field may have values.
int64_t typed_values(const TensorProto& p) {
  return int64_t{p.float_val_size()} + p.double_val_size() + p.int_val_size() + p.string_val_size() +
         p.scomplex_val_size() + p.int64_val_size() + p.bool_val_size() + p.dcomplex_val_size() + p.half_val_size() +
         p.resource_handle_val_size() + p.variant_val_size() + p.uint32_val_size() + p.uint64_val_size() +
         static_cast<int64_t>(p.float8_val().size());
}

// The typed field in which TensorFlow stores elements of type T, with a count and accessors.
template <class T>
struct Field;

template <class T, class Wire>
T narrowed(Wire value) {
  if (value < static_cast<Wire>(std::numeric_limits<T>::min()) ||
      value > static_cast<Wire>(std::numeric_limits<T>::max())) {
    invalid("value: expected one that fits {}, got {}", dtype_name(dtype_of<T>), value);
  }
  return static_cast<T>(value);
}

template <class T>
struct IntField {
  static int64_t count(const TensorProto& p) { return p.int_val_size(); }
  static T get(const TensorProto& p, int64_t i) { return narrowed<T>(p.int_val(static_cast<int>(i))); }
  static void add(TensorProto* p, T value) { p->add_int_val(value); }
};
template <> struct Field<int8_t> : IntField<int8_t> {};
template <> struct Field<int16_t> : IntField<int16_t> {};
template <> struct Field<int32_t> : IntField<int32_t> {};
template <> struct Field<uint8_t> : IntField<uint8_t> {};
template <> struct Field<uint16_t> : IntField<uint16_t> {};

template <class Int>
struct Field<QuantizedInt<Int>> : IntField<Int> {
  static QuantizedInt<Int> get(const TensorProto& p, int64_t i) { return QuantizedInt<Int>(IntField<Int>::get(p, i)); }
  static void add(TensorProto* p, QuantizedInt<Int> q) { IntField<Int>::add(p, q.value); }
};

template <class T>
struct HalfField {
  static int64_t count(const TensorProto& p) { return p.half_val_size(); }
  static T get(const TensorProto& p, int64_t i) {
    return std::bit_cast<T>(narrowed<uint16_t>(p.half_val(static_cast<int>(i))));
  }
  static void add(TensorProto* p, T value) { p->add_half_val(std::bit_cast<uint16_t>(value)); }
};
template <> struct Field<Half> : HalfField<Half> {};
template <> struct Field<BFloat16> : HalfField<BFloat16> {};

// clang-format off
#define PANTO_FIELD(T, name)                                                                             \
  template <>                                                                                            \
  struct Field<T> {                                                                                      \
    static int64_t count(const TensorProto& p) { return p.name##_size(); }                               \
    static T get(const TensorProto& p, int64_t i) { return p.name(static_cast<int>(i)); }                \
    static void add(TensorProto* p, const T& value) { p->add_##name(value); }                            \
  };
PANTO_FIELD(float, float_val)
PANTO_FIELD(double, double_val)
PANTO_FIELD(int64_t, int64_val)
PANTO_FIELD(uint32_t, uint32_val)
PANTO_FIELD(uint64_t, uint64_val)
PANTO_FIELD(bool, bool_val)
PANTO_FIELD(std::string, string_val)
#undef PANTO_FIELD
// clang-format on

template <>
struct Field<std::complex<float>> {
  static int64_t count(const TensorProto& p) {
    if (p.scomplex_val_size() % 2 != 0) invalid("scomplex_val: expected pairs, got {} values", p.scomplex_val_size());
    return p.scomplex_val_size() / 2;
  }
  static std::complex<float> get(const TensorProto& p, int64_t i) {
    return {p.scomplex_val(static_cast<int>(2 * i)), p.scomplex_val(static_cast<int>(2 * i + 1))};
  }
  static void add(TensorProto* p, std::complex<float> value) {
    p->add_scomplex_val(value.real());
    p->add_scomplex_val(value.imag());
  }
};

template <>
struct Field<std::complex<double>> {
  static int64_t count(const TensorProto& p) {
    if (p.dcomplex_val_size() % 2 != 0) invalid("dcomplex_val: expected pairs, got {} values", p.dcomplex_val_size());
    return p.dcomplex_val_size() / 2;
  }
  static std::complex<double> get(const TensorProto& p, int64_t i) {
    return {p.dcomplex_val(static_cast<int>(2 * i)), p.dcomplex_val(static_cast<int>(2 * i + 1))};
  }
  static void add(TensorProto* p, std::complex<double> value) {
    p->add_dcomplex_val(value.real());
    p->add_dcomplex_val(value.imag());
  }
};

// Calls f with a value of the dtype's element type. Not for resource and variant.
template <class F>
void visit_element_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32: return f(float{});
    case DType::kFloat64: return f(double{});
    case DType::kFloat16: return f(Half{});
    case DType::kBFloat16: return f(BFloat16{});
    case DType::kInt8: return f(int8_t{});
    case DType::kInt16: return f(int16_t{});
    case DType::kInt32: return f(int32_t{});
    case DType::kInt64: return f(int64_t{});
    case DType::kUint8: return f(uint8_t{});
    case DType::kUint16: return f(uint16_t{});
    case DType::kUint32: return f(uint32_t{});
    case DType::kUint64: return f(uint64_t{});
    case DType::kBool: return f(bool{});
    case DType::kComplex64: return f(std::complex<float>{});
    case DType::kComplex128: return f(std::complex<double>{});
    case DType::kQInt8: return f(QInt8{});
    case DType::kQUint8: return f(QUint8{});
    case DType::kQInt16: return f(QInt16{});
    case DType::kQUint16: return f(QUint16{});
    case DType::kQInt32: return f(QInt32{});
    case DType::kString: return f(std::string{});
    case DType::kResource:
    case DType::kVariant:
    case DType::kInvalid: break;
  }
  failf(Code::kInvalidArgument, "constant: expected a dtype with values, got {}", dtype_name(dtype));
}

// Format of strings in tensor_content: all lengths as varints of 32 bits, then all bytes.
void read_packed_strings(const std::string& content, Tensor& tensor, int64_t n) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(content.data());
  const size_t size = content.size();
  if (static_cast<uint64_t>(n) > size) invalid("tensor_content: expected {} lengths, got {} bytes", n, size);
  size_t at = 0;
  std::vector<uint32_t> lengths;
  uint64_t total = 0;
  for (int64_t i = 0; i < n; ++i) {
    uint32_t length = 0;
    for (int shift = 0;; shift += 7) {
      if (at >= size || shift > 28) invalid("tensor_content: expected {} lengths as varints, got {}", n, i);
      const uint8_t byte = bytes[at++];
      if (shift == 28 && byte > 0x0f) invalid("tensor_content: expected lengths below 2^32, got a longer one");
      length |= static_cast<uint32_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) break;
    }
    lengths.push_back(length);
    total += length;
  }
  if (total != size - at) invalid("tensor_content: expected {} bytes of strings, got {}", total, size - at);
  auto* out = mutable_data<std::string>(tensor);
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t length = lengths[static_cast<size_t>(i)];
    out[i].assign(content, at, length);
    at += length;
  }
}

void read_content(const TensorProto& proto, DType dtype, Tensor& tensor, int64_t n) {
  const std::string& content = proto.tensor_content();
  if (dtype == kString) return read_packed_strings(content, tensor, n);
  if (dtype == kBool) {
    for (char c : content) {
      if (c != 0 && c != 1) invalid("tensor_content: expected bytes 0 and 1, got {}", static_cast<unsigned char>(c));
    }
  }
  if (n > 0) std::memcpy(mutable_data<char>(tensor), content.data(), content.size());
}

}  // namespace

Tensor tensor_from_proto(const TensorProto& proto, ExpansionBudget& budget) {
  const DType dtype = dtype_from_proto(proto.dtype());
  if (dtype == kResource || dtype == kVariant) {
    failf(Code::kUnimplemented, "constant: expected a dtype with values, got {}", dtype_name(dtype));
  }
  const PartialShape partial = shape_from_proto(proto.tensor_shape());
  if (!partial.fully_known()) invalid("shape of a constant: expected a known one, got {}", partial.to_string());
  const Shape shape(partial);
  const int64_t n = shape.numel();
  const int64_t bytes = checked_mul(n, static_cast<int64_t>(dtype_size(dtype)), "bytes of a constant");
  const int64_t values = typed_values(proto);
  const auto content = static_cast<int64_t>(proto.tensor_content().size());

  if (content > 0) {
    if (values > 0) invalid("constant: expected either tensor_content or typed values, got both");
    if (dtype != kString && content != bytes) {
      invalid("tensor_content: expected {} bytes for {}{}, got {}", bytes, dtype_name(dtype), shape.to_string(),
              content);
    }
    if (dtype == kString && n > content) invalid("tensor_content: expected {} lengths, got {} bytes", n, content);
    Tensor tensor = allocate_tensor(cpu_device(), dtype, shape);
    read_content(proto, dtype, tensor, n);
    return tensor;
  }

  Tensor tensor;
  visit_element_type(dtype, [&]<class T>(const T&) {
    const int64_t count = Field<T>::count(proto);
    const bool pairs = dtypes::kComplex.contains(dtype);
    if (values != (pairs ? 2 * count : count)) {
      invalid("constant: expected values of {} only, got some in the field of another dtype", dtype_name(dtype));
    }
    if (count > n) invalid("constant of shape {}: expected at most {} values, got {}", shape.to_string(), n, count);
    if (count < n) budget.take((n - count) * static_cast<int64_t>(sizeof(T)));
    tensor = allocate_tensor(cpu_device(), dtype, shape);
    T* out = mutable_data<T>(tensor);
    for (int64_t i = 0; i < count; ++i) out[i] = Field<T>::get(proto, i);
    const T fill = count > 0 ? out[count - 1] : T{};
    for (int64_t i = count; i < n; ++i) out[i] = fill;
  });
  return tensor;
}

namespace {

// Compares bytes, so that NaNs are equal and the two zeros are not.
template <class T>
bool all_equal(const T* data, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    if constexpr (std::is_same_v<T, std::string>) {
      if (data[i] != data[0]) return false;
    } else {
      // Bytes on purpose: 0 and -0 differ. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
      if (std::memcmp(data + i, data, sizeof(T)) != 0) return false;
    }
  }
  return true;
}

}  // namespace

void tensor_to_proto(const Tensor& tensor, TensorProto* proto) {
  const Tensor host = tensor.device().host_memory() ? tensor : copy_to_device(tensor, cpu_device());
  const DType dtype = host.dtype();
  proto->Clear();
  proto->set_dtype(static_cast<graphdef::DataType>(dtype));
  shape_to_proto(host.shape(), proto->mutable_tensor_shape());
  const int64_t n = host.numel();
  // TensorFlow writes these dtypes, and single elements, value by value.
  constexpr DTypeSet kTyped{kBool, kString, kUint16, kComplex64, kComplex128};
  visit_element_type(dtype, [&]<class T>(const T&) {
    const auto* data = static_cast<const T*>(host.impl()->data);
    if (n > 1 && !kTyped.contains(dtype) && !all_equal(data, n)) {
      proto->set_tensor_content(data, static_cast<size_t>(n) * sizeof(T));
      return;
    }
    const int64_t written = n > 1 && all_equal(data, n) ? 1 : n;
    for (int64_t i = 0; i < written; ++i) Field<T>::add(proto, data[i]);
  });
}

}  // namespace panto
