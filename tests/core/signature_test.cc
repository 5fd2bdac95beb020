// What the text of a signature may say, and what is said of a text that cannot be read. The generator of typed
// functions reads texts by the same parser: tests/ops/test_generate.py asks it from there.
#include "panto/lib/core/op/signature.h"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <utility>

#include "panto/lib/core/tensor/shape.h"
#include "panto/tests/expect.h"

namespace panto {
namespace {

// The attribute that `domain` describes.
AttrDef attr_of(const std::string& domain) {
  const Signature s = parse_signature("A(; k: " + domain + ") -> ()");
  BOOST_REQUIRE(s.attrs.size() == 1u);
  return s.attrs[0];
}

BOOST_AUTO_TEST_SUITE(signature)

BOOST_AUTO_TEST_CASE(arguments) {
  const Signature s = parse_signature(
      "Mixed(x: N * T, y: L, i: int32 @host = -1, d: double = { 0,1 }, a: T = all; N: int, T: real, M: int >= 0,"
      " L: list(type) >= 2) -> (z: T, n: M*float32)");
  BOOST_TEST(s.name == "Mixed");
  BOOST_REQUIRE(s.inputs.size() == 5u);
  BOOST_REQUIRE(s.outputs.size() == 2u);
  BOOST_TEST(s.inputs[0].number_attr == 0);
  BOOST_TEST(s.inputs[0].type_attr == 1);
  BOOST_TEST(s.inputs[1].type_list_attr == 3);
  BOOST_TEST(s.inputs[1].type_attr == -1);
  BOOST_TEST(s.inputs[2].dtype == kInt32);
  BOOST_TEST(s.inputs[2].host);
  BOOST_TEST(s.inputs[2].cpp_default == "-1");
  BOOST_TEST(s.inputs[3].dtype == kFloat64);
  BOOST_TEST(s.inputs[3].cpp_default == "{0, 1}");
  BOOST_TEST(!s.inputs[3].host);
  BOOST_TEST(s.inputs[4].cpp_default == "all");
  BOOST_TEST(s.outputs[1].number_attr == 2);
  BOOST_TEST(s.has_input_lists);
  BOOST_TEST(s.has_output_lists);
  // A list has a tensor at least, where the text does not say how many; what only outputs name has to be told.
  const std::pair<int64_t, bool> minimum_and_inferred[] = {{1, true}, {0, true}, {0, false}, {2, true}};
  for (size_t i = 0; i < 4; ++i) {
    BOOST_TEST(s.attrs[i].minimum == minimum_and_inferred[i].first, s.attrs[i].name);
    BOOST_TEST(s.attrs[i].inferred == minimum_and_inferred[i].second, s.attrs[i].name);
    BOOST_TEST(s.attrs[i].has_minimum == (i != 1), s.attrs[i].name);
  }
}

BOOST_AUTO_TEST_CASE(types) {
  BOOST_TEST((attr_of("numeric|bool-int8").allowed_types == (dtypes::kNumeric | DTypeSet{kBool}) - DTypeSet{kInt8}));
  BOOST_TEST((attr_of("half | double").allowed_types == DTypeSet{kFloat16, kFloat64}));
  BOOST_TEST((attr_of("type").allowed_types == dtypes::kAny));
  // Words that are kinds when they are alone.
  for (const auto& [text, dtype] :
       {std::pair("bool|int32", kBool), {"string|int32", kString}, {"float|int32", kFloat32}}) {
    const AttrDef a = attr_of(text);
    BOOST_TEST((a.kind == AttrKind::kType));
    BOOST_TEST((a.allowed_types == DTypeSet{dtype, kInt32}), text);
  }
  BOOST_TEST((attr_of("bool").kind == AttrKind::kBool));
}

BOOST_AUTO_TEST_CASE(defaults) {
  const std::pair<const char*, AttrValue> samples[] = {
      {"int >= -5 = -3", AttrValue(int64_t{-3})},
      {"float = 1e-4", AttrValue(1e-4f)},
      {"float = 2", AttrValue(2.f)},
      {"float = -inf", AttrValue(-std::numeric_limits<float>::infinity())},
      {"bool = true", AttrValue(true)},
      {"bool = false", AttrValue(false)},
      {"real = half", AttrValue(kFloat16)},
      {"string = \"a\\\"\\x01 b\"", AttrValue(std::string("a\"\x01 b"))},
      {"{\"SAME\", \"VALID\"} = \"SAME\"", AttrValue(std::string("SAME"))},
      {"shape = ?", AttrValue(PartialShape())},
      {"shape = []", AttrValue(PartialShape(Shape{}))},
      {"shape = [?]", AttrValue(PartialShape{-1})},
      {"shape = [2, ?,3,-1]", AttrValue(PartialShape{2, -1, 3, -1})},
      {"list(int) = []", AttrValue(std::vector<int64_t>())},
      {"list(int) = [1, -2]", AttrValue(std::vector<int64_t>{1, -2})},
      {"list(float) = [1, .5]", AttrValue(std::vector<float>{1, .5f})},
      {"list(bool) = [true, false]", AttrValue(std::vector<uint8_t>{1, 0})},
      {"list(type) = [float32, double]", AttrValue(std::vector<DType>{kFloat32, kFloat64})},
      {"list(string) = [\"a, ]\"]", AttrValue(std::vector<std::string>{"a, ]"})},
  };
  for (const auto& [text, value] : samples) {
    const AttrDef a = attr_of(text);
    BOOST_TEST((a.default_value == value), text);
    // What is written is read as the same.
    const std::string written = a.default_value.to_string();
    const std::string domain = a.kind == AttrKind::kType ? "type" : std::string(attr_kind_name(a.kind));
    BOOST_TEST((attr_of(domain + " = " + written).default_value == value), written);
  }
  for (const char* text : {"int", "float", "tensor", "func", "list(shape)", "{\"a\"}"}) {
    BOOST_TEST(!attr_of(text).has_default(), text);
  }
}

BOOST_AUTO_TEST_CASE(faults_of_syntax) {
  const auto check = [](const std::string& text, const std::string& fault) {
    expect_error([&] { parse_signature(text); }, "InvalidArgument: signature \"" + text + "\", column " + fault);
  };
  check("", "1: expected the op's name, got 'the end'");
  check("1A() -> ()", "1: expected the op's name, got '1A() -> ()'");
  check("A(x) -> (y: float32)", "4: expected ':', got ') -> (y: flo'");
  check("A(%) -> ()", "3: expected an argument's name, got '%) -> ()'");
  check("A(x: ) -> ()", "6: expected a type, got ') -> ()'");
  check("A(x: float32 @ home) -> ()", "16: expected host, got 'home) -> ()'");
  check("A(x: T, x: T; T: any) -> ()", "9: expected an argument's name that is not taken, got 'x: T; T: any'");
  check("A(x: T) -> (y: T, y: T)", "19: expected an argument's name that is not taken, got 'y: T)'");
  check("A(x: int32 = some) -> ()", "14: expected an integer, integers in braces, or all, got 'some) -> ()'");
  check("A(x: int32 = {1) -> ()", "16: expected '}', got ') -> ()'");
  check("A() -> (y: int32 = 1)", "18: expected ')', got '= 1)'");
  check("A(; k: int, k: int) -> ()", "13: expected an attribute's name that is not taken, got 'k: int) -> ('");
  check("A(x: x; x: type) -> ()", "9: expected an attribute's name that is not taken, got 'x: type) -> '");
  check("A(x: T; T: numbers) -> (y: T)", "12: expected a kind, a dtype or a set of dtypes, got 'numbers) -> '");
  check("A(x: T; T: real| numbers) -> ()", "18: expected a kind, a dtype or a set of dtypes, got 'numbers) -> '");
  check("A(; k: list(tensor)) -> ()", "13: expected a kind of list, got 'tensor)) -> '");
  check("A(; k: {}) -> ()", "9: expected '\"', got '}) -> ()'");
  check("A(; k: int >= x) -> ()", "15: expected an integer, got 'x) -> ()'");
  check("A(; k: int = 1.5) -> ()", "15: expected ')', got '.5) -> ()'");
  check("A(; k: float = x) -> ()", "16: expected a number, got 'x) -> ()'");
  check("A(; k: bool = maybe) -> ()", "15: expected true or false, got 'maybe) -> ()'");
  check("A(; k: type = real) -> ()", "15: expected a dtype, got 'real) -> ()'");
  check("A(; k: list(type) = [int8, x]) -> ()", "28: expected a dtype, got 'x]) -> ()'");
  check("A(; k: func = \"f\") -> ()", "14: expected no default (this kind cannot have one), got ' \"f\") -> ()'");
  check("A(; k: list(shape) = [[2]]) -> ()", "23: expected ']', got '[2]]) -> ()'");
  check("A(; k: string = \"a", "19: expected a closing quote, got 'the end'");
  check("A(; k: string = \"\\xg\") -> ()", "19: expected two hexadecimal digits after \\x, got 'xg\") -> ()'");
  check("A(x: T; T: any) ", "17: expected '-', got 'the end'");
  check("A() -> () x", "11: expected the end, got 'x'");
}

BOOST_AUTO_TEST_CASE(faults_of_meaning) {
  const auto check = [](const char* text, const char* fault) {
    expect_error([&] { parse_signature(text); }, std::string("InvalidArgument: signature of A: expected ") + fault);
  };
  check("A(x: T) -> (y: T)", "the type of argument 'x' to be a dtype or an attribute, got 'T'");
  check("A() -> (y: numbers)", "the type of argument 'y' to be a dtype or an attribute, got 'numbers'");
  check("A(x: k; k: int) -> ()", "attribute 'k' of argument 'x' to hold a type");
  check("A(x: N * T; T: any) -> (y: T)", "'N' of argument 'x' to be an int attribute");
  check("A(x: N * T; T: any, N: float) -> (y: T)", "'N' of argument 'x' to be an int attribute");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
