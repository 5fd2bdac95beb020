// Where an optimizer's rule is one of elements, it is one kernel a variable, eagerly and traced.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/runtime/profile/profiler.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/near.h"
#include "panto/tests/nn/training/training_problem.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

using training_problem::elementwise;
using training_problem::NamedOptimizer;

// The ops that a step runs with the variable's elements, but for those that only hand them on.
std::vector<std::string> kernels_of(const std::function<void()>& step) {
  step();  // what the first one traces
  Profiler profiler;
  step();
  profiler.stop();
  std::vector<std::string> kernels;
  for (const ProfiledOp& op : profiler.ops()) {
    if (op.op == "ReadVariableOp" || op.op == "AssignVariableOp" || op.op == "Identity") continue;
    const bool step_of_op = op.op.starts_with("ResourceApply");  // it has no outputs
    if (step_of_op || op.outputs.find("[257]") != std::string::npos) kernels.push_back(op.op);
  }
  return kernels;
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(fused_optimizers)

BOOST_AUTO_TEST_CASE(one_kernel_a_variable) {
  for (const bool traced : {false, true}) {
    for (const NamedOptimizer& o : elementwise()) {
      BOOST_TEST_CONTEXT(o.name << (traced ? ", traced" : "")) {
        const Variable v(random_normal({257}), "v");
        const auto optimizer = o.make({v});
        const Function function = trace([&](const Tensor& g) { optimizer->apply({g}); });
        const Tensor gradient = random_normal({257});
        const std::vector<std::string> kernels = kernels_of([&] {
          if (traced) {
            function(gradient);
          } else {
            optimizer->apply({gradient});
          }
        });
        std::string names;
        for (const std::string& name : kernels) names += name + " ";
        BOOST_TEST(kernels.size() == 1U, names);
      }
    }
  }
}

// Each variable has a kernel of its own, whatever the others' shapes and dtypes are; more than a function keeps plans.
BOOST_AUTO_TEST_CASE(many_variables) {
  std::vector<Variable> variables, expected;
  for (int64_t n = 1; n <= 40; ++n) {
    const DType type = n % 3 == 0 ? kFloat64 : kFloat32;
    const Tensor first = cast(random_normal({n}), type);
    variables.emplace_back(first, "v");
    expected.emplace_back(first, "e");
  }
  Lion lion(variables, {.learning_rate = 0.125, .beta1 = 0.5, .beta2 = 0.75});
  for (int step = 0; step < 3; ++step) {
    std::vector<Tensor> gradients;
    for (size_t i = 0; i < variables.size(); ++i) {
      gradients.push_back(variables[i].value() * 0.5f - 0.25f);
      // By hand: of the first step the average is the gradient's.
      if (step == 0) expected[i].assign(expected[i].value() - sign(gradients[i]) * 0.125f);
    }
    lion.apply(gradients);
    if (step > 0) continue;
    for (size_t i = 0; i < variables.size(); ++i) {
      expect_near(variables[i].value(), Shape{static_cast<int64_t>(i) + 1}, values_of(expected[i].value()), 1e-6, 1);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
