// Gradients of ops that move elements, in traces that know neither ranks nor the axis.
#include <functional>
#include <span>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

using Tensors = std::vector<Tensor>;
using Formula = std::function<Tensor(std::span<const Tensor>)>;

// The traced function's gradients are those of the eager one. Integers are arguments too, so the trace knows no axis.
void check_gradients(const Formula& f, const Tensors& arguments) {
  std::vector<TensorSpec> specs;
  std::vector<GradSource> sources;
  for (const Tensor& t : arguments) {
    specs.emplace_back(t.dtype(), dtypes::kInteger.contains(t.dtype()) && t.rank() == 0 ? PartialShape(t.shape())
                                                                                        : PartialShape::unknown());
    if (dtypes::kDifferentiable.contains(t.dtype())) sources.emplace_back(t);
  }
  const Function traced = trace(f, specs);
  const auto gradients = [&](const Formula& of) {
    GradientTape tape;
    for (const GradSource& source : sources) tape.watch(source);
    const Tensor y = of(arguments);
    return tape.gradient(sum(sin(y) * y), sources);
  };
  const Tensors expected = gradients(f);
  const Tensors got = gradients([&](std::span<const Tensor> a) { return traced.call(a)[0]; });
  for (size_t i = 0; i < expected.size(); ++i) expect_near(got[i], expected[i].shape(), values_of(expected[i]), 1e-12);
}

Tensor numbers(const Shape& shape) { return reshape(cast(range(1, 1 + shape.numel(), 1), kFloat64) * 0.25, shape); }

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(unknown_ranks)

BOOST_AUTO_TEST_CASE(concat_along_an_axis_that_is_an_argument) {
  const auto joined = [](std::span<const Tensor> a) { return concat({a[0], a[1], a[2]}, a[3]); };
  check_gradients(joined, {numbers({2, 3}), numbers({2, 1}), numbers({2, 2}), tensor(1)});
  check_gradients(joined, {numbers({2, 3}), numbers({2, 0}), numbers({2, 2}), tensor(-1)});
  check_gradients(joined, {numbers({2, 3, 1}), numbers({1, 3, 1}), numbers({2, 3, 1}), tensor(int64_t{0})});
}

BOOST_AUTO_TEST_CASE(gather_along_an_axis_that_is_an_argument) {
  const auto taken = [](std::span<const Tensor> a) { return gather(a[0], a[1], a[2]); };
  check_gradients(taken, {numbers({4}), tensor({3, 0, 3}), tensor(0)});
  check_gradients(taken, {numbers({2, 4, 3}), tensor({{3, 0, 3}, {1, 1, 1}}), tensor(1)});
  check_gradients(taken, {numbers({2, 4, 3}), tensor({2, 2}), tensor(-1)});
  check_gradients(taken, {numbers({2, 4, 3}), tensor(1), tensor(int64_t{-3})});
}

BOOST_AUTO_TEST_CASE(gather_from_batches_needs_what_it_lacks) {
  const Function f = trace([](std::span<const Tensor> a) { return gather(a[0], a[1], a[2], {.batch_dims = 1}); },
                           {{kFloat64, {2, 3}}, {kInt32, {2, 1}}, {kInt32, {}}});
  const Tensor x = numbers({2, 3});
  const Tensors arguments = {x, tensor({{0}, {1}}), tensor(1)};
  expect_error_begins(
      [&] {
        GradientTape tape;
        tape.watch(x);
        (void)tape.gradient(f.call(arguments)[0], x);
      },
      "Unimplemented: gradient of GatherV2 with batch_dims: expected ranks and an axis that the trace knows, got "
      "unknown ones");
}

BOOST_AUTO_TEST_CASE(tile) {
  const auto tiled = [](std::span<const Tensor> a) { return panto::tile(a[0], a[1]); };
  check_gradients(tiled, {numbers({3}), tensor(std::vector<int32_t>{2})});
  check_gradients(tiled, {numbers({2, 1, 3}), tensor({1, 4, 2})});
}

BOOST_AUTO_TEST_CASE(sums_by_segment) {
  const auto sums = [](std::span<const Tensor> a) { return unsorted_segment_sum(a[0], a[1], 3); };
  check_gradients(sums, {numbers({4}), tensor({0, 2, -1, 2})});
  check_gradients(sums, {numbers({2, 2, 3}), tensor({1, 1})});
  check_gradients(sums, {numbers({2, 2, 3}), tensor({{2, -1}, {0, 2}})});
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
