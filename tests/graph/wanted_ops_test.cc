// The ops that the library is meant to have (wanted_ops.txt) are there.
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <set>
#include <string>

#include "panto/lib/core/op/op.h"
#include "panto/lib/graph/files/import/adapters.h"

namespace panto::test {
namespace {

BOOST_AUTO_TEST_SUITE(wanted_ops)

BOOST_AUTO_TEST_CASE(are_there_or_it_says_why_not) {
  std::set<std::string> names;
  for (const Op* op : all_ops()) {
    names.insert(op->name());
    names.insert(op->aliases().begin(), op->aliases().end());
  }
  std::ifstream file(PANTO_TEST_SOURCE "/tests/graph/wanted_ops.txt");
  BOOST_REQUIRE(file);
  size_t count = 0, excused = 0;
  std::set<std::string> seen;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::string name = line.substr(0, line.find(':'));
    BOOST_TEST(seen.insert(name).second, name << " is in the list twice");
    ++count;
    if (name != line) {
      BOOST_TEST(line.size() > name.size() + 10, name << ": the reason is missing");
      ++excused;
    } else {
      BOOST_TEST((names.contains(name) || find_adapter(name) != nullptr), name);
    }
  }
  BOOST_TEST(count > 900);
  BOOST_TEST(excused < count / 20);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
