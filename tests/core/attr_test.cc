#include "panto/lib/core/op/attr.h"

#include "panto/lib/core/op/signature.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/tests/expect.h"

namespace panto {
namespace {

// One value of every kind, and its text.
std::vector<std::pair<AttrValue, std::string>> samples() {
  std::vector<std::pair<AttrValue, std::string>> all;
  const auto add = [&all](AttrValue value, const char* text) { all.emplace_back(std::move(value), text); };
  add(AttrValue(), "none");
  add(AttrValue(int64_t{-7}), "-7");
  add(AttrValue(0.1F), "0.1");
  add(AttrValue(true), "true");
  add(AttrValue(kBFloat16), "bfloat16");
  add(AttrValue(std::string("SA\"ME\\\n\t\x01")), "\"SA\\\"ME\\\\\\n\\t\\x01\"");
  add(AttrValue(PartialShape{2, -1}), "[2,?]");
  add(AttrValue(tensor({1, 2})), "int32[2] [1 2]");
  add(AttrValue(FunctionRef{.name = "body"}), "body");
  add(AttrValue(std::vector<int64_t>{1, 2}), "[1, 2]");
  add(AttrValue(std::vector<float>{0.5F, 2.F}), "[0.5, 2]");
  add(AttrValue(std::vector<uint8_t>{1, 0}), "[true, false]");
  add(AttrValue(std::vector<DType>{kFloat32, kInt64}), "[float32, int64]");
  add(AttrValue(std::vector<std::string>{"a", "b"}), "[\"a\", \"b\"]");
  add(AttrValue(std::vector<PartialShape>{Shape{}, PartialShape{1}}), "[[], [1]]");
  return all;
}

BOOST_AUTO_TEST_SUITE(attr)

BOOST_AUTO_TEST_CASE(texts_and_kinds) {
  const char* kinds[] = {"none",        "int",        "float",      "bool",         "type",
                         "string",      "shape",      "tensor",     "func",         "list(int)",
                         "list(float)", "list(bool)", "list(type)", "list(string)", "list(shape)"};
  const auto all = samples();
  for (size_t i = 0; i < all.size(); ++i) {
    BOOST_TEST(all[i].first.to_string() == all[i].second);
    BOOST_TEST(attr_kind_name(all[i].first.kind()) == kinds[i]);
  }
}

BOOST_AUTO_TEST_CASE(text_of_strings_is_read_back_by_signatures) {
  const Signature signature =
      parse_signature(R"(Marked(x: float32; mark: string = "a\tb\r\n\x01\"\\") -> (y: float32))");
  const AttrValue& value = signature.attrs.at(0).default_value;
  BOOST_TEST(value.as<std::string>() == "a\tb\r\n\x01\"\\");
  BOOST_TEST(value.to_string() == R"("a\tb\r\n\x01\"\\")");
}

BOOST_AUTO_TEST_CASE(borrowed_and_back) {
  for (const auto& [value, text] : samples()) {
    const AttrSlot slot = borrow(value);
    BOOST_TEST(slot.set == (value.kind() != AttrKind::kNone));
    BOOST_TEST((to_value(slot, value.kind()) == value), text);
  }
  BOOST_TEST((to_value(AttrSlot(), AttrKind::kInt) == AttrValue()));
  // Empty lists and strings are set.
  BOOST_TEST(borrow(AttrValue(std::string())).set);
  BOOST_TEST(
      (to_value(borrow(AttrValue(std::vector<int64_t>{})), AttrKind::kIntList) == AttrValue(std::vector<int64_t>{})));
}

BOOST_AUTO_TEST_CASE(equality) {
  const auto all = samples();
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t k = 0; k < all.size(); ++k) BOOST_TEST((all[i].first == all[k].first) == (i == k));
  }
  const auto equal = [](const Tensor& a, const Tensor& b) { return AttrValue(a) == AttrValue(b); };
  BOOST_TEST(equal(tensor({1, 2}), tensor({1, 2})));
  BOOST_TEST(!equal(tensor({1, 2}), tensor({1, 3})));
  BOOST_TEST(!equal(tensor({1, 2}), tensor({{1, 2}})));
  BOOST_TEST(!equal(tensor({1, 2}), tensor({int64_t{1}, int64_t{2}})));
  BOOST_TEST(!equal(tensor(0.F), tensor(-0.F)));
  BOOST_TEST(equal(tensor("a"), tensor("a")));
  BOOST_TEST(!equal(tensor("a"), tensor("b")));
  BOOST_TEST(equal(tensor(std::vector<float>{}), tensor(std::vector<float>{})));
  BOOST_TEST(!equal(tensor(1), Tensor()));
  BOOST_TEST(!equal(meta_tensor(kFloat32, {1}), meta_tensor(kFloat32, {1})));
  BOOST_TEST(!(AttrValue(0.F) == AttrValue(-0.F)));
}

BOOST_AUTO_TEST_CASE(the_wrong_kind) {
  expect_error([] { (void)AttrValue(int64_t{1}).as<float>(); },
               "Internal: attribute: expected a value of another kind, got int");
}

BOOST_AUTO_TEST_CASE(hashes_of_names) {
  // FNV-1a, published test values.
  BOOST_TEST(AttrName::hash_of("") == 0x811c9dc5U);
  BOOST_TEST(AttrName::hash_of("a") == 0xe40c292cU);
  BOOST_TEST(AttrName::hash_of("foobar") == 0xbf9cf968U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
