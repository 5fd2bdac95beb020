// A user's own kind of devices is one like ours: eagerly, under tapes, in traces, in sessions, in training. What it
// computes is compared with the CPU for every row of the op table (npu_op_table).
// A program of its own: the back-end that it opens would stay in the registry of the others.
#include <dlfcn.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cmath>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/op/library.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/expect.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

const char* const kLibrary = PANTO_TEST_BUILD "/tests/device/npu/libnpu.so";
const char* const kStale = PANTO_TEST_BUILD "/tests/device/npu/libstale.so";

struct Npu {
  Device& device = opened();
  static Device& opened() {
    load_library(kLibrary);
    return find_device("NPU:0");
  }
  // What a function of the library counts.
  static int count(const char* function) {
    void* library = dlopen(kLibrary, RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<int (*)()>(dlsym(library, function))();
  }
};

// Defined after the back-end took the CPU's kernels.
void define_op_for_cpus() {
  static const Op& op = define_op("TestOnlyOnCpus(x: T; T: float32|float64) -> (y: T)",
                                  {.doc = "x.", .shape = shapes::same_as_input, .no_gradient = "it is a test's"});
  static_cast<void>(op);
  static const KernelEntry kernel("TestOnlyOnCpus", "CPU", kFloat32,
                                  Kernel{.run = [](KernelContext& c) { c.set_out(0, c.in(0)); }});
}

std::vector<float> values(const Tensor& t) { return t.cpu().to_vector<float>(); }

BOOST_FIXTURE_TEST_SUITE(npu, Npu)

BOOST_AUTO_TEST_CASE(is_a_device_like_others) {
  std::vector<std::string> names;
  for (const Device* d : devices()) names.push_back(d->name());
  BOOST_TEST(names == (std::vector<std::string>{"/device:CPU:0", "/device:NPU:0", "/device:NPU:1"}),
             boost::test_tools::per_element());
  BOOST_TEST(has_accelerators());
  BOOST_TEST(find_device("").name() == "/device:NPU:0");  // its priority is higher than the CPU's
  BOOST_TEST(&find_device("/device:NPU:*") == &device);
  expect_error_begins([] { find_device("NPU:2"); }, "NotFound: device: expected one of /device:CPU:0, /device:NPU:0");
}

// The kernel refuses to read it for us, too.
BOOST_AUTO_TEST_CASE(the_host_cannot_read_its_memory) {
  const Tensor x = tensor({1.f, 2.f}).to(device);
  int pipe_ends[2];
  BOOST_TEST_REQUIRE(pipe(pipe_ends) == 0);
  BOOST_TEST(write(pipe_ends[1], x.impl()->data, 8) == -1);
  BOOST_TEST(errno == EFAULT);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  BOOST_TEST(values(x) == (std::vector<float>{1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(eager) {
  const int before = count("npu_own_kernels");
  const Tensor x = tensor({{1.f, 2.f}, {3.f, 4.f}}).to(device);
  const Tensor y = exp(-matmul(x, x) * 0.1f);  // two kernels of its own, two of the CPU's
  BOOST_TEST(&y.device() == &device);
  BOOST_TEST(count("npu_own_kernels") == before + 2);
  const std::vector<float> expected = {std::exp(-0.7f), std::exp(-1.f), std::exp(-1.5f), std::exp(-2.2f)};
  const std::vector<float> got = values(y);
  for (size_t i = 0; i < 4; ++i) BOOST_TEST(got[i] == expected[i], boost::test_tools::tolerance(1e-6f));
}

BOOST_AUTO_TEST_CASE(scopes_and_missing_kernels) {
  define_op_for_cpus();
  const DeviceScope scope("/device:NPU:1");
  const Tensor x = zeros({3}) + 1.f;
  BOOST_TEST(x.device().name() == "/device:NPU:1");
  expect_error_begins([&] { static_cast<void>(dispatch::call("TestOnlyOnCpus", {&x, 1})); },
                      "Unimplemented: kernel on NPU for float32: expected one of (CPU: float32), got none");
  // Strings are in host memory only.
  expect_error_begins([&] { static_cast<void>(string_join({tensor({"a"}), tensor({"b"})})); }, "Unimplemented: ");
}

BOOST_AUTO_TEST_CASE(copies_between_two_are_direct) {
  const int before = count("npu_direct_copies");
  const Tensor x = tensor({1.f, 2.f, 3.f}).to(device);
  const Tensor y = x.to(find_device("NPU:1"));
  BOOST_TEST(y.device().name() == "/device:NPU:1");
  BOOST_TEST(count("npu_direct_copies") == before + 1);
  BOOST_TEST(values(y) == (std::vector<float>{1, 2, 3}), boost::test_tools::per_element());
}

// d/dx sum(tanh(x * w)) at w = 0.5: 0.5 * (1 - tanh(x / 2)^2).
BOOST_AUTO_TEST_CASE(gradients_and_traces) {
  const auto f = [](const Tensor& x) { return sum(tanh(x * 0.5f)); };
  const Tensor x = tensor({0.f, 1.f, -2.f}).to(device);
  const std::vector<float> expected = {0.5f, 0.39322387f, 0.20998717f};
  const auto gradient = [&](const Tensor& at) {
    GradientTape tape;
    tape.watch(at);
    return tape.gradient(f(at), at);
  };
  const Function traced = trace(gradient, {{kFloat32, {3}}});
  for (const Tensor& got : {gradient(x), traced(x)}) {
    BOOST_TEST(&got.device() == &device);
    const std::vector<float> there = values(got);
    for (size_t i = 0; i < 3; ++i) BOOST_TEST(there[i] == expected[i], boost::test_tools::tolerance(1e-5f));
  }
}

// Its kind has no kernel for fused loops: the optimizer makes none for it.
BOOST_AUTO_TEST_CASE(nothing_is_fused_there) {
  const auto body = [](const Tensor& x) { return tanh(exp(x) + 1.f) * 2.f; };
  const Function f = trace(body, {{kFloat32, {2}}});
  const Tensor x = tensor({0.f, 1.f});
  const std::vector<float> there = values(f(x.to(device))), here = values(f(x));
  for (size_t i = 0; i < 2; ++i) BOOST_TEST(there[i] == here[i], boost::test_tools::tolerance(1e-6f));
  BOOST_TEST(!get_op("_FusedElementwise").has_kernel(device.kind()));
}

// A step of gradient descent on (w * 3 - 6)^2: w = 1 goes to 1 + 0.1 * 18.
BOOST_AUTO_TEST_CASE(a_training_step) {
  const Variable w(tensor(1.f).to(device), "w");
  const auto step = [&] {
    GradientTape tape;
    const Tensor loss = square(w.value() * 3.f - 6.f);
    w.assign_sub(tape.gradient(loss, w) * 0.1f);
    return loss;
  };
  BOOST_TEST(values(step()) == std::vector<float>{9.f});
  BOOST_TEST(&w.value().device() == &device);
  BOOST_TEST(values(w.value())[0] == 2.8f, boost::test_tools::tolerance(1e-6f));
}

BOOST_AUTO_TEST_CASE(sessions_place_nodes_there) {
  Graph graph;
  Tensor x, y, z;
  {
    GraphScope scope(graph);
    x = placeholder(kFloat32, {2});
    {
      const DeviceScope there("/device:NPU:1");
      y = x * 3.f;
    }
    z = y + 1.f;
  }
  Session session(graph);
  const std::vector<Tensor> got = session.run({y, z}, {{x, tensor({1.f, 2.f})}});
  BOOST_TEST(got[0].device().name() == "/device:NPU:1");
  BOOST_TEST(values(got[0]) == (std::vector<float>{3, 6}), boost::test_tools::per_element());
  BOOST_TEST(values(got[1]) == (std::vector<float>{4, 7}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_library_of_another_version_is_refused) {
  expect_error([] { load_library(kStale); }, std::string("FailedPrecondition: library ") + kStale +
                                                 ": expected one that was compiled for Pantograph " PANTO_VERSION
                                                 ", got one for 0.0.9");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
