// What a child process computes after the parent has shared loops between threads, which the child does not have.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <functional>
#include <thread>

#include "panto/lib/core/step/threads.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/tests/near.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

// Runs `body` in a child and returns its exit status: 0 if `body` returns true, minus the signal's number if one ends
// it (SIGALRM: it hung).
int in_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    bool good = false;
    try {
      good = body();
    } catch (...) {
      good = false;
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

struct FourThreads {
  int before = num_threads();
  FourThreads() { set_num_threads(4); }
  ~FourThreads() { set_num_threads(before); }
};

// Kernels of our own, oneDNN's and BLAS's, each large enough to be shared.
Tensor sums(const Tensor& x) { return sum(tanh(x) * 2.0f + x); }
Tensor products(const Tensor& x) { return sum(matmul(x, x)); }
Tensor wide_products(const Tensor& x) { return sum(matmul(cast(x, kFloat64), cast(x, kFloat64))); }
Tensor convolutions(const Tensor& x) {
  const Tensor images = reshape(x, {1, 64, 64, 64});
  return sum(conv2d(images, fill({3, 3, 64, 64}, 0.01f), {1, 1, 1, 1}, "SAME"));
}

BOOST_AUTO_TEST_SUITE(fork_suite, *boost::unit_test::label("native"))

BOOST_AUTO_TEST_CASE(a_child_computes_as_its_parent_does) {
  const FourThreads many;
  const Tensor x = reshape(range(0, 512 * 512, 1), {512, 512});
  const Tensor numbers = cast(x, kFloat32) * (1.0f / (512 * 512));
  for (Tensor (*compute)(const Tensor&) : {sums, products, wide_products, convolutions}) {
    const float parent = compute(numbers).item<float>();
    BOOST_TEST(
        in_child([&] { return std::abs(compute(numbers).item<float>() - parent) <= 1e-5f * std::abs(parent); }) == 0);
  }
  const Function f = trace([](const Tensor& a) { return sums(a) + products(a); }, {TensorSpec(kFloat32, {512, 512})});
  const float parent = f(numbers).item<float>();
  BOOST_TEST(in_child([&] { return std::abs(f(numbers).item<float>() - parent) <= 1e-5f * std::abs(parent); }) == 0);
}

// A thread that the child starts has no team of the parent's: it shares its loops as usual.
BOOST_AUTO_TEST_CASE(a_child_may_start_threads) {
  const FourThreads many;
  const Tensor x = ones({1 << 20});
  const float parent = sums(x).item<float>();
  BOOST_TEST(in_child([&] {
               float got = 0;
               int count = 0;
               std::thread([&] {
                 count = num_threads();
                 got = sums(x).item<float>();
               }).join();
               return count == 4 && got == parent && num_threads() == 1;
             }) == 0);
}

BOOST_AUTO_TEST_CASE(children_of_children) {
  const FourThreads many;
  const Tensor x = ones({1 << 20});
  const float parent = sums(x).item<float>();
  BOOST_TEST(in_child([&] { return in_child([&] { return sums(x).item<float>() == parent; }) == 0; }) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
