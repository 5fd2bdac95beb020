// Element types. Their numbers are TensorFlow's DataType values (tensorflow/core/framework/types.proto), so that files
// need no conversion.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/half.h"
#include "panto/lib/core/tensor/quantized.h"

namespace panto {

enum class DType : uint8_t {
  kInvalid = 0,
  kFloat32 = 1,
  kFloat64 = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kQInt8 = 11,
  kQUint8 = 12,
  kQInt32 = 13,
  kBFloat16 = 14,
  kQInt16 = 15,
  kQUint16 = 16,
  kUint16 = 17,
  kComplex128 = 18,
  kFloat16 = 19,
  kResource = 20,
  kVariant = 21,
  kUint32 = 22,
  kUint64 = 23,
};

inline constexpr int kDTypeSlots = 24;  // size of a table indexed by DType

inline constexpr DType kFloat32 = DType::kFloat32;
inline constexpr DType kFloat64 = DType::kFloat64;
inline constexpr DType kFloat16 = DType::kFloat16;
inline constexpr DType kBFloat16 = DType::kBFloat16;
inline constexpr DType kInt8 = DType::kInt8;
inline constexpr DType kInt16 = DType::kInt16;
inline constexpr DType kInt32 = DType::kInt32;
inline constexpr DType kInt64 = DType::kInt64;
inline constexpr DType kUint8 = DType::kUint8;
inline constexpr DType kUint16 = DType::kUint16;
inline constexpr DType kUint32 = DType::kUint32;
inline constexpr DType kUint64 = DType::kUint64;
inline constexpr DType kBool = DType::kBool;
inline constexpr DType kComplex64 = DType::kComplex64;
inline constexpr DType kComplex128 = DType::kComplex128;
inline constexpr DType kQInt8 = DType::kQInt8;
inline constexpr DType kQUint8 = DType::kQUint8;
inline constexpr DType kQInt16 = DType::kQInt16;
inline constexpr DType kQUint16 = DType::kQUint16;
inline constexpr DType kQInt32 = DType::kQInt32;
inline constexpr DType kString = DType::kString;
inline constexpr DType kResource = DType::kResource;
inline constexpr DType kVariant = DType::kVariant;

class Resource;  // lib/core/tensor/resource.h
// The element of a resource tensor.
using ResourceHandle = std::shared_ptr<Resource>;
class VariantValue;  // lib/core/collections/variant.h
// The element of a variant tensor.
struct Variant {
  std::shared_ptr<VariantValue> value;
};

// A set of element types, as ops state them.
class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<DType> types) {
    for (DType t : types) bits_ |= 1u << static_cast<unsigned>(t);
  }
  constexpr bool contains(DType t) const { return (bits_ >> static_cast<unsigned>(t)) & 1u; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr DTypeSet operator|(DTypeSet other) const { return from_bits(bits_ | other.bits_); }
  constexpr DTypeSet operator&(DTypeSet other) const { return from_bits(bits_ & other.bits_); }
  constexpr DTypeSet operator-(DTypeSet other) const { return from_bits(bits_ & ~other.bits_); }
  constexpr bool operator==(const DTypeSet&) const = default;
  static constexpr DTypeSet from_bits(uint32_t bits) {
    DTypeSet set;
    set.bits_ = bits;
    return set;
  }

 private:
  uint32_t bits_ = 0;
};

namespace dtypes {
inline constexpr DTypeSet kFloating{kFloat16, kBFloat16, kFloat32, kFloat64};
inline constexpr DTypeSet kComplex{kComplex64, kComplex128};
inline constexpr DTypeSet kSigned{kInt8, kInt16, kInt32, kInt64};
inline constexpr DTypeSet kUnsigned{kUint8, kUint16, kUint32, kUint64};
inline constexpr DTypeSet kInteger = kSigned | kUnsigned;
inline constexpr DTypeSet kReal = kFloating | kInteger;  // TensorFlow's realnumbertype
inline constexpr DTypeSet kNumeric = kReal | kComplex;   // TensorFlow's numbertype, without the quantized ones
inline constexpr DTypeSet kDifferentiable = kFloating | kComplex;  // numbers that gradients flow through
inline constexpr DTypeSet kIndex{kInt32, kInt64};
inline constexpr DTypeSet kPlain = kNumeric | DTypeSet{kBool};
inline constexpr DTypeSet kQuantized{kQInt8, kQUint8, kQInt16, kQUint16, kQInt32};  // TensorFlow's quantizedtype
inline constexpr DTypeSet kBytes = kPlain | kQuantized;                             // can be copied as bytes
inline constexpr DTypeSet kAny = kBytes | DTypeSet{kString, kResource, kVariant};
}  // namespace dtypes

// Size of one element in bytes; for a string, resource or variant the size of its C++ object.
PANTO_EXPORT size_t dtype_size(DType t) noexcept;
// "float32", "int64", "bool", ... as NumPy spells them; "string", "resource", "variant"; "invalid".
PANTO_EXPORT std::string_view dtype_name(DType t) noexcept;
PANTO_EXPORT std::ostream& operator<<(std::ostream& out, DType t);  // its name
// The inverse of dtype_name; also TensorFlow's spellings ("float", "double", "half", "DT_FLOAT"). kInvalid if unknown.
PANTO_EXPORT DType parse_dtype(std::string_view name) noexcept;
// "float32, float64" in the order of the enum.
PANTO_EXPORT std::string dtype_set_text(DTypeSet set);
// True for the number of a dtype of this library (a number from a file may be anything).
constexpr bool is_dtype(int64_t number) {
  return number > 0 && number < kDTypeSlots && dtypes::kAny.contains(static_cast<DType>(number));
}
// True if elements can be copied as bytes.
constexpr bool is_plain(DType t) { return dtypes::kBytes.contains(t); }

// The common type of arithmetic between tensors of two types:
//   - the same type: that type;
//   - different categories (bool < integer < floating < complex): the one of the higher category
//     (int64 with float32 is float32; float64 with complex64 is complex128);
//   - the same category: the wider one; float16 with bfloat16 is float32; a signed and an unsigned integer: the
//     smallest signed type that holds both.
// kInvalid if there is none (uint64 with a signed integer; a quantized type, string, resource or variant with any other
// type).
PANTO_EXPORT DType promote(DType a, DType b) noexcept;

template <class T>
struct DTypeOf;  // DTypeOf<float>::value == kFloat32
template <DType V>
struct DTypeValue {
  static constexpr DType value = V;
};
template <> struct DTypeOf<float> : DTypeValue<kFloat32> {};
template <> struct DTypeOf<double> : DTypeValue<kFloat64> {};
template <> struct DTypeOf<Half> : DTypeValue<kFloat16> {};
template <> struct DTypeOf<BFloat16> : DTypeValue<kBFloat16> {};
template <> struct DTypeOf<int8_t> : DTypeValue<kInt8> {};
template <> struct DTypeOf<int16_t> : DTypeValue<kInt16> {};
template <> struct DTypeOf<int32_t> : DTypeValue<kInt32> {};
template <> struct DTypeOf<int64_t> : DTypeValue<kInt64> {};
template <> struct DTypeOf<long long> : DTypeValue<kInt64> {};
template <> struct DTypeOf<uint8_t> : DTypeValue<kUint8> {};
template <> struct DTypeOf<uint16_t> : DTypeValue<kUint16> {};
template <> struct DTypeOf<uint32_t> : DTypeValue<kUint32> {};
template <> struct DTypeOf<uint64_t> : DTypeValue<kUint64> {};
template <> struct DTypeOf<bool> : DTypeValue<kBool> {};
template <> struct DTypeOf<QInt8> : DTypeValue<kQInt8> {};
template <> struct DTypeOf<QUint8> : DTypeValue<kQUint8> {};
template <> struct DTypeOf<QInt16> : DTypeValue<kQInt16> {};
template <> struct DTypeOf<QUint16> : DTypeValue<kQUint16> {};
template <> struct DTypeOf<QInt32> : DTypeValue<kQInt32> {};
template <> struct DTypeOf<std::string> : DTypeValue<kString> {};
template <> struct DTypeOf<ResourceHandle> : DTypeValue<kResource> {};
template <> struct DTypeOf<Variant> : DTypeValue<kVariant> {};
// Matches std::complex by its members: <complex> is an expensive header, and few programs need it.
template <class T>
  requires requires(const T& z) {
    requires sizeof(T) == 2 * sizeof(typename T::value_type);
    { z.real() + z.imag() } -> std::same_as<typename T::value_type>;
  }
struct DTypeOf<T> : DTypeValue<sizeof(T) == 16 ? kComplex128 : kComplex64> {
  static_assert(std::is_floating_point_v<typename T::value_type> && (sizeof(T) == 8 || sizeof(T) == 16),
                "expected std::complex<float> or std::complex<double>");
};
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

// A compile-time list of element types; kernels are instantiated over one.
template <class... Ts>
struct TypeList {
  static constexpr DTypeSet set{dtype_of<Ts>...};
};

}  // namespace panto
