// Results that are written past the caches: the same as others.
#include "panto/device/cpu/stream.h"

#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <vector>

#include "panto/lib/core/tensor_alloc.h"
#include "panto/lib/ops/operators.h"
#include "panto/trace/function.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(stream)

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

BOOST_AUTO_TEST_CASE(results_larger_than_the_cache) {
  const int64_t cache = std::max<int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE), int64_t{32} << 20);
  const int64_t n = cache / 8 + 12'345;
  BOOST_TEST(!cpu::should_stream(1 << 20));
  if (!cpu::should_stream(8 * n)) {
    BOOST_TEST_MESSAGE("nothing is streamed on this processor");
    return;
  }
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
