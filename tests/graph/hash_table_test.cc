// HashTable: against the standard library's, with hashes that collide.
#include "panto/lib/graph/hash_table.h"

#include <boost/test/unit_test.hpp>
#include <random>
#include <set>
#include <utility>

namespace panto::test {
namespace {

using Table = HashTable<uint32_t, int, -1>;

bool has(const Table& table, uint32_t hash, int value) {
  return table.find(hash, [&](int v) { return v == value; }) != nullptr;
}

BOOST_AUTO_TEST_SUITE(graph_suite)

BOOST_AUTO_TEST_CASE(hash_table_holds_what_was_entered_and_not_erased) {
  // Of 3: nearly all entries in one run. Of 2^32 - 1: runs that go on at the table's beginning.
  for (const uint32_t hashes : {3u, 64u, 1000u, ~0u}) {
    std::mt19937 random(5);
    Table table;
    std::set<std::pair<uint32_t, int>> model;
    const auto any_hash = [&] { return hashes == ~0u ? ~static_cast<uint32_t>(random() % 8) : random() % hashes; };
    for (int i = 0; i < 3000; ++i) {
      const auto hash = static_cast<uint32_t>(any_hash());
      const int value = static_cast<int>(random() % 40);
      if (random() % 2 == 0) {
        if (model.emplace(hash, value).second) table.insert(hash, value);
      } else {
        model.erase({hash, value});
        table.erase(hash, [&](int v) { return v == value; });
      }
      if (i % 100 != 0) continue;
      for (const auto& [h, v] : model) BOOST_TEST(has(table, h, v));
      for (int v = 0; v < 40; ++v) BOOST_TEST(has(table, hash, v) == model.contains({hash, v}));
    }
    for (const auto& [h, v] : model) table.erase(h, [&](int other) { return other == v; });
    for (const auto& [h, v] : model) BOOST_TEST(!has(table, h, v));
  }
}

BOOST_AUTO_TEST_CASE(hash_table_without_entries_is_asked_as_well) {
  Table table;
  BOOST_TEST(!has(table, 1, 1));
  table.erase(1, [](int) { return true; });
  table.reserve(100);
  BOOST_TEST(!has(table, 1, 1));
  table.insert(1, 1);
  *table.find(1, [](int) { return true; }) = 2;
  BOOST_TEST((!has(table, 1, 1) && has(table, 1, 2) && !has(table, 2, 2)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
