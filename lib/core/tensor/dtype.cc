#include "panto/lib/core/tensor/dtype.h"

#include <array>
#include <ostream>

namespace panto {
namespace {

struct Row {
  DType type;
  uint8_t size;
  uint8_t category;  // 0 none, 1 bool, 2 integer, 3 floating, 4 complex
  std::string_view name;
  std::string_view alias;    // TensorFlow's short spelling, where it differs
  std::string_view tf_enum;  // DataType's spelling
};

constexpr std::array<Row, 23> kRows{{
    {kFloat32, 4, 3, "float32", "float", "DT_FLOAT"},
    {kFloat64, 8, 3, "float64", "double", "DT_DOUBLE"},
    {kInt32, 4, 2, "int32", "", "DT_INT32"},
    {kUint8, 1, 2, "uint8", "", "DT_UINT8"},
    {kInt16, 2, 2, "int16", "", "DT_INT16"},
    {kInt8, 1, 2, "int8", "", "DT_INT8"},
    {kQInt8, 1, 0, "qint8", "", "DT_QINT8"},
    {kQUint8, 1, 0, "quint8", "", "DT_QUINT8"},
    {kQInt32, 4, 0, "qint32", "", "DT_QINT32"},
    {kQInt16, 2, 0, "qint16", "", "DT_QINT16"},
    {kQUint16, 2, 0, "quint16", "", "DT_QUINT16"},
    {kString, sizeof(std::string), 0, "string", "", "DT_STRING"},
    {kComplex64, 8, 4, "complex64", "", "DT_COMPLEX64"},
    {kInt64, 8, 2, "int64", "", "DT_INT64"},
    {kBool, 1, 1, "bool", "", "DT_BOOL"},
    {kBFloat16, 2, 3, "bfloat16", "", "DT_BFLOAT16"},
    {kUint16, 2, 2, "uint16", "", "DT_UINT16"},
    {kComplex128, 16, 4, "complex128", "", "DT_COMPLEX128"},
    {kFloat16, 2, 3, "float16", "half", "DT_HALF"},
    {kResource, sizeof(ResourceHandle), 0, "resource", "", "DT_RESOURCE"},
    {kVariant, sizeof(Variant), 0, "variant", "", "DT_VARIANT"},
    {kUint32, 4, 2, "uint32", "", "DT_UINT32"},
    {kUint64, 8, 2, "uint64", "", "DT_UINT64"},
}};

constexpr std::array<Row, kDTypeSlots> kByNumber = [] {
  std::array<Row, kDTypeSlots> table{};
  for (Row& row : table) row = {DType::kInvalid, 0, 0, "invalid", "", ""};
  for (const Row& row : kRows) table[static_cast<size_t>(row.type)] = row;
  return table;
}();

const Row& row_of(DType t) noexcept {
  const auto i = static_cast<size_t>(t);
  return kByNumber[i < kByNumber.size() ? i : 0];
}

DType signed_of_size(size_t bytes) noexcept {
  switch (bytes) {
    case 1: return kInt8;
    case 2: return kInt16;
    case 4: return kInt32;
    case 8: return kInt64;
    default: return DType::kInvalid;
  }
}

}  // namespace

size_t dtype_size(DType t) noexcept { return row_of(t).size; }
std::string_view dtype_name(DType t) noexcept { return row_of(t).name; }

DType parse_dtype(std::string_view name) noexcept {
  if (name.empty()) return DType::kInvalid;
  for (const Row& row : kRows) {
    if (name == row.name || name == row.alias || name == row.tf_enum) return row.type;
  }
  return DType::kInvalid;
}

std::string dtype_set_text(DTypeSet set) {
  std::string text;
  for (int i = 0; i < kDTypeSlots; ++i) {
    const auto t = static_cast<DType>(i);
    if (!set.contains(t)) continue;
    if (!text.empty()) text += ", ";
    text += dtype_name(t);
  }
  return text;
}

DType promote(DType a, DType b) noexcept {
  if (a == b) return a;
  const Row& ra = row_of(a);
  const Row& rb = row_of(b);
  if (ra.category == 0 || rb.category == 0) return DType::kInvalid;
  if (ra.category != rb.category) {
    const Row& higher = ra.category > rb.category ? ra : rb;
    const Row& lower = ra.category > rb.category ? rb : ra;
    if (higher.category == 4 && lower.type == kFloat64) return kComplex128;
    return higher.type;
  }
  if (ra.category != 2) {
    if (ra.size == rb.size) return kFloat32;  // float16 with bfloat16
    return ra.size > rb.size ? a : b;
  }
  const bool a_signed = dtypes::kSigned.contains(a);
  if (a_signed == dtypes::kSigned.contains(b)) return ra.size > rb.size ? a : b;
  const Row& with_sign = a_signed ? ra : rb;
  const Row& without = a_signed ? rb : ra;
  if (with_sign.size > without.size) return with_sign.type;
  return signed_of_size(size_t{without.size} * 2);
}

std::ostream& operator<<(std::ostream& out, DType t) { return out << dtype_name(t); }

}  // namespace panto
