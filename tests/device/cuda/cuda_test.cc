// The GPU against the CPU. Without a GPU these are skipped.
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <future>
#include <thread>

#include "panto/autograd/tape.h"
#include "panto/lib/base/error.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/device/cuda/gpu_compare.h"
#include "panto/tests/gpu.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

namespace utf = boost::unit_test;
using test::gpu;
using test::has_gpu;
using test::ramp;

// Libraries' functions differ in the last bits.
template <class Function>
void compare(Function f, const std::vector<Tensor>& inputs, double tolerance) {
  test::compare_on_gpu([&](const test::Tensors& in) { return test::Tensors{f(in)}; }, inputs, tolerance,
                       inputs[0].shape().to_string());
}

BOOST_AUTO_TEST_SUITE(cuda, *utf::label("cuda") * utf::precondition(has_gpu))

BOOST_AUTO_TEST_CASE(values_travel_there_and_back) {
  const Tensor x = ramp({1000, 3}, -1.f, 0.5f);
  BOOST_TEST(x.to(*gpu()).cpu().to_vector<float>() == x.to_vector<float>(), boost::test_tools::per_element());
  BOOST_TEST(tensor(std::vector<float>{}).to(*gpu()).cpu().numel() == 0);
}

BOOST_AUTO_TEST_CASE(unary_ops) {
  const Tensor x = ramp({37, 101}, 0.01f, 0.01f);
  using Inputs = std::vector<Tensor>;
  for (Tensor (*f)(const Inputs&) :
       {+[](const Inputs& in) { return exp(in[0]); }, +[](const Inputs& in) { return log(in[0]); },
        +[](const Inputs& in) { return tanh(in[0]); }, +[](const Inputs& in) { return sigmoid(in[0]); },
        +[](const Inputs& in) { return sqrt(in[0]); }, +[](const Inputs& in) { return rsqrt(in[0]); },
        +[](const Inputs& in) { return erf(in[0]); }, +[](const Inputs& in) { return softplus(in[0]); },
        +[](const Inputs& in) { return sin(in[0]); }, +[](const Inputs& in) { return neg(in[0]); },
        +[](const Inputs& in) { return cast(in[0], kInt32); }}) {
    compare(f, {x}, 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(binary_ops_broadcast) {
  const auto difference = [](const std::vector<Tensor>& in) { return sub(in[0], in[1]); };
  const Shape shapes[][2] = {{{64, 65}, {64, 65}}, {{64, 65}, {}},         {{64, 65}, {65}},
                             {{64, 65}, {64, 1}},  {{7, 1, 5}, {1, 6, 1}}, {{2, 1, 3, 1, 5}, {4, 1, 3, 1}}};
  for (const auto& [a, b] : shapes) compare(difference, {ramp(a, 0, 1), ramp(b, 3, 2)}, 0);
  compare([](const std::vector<Tensor>& in) { return select(less(in[0], 500), in[0], in[1]); },
          {ramp({30, 40}, 0, 1), ramp({40}, 0, -1)}, 0);
}

BOOST_AUTO_TEST_CASE(sums) {
  for (const Shape& shape : {Shape{3, 4, 5}, Shape{1, 300, 1, 7}, Shape{0, 3}, Shape{2, 500'000}}) {
    compare([](const std::vector<Tensor>& in) { return sum(in[0]); }, {ramp(shape, -500, 1)}, 1e-5);
    compare([](const std::vector<Tensor>& in) { return sum(in[0], {0}); }, {ramp(shape, -500, 1)}, 1e-5);
    compare([](const std::vector<Tensor>& in) { return sum(in[0], {-1}, {.keep_dims = true}); }, {ramp(shape, -500, 1)},
            1e-5);
  }
  compare([](const std::vector<Tensor>& in) { return sum(in[0], {0, 2}); }, {ramp({3, 4, 5}, 0, 1)}, 1e-6);
}

BOOST_AUTO_TEST_CASE(matrix_products) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      compare(
          [=](const std::vector<Tensor>& in) { return matmul(in[0], in[1], {.transpose_a = ta, .transpose_b = tb}); },
          {ramp(ta ? Shape{5, 7} : Shape{7, 5}, 0, 0.1f), ramp(tb ? Shape{3, 5} : Shape{5, 3}, 1, 0.1f)}, 1e-5);
    }
  }
  compare([](const std::vector<Tensor>& in) { return matmul(in[0], in[1]); }, {ramp({2, 0}, 0, 1), ramp({0, 3}, 0, 1)},
          0);
}

BOOST_AUTO_TEST_CASE(faults_are_thrown_at_the_next_read) {
  const Tensor x = tensor({1, 2, 3}).to(*gpu());
  const Tensor quotient = div(x, tensor({1, 0, 1}).to(*gpu()));
  BOOST_CHECK_EXCEPTION(quotient.cpu(), Error, [](const Error& e) { return e.code() == Code::kInvalidArgument; });
  BOOST_TEST(div(x, x).cpu().to_vector<int32_t>() == std::vector<int32_t>({1, 1, 1}), boost::test_tools::per_element());
}

// Another thread, whose work is in order, does not hear of it.
BOOST_AUTO_TEST_CASE(faults_are_thrown_by_the_thread_that_caused_them) {
  const Tensor x = tensor({1, 2, 3}).to(*gpu()), zeros = tensor({0, 0, 0}).to(*gpu());
  std::promise<void> asked, looked;
  std::thread other([&] {
    const Tensor bad = div(x, zeros);
    asked.set_value();
    looked.get_future().wait();
    BOOST_CHECK_EXCEPTION(bad.cpu(), Error, [](const Error& e) { return e.code() == Code::kInvalidArgument; });
  });
  asked.get_future().wait();
  BOOST_TEST(div(x, x).cpu().to_vector<int32_t>() == std::vector<int32_t>({1, 1, 1}), boost::test_tools::per_element());
  looked.set_value();
  other.join();
  // What it made, others may read: then they hear of it.
  Tensor made;
  std::thread([&] { made = div(x, zeros); }).join();
  BOOST_CHECK_EXCEPTION(made.cpu(), Error, [](const Error& e) { return e.code() == Code::kInvalidArgument; });
}

// 16 bytes at once where shapes and addresses allow, one element elsewhere; rows of a length that is no power of two.
BOOST_AUTO_TEST_CASE(large_and_unaligned_tensors) {
  const auto difference = [](const std::vector<Tensor>& in) { return sub(in[0], in[1]); };
  const Shape shapes[][2] = {{{1023, 1025}, {1023, 1025}},       {{1023, 1025}, {1025}},
                             {{1023, 1024}, {1023, 1}},          {{1024, 1028}, {1028}},
                             {{3, 1, 40, 1, 52}, {7, 1, 5, 52}}, {{1000003}, {}}};
  for (const auto& [a, b] : shapes) compare(difference, {ramp(a, 0, 1), ramp(b, 3, 2)}, 0);
  // Rows that are views begin where no pack of 16 bytes does.
  compare([](const std::vector<Tensor>& in) { return neg(in[0][1]); }, {ramp({3, 1027}, 0, 1)}, 0);
  compare([](const std::vector<Tensor>& in) { return add(in[0][1], in[0][2]); }, {ramp({3, 1027}, 0, 1)}, 0);
  compare([](const std::vector<Tensor>& in) { return cast(in[0], kFloat16); }, {ramp({77777}, -1, 0.25f)}, 0);
}

BOOST_AUTO_TEST_CASE(functions_run_where_their_inputs_are) {
  const Function f = trace([](const Tensor& x) { return add(mul(x, x), sum(x)); }, {{kFloat32, {-1}}});
  const Tensor x = ramp({1000}, 0, 0.01f);
  const Tensor expected = f(x);
  BOOST_TEST(&expected.device() == &cpu_device());
  const Tensor got = f(x.to(*gpu()));
  BOOST_TEST(&got.device() == gpu());
  BOOST_TEST(got.cpu().to_vector<float>() == expected.to_vector<float>(), boost::test_tools::tolerance(1e-5f)
                                                                              << boost::test_tools::per_element());
  // And back again: what was made ready for one device is not used for the other.
  BOOST_TEST(&f(x).device() == &cpu_device());
}

BOOST_AUTO_TEST_CASE(sessions_run_where_their_feeds_are_or_as_asked) {
  Graph graph;
  {
    const GraphScope in(graph);
    named("y", square(placeholder(kFloat32, {2}, "x")));
  }
  Session session(graph);
  const Tensor x = tensor({2.f, 3.f});
  BOOST_TEST(&session.run("y", {{"x", x}}).device() == &cpu_device());
  BOOST_TEST(&session.run("y", {{"x", x.to(*gpu())}}).device() == gpu());
  Session there(graph, {.device = "/gpu:0"});
  const Tensor y = there.run("y", {{"x", x}});
  BOOST_TEST(&y.device() == gpu());
  BOOST_TEST(y.cpu().to_vector<float>() == std::vector<float>({4, 9}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(variables_live_where_they_are_used) {
  const Variable v(tensor({1.f, 2.f}).to(*gpu()), "v");
  BOOST_TEST(&v.value().device() == gpu());
  v.assign_add(tensor({1.f, 1.f}));
  BOOST_TEST(&v.value().device() == gpu());
  BOOST_TEST(v.value().cpu().to_vector<float>() == std::vector<float>({2, 3}), boost::test_tools::per_element());
  v.assign_sub(tensor({1.f, 1.f}).to(*gpu()));
  BOOST_TEST(v.value().cpu().to_vector<float>() == std::vector<float>({1, 2}), boost::test_tools::per_element());
  // One that begins in host memory moves when an update comes from the GPU.
  const Variable w(tensor({1.f, 2.f}), "w");
  w.assign_add(tensor({1.f, 1.f}).to(*gpu()));
  BOOST_TEST(&w.value().device() == gpu());
  BOOST_TEST(w.value().cpu().to_vector<float>() == std::vector<float>({2, 3}), boost::test_tools::per_element());
  w.assign(tensor({5.f, 6.f}));
  BOOST_TEST(w.value().cpu().to_vector<float>() == std::vector<float>({5, 6}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_model_learns) {
  const auto train = [](bool on_gpu) {
    const auto place = [&](const Tensor& t) { return on_gpu ? t.to(*gpu()) : t; };
    const Tensor x = place(ramp({64, 8}, -1, 0.002f)), y = place(ramp({64, 1}, 0, 0.015f));
    const Variable w(place(ramp({8, 1}, 0, 0.1f)), "w"), b(place(tensor({0.f})), "b");
    Adam adam({w, b}, {.learning_rate = 0.05});
    for (int i = 0; i < 20; ++i) {
      GradientTape tape;
      const Tensor loss = sum(square(sub(add(matmul(x, w), b), y)));
      adam.apply(tape.gradient(loss, adam.variables()));
    }
    BOOST_TEST((&w.value().device() == gpu()) == on_gpu);
    return w.value().cpu().to_vector<float>();
  };
  BOOST_TEST(train(true) == train(false), boost::test_tools::tolerance(1e-3f) << boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(memory_is_used_again) {
  gpu()->trim();
  const int64_t before = gpu()->memory_stats().bytes_in_use;
  for (int i = 0; i < 100; ++i) static_cast<void>(ramp({1000, 1000}, 0, 1).to(*gpu()));
  const MemoryStats stats = gpu()->memory_stats();
  BOOST_TEST(stats.bytes_in_use == before);
  BOOST_TEST(stats.bytes_reserved < before + (int64_t{100} << 20));
}

BOOST_AUTO_TEST_CASE(no_more_memory_is_kept_than_asked_for) {
  gpu()->trim();
  const int64_t before = gpu()->memory_stats().bytes_reserved;
  gpu()->set_cache_limit(int64_t{1} << 20);
  static_cast<void>(ramp({1000, 1000}, 0, 1).to(*gpu()));
  BOOST_TEST(gpu()->memory_stats().bytes_reserved == before);
  gpu()->set_cache_limit(INT64_MAX);
  static_cast<void>(ramp({1000, 1000}, 0, 1).to(*gpu()));
  BOOST_TEST(gpu()->memory_stats().bytes_reserved >= before + 4'000'000);
}

BOOST_AUTO_TEST_CASE(it_works) {
  BOOST_TEST(gpu()->works());
  BOOST_TEST(&find_device("") == gpu());
}

BOOST_AUTO_TEST_CASE(values_that_shape_an_output_may_be_on_the_gpu) {
  const Tensor shape = tensor({2, 3}).to(*gpu());
  BOOST_TEST(fill(shape, tensor(1.f)).shape() == Shape({2, 3}));
  BOOST_TEST(sum(ramp({2, 3}, 0, 1), tensor({1}).to(*gpu())).cpu().to_vector<float>() == std::vector<float>({3, 12}),
             boost::test_tools::per_element());
  const DeviceScope on("/gpu:0");
  const Tensor y = reshape(fill({2, 3}, 1.f), {3, -1});
  BOOST_TEST(&y.device() == gpu());
  BOOST_TEST(y.shape() == Shape({3, 2}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
