// Rows that write past the caches: the bits of those that do not, for every way to read the operands, wherever the
// result begins and ends.
#include "panto/device/cpu/elementwise/inner_loop.h"

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "panto/lib/core/op/op.h"
#include "panto/lib/core/tensor/half.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/ops/ops.h"

namespace panto {
namespace {

constexpr size_t kMost = 1100;  // elements

template <class T>
std::vector<T> numbers(unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<T> values;
  for (size_t i = 0; i < kMost; ++i) values.push_back(static_cast<T>(static_cast<int>(rng() % 4001) - 2000));
  if constexpr (std::is_floating_point_v<T>) {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    constexpr T kSpecial[] = {0, -T{0}, kInfinity, -kInfinity, std::numeric_limits<T>::quiet_NaN(), T{1e9}};
    for (T& value : values) value /= 700;
    // In one of the blocks in which functions look for what is beyond their bounds.
    for (size_t i = 600; i < kMost; i += 7) values[i] = kSpecial[i % std::size(kSpecial)];
  } else {
    for (T& value : values) value = value == 0 ? T{1} : value;  // division
  }
  return values;
}

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) && std::isnan(b)) return true;  // which NaN it is, is nobody's promise
  }
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// `masked`: the first operand is one of booleans.
template <class T, class Out>
void check(const char* op, int operands, bool masked = false) {
  const InnerLoopFn row = cpu::loop_of(get_op(op).kernel(DeviceKind::kCpu, dtype_of<T>))->run;
  BOOST_TEST_REQUIRE((row != nullptr), op);
  std::vector<uint8_t> mask;
  for (const int32_t number : numbers<int32_t>(9)) mask.push_back(number > 0 ? 1 : 0);
  const std::vector<T> values[] = {numbers<T>(1), numbers<T>(2), numbers<T>(3)};
  const void* in[3];
  for (int k = 0; k < operands; ++k) in[k] = values[k].data();
  if (masked) in[0] = mask.data();
  alignas(64) Out expected[kMost], got[kMost + 16];
  for (unsigned moves = 1; moves < 1u << operands; ++moves) {
    for (const size_t n : {1, 8, 15, 16, 17, 64, 511, 512, 513, 1000, 1100}) {
      BOOST_TEST(row(moves, expected, static_cast<int64_t>(n), in) == 0u);
      for (const size_t at : {0, 1, 8}) {
        for (const unsigned far : {0u, moves << cpu::kPrefetch}) {
          std::memset(got, 0x55, sizeof(got));
          Out untouched;
          std::memcpy(&untouched, got, sizeof(Out));
          const unsigned how = moves | cpu::kNontemporal | far;
          BOOST_TEST(row(how, got + at, static_cast<int64_t>(n), in) == 0u);
          cpu::stream_fence();
          for (size_t i = 0; i < kMost + 16; ++i) {
            const bool inside = i >= at && i < at + n;
            if (!same(got[i], inside ? expected[i - at] : untouched)) {
              BOOST_FAIL(op << " of " << dtype_name(dtype_of<T>) << ": element " << i << " of " << n << " from " << at
                            << ", moving " << moves);
            }
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE(rows)

BOOST_AUTO_TEST_CASE(functions_past_the_caches) {
  for (const char* op : {"Neg", "Exp", "Log", "Erf", "Tanh", "Sigmoid", "Sin", "Cos", "Sqrt", "Relu", "Abs", "Sign",
                         "Softplus", "Reciprocal"}) {
    check<float, float>(op, 1);
    check<double, double>(op, 1);
  }
  check<int32_t, int32_t>("Neg", 1);
  check<int64_t, int64_t>("Abs", 1);
}

BOOST_AUTO_TEST_CASE(two_operands_past_the_caches) {
  for (const char* op :
       {"AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference", "Pow", "FloorMod", "ReluGrad"}) {
    check<float, float>(op, 2);
    check<double, double>(op, 2);
  }
  for (const char* op : {"AddV2", "Mul", "FloorMod", "FloorDiv"}) check<int32_t, int32_t>(op, 2);
  for (const char* op : {"Less", "Equal"}) {
    check<float, bool>(op, 2);
    check<int64_t, bool>(op, 2);
  }
}

BOOST_AUTO_TEST_CASE(masks_past_the_caches) {
  check<float, float>("SelectV2", 3, true);
  check<double, double>("SelectV2", 3, true);
  check<int32_t, int32_t>("SelectV2", 3, true);
}

// A fault in one piece is not forgotten with the next.
BOOST_AUTO_TEST_CASE(faults_past_the_caches) {
  std::vector<int32_t> left = numbers<int32_t>(1), right = numbers<int32_t>(2), out(kMost);
  right[10] = 0;
  const void* const in[] = {left.data(), right.data()};
  const InnerLoopFn row = cpu::loop_of(get_op("FloorMod").kernel(DeviceKind::kCpu, kInt32))->run;
  BOOST_TEST(row(0b11u | cpu::kNontemporal, out.data(), kMost, in) == static_cast<uint32_t>(Fault::kDivisionByZero));
  BOOST_TEST(row(0b01u | cpu::kNontemporal, out.data(), kMost, in) == 0u);
}

// Whichever instructions convert: what the types' own constructors say, which core/half_test.cc tests.
template <class T>
void check_conversions() {
  std::vector<float> floats;
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 9973)
    floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  const Tensor halves = cast(tensor(floats), dtype_of<T>), back = cast(halves, kFloat32);
  for (size_t i = 0; i < floats.size(); ++i) {
    const T half = halves.data<T>()[i];
    BOOST_REQUIRE(half.bits == T(floats[i]).bits);
    BOOST_REQUIRE(std::bit_cast<uint32_t>(back.data<float>()[i]) == std::bit_cast<uint32_t>(static_cast<float>(half)));
  }
}

BOOST_AUTO_TEST_CASE(conversions_of_halves) {
  check_conversions<Half>();
  check_conversions<BFloat16>();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
