// Results that are written past the caches: the same as others.
#include "panto/device/cpu/stream.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <vector>

#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/device/support.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

using test::random_tensor;

BOOST_AUTO_TEST_SUITE(stream, *boost::unit_test::label("heavy"))

BOOST_AUTO_TEST_CASE(copies_from_and_to_any_address) {
  constexpr size_t kRoom = 600;
  std::vector<std::byte> from(kRoom), to(kRoom), expected(kRoom);
  for (size_t i = 0; i < kRoom; ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
  for (size_t source : {0, 1, 13, 64}) {
    for (size_t target = 0; target < 70; target += 3) {
      for (size_t n : {0, 1, 63, 64, 65, 127, 128, 300, 448}) {
        std::ranges::fill(to, std::byte{0});
        std::ranges::fill(expected, std::byte{0});
        std::memcpy(expected.data() + target, from.data() + source, n);
        cpu::stream_copy(to.data() + target, from.data() + source, n);
        cpu::stream_fence();
        if (to != expected) BOOST_FAIL("from " << source << " to " << target << ", " << n << " bytes");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(copies_rows) {
  alignas(64) std::byte from[4 * 192], to[4 * 256], expected[4 * 256];
  for (size_t i = 0; i < sizeof(from); ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
  std::ranges::fill(to, std::byte{0});
  std::ranges::fill(expected, std::byte{0});
  for (size_t r = 0; r < 4; ++r) std::memcpy(expected + r * 256, from + r * 192, 128);
  cpu::stream_rows(to, 256, from, 192, 4, 128);
  cpu::stream_fence();
  BOOST_TEST(std::memcmp(to, expected, sizeof(to)) == 0);
}

// Bytes of a result that is too large for the cache, if it is made of one input of its size.
int64_t large() {
  static const int64_t bytes = [] {
    int64_t traffic = int64_t{32} << 20;
    while (traffic < int64_t{1} << 30 && !cpu::should_stream(traffic + 1)) traffic *= 2;
    return traffic / 2 + 49'380;
  }();
  return bytes;
}

BOOST_AUTO_TEST_CASE(transpositions_larger_than_the_cache) {
  // Rows of whole lines, which are streamed, and others.
  for (const int64_t rows : {1024, 1025}) {
    const int64_t columns = large() / 4 / rows;
    std::vector<int32_t> values(static_cast<size_t>(rows * columns));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i * 2'654'435'761u);
    const Tensor y = transpose(tensor(values, {rows, columns}), {1, 0});
    const auto got = y.data<int32_t>();
    for (int64_t c = 0; c < columns; ++c) {
      for (int64_t r = 0; r < rows; ++r) {
        const auto from = static_cast<size_t>(r * columns + c), to = static_cast<size_t>(c * rows + r);
        if (got[to] != values[from]) BOOST_FAIL("row " << r << ", column " << c << " of " << rows);
      }
    }
  }
}

// Each row of a large result has the bits that it has alone, where nothing is streamed.
BOOST_AUTO_TEST_CASE(normalised_rows_larger_than_the_cache) {
  const int64_t columns = 1011, rows = large() / 4 / columns;
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1009) * 0.01f - 4;
  const Tensor x = tensor(values, {rows, columns});
  const Tensor scale = random_tensor<float>({columns}, 1), offset = random_tensor<float>({columns}, 2);
  using Function = Tensor (*)(const Tensor&, const Tensor&, const Tensor&);
  for (const Function f : std::initializer_list<Function>{
           [](const Tensor& t, const Tensor&, const Tensor&) { return softmax(t); },
           [](const Tensor& t, const Tensor&, const Tensor&) { return log_softmax(t); },
           [](const Tensor& t, const Tensor& s, const Tensor& o) { return layer_norm(t, s, o); }}) {
    const Tensor y = f(x, scale, offset);
    for (const int64_t r : {int64_t{0}, int64_t{1}, rows / 2, rows / 2 + 1, rows - 1}) {
      BOOST_TEST(test::same_bits(y[r], f(x[r], scale, offset)), r);
    }
  }
}

// Rows that are streamed, one of which begins no line of the cache, and rows that are too short for it.
BOOST_AUTO_TEST_CASE(broadcasting_to_results_larger_than_the_cache) {
  for (const int64_t columns : {1011, 100, 7}) {
    const int64_t rows = large() / 4 / columns;
    const auto number = [](int64_t i) { return static_cast<int32_t>(i * 2'654'435'761); };
    std::vector<int32_t> values(static_cast<size_t>(rows * columns)), row, column;
    for (size_t i = 0; i < values.size(); ++i) values[i] = number(static_cast<int64_t>(i));
    for (int64_t c = 0; c < columns; ++c) row.push_back(number(c + 5));
    for (int64_t r = 0; r < rows; ++r) column.push_back(number(r + 6));
    const Tensor x = tensor(values, {rows, columns}), along = tensor(row, {columns}), down = tensor(column, {rows, 1});
    const auto check = [&](const Tensor& y, const auto& expected) {
      const auto got = y.data<int32_t>();
      for (int64_t i = 0; i < rows * columns; ++i) {
        const auto sum = static_cast<uint32_t>(values[static_cast<size_t>(i)]) + static_cast<uint32_t>(expected(i));
        if (got[static_cast<size_t>(i)] != static_cast<int32_t>(sum)) BOOST_FAIL("element " << i << " of " << columns);
      }
    };
    const auto in_row = [&](int64_t i) { return row[static_cast<size_t>(i % columns)]; };
    check(x + along, in_row);
    check(bias_add(x, along), in_row);
    check(x + down, [&](int64_t i) { return column[static_cast<size_t>(i / columns)]; });
  }
}

BOOST_AUTO_TEST_CASE(results_larger_than_the_cache) {
  const int64_t n = large() / 4;
  BOOST_TEST(!cpu::should_stream(1 << 20));
#ifdef __x86_64__
  BOOST_TEST(cpu::should_stream(8 * n));
#else  // whose results are the same without
  BOOST_TEST(!cpu::should_stream(8 * n));
#endif
  const Tensor x = allocate_tensor(cpu_device(), kInt32, Shape{n});
  for (int64_t i = 0; i < n; ++i) mutable_data<int32_t>(x)[i] = static_cast<int32_t>(i % 101);
  const auto f = [](const Tensor& t) { return t * t; };
  const auto check = [&](const Tensor& y) {
    const auto values = y.data<int32_t>();
    BOOST_REQUIRE(static_cast<int64_t>(values.size()) == n);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto v = static_cast<int32_t>(i % 101);
      if (values[i] != static_cast<int32_t>(v * v)) BOOST_FAIL("element " << i);
    }
  };
  check(f(x));
  check(trace([&](const Tensor& t) { return f(t) + f(t) - f(t); })(x));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
