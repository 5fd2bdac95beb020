#include "panto/lib/base/small_vector.h"

#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>

namespace panto {
namespace {

using Pointers = SmallVector<std::shared_ptr<int>, 2>;

Pointers pointers(int n) {
  Pointers v;
  for (int i = 0; i < n; ++i) v.push_back(std::make_shared<int>(i));
  return v;
}

BOOST_AUTO_TEST_SUITE(small_vector)

BOOST_AUTO_TEST_CASE(grows_from_inline_to_heap) {
  for (int n : {0, 1, 2, 3, 17}) {
    const Pointers v = pointers(n);
    BOOST_TEST(v.size() == static_cast<size_t>(n));
    BOOST_TEST(v.empty() == (n == 0));
    for (size_t i = 0; i < v.size(); ++i) BOOST_TEST(*v[i] == static_cast<int>(i));
  }
}

BOOST_AUTO_TEST_CASE(copies_and_moves_of_every_storage) {
  for (int from : {0, 2, 5}) {
    for (int to : {0, 1, 2, 3, 7}) {
      Pointers source = pointers(from);
      Pointers copied = pointers(to);
      copied = source;
      BOOST_TEST(copied.size() == source.size());
      for (size_t i = 0; i < source.size(); ++i) BOOST_TEST(source[i].use_count() == 2);
      Pointers moved = pointers(to);
      moved = std::move(source);
      BOOST_TEST(moved.size() == static_cast<size_t>(from));
      BOOST_TEST(source.empty());  // NOLINT(bugprone-use-after-move): documented
      source.push_back(nullptr);   // and usable
      BOOST_TEST(source.size() == 1U);
    }
  }
}

BOOST_AUTO_TEST_CASE(elements_are_destroyed) {
  const auto counted = std::make_shared<int>(1);
  {
    Pointers v;
    for (int i = 0; i < 5; ++i) v.push_back(counted);
    BOOST_TEST(counted.use_count() == 6);
    v.resize(3);
    BOOST_TEST(counted.use_count() == 4);
    v.clear();
    BOOST_TEST(counted.use_count() == 1);
    v.push_back(counted);
    BOOST_TEST(counted.use_count() == 2);
  }
  BOOST_TEST(counted.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(pushing_an_element_of_itself) {
  SmallVector<std::string, 1> v;
  v.push_back("a long text that does not fit the string object itself");
  for (int i = 0; i < 5; ++i) v.push_back(v[0]);
  for (const std::string& s : v) BOOST_TEST(s == v[0]);
}

BOOST_AUTO_TEST_CASE(resize_value_initialises) {
  SmallVector<int, 2> v(5);
  for (int x : v) BOOST_TEST(x == 0);
  const SmallVector<int, 2> list{1, 2, 3};
  BOOST_TEST(list.back() == 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
