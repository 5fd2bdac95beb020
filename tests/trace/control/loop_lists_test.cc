// Lists that loops take and keep: changed where they are if nobody else reads them, and only then.
#include <boost/test/unit_test.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/ops/lists.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/trace/control/control_flow.h"
#include "panto/trace/control/functional.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(loop_lists)

const Tensor& scalar() {
  static const Tensor shape = tensor(std::vector<int32_t>{});
  return shape;
}

// The sum of what is in a list, and of what lies in another while it is taken out of the first and put there.
Tensor emptied_into(const Tensor& from, const Tensor& to) {
  auto [rest, filled, total] =
      while_loop([](const Tensor& list, const Tensor&, const Tensor&) { return tensor_list_length(list) > 0; },
                 [](const Tensor& list, const Tensor& other, const Tensor& sum) {
                   auto [left, last] = tensor_list_pop_back(list, scalar(), kFloat32);
                   return std::tuple(left, tensor_list_push_back(other, last * 10.f), sum + last);
                 },
                 std::tuple(from, to, tensor(0.f)));
  return total + sum(tensor_list_stack(filled, scalar(), kFloat32));
}

BOOST_AUTO_TEST_CASE(a_list_that_others_read_stays) {
  const Function f = trace(
      [](const Tensor& x) {
        Tensor list = empty_tensor_list(scalar(), -1, kFloat32);
        for (const float k : {1.f, 2.f, 3.f}) list = tensor_list_push_back(list, x * k);
        const Tensor empty = empty_tensor_list(scalar(), -1, kFloat32);
        const Tensor mine = tensor_list_push_back(empty, x), first = emptied_into(list, list);
        return std::vector<Tensor>{first, emptied_into(list, mine), sum(tensor_list_stack(list, scalar(), kFloat32)),
                                   emptied_into(mine, empty)};
      },
      {TensorSpec(kFloat32, {})});
  for (int run = 0; run < 2; ++run) {
    const std::vector<Tensor> y = f.call(std::vector<Tensor>{tensor(1.f)});
    BOOST_TEST(y[0].item<float>() == 6 + 6 + 60);  // the list twice: one is taken apart, the other gets longer
    BOOST_TEST(y[1].item<float>() == 6 + 1 + 60);
    BOOST_TEST(y[2].item<float>() == 6);
    BOOST_TEST(y[3].item<float>() == 1 + 10);
  }
}

// A loop that is given the same list twice, for the last time.
BOOST_AUTO_TEST_CASE(one_list_twice) {
  const Function f = trace(
      [](const Tensor& x) {
        const Tensor list = tensor_list_push_back(empty_tensor_list(scalar(), -1, kFloat32), x);
        return emptied_into(list, list);
      },
      {TensorSpec(kFloat32, {})});
  BOOST_TEST(f(tensor(2.f)).item<float>() == 2 + 2 + 20);
}

BOOST_AUTO_TEST_CASE(no_gradients_of_slices_that_nobody_needs) {
  const Tensor xs = tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}), w = tensor({0.5, -0.25});
  const auto loss = [](const Tensor& rows, const Tensor& weights) {
    return sum(
        foldl([&](const Tensor& h, const Tensor& row) { return tanh(h * weights + row); }, rows, zeros_like(weights)));
  };
  const auto gradient_of = [&](bool of_rows) {
    return trace(
        [&, of_rows](const Tensor& rows, const Tensor& weights) {
          GradientTape tape;
          tape.watch(weights);
          if (of_rows) tape.watch(rows);
          const Tensor y = loss(rows, weights);
          return of_rows ? tape.gradient(y, {weights, rows})[0] : tape.gradient(y, weights);
        },
        {TensorSpec(kFloat64, {3, 2}), TensorSpec(kFloat64, {2})});
  };
  GradientTape eager;
  eager.watch(w);
  const std::vector<double> expected = values_of(eager.gradient(loss(xs, w), w));
  // The gradient of taking a slice out of a list puts one into another.
  const auto puts_in = [](const Function& f) {
    const std::string library = f.to_function_library("f");
    int count = 0;
    for (size_t at = 0; (at = library.find("TensorListPushBack", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  const Function both = gradient_of(true), one = gradient_of(false);
  BOOST_TEST(puts_in(one) < puts_in(both));
  expect_near(both(xs, w), {2}, expected, 1e-12);
  expect_near(one(xs, w), {2}, expected, 1e-12);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
