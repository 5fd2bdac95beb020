// What NumPy prints (tests/core/data/generate.py), and what it does not know.
#include "panto/lib/core/tensor/print.h"

#include <map>
#include <sstream>

#include "panto/lib/base/file.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/tests/expect.h"

namespace panto {
namespace {

template <class T>
Tensor of(std::initializer_list<float> values) {
  std::vector<T> converted;
  for (float v : values) converted.push_back(T(v));
  return tensor(converted);
}

BOOST_AUTO_TEST_SUITE(print)

BOOST_AUTO_TEST_CASE(like_numpy) {
  const std::string expected = read_file(PANTO_TEST_SOURCE "/tests/core/data/print.txt");
  std::map<std::string, std::string> texts;
  for (size_t at = 0; at < expected.size();) {
    const size_t next = expected.find("\n# ", at);
    const size_t end = next == std::string::npos ? expected.size() - 1 : next;
    texts[expected.substr(at + 2, 4)] = expected.substr(at + 7, end - at - 7);
    at = end + 1;
  }
  const auto arrays = read_npz(PANTO_TEST_SOURCE "/tests/core/data/print.npz");
  BOOST_TEST(arrays.size() == texts.size());
  BOOST_TEST(arrays.size() > 900U);
  int wrong = 0;
  for (const auto& [name, value] : arrays) {
    const std::string text = value.to_string();
    if (text == texts[name] || ++wrong > 5) continue;
    BOOST_TEST(text == texts[name], "array " << name << " prints\n" << text << "\ninstead of\n" << texts[name]);
  }
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(streams) {
  std::ostringstream out;
  out << tensor({{1.f, 2.f}, {3.f, 4.5f}});
  BOOST_TEST(out.str() == "[[1.  2. ]\n [3.  4.5]]");
}

BOOST_AUTO_TEST_CASE(bfloat16_uses_the_digits_it_has) {
  BOOST_TEST(of<BFloat16>({1.F, 0.1F, 3.140625F}).to_string() == "[1.   0.1  3.14]");
  BOOST_TEST(tensor(std::span<const BFloat16>(std::vector{BFloat16(0.1F)}), Shape{}).to_string() == "0.1");
}

BOOST_AUTO_TEST_CASE(strings) {
  BOOST_TEST(tensor("it's").to_string() == "b\"it's\"");
  BOOST_TEST(tensor(std::vector<std::string>{"a", "", "\xe9"}).to_string() == "[b'a' b'' b'\\xe9']");
}

BOOST_AUTO_TEST_CASE(what_has_no_elements_to_show) {
  BOOST_TEST(Tensor().to_string() == "<undefined>");
  BOOST_TEST(meta_tensor(kFloat32, {-1, 2}).to_string() == "<symbolic float32[?,2]>");
  BOOST_TEST(meta_tensor(kString, Shape{}).to_string() == "<symbolic string[]>");
  BOOST_TEST(meta_tensor(kInt32, PartialShape::unknown()).to_string() == "<symbolic int32?>");
  const auto variable = std::make_shared<VariableResource>("", "k", kFloat32, PartialShape{2});
  BOOST_TEST(resource_tensor(variable).to_string() == "<resource Variable \"k\">");
  BOOST_TEST(resource_tensor(nullptr).to_string() == "<resource>");
  BOOST_TEST(allocate_tensor(cpu_device(), kVariant, Shape{2}).to_string() == "[<variant> <variant>]");
}

BOOST_AUTO_TEST_CASE(options) {
  const Tensor t = tensor({1.f / 3, 2.f / 3, 1.f, 2.f, 3.f, 4.f});
  BOOST_TEST(panto::print(t, {.precision = 3}) == "[0.333 0.667 1.    2.    3.    4.   ]");
  BOOST_TEST(panto::print(t, {.precision = 1, .threshold = 5, .edge_items = 1}) == "[0.3 ... 4. ]");
  BOOST_TEST(panto::print(t, {.precision = 1, .line_width = 12}) == "[0.3 0.7\n 1.  2.\n 3.  4. ]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
