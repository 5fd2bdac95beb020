// How a tape finds what it tracks, also where there is much of it.
#include "panto/autograd/entries.h"

#include <boost/test/unit_test.hpp>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/ops.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(autograd)
BOOST_AUTO_TEST_SUITE(entries)

BOOST_AUTO_TEST_CASE(slots_of_old_and_new_tensors) {
  std::vector<int64_t> old_ids;
  for (int i = 0; i < 40; ++i) old_ids.push_back(next_tensor_id());
  SlotTable table;
  std::vector<int64_t> ids = old_ids;
  for (int i = 0; i < 1000; ++i) {
    const int64_t id = next_tensor_id();
    if (i % 7 == 0) ids.push_back(id);
  }
  ids.push_back(ids.back() + (int64_t{1} << 40));  // as if another thread had made very many
  for (size_t i = 0; i < ids.size(); ++i) BOOST_TEST(table.find(ids[i]) == kNoSlot);
  for (size_t i = 0; i < ids.size(); ++i) table.set(ids[i], static_cast<int32_t>(i));
  for (size_t i = 0; i < ids.size(); ++i) BOOST_TEST(table.find(ids[i]) == static_cast<int32_t>(i));
  BOOST_TEST(table.find(old_ids.front() - 1) == kNoSlot);
  BOOST_TEST(table.find(ids[41] + 1) == kNoSlot);
}

BOOST_AUTO_TEST_CASE(memory_of_an_arena_is_distinct_and_aligned) {
  Arena arena;
  std::vector<std::byte*> blocks;
  const size_t sizes[] = {8, 4000, 104, 70'000, 2'000'000, 16};
  for (const size_t size : sizes) {
    std::byte* block = arena.allocate(size);
    BOOST_TEST(reinterpret_cast<uintptr_t>(block) % 8 == 0u);
    std::fill_n(block, size, std::byte(blocks.size()));
    blocks.push_back(block);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    BOOST_TEST((std::all_of(blocks[i], blocks[i] + sizes[i], [i](std::byte b) { return b == std::byte(i); })));
  }
}

// d/dx_i sum_i i * x_i = i, with more sources and more inputs of one op than fit the short lists.
BOOST_AUTO_TEST_CASE(many_watched_tensors_in_one_call) {
  std::vector<Tensor> xs;
  for (int i = 0; i < 30; ++i) xs.push_back(tensor({1.f, 2.f}));
  GradientTape tape;
  for (const Tensor& x : xs) tape.watch(x);
  std::vector<Tensor> products;
  for (size_t i = 0; i < xs.size(); ++i) products.push_back(mul(xs[i], tensor(static_cast<float>(i))));
  const std::vector<Tensor> grads = tape.gradient(add_n(products), xs);
  for (size_t i = 0; i < xs.size(); ++i) {
    const std::vector<float> expected(2, static_cast<float>(i));
    BOOST_TEST(grads[i].to_vector<float>() == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
