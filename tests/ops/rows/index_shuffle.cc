// Samples of RandomIndexShuffle. What comes out was asked of TensorFlow 2.21.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <numeric>
#include <vector>

#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::index_shuffle_rows {
namespace {

// Each number once: of block sizes from 16 bits to 20, a power of two among them.
void orders() {
  for (const int64_t most : {1, 2, 7, 500, 65535, 65536, 70000, 300000}) {
    const Tensor index = range(0, most + 1, 1);
    const Tensor shuffled = random_index_shuffle(cast(index, kInt64), tensor({5, -6, 7}), cast(tensor(most), kInt64));
    std::vector<int64_t> found = shuffled.to_vector<int64_t>();
    BOOST_TEST((most < 7 || !std::ranges::is_sorted(found)));
    std::ranges::sort(found);
    std::vector<int64_t> all(static_cast<size_t>(most + 1));
    std::iota(all.begin(), all.end(), int64_t{0});
    BOOST_TEST((found == all), "orders of 0 to " << most);
  }
}

const Array kIndex = iota({9}), kKey = list({1, 2, 3}), kMost = scalar(8);
const Array kKeys = array({3, 3}, {1, 2, 3, -4, 5, 6, 7, 8, 9}).as(kInt64);

ErrorSample wrong(Array index, Array seed, Array most, const char* text, Attrs attrs = {}) {
  return {.in = {std::move(index), std::move(seed), std::move(most)}, .attrs = std::move(attrs), .text = text};
}

const Family family(
    "random",
    {{"RandomIndexShuffle",
      {.samples = {{.in = {kIndex, kKey, kMost}, .out = {list({2, 0, 6, 4, 8, 1, 7, 3, 5})}},
                   {.in = {list({0, 5, 3}), kKeys, list({9, 5, 100000})},
                    .attrs = {{"rounds", 8}},
                    .out = {list({6, 2, 48782})}},
                   {.in = {scalar(0), kKey, scalar(0)}, .out = {scalar(0)}},
                   {.in = {scalar(1 << 30), kKey, scalar(2147483647)}, .out = {scalar(1075752834)}},
                   {.in = {scalar(1e12).as(kInt64), kKey, scalar(1e12).as(kInt64)},
                    .attrs = {{"rounds", 6}},
                    .out = {scalar(681819284592).as(kInt64)}},
                   {.in = {list({}), array({0, 3}, {}), list({})}, .out = {list({})}}},
       .errors = {wrong(scalar(5), kKey, scalar(2), "index: expected 0 to 2, got 5"),
                  wrong(scalar(-1), kKey, scalar(2), "index: expected 0 to 2, got -1"),
                  wrong(scalar(0), kKey, scalar(-2), "max_index: expected at least 0, got -2"),
                  wrong(kIndex, kKeys, scalar(9), "how many there are: expected 9, got 3"),
                  wrong(kIndex, list({1, 2}), scalar(9), "length of seed: expected 3, got 2"),
                  wrong(kIndex, scalar(1), scalar(9), "seed: expected rank 1 or 2, got shape []"),
                  wrong(array({1, 1}, {0}), kKey, scalar(9), "index: expected rank 0 or 1, got shape [1,1]"),
                  wrong(kIndex, kKey, kMost, "rounds: expected an even number from 4 to 1000, got 2", {{"rounds", 2}}),
                  wrong(kIndex, kKey, kMost, "rounds: expected an even number from 4 to 1000, got 5", {{"rounds", 5}})},
       .own = {{"orders", orders}}}}});

}  // namespace
}  // namespace panto::test::index_shuffle_rows
