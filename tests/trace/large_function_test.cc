// The first call of a large function under a tape takes time in proportion to its nodes. Processor time is compared, so
// that other processes do not matter: five times the nodes take 25 times the time where the way is quadratic.
#include <time.h>

#include <functional>
#include <string>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(large_functions)

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

using List = std::vector<Tensor>;
using Body = std::function<List(const Tensor&, int)>;

const std::pair<const char*, Body> kBodies[] = {
    {"a chain",
     [](const Tensor& a, int steps) {
       Tensor y = a;
       for (int i = 0; i < steps; ++i) y = sin(y * a);
       return List{y};
     }},
    {"many outputs",
     [](const Tensor& a, int steps) {
       List out{a};
       for (int i = 0; i < steps; ++i) out.push_back(sin(out.back() * a));
       return out;
     }},
    {"many tensors from outside",
     [](const Tensor& a, int steps) {
       Tensor y = a;
       for (int i = 0; i < steps; ++i) y = sin(y * tensor(std::vector<double>{1.0, 0.5 * i}));
       return List{y};
     }},
};

// With the gradient of the last output, and for a second order the gradient of that.
double seconds_of_first_call(const Body& body, int steps, const std::string& passes, bool second_order) {
  const Function f = trace([&](const Tensor& a) { return body(a, steps); }, {TensorSpec(kFloat64, {2})});
  f.set_optimizer(passes);
  const Tensor x = tensor({0.5, 1.5});
  const double start = processor_seconds();
  GradientTape outer;
  outer.watch(x);
  if (!second_order) outer.stop();
  Tensor dx;
  {
    GradientTape tape;
    tape.watch(x);
    dx = tape.gradient(f.call({&x, 1}).back(), x);
  }
  if (second_order) outer.gradient(dx, x);
  return processor_seconds() - start;
}

void expect_linear(const Body& body, const std::string& passes, bool second_order) {
  const double few = seconds_of_first_call(body, 2000, passes, second_order);
  const double many = seconds_of_first_call(body, 10000, passes, second_order);
  BOOST_TEST(many < 9 * few, few << " s, then " << many << " s");
}

BOOST_AUTO_TEST_CASE(time_grows_as_the_nodes_do) {
  for (const auto& [name, body] : kBodies) {
    BOOST_TEST_CONTEXT(name) { expect_linear(body, "", false); }
  }
}

BOOST_AUTO_TEST_CASE(time_of_a_second_order_grows_as_the_nodes_do) { expect_linear(kBodies[0].second, "off", true); }

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
