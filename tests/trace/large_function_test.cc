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
#include "panto/trace/function.h"

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

double first_taped_call(const Body& body, int steps, const std::string& passes, bool second_order) {
  const Function f = trace([&](const Tensor& a) { return body(a, steps); }, {TensorSpec(kFloat64, {2})});
  f.set_optimizer(passes);
  const Tensor x = tensor({0.5, 1.5});
  const double start = processor_seconds();
  GradientTape tape({.persistent = second_order});
  tape.watch(x);
  const List y = f.call({&x, 1});
  tape.gradient(y.back(), x);
  return processor_seconds() - start;
}

BOOST_AUTO_TEST_CASE(time_grows_as_the_nodes_do) {
  for (const auto& [name, body] : kBodies) {
    for (const char* passes : {"", "off"}) {
      for (const bool second_order : {false, true}) {
        BOOST_TEST_CONTEXT(name << ", passes '" << passes << "', second order " << second_order) {
          const double few = first_taped_call(body, 2000, passes, second_order);
          const double many = first_taped_call(body, 10000, passes, second_order);
          BOOST_TEST(many < 11 * few, few << " s, then " << many << " s");
        }
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
