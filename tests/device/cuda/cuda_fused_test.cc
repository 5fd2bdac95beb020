// Programs of elementwise ops on a GPU: kernels made at run time give the bits of the separate ones. Without a GPU
// these are skipped.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "panto/lib/base/error.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/device/support.h"
#include "panto/tests/gpu.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

namespace utf = boost::unit_test;
using test::gpu;
using test::has_gpu;
using Tensors = std::vector<Tensor>;

std::vector<TensorSpec> specs_of(const Tensors& tensors) {
  std::vector<TensorSpec> specs;
  for (const Tensor& t : tensors) specs.emplace_back(t.dtype(), t.partial_shape());
  return specs;
}

// Traced and fused as traced and not, and as eager.
void check(const char* what, const std::function<Tensors(const Tensors&)>& f, const Tensors& inputs) {
  Tensors there;
  for (const Tensor& t : inputs) there.push_back(t.to(*gpu()));
  const Function fused = trace([&](std::span<const Tensor> in) { return f({in.begin(), in.end()}); }, specs_of(inputs));
  const Tensors got = fused.call(there);
  const Tensors expected = f(there);
  BOOST_REQUIRE(got.size() == expected.size());
  for (size_t k = 0; k < got.size(); ++k) {
    BOOST_TEST(&got[k].device() == gpu());
    BOOST_TEST(test::same_bits(got[k].cpu(), expected[k].cpu()), what << ", output " << k);
  }
}

Tensor some(const Shape& shape, unsigned seed = 1) { return test::random_tensor<float>(shape, seed); }

BOOST_AUTO_TEST_SUITE(cuda_fused, *utf::label("cuda") * utf::precondition(has_gpu))

BOOST_AUTO_TEST_CASE(gives_the_bits_of_separate_kernels) {
  const auto gelu = [](const Tensors& in) -> Tensors { return {0.5f * in[0] * (1.f + erf(in[0] * 0.70710678f))}; };
  check("one element", gelu, {some({1})});
  check("a tail", gelu, {some({1003})});
  check("many", gelu, {some({512, 1024})});
  check("doubles", [](const Tensors& in) -> Tensors { return {tanh(in[0] * in[0]) - exp(in[0])}; },
        {cast(some({1001}), kFloat64)});
  check("types that change",
        [](const Tensors& in) -> Tensors {
          const Tensor whole = cast(in[0] * 100.f, kInt32);
          return {select(less(whole, 0), cast(neg(whole), kFloat32), in[0]), cast(in[0], kFloat16)};
        },
        {some({333, 7})});
  check("several outputs",
        [](const Tensors& in) -> Tensors {
          const Tensor y = sigmoid(in[0]);
          return {y, y * (1.f - y), in[0] + in[1]};
        },
        {some({64, 64}), some({64, 64}, 2)});
}

BOOST_AUTO_TEST_CASE(inputs_broadcast) {
  const auto affine = [](const Tensors& in) -> Tensors { return {relu((in[0] - in[1]) * in[2] + in[3])}; };
  check("rows", affine, {some({128, 256}), some({256}, 2), some({256}, 3), some({256}, 4)});
  check("odd rows", affine, {some({128, 255}), some({255}, 2), some({1, 255}, 3), some({}, 4)});
  check("columns", affine, {some({128, 256}), some({128, 1}, 2), some({128, 1}, 3), some({256}, 4)});
  check("inside", affine, {some({4, 6, 8, 10}), some({6, 1, 10}, 2), some({4, 1, 8, 1}, 3), some({8, 10}, 4)});
  check("outer product", affine, {some({64, 1}), some({1, 32}, 2), some({64, 1}, 3), some({32}, 4)});
}

BOOST_AUTO_TEST_CASE(a_long_chain) {
  check("chain",
        [](const Tensors& in) -> Tensors {
          Tensor x = in[0];
          for (int i = 0; i < 100; ++i) x = x * 1.01f + 0.25f;
          return {x};
        },
        {some({4096})});
}

BOOST_AUTO_TEST_CASE(shapes_may_differ_from_call_to_call) {
  const Function f = trace([](std::span<const Tensor> in) { return Tensors{exp(in[0]) * in[1] + 1.f}; },
                           {{kFloat32, {-1, -1}}, {kFloat32, {-1}}});
  for (const int64_t columns : {1, 3, 4, 64}) {
    const Tensor x = some({5, columns}).to(*gpu()), y = some({columns}, 2).to(*gpu());
    BOOST_TEST(test::same_bits(f.call(Tensors{x, y})[0].cpu(), (exp(x) * y + 1.f).cpu()), columns);
  }
}

// Shapes that turn out to differ take a kernel each. An output may be where an input was: in the arena, or, where it is
// large and given out, in that input's own memory.
BOOST_AUTO_TEST_CASE(shapes_of_outputs_may_differ) {
  const auto body = [](bool first_is_given_out, std::span<const Tensor> in) {
    const Tensor first = cumsum(in[0], 1) + in[1];
    const Tensor second = first * in[2];
    return Tensors{first_is_given_out ? first : sum(first, {0}), second};
  };
  const Shape shapes[][3] = {{{5, 4}, {5, 4}, {5, 4}},
                             {{1, 4}, {1, 4}, {5, 4}},
                             {{300, 1}, {300, 1}, {300, 400}},
                             {{1, 300'000}, {1, 300'000}, {3, 300'000}}};
  for (const bool first_is_given_out : {false, true}) {
    const Function f = trace([&](std::span<const Tensor> in) { return body(first_is_given_out, in); },
                             {{kFloat32, {-1, -1}}, {kFloat32, {-1, -1}}, {kFloat32, {-1, -1}}});
    for (const auto& [a, b, c] : shapes) {
      const Tensors in = {some(a), some(b, 2), some(c, 3)};
      Tensors there;
      for (const Tensor& t : in) there.push_back(t.to(*gpu()));
      const Tensors expected = body(first_is_given_out, in);
      for (int i = 0; i < 2; ++i) {
        const Tensors got = f.call(there);
        for (size_t k = 0; k < 2; ++k) {
          BOOST_REQUIRE(got[k].shape() == expected[k].shape());
          const Tensor apart = reduce_max(abs(got[k].cpu() - expected[k]));
          const Tensor size = reduce_max(abs(expected[k]));
          BOOST_TEST(apart.item<float>() <= 1e-4f * size.item<float>(), c.to_string() << ", output " << k);
        }
      }
    }
  }
}

// The sum of the inputs.
Tensor sum_in_one_loop(const Tensors& inputs) {
  std::vector<int64_t> operands = {0, 1};
  const auto count = static_cast<int64_t>(inputs.size());
  for (int64_t i = 2; i < count; ++i) operands.insert(operands.end(), {count + i - 2, i});
  const std::vector<std::pair<std::string, AttrValue>> attrs = {
      {"Tin", AttrValue(std::vector<DType>(inputs.size(), kFloat32))},
      {"Tout", AttrValue(std::vector<DType>{kFloat32})},
      {"ops", AttrValue(std::vector<std::string>(inputs.size() - 1, "AddV2"))},
      {"types", AttrValue(std::vector<DType>(inputs.size() - 1, kFloat32))},
      {"operands", AttrValue(operands)},
      {"outputs", AttrValue(std::vector<int64_t>{2 * count - 2})}};
  return dispatch::call("_FusedElementwise", inputs, attrs)[0];
}

BOOST_AUTO_TEST_CASE(as_many_inputs_as_a_kernel_takes_and_more) {
  for (const size_t count : {2, 31, 32, 33, 64}) {
    const Tensors inputs(count, tensor({1.f, 2.f, 3.f}).to(*gpu()));
    const auto n = static_cast<float>(count);
    if (count <= 32) {
      BOOST_TEST(sum_in_one_loop(inputs).cpu().to_vector<float>() == std::vector<float>({n, 2 * n, 3 * n}),
                 boost::test_tools::per_element());
    } else {
      BOOST_CHECK_EXCEPTION(sum_in_one_loop(inputs), Error, [](const Error& e) {
        return e.code() == Code::kUnimplemented && std::string(e.what()).find("at most 32 inputs") != std::string::npos;
      });
    }
  }
}

// What the optimizer makes has no more inputs than that.
BOOST_AUTO_TEST_CASE(sums_of_many_inputs) {
  Tensors inputs;
  for (unsigned i = 0; i < 70; ++i) inputs.push_back(some({65}, i + 1));
  check(
      "many inputs",
      [](const Tensors& in) -> Tensors {
        Tensor y = in[0];
        for (size_t i = 1; i < in.size(); ++i) y = y + in[i];
        return {y};
      },
      inputs);
}

BOOST_AUTO_TEST_CASE(faults_are_thrown_at_the_next_read) {
  const Function f = trace([](std::span<const Tensor> in) { return Tensors{floor_div(in[0], in[1]) + in[0]}; },
                           {{kInt32, {3}}, {kInt32, {3}}});
  const Tensor x = tensor({1, 2, 3}).to(*gpu());
  const Tensor bad = f.call(Tensors{x, tensor({1, 0, 1}).to(*gpu())})[0];
  BOOST_CHECK_EXCEPTION(bad.cpu(), Error, [](const Error& e) { return e.code() == Code::kInvalidArgument; });
  BOOST_TEST(f.call(Tensors{x, x})[0].cpu().to_vector<int32_t>() == std::vector<int32_t>({2, 3, 4}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
