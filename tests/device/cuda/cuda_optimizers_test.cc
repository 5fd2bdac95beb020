// Optimizers on the GPU against the CPU. Ops of their steps that change rows are in cuda_rows_test.cc.
#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>
#include <vector>

#include "panto/lib/ops/ops.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/expect.h"
#include "panto/tests/gpu.h"
#include "panto/tests/near.h"
#include "panto/tests/nn/training/training_problem.h"

namespace panto {
namespace {

namespace utf = boost::unit_test;
using test::gpu;
using test::has_gpu;
using training_problem::NamedOptimizer;

BOOST_AUTO_TEST_SUITE(cuda_optimizers, *utf::label("cuda") * utf::precondition(has_gpu))

// Of what an op has (AMSGrad) and of what is made at run time (Nadam, Lion, ScheduleFreeAdamW) alike.
BOOST_AUTO_TEST_CASE(variables_become_what_they_become_on_the_cpu) {
  constexpr int64_t kSize = 10'007;
  const Tensor first = reshape(linspace(-2.f, 2.f, kSize), {kSize}), wanted = sin(first * 7.f);
  for (const NamedOptimizer& o : training_problem::elementwise()) {
    BOOST_TEST_CONTEXT(o.name) {
      const auto trained = [&](bool there) {
        const auto place = [&](const Tensor& t) { return there ? t.to(*gpu()) : t; };
        const Variable v(place(first), "v");
        const auto optimizer = o.make({v});
        for (int step = 0; step < 5; ++step) optimizer->apply({v.value() - place(wanted)});
        BOOST_TEST((&v.value().device() == gpu()) == there);
        return v.value().cpu();
      };
      expect_near(trained(true), Shape{kSize}, values_of(trained(false)), 1e-5, 1);
    }
  }
}

// The GPU hears of scalars when it runs: who waits for it is told, and nothing has changed.
BOOST_AUTO_TEST_CASE(what_is_refused_changes_nothing) {
  const Variable v(tensor({1.f, 2.f}).to(*gpu()), "v"), accum(tensor({1.f, 1.f}).to(*gpu()), "accum");
  expect_error_begins(
      [&] {
        resource_apply_proximal_adagrad(v, accum, 0.f, 0.25f, 0.5f, tensor({1.f, 1.f}).to(*gpu()));
        gpu()->synchronize();
      },
      "InvalidArgument: lr, l1, l2: expected more than 0");
  BOOST_TEST(v.value().cpu().to_vector<float>() == std::vector<float>({1, 2}), boost::test_tools::per_element());
  BOOST_TEST(accum.value().cpu().to_vector<float>() == std::vector<float>({1, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
