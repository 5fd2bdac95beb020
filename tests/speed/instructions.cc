// Calls whose instructions test_instructions.py counts, by running this program under callgrind: each work is run until
// nothing is new to it, then a number of times between two requests to callgrind, which writes what it counted under
// the work's name. The program prints how many items that was, "NAME ITEMS".
#include <functional>
#include <iostream>
#include <string>
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_DUMP_STATS_AT(name)
#define CALLGRIND_STOP_INSTRUMENTATION
#endif

#include "panto/panto.h"

namespace panto {
namespace {

constexpr int kRuns = 100, kChain = 100;

void count(const std::string& name, int items_in_a_run, const std::function<void()>& run) {
  for (int i = 0; i < kRuns; ++i) run();
  CALLGRIND_START_INSTRUMENTATION;
  for (int i = 0; i < kRuns; ++i) run();
  CALLGRIND_DUMP_STATS_AT(name.c_str());
  CALLGRIND_STOP_INSTRUMENTATION;
  std::cout << name << ' ' << kRuns * items_in_a_run << '\n';
}

Tensor chain(const Tensor& x, const Tensor& factor) {
  Tensor y = x;
  for (int i = 0; i < kChain; ++i) y = mul(y, factor);
  return y;
}

void count_all() {
  const Tensor x = random_uniform({8, 8}, {.seed = 1}), y = random_uniform({8, 8}, {.seed = 2});
  const std::vector<TensorSpec> two = {TensorSpec(kFloat32, {8, 8}), TensorSpec(kFloat32, {8, 8})};
  count("add", 1, [&] { add(x, y); });
  count("matmul", 1, [&] { matmul(x, y); });
  count("add_taped", kChain, [&] {
    GradientTape tape;
    tape.watch(x);
    for (int i = 0; i < kChain; ++i) add(x, y);
  });
  count("chain_and_gradient", kChain, [&] {
    GradientTape tape;
    tape.watch(x);
    tape.gradient(chain(x, y), x);
  });
  const Function one = trace([](const Tensor& a, const Tensor& b) { return mul(a, b); }, two);
  count("traced_call", 1, [&] { one(x, y); });
  const Function unfused = trace(chain, two);
  unfused.set_optimizer("off");
  count("traced_node", kChain, [&] { unfused(x, y); });
  // The other operand's shape is known only at the run: each node's shape function is asked then.
  const Function late =
      trace([](const Tensor& a, const Tensor& n) { return chain(a, cast(ones_like(fill(pack({n, n}), 0)), kFloat32)); },
            {TensorSpec(kFloat32, {8, 8}), TensorSpec(kInt32, {})});
  late.set_optimizer("off");
  const Tensor eight = tensor(8);
  count("late_node", kChain, [&] { late(x, eight); });
}

}  // namespace
}  // namespace panto

int main() { panto::count_all(); }
