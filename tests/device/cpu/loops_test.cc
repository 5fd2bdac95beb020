// The elementwise loops: broadcasting against an index-by-index reference, and threads against one thread.
#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <complex>
#include <cstring>
#include <random>
#include <thread>

#include "panto/device/cpu/parallel.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/functors.h"
#include "panto/device/shape/broadcast.h"
#include "panto/lib/base/error.h"
#include "panto/lib/core/step/threads.h"
#include "panto/lib/ops/ops.h"

namespace panto {
namespace {

using Dims = std::vector<int64_t>;

int64_t product(const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

// Where in an input of shape `in` the output's element `at` is read, by the definition of broadcasting.
int64_t position(const Dims& in, const Dims& out, int64_t at) {
  int64_t result = 0;
  int64_t stride = 1;
  for (size_t k = 1; k <= out.size(); ++k) {
    const int64_t index = at % out[out.size() - k];
    at /= out[out.size() - k];
    if (k > in.size()) continue;
    const int64_t size = in[in.size() - k];
    if (size != 1) result += index * stride;
    stride *= size;
  }
  return result;
}

// A shape that broadcasts to `out`: some dimensions are 1, leading ones may be missing.
Dims random_input(const Dims& out, std::mt19937& rng) {
  Dims in(out.begin() + static_cast<int64_t>(rng() % 4 == 0 ? rng() % (out.size() + 1) : 0), out.end());
  for (int64_t& d : in) {
    if (rng() % 3 == 0) d = 1;
  }
  return in;
}

std::vector<Dims> random_shapes(std::mt19937& rng, size_t inputs) {
  Dims full(rng() % 6);
  for (int64_t& d : full) d = static_cast<int64_t>(rng() % 8 == 0 ? 1 : 1 + rng() % 5);
  if (!full.empty() && rng() % 20 == 0) full[rng() % full.size()] = 0;
  std::vector<Dims> shapes;
  for (size_t i = 0; i < inputs; ++i) shapes.push_back(random_input(full, rng));
  // What they broadcast to: a dimension that is 1 in all of them is 1.
  Dims out;
  for (const Dims& s : shapes) {
    if (s.size() > out.size()) out.insert(out.begin(), s.size() - out.size(), 1);
    for (size_t k = 1; k <= s.size(); ++k) {
      if (s[s.size() - k] != 1) out[out.size() - k] = s[s.size() - k];
    }
  }
  shapes.push_back(out);
  return shapes;
}

Tensor counting(const Dims& dims, float start) {
  std::vector<float> values(static_cast<size_t>(product(dims)));
  for (float& v : values) v = start++;
  return tensor(values, Shape(dims));
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.impl()->data, b.impl()->data, a.nbytes()) == 0;
}

// The number of threads until the end of a test.
class Threads {
 public:
  explicit Threads(int count) : previous_(num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(previous_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int previous_;
};

BOOST_AUTO_TEST_SUITE(loops)

BOOST_AUTO_TEST_CASE(broadcast_map_visits_what_the_definition_says) {
  std::mt19937 rng(1);
  for (int trial = 0; trial < 2000; ++trial) {
    const std::vector<Dims> shapes = random_shapes(rng, 3);
    const Shape out(shapes[3]);
    const Shape a(shapes[0]), b(shapes[1]), c(shapes[2]);
    BroadcastMap<3> map;
    make_broadcast_map<3>(out, {&a, &b, &c}, map);
    int64_t size = 1;
    for (int d = 0; d < map.rank; ++d) size *= map.size[d];
    BOOST_REQUIRE_EQUAL(size, out.numel());
    for (int64_t at = 0; at < size; ++at) {
      int64_t offset[3] = {};
      for (int64_t d = 0, rest = at; d < map.rank; ++d) {
        for (int i = 0; i < 3; ++i) offset[i] += rest % map.size[d] * map.stride[d][i];
        rest /= map.size[d];
      }
      for (size_t i = 0; i < 3; ++i) {
        BOOST_REQUIRE_EQUAL(offset[i], position(shapes[i], shapes[3], at));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(neighbours_that_move_alike_are_one_dimension) {
  const Shape out{2, 1, 3, 4, 5};
  const Shape row{4, 5};
  BroadcastMap<2> map;
  make_broadcast_map<2>(out, {&out, &row}, map);
  BOOST_TEST(map.rank == 2);
  BOOST_TEST(map.size[0] == 20);
  BOOST_TEST(map.size[1] == 6);
  BOOST_TEST(map.stride[0][0] == 1);
  BOOST_TEST(map.stride[0][1] == 1);
  BOOST_TEST(map.stride[1][0] == 20);
  BOOST_TEST(map.stride[1][1] == 0);
}

BOOST_AUTO_TEST_CASE(binary_ops_broadcast) {
  std::mt19937 rng(2);
  for (int trial = 0; trial < 1000; ++trial) {
    const std::vector<Dims> shapes = random_shapes(rng, 2);
    const Tensor x = counting(shapes[0], 1.f);
    const Tensor y = counting(shapes[1], 1000.f);
    const Tensor z = sub(x, y);
    BOOST_REQUIRE(z.shape() == Shape(shapes[2]));
    const std::vector<float> values = z.to_vector<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      BOOST_REQUIRE_EQUAL(values[i], 1.f + static_cast<float>(position(shapes[0], shapes[2], at)) -
                                         (1000.f + static_cast<float>(position(shapes[1], shapes[2], at))));
    }
  }
}

BOOST_AUTO_TEST_CASE(select_broadcasts_all_three) {
  std::mt19937 rng(3);
  for (int trial = 0; trial < 1000; ++trial) {
    const std::vector<Dims> shapes = random_shapes(rng, 3);
    const Tensor condition = greater(floor_mod(counting(shapes[0], 0.f), 3), 0.5);
    const Tensor z = select(condition, counting(shapes[1], 1.f), counting(shapes[2], 1000.f));
    BOOST_REQUIRE(z.shape() == Shape(shapes[3]));
    const std::vector<float> values = z.to_vector<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const bool chosen = position(shapes[0], shapes[3], at) % 3 != 0;
      const int64_t from = position(shapes[chosen ? 1 : 2], shapes[3], at);
      BOOST_REQUIRE_EQUAL(values[i], static_cast<float>(from) + (chosen ? 1.f : 1000.f));
    }
  }
}

BOOST_AUTO_TEST_CASE(select_moves_strings) {
  const Tensor z =
      select(tensor({true, false}), tensor(std::vector<std::string>{"a", "b"}), tensor(std::string(100, 'c')));
  BOOST_TEST(z.data<std::string>()[0] == "a");
  BOOST_TEST(z.data<std::string>()[1] == std::string(100, 'c'));
}

BOOST_AUTO_TEST_CASE(threads_change_no_bit) {
  std::mt19937 rng(4);
  std::normal_distribution<float> normal;
  std::vector<float> values(300'007);
  for (float& v : values) v = normal(rng);
  const Tensor x = tensor(values, Shape{300'007});
  const Tensor column = tensor(std::vector<float>(values.begin(), values.begin() + 701), Shape{701, 1});
  const Tensor row = tensor(std::vector<float>(values.begin(), values.begin() + 997), Shape{1, 997});
  const auto compute = [&] {
    return std::vector<Tensor>{
        tanh(x),          add(x, x),       mul(x, 3),        sub(column, row), select(less(x, 0), x, 1),
        add_n({x, x, x}), cast(x, kInt32), less(column, row)};
  };
  const std::vector<Tensor> expected = [&] {
    const Threads one(1);
    return compute();
  }();
  for (int count : {2, 3, 7}) {
    const Threads several(count);
    const std::vector<Tensor> got = compute();
    for (size_t i = 0; i < expected.size(); ++i) {
      BOOST_TEST(same_bytes(expected[i], got[i]), "result " << i << " with " << count << " threads");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_fault_in_any_thread_is_thrown) {
  const Threads four(4);
  std::vector<int32_t> divisors(200'000, 7);
  for (size_t at : {size_t{0}, size_t{100'000}, size_t{199'999}}) {
    divisors[at] = 0;
    BOOST_CHECK_EXCEPTION(div(100, tensor(divisors)), Error, [](const Error& error) {
      return error.code() == Code::kInvalidArgument && error.message().starts_with("integer division by zero");
    });
    divisors[at] = 7;
  }
  BOOST_TEST(div(100, tensor(divisors)).to_vector<int32_t>()[0] == 14);
}

BOOST_AUTO_TEST_CASE(the_output_may_take_over_any_input) {
  const Dims shape{64, 64};
  for (int which = 0; which < 2; ++which) {
    Tensor x = counting(shape, 0.f);
    Tensor y = counting(shape, 5.f);
    const Tensor z = which == 0 ? sub(std::move(x), y) : sub(x, std::move(y));
    for (float v : z.to_vector<float>()) BOOST_REQUIRE_EQUAL(v, -5.f);
  }
  Tensor last = counting(shape, 2.f);
  const Tensor sum = add_n({counting(shape, 0.f), counting(shape, 1.f), std::move(last)});
  const std::vector<float> values = sum.to_vector<float>();
  for (size_t i = 0; i < values.size(); ++i) BOOST_REQUIRE_EQUAL(values[i], 3.f * static_cast<float>(i) + 3.f);
}

BOOST_AUTO_TEST_CASE(integer_arithmetic_wraps) {
  constexpr int32_t kLow = std::numeric_limits<int32_t>::min();
  BOOST_TEST(k::add(std::numeric_limits<int32_t>::max(), 1) == kLow);
  BOOST_TEST(k::mul(uint16_t{65535}, uint16_t{65535}) == 1);
  BOOST_TEST(k::neg(kLow) == kLow);
  BOOST_TEST(k::abs(kLow) == kLow);
  BOOST_TEST(k::pow(3, 40) == 689956897);  // 3^40 mod 2^32
  BOOST_TEST(FloorDivFn{}(kLow, -1) == kLow);
  BOOST_TEST(FloorModFn{}(kLow, -1) == 0);
  BOOST_TEST(DivFn{}(kLow, -1) == kLow);
}

// The values are TensorFlow's, on x86.
BOOST_AUTO_TEST_CASE(numbers_that_do_not_fit_are_converted_like_tensorflow) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  BOOST_TEST(convert<int32_t>(nan) == std::numeric_limits<int32_t>::min());
  BOOST_TEST(convert<int32_t>(3e9f) == std::numeric_limits<int32_t>::min());
  BOOST_TEST(convert<int64_t>(1e20) == std::numeric_limits<int64_t>::min());
  BOOST_TEST(convert<uint32_t>(3e9f) == 3000000000u);
  BOOST_TEST(convert<uint32_t>(-3e9f) == 2147483648u);
  BOOST_TEST(convert<uint32_t>(-1.5f) == 4294967295u);
  BOOST_TEST(convert<uint64_t>(-3e9f) == 18446744070709551616u);
  BOOST_TEST(convert<uint64_t>(1e20f) == 9223372036854775808u);
  BOOST_TEST(int{convert<uint8_t>(300.f)} == 44);
  BOOST_TEST(int{convert<int8_t>(-1.5f)} == -1);
  BOOST_TEST(convert<bool>(nan));
  BOOST_TEST(!convert<bool>(std::complex<float>(0, 2)));
}

// Threads of the user's that compute at once do not bring a team each.
BOOST_AUTO_TEST_CASE(one_loop_is_shared_at_a_time) {
  const Threads scope(2);
  std::atomic<int> outer{0}, inner{0}, after{0};
  cpu::parallel_ranges(1000, cpu::kParallelBytes, [&](int64_t begin, int64_t) {
    ++outer;
    if (begin != 0) return;
    std::thread other([&] { cpu::parallel_ranges(1000, cpu::kParallelBytes, [&](int64_t, int64_t) { ++inner; }); });
    other.join();
  });
  cpu::parallel_ranges(1000, cpu::kParallelBytes, [&](int64_t, int64_t) { ++after; });
  BOOST_TEST(outer == 2);
  BOOST_TEST(inner == 1);
  BOOST_TEST(after == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
