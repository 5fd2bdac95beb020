#include <set>

#include "panto/lib/ops/ops.h"
#include "panto/nn/data.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

Tensor rows(int64_t n) { return cast(reshape(range(0, 2 * n, 1), {n, 2}), kInt64); }
Tensor numbers(int64_t n) { return range(0, static_cast<int32_t>(n), 1); }

std::vector<int32_t> order_of(const Batches& batches) {
  std::vector<int32_t> order;
  for (const auto& [x, y] : batches) {
    for (int32_t v : y.to_vector<int32_t>()) order.push_back(v);
  }
  return order;
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(batches)

BOOST_AUTO_TEST_CASE(in_order) {
  const Batches batches(rows(5), numbers(5), 2);
  BOOST_TEST(batches.size() == 2);
  const auto [x, y] = batches.at(1);
  expect_near(x, {2, 2}, {4, 5, 6, 7});
  expect_near(y, {2}, {2, 3});
  BOOST_TEST((order_of(batches) == std::vector<int32_t>{0, 1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(with_the_remainder) {
  const Batches batches(rows(5), numbers(5), 2, {.drop_remainder = false});
  BOOST_TEST(batches.size() == 3);
  expect_near(batches.at(2).first, {1, 2}, {8, 9});
  BOOST_TEST((order_of(batches) == std::vector<int32_t>{0, 1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(sizes) {
  for (bool drop : {true, false}) {
    BOOST_TEST(Batches(rows(4), numbers(4), 2, {.drop_remainder = drop}).size() == 2);
    BOOST_TEST(Batches(rows(4), numbers(4), 100, {.drop_remainder = drop}).size() == (drop ? 0 : 1));
    BOOST_TEST(Batches(rows(0), numbers(0), 3, {.drop_remainder = drop}).size() == 0);
  }
}

// Drawn with SplitMix64 and Fisher-Yates from the last element down, by an implementation in Python.
BOOST_AUTO_TEST_CASE(a_seed_is_an_order) {
  const auto shuffled = [](uint64_t seed) {
    return order_of(Batches(rows(10), numbers(10), 5, {.shuffle_seed = seed}));
  };
  BOOST_TEST((shuffled(42) == std::vector<int32_t>{0, 9, 5, 8, 6, 4, 7, 2, 1, 3}));
  BOOST_TEST((shuffled(7) == std::vector<int32_t>{8, 1, 5, 9, 0, 4, 3, 2, 6, 7}));
  BOOST_TEST((shuffled(42) == shuffled(42)));
}

BOOST_AUTO_TEST_CASE(shuffling_moves_whole_rows_and_loses_none) {
  const Batches batches(rows(1000), numbers(1000), 64, {.shuffle_seed = 3, .drop_remainder = false});
  std::set<int32_t> seen;
  for (const auto& [x, y] : batches) {
    const auto xs = x.to_vector<int64_t>();
    const auto ys = y.to_vector<int32_t>();
    for (size_t i = 0; i < ys.size(); ++i) {
      BOOST_REQUIRE(xs[2 * i] == 2 * ys[i] && xs[2 * i + 1] == 2 * ys[i] + 1);
      seen.insert(ys[i]);
    }
  }
  BOOST_TEST(seen.size() == 1000U);
}

BOOST_AUTO_TEST_CASE(other_types_and_shapes) {
  const Batches batches(tensor({{{true}, {false}}, {{false}, {true}}}), tensor({{1.5, 2.5}, {3.5, 4.5}}), 1);
  expect_near(batches.at(1).first, {1, 2, 1}, {0, 1});
  expect_near(batches.at(1).second, {1, 2}, {3.5, 4.5});
  const Batches empty(tensor(std::vector<float>{}, Shape{3, 0}), numbers(3), 2);
  BOOST_TEST(empty.at(0).first.shape().to_string() == "[2,0]");
}

BOOST_AUTO_TEST_CASE(misuse) {
  expect_error([] { Batches(rows(3), numbers(4), 1); },
               "InvalidArgument: batches: expected the same number of rows, got shapes [3,2] and [4]");
  expect_error([] { Batches(tensor(1.F), numbers(4), 1); },
               "InvalidArgument: batches: expected the same number of rows, got shapes [] and [4]");
  for (int64_t size : {int64_t{0}, int64_t{-1}}) {
    expect_error([&] { Batches(rows(3), numbers(3), size); },
                 "InvalidArgument: batches: expected a positive batch size, got " + std::to_string(size));
  }
  expect_error([] { Batches(tensor(std::vector<std::string>{"a"}), numbers(1), 1); },
               "InvalidArgument: batches: expected plain elements, got string and int32");
  const Batches batches(rows(4), numbers(4), 2);
  expect_error([&] { batches.at(2); }, "OutOfRange: batch: expected one in [0, 2), got 2");
  expect_error([&] { batches.at(-1); }, "OutOfRange: batch: expected one in [0, 2), got -1");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
