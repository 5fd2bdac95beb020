#include "panto/lib/core/tensor/dtype.h"

#include <boost/test/unit_test.hpp>
#include <sstream>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto {
namespace {

constexpr DType kInvalid = DType::kInvalid;

std::vector<DType> all_types() {
  std::vector<DType> types;
  for (int i = 0; i < 256; ++i) {
    if (is_dtype(i)) types.push_back(static_cast<DType>(i));
  }
  return types;
}

BOOST_AUTO_TEST_SUITE(dtype)

BOOST_AUTO_TEST_CASE(numbers_are_tensorflows) {
  // tensorflow/core/framework/types.proto
  const std::vector<std::pair<int, std::string_view>> enumerators = {
      {1, "DT_FLOAT"},     {2, "DT_DOUBLE"},  {3, "DT_INT32"},       {4, "DT_UINT8"},   {5, "DT_INT16"},
      {6, "DT_INT8"},      {7, "DT_STRING"},  {8, "DT_COMPLEX64"},   {9, "DT_INT64"},   {10, "DT_BOOL"},
      {11, "DT_QINT8"},    {12, "DT_QUINT8"}, {13, "DT_QINT32"},     {15, "DT_QINT16"}, {16, "DT_QUINT16"},
      {14, "DT_BFLOAT16"}, {17, "DT_UINT16"}, {18, "DT_COMPLEX128"}, {19, "DT_HALF"},   {20, "DT_RESOURCE"},
      {21, "DT_VARIANT"},  {22, "DT_UINT32"}, {23, "DT_UINT64"}};
  BOOST_TEST(all_types().size() == enumerators.size());
  for (const auto& [number, name] : enumerators) {
    BOOST_TEST(is_dtype(number));
    BOOST_TEST(static_cast<int>(parse_dtype(name)) == number);
  }
  for (int number : {-1, 0, 24, 101, 111, 1 << 20}) BOOST_TEST(!is_dtype(number));
}

BOOST_AUTO_TEST_CASE(names_and_sizes) {
  for (DType t : all_types()) {
    BOOST_TEST((parse_dtype(dtype_name(t)) == t));
    BOOST_TEST(dtype_size(t) > 0U);
  }
  BOOST_TEST((parse_dtype("float") == kFloat32));
  BOOST_TEST((parse_dtype("double") == kFloat64));
  BOOST_TEST((parse_dtype("half") == kFloat16));
  for (std::string_view name : {"", "float128", "FLOAT", "DT_QINT4", "invalid", "int"}) {
    BOOST_TEST((parse_dtype(name) == kInvalid), name);
  }
  BOOST_TEST(dtype_name(kInvalid) == "invalid");
  BOOST_TEST(dtype_name(static_cast<DType>(200)) == "invalid");
  BOOST_TEST(dtype_size(static_cast<DType>(200)) == 0U);
  BOOST_TEST(dtype_size(kComplex128) == 16U);
  BOOST_TEST(dtype_size(kBFloat16) == 2U);
}

BOOST_AUTO_TEST_CASE(sets) {
  BOOST_TEST(dtype_set_text(dtypes::kFloating) == "float32, float64, bfloat16, float16");
  BOOST_TEST(dtype_set_text(DTypeSet{}).empty());
  BOOST_TEST(dtypes::kReal.contains(kUint64));
  BOOST_TEST(!dtypes::kReal.contains(kBool));
  BOOST_TEST(!dtypes::kNumeric.contains(kInvalid));
  BOOST_TEST((dtypes::kNumeric - dtypes::kReal == dtypes::kComplex));
  BOOST_TEST((dtypes::kInteger & dtypes::kSigned).contains(kInt8));
  BOOST_TEST((TypeList<float, bool>::set == DTypeSet{kFloat32, kBool}));
}

// Integers of a range are no integers to calculate with: nothing is converted to or from them unasked.
BOOST_AUTO_TEST_CASE(quantized_types_stand_alone) {
  for (const DType t : {kQInt8, kQUint8, kQInt16, kQUint16, kQInt32}) {
    BOOST_TEST(is_plain(t));
    BOOST_TEST(!(dtypes::kNumeric | dtypes::kPlain).contains(t));
    BOOST_TEST((promote(t, t) == t));
    for (const DType other : {kInt8, kUint8, kInt32, kFloat32, kBool, kString}) {
      BOOST_TEST((promote(t, other) == kInvalid));
      BOOST_TEST((promote(other, t) == kInvalid));
    }
  }
  BOOST_TEST(dtype_size(kQInt16) == 2U);
  BOOST_TEST(dtype_size(kQInt32) == sizeof(QInt32));
  BOOST_TEST(dtype_set_text(dtypes::kQuantized) == "qint8, quint8, qint32, qint16, quint16");
  const int8_t values[] = {-128, 0, 7};
  const Tensor q = tensor_from_bytes(kQInt8, Shape{3}, values, sizeof(values));
  BOOST_TEST(q.to_string() == "[-128    0    7]");
  BOOST_TEST(q.data<QInt8>()[0].value == -128);
}

// The table of dtype.h, written out: rows and columns are
//   b1  i8  i16 i32 i64 u8  u16 u32 u64 f16 bf  f32 f64 c64 c128
BOOST_AUTO_TEST_CASE(promotion_table) {
  const DType order[] = {kBool,   kInt8,    kInt16,    kInt32,   kInt64,   kUint8,     kUint16,    kUint32,
                         kUint64, kFloat16, kBFloat16, kFloat32, kFloat64, kComplex64, kComplex128};
  const char* table[] = {
      "b1   i8   i16  i32  i64  u8   u16  u32  u64  f16  bf   f32  f64  c64  c128",  // b1
      "i8   i8   i16  i32  i64  i16  i32  i64  -    f16  bf   f32  f64  c64  c128",  // i8
      "i16  i16  i16  i32  i64  i16  i32  i64  -    f16  bf   f32  f64  c64  c128",  // i16
      "i32  i32  i32  i32  i64  i32  i32  i64  -    f16  bf   f32  f64  c64  c128",  // i32
      "i64  i64  i64  i64  i64  i64  i64  i64  -    f16  bf   f32  f64  c64  c128",  // i64
      "u8   i16  i16  i32  i64  u8   u16  u32  u64  f16  bf   f32  f64  c64  c128",  // u8
      "u16  i32  i32  i32  i64  u16  u16  u32  u64  f16  bf   f32  f64  c64  c128",  // u16
      "u32  i64  i64  i64  i64  u32  u32  u32  u64  f16  bf   f32  f64  c64  c128",  // u32
      "u64  -    -    -    -    u64  u64  u64  u64  f16  bf   f32  f64  c64  c128",  // u64
      "f16  f16  f16  f16  f16  f16  f16  f16  f16  f16  f32  f32  f64  c64  c128",  // f16
      "bf   bf   bf   bf   bf   bf   bf   bf   bf   f32  bf   f32  f64  c64  c128",  // bf
      "f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f64  c64  c128",  // f32
      "f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  c128 c128",  // f64
      "c64  c64  c64  c64  c64  c64  c64  c64  c64  c64  c64  c64  c128 c64  c128",  // c64
      "c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128",  // c128
  };
  const char* names[] = {"b1",  "i8",  "i16", "i32", "i64", "u8",  "u16", "u32",
                         "u64", "f16", "bf",  "f32", "f64", "c64", "c128"};
  for (size_t row = 0; row < 15; ++row) {
    std::istringstream cells(table[row]);
    for (size_t column = 0; column < 15; ++column) {
      std::string cell;
      cells >> cell;
      DType expected = kInvalid;
      for (size_t i = 0; i < 15; ++i) {
        if (cell == names[i]) expected = order[i];
      }
      const DType got = promote(order[row], order[column]);
      BOOST_TEST((got == expected), names[row] << " with " << names[column] << " gives " << dtype_name(got));
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_number_promotes_with_itself_only) {
  for (DType a : {kString, kResource, kVariant}) {
    for (DType b : all_types()) BOOST_TEST((promote(a, b) == (a == b ? a : kInvalid)));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
