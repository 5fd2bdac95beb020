// Joined rows: the bits of the separate ones, for every pair that is joined and every way to read the operands.
#include "panto/device/cpu/fused/fused_join.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "panto/device/cpu/elementwise/loops.h"
#include "panto/lib/core/op/op.h"

namespace panto::test {
namespace {

using cpu::Joined;
using Floats = std::vector<float>;

InnerLoopFn row(const char* op, DType type = kFloat32) {
  return cpu::loop_of(get_op(op).kernel(DeviceKind::kCpu, type))->run;
}

// What rounding, signs and the special numbers do; of every size from one to more than a vector.
Floats numbers(size_t n, unsigned seed) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Floats special = {0.f, -0.f, 1e-41f, -1e-41f, kInfinity, -kInfinity, std::nanf(""), 3.4e38f, -3.4e38f, 1.f};
  std::mt19937 rng(seed);
  Floats values;
  for (size_t i = 0; i < n; ++i) {
    values.push_back(i % 7 == 3 ? special[i / 7 % special.size()]
                                : std::uniform_real_distribution<float>(-3.f, 3.f)(rng));
  }
  return values;
}

Floats run(InnerLoopFn row, size_t n, const std::vector<Floats>& in) {
  const void* data[cpu::kMaxInnerLoopInputs] = {};
  unsigned moves = 0;
  for (size_t k = 0; k < in.size(); ++k) {
    data[k] = in[k].data();
    if (in[k].size() > 1 || n == 1) moves |= 1u << k;
  }
  Floats out(n);
  BOOST_TEST(row(moves, out.data(), static_cast<int64_t>(n), data) == 0u);
  return out;
}

bool same_bits(const Floats& a, const Floats& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;  // which NaN it is, is nobody's promise
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0) return false;
  }
  return a.size() == b.size();
}

// The result of `op` for `value` at `place` and `other` at the other.
Floats after(const char* op, size_t n, const Floats& value, int place, int operands, const Floats& other) {
  if (operands == 1) return run(row(op), n, {value});
  return place == 0 ? run(row(op), n, {value, other}) : run(row(op), n, {other, value});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fused_join)

BOOST_AUTO_TEST_CASE(pairs) {
  int joined_pairs = 0;
  for (const char* first : {"Mul", "AddV2", "Sub", "Erf", "Exp", "Tanh", "Square", "Neg"}) {
    for (const char* second : {"Mul", "AddV2", "Sub", "Erf", "Exp", "Tanh", "Square", "Neg"}) {
      const int before = static_cast<int>(get_op(first).signature().inputs.size());
      const int operands = static_cast<int>(get_op(second).signature().inputs.size());
      for (int place = 0; place < operands; ++place) {
        const Joined j = cpu::join(row(first), row(second), place, operands);
        if (j.run == nullptr) continue;
        ++joined_pairs;
        BOOST_TEST_CONTEXT(first << " then " << second << " at " << place) {
          for (size_t n : {1u, 2u, 15u, 16u, 17u, 1000u}) {
            for (unsigned single = 0; single < 8; ++single) {  // operands that are read as one number
              if ((single & j.numbers) != j.numbers) continue;
              std::vector<Floats> in, spread;
              for (int k = 0; k < before + operands - 1; ++k) {
                in.push_back(numbers((single >> k & 1u) != 0 ? 1 : n, 10 * static_cast<unsigned>(k) + single));
                spread.push_back(in.back().size() == n ? in.back() : Floats(n, in.back()[0]));
              }
              const Floats middle =
                  before == 2 ? run(row(first), n, {spread[0], spread[1]}) : run(row(first), n, {spread[0]});
              BOOST_TEST(same_bits(run(j.run, n, in), after(second, n, middle, place, operands, spread.back())),
                         n << " elements, " << single);
            }
          }
        }
      }
    }
  }
  BOOST_TEST(joined_pairs == 36);
}

BOOST_AUTO_TEST_CASE(three) {
  for (const char* function : {"Erf", "Exp", "Tanh"}) {
    const Joined two = cpu::join(row("Mul"), row(function), 0, 1);
    for (int place : {0, 1}) {
      const Joined all = cpu::join(two.run, row("AddV2"), place, 2);
      BOOST_TEST_REQUIRE((all.run != nullptr));
      const Floats x = numbers(500, 1), s = {0.7f}, t = {1.1f};
      const Floats expected = run(row("AddV2"), 500, {run(row(function), 500, {run(row("Mul"), 500, {x, s})}), t});
      BOOST_TEST(same_bits(run(all.run, 500, {x, s, t}), expected), function);
    }
    BOOST_TEST((cpu::join(two.run, row("Sub"), 0, 2).run == nullptr));
  }
}

// (x * u) * (f(x * s) + t), of every size and with NaN, infinities and zeros among x.
BOOST_AUTO_TEST_CASE(four) {
  const Joined product = cpu::join(row("Mul"), row("Mul"), 0, 2);
  for (const char* function : {"Erf", "Exp", "Tanh"}) {
    const InnerLoopFn shifted = cpu::join(cpu::join(row("Mul"), row(function), 0, 1).run, row("AddV2"), 0, 2).run;
    const Joined all = cpu::join(shifted, product.run, 2, 3);
    BOOST_TEST_REQUIRE((all.run != nullptr));
    BOOST_TEST(all.one_operand);
    BOOST_TEST((cpu::join(shifted, product.run, 0, 3).run == nullptr));
    for (size_t n : {1u, 17u, 1000u}) {
      const Floats x = numbers(n, 1), s = {0.7f}, t = {1.1f}, u = {0.3f};
      const Floats inner = run(row("AddV2"), n, {run(row(function), n, {run(row("Mul"), n, {x, s})}), t});
      const Floats expected = run(row("Mul"), n, {run(row("Mul"), n, {x, u}), inner});
      BOOST_TEST(same_bits(run(all.run, n, {x, s, t, u}), expected), function << " of " << n);
    }
  }
}

BOOST_AUTO_TEST_CASE(others_are_not_joined) {
  BOOST_TEST((cpu::join(row("Mul", kFloat64), row("AddV2", kFloat64), 0, 2).run == nullptr));
  BOOST_TEST((cpu::join(row("AddV2"), row("Erf"), 0, 1).run == nullptr));
  BOOST_TEST((cpu::join(row("Mul"), row("AddV2"), 0, 1).run == nullptr));
  BOOST_TEST(cpu::commutes(row("Mul")));
  BOOST_TEST(!cpu::commutes(row("Sub")));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace panto::test
