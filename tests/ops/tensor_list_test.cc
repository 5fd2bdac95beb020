// Lists of tensors: values that share memory, and what flows through them.
#include <boost/test/unit_test.hpp>
#include <vector>

#include "panto/autograd/gradcheck.h"
#include "panto/autograd/tape.h"
#include "panto/autograd/transforms/jvp.h"
#include "panto/device/cpu/device.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/collections/tensor_list.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/expect.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

Tensor empty_floats(const PartialShape& shape = {}, int32_t most = -1) {
  const std::vector<int32_t> dims(shape.dims().begin(), shape.dims().end());
  return empty_tensor_list(shape.known_rank() ? tensor(dims) : tensor(int32_t{-1}), most, kFloat32);
}

// What the list holds, one number after the other.
std::vector<float> numbers(const Tensor& list) {
  std::vector<float> all;
  for (const Tensor& e : list_of(list).elements()) {
    if (!e.defined()) {
      all.push_back(-99);
      continue;
    }
    for (const float v : e.to_vector<float>()) all.push_back(v);
  }
  return all;
}

Tensor list_of_numbers(const std::vector<float>& values) { return tensor_list_from_tensor(tensor(values), -1); }

BOOST_AUTO_TEST_SUITE(tensor_list)

BOOST_AUTO_TEST_CASE(lists_are_values) {
  const Tensor a = list_of_numbers({1, 2});
  const Tensor b = tensor_list_push_back(a, 3.f);
  const Tensor c = tensor_list_push_back(a, 4.f);  // after b, onto the same
  const Tensor d = tensor_list_push_back(b, 5.f);
  const Tensor e = tensor_list_set_item(d, 0, 6.f);
  const auto [f, popped] = tensor_list_pop_back(d, -1, kFloat32);
  const Tensor g = tensor_list_push_back(f, 7.f);  // where d has 5
  BOOST_TEST(numbers(a) == std::vector<float>({1, 2}), boost::test_tools::per_element());
  BOOST_TEST(numbers(b) == std::vector<float>({1, 2, 3}), boost::test_tools::per_element());
  BOOST_TEST(numbers(c) == std::vector<float>({1, 2, 4}), boost::test_tools::per_element());
  BOOST_TEST(numbers(d) == std::vector<float>({1, 2, 3, 5}), boost::test_tools::per_element());
  BOOST_TEST(numbers(e) == std::vector<float>({6, 2, 3, 5}), boost::test_tools::per_element());
  BOOST_TEST(numbers(f) == std::vector<float>({1, 2, 3}), boost::test_tools::per_element());
  BOOST_TEST(numbers(g) == std::vector<float>({1, 2, 3, 7}), boost::test_tools::per_element());
  BOOST_TEST(popped.item<float>() == 5);
}

BOOST_AUTO_TEST_CASE(elements_that_are_not_set_are_zeros) {
  Tensor list = tensor_list_reserve(std::vector<int64_t>{-1}, 3, kFloat32);
  expect_error_begins([&] { tensor_list_get_item(list, 1, -1, kFloat32); },
                      "InvalidArgument: element_shape: expected every dimension, as no element was set, got [?]");
  expect_error_begins([&] { tensor_list_stack(list, -1, kFloat32); }, "InvalidArgument: element_shape: expected every");
  BOOST_TEST(tensor_list_get_item(list, 1, std::vector<int64_t>{2}, kFloat32).to_string() == "[0. 0.]");
  list = tensor_list_set_item(list, 1, tensor({1.f, 2.f}));
  BOOST_TEST(tensor_list_get_item(list, 0, -1, kFloat32).to_string() == "[0. 0.]");  // as the others are
  BOOST_TEST(tensor_list_stack(list, -1, kFloat32).to_string() == "[[0. 0.]\n [1. 2.]\n [0. 0.]]");
  expect_error_begins([&] { tensor_list_stack(tensor_list_set_item(list, 0, tensor({1.f})), -1, kFloat32); },
                      "InvalidArgument: element 1: expected shape [1], got [2]");
  const Tensor handles = tensor_list_reserve(-1, 1, kVariant);
  expect_error_begins([&] { tensor_list_get_item(handles, 0, std::vector<int64_t>{}, kVariant); },
                      "InvalidArgument: element 0: expected one that was set, since no variant is zero, got none");
}

BOOST_AUTO_TEST_CASE(a_list_may_be_full) {
  Tensor list = empty_floats({}, 1);
  list = tensor_list_push_back(list, 1.f);
  expect_error_begins([&] { tensor_list_push_back(list, 1.f); },
                      "InvalidArgument: list: expected fewer than its max_num_elements 1, got 1 elements");
}

BOOST_AUTO_TEST_CASE(what_is_no_list_is_refused) {
  expect_error_begins([] { tensor_list_length(allocate_tensor(cpu_device(), kVariant, Shape{})); },
                      "InvalidArgument: list: expected a variant that holds a TensorList, got nothing");
}

BOOST_AUTO_TEST_CASE(more_than_there_is_memory_for_is_refused) {
  const Tensor list = list_of_numbers({1});
  struct Limit {
    Limit() { cpu::set_memory_limit(int64_t{1} << 30); }
    ~Limit() { cpu::set_memory_limit(0); }
  } limit;
  expect_error_begins([] { tensor_list_reserve(-1, INT32_MAX, kFloat32); }, "ResourceExhausted: ");
  expect_error_begins([&] { tensor_list_set_item(list, INT32_MAX - 1, 1.f, {.resize_if_index_out_of_bounds = true}); },
                      "ResourceExhausted: ");
  BOOST_TEST(numbers(list) == std::vector<float>({1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(lists_in_lists) {
  Tensor inner = list_of_numbers({1, 2});
  Tensor outer = empty_tensor_list(-1, -1, kVariant);
  outer = tensor_list_push_back(outer, inner);
  inner = tensor_list_push_back(inner, 3.f);
  outer = tensor_list_push_back(outer, inner);
  BOOST_TEST(numbers(tensor_list_get_item(outer, 0, -1, kVariant)) == std::vector<float>({1, 2}),
             boost::test_tools::per_element());
  const Tensor twice = add_n({outer, outer});
  BOOST_TEST(numbers(tensor_list_get_item(twice, 1, -1, kVariant)) == std::vector<float>({2, 4, 6}),
             boost::test_tools::per_element());
  BOOST_TEST(numbers(tensor_list_get_item(zeros_like(outer), 1, -1, kVariant)) == std::vector<float>({0, 0, 0}),
             boost::test_tools::per_element());
}

// As many as a program likes: none is destroyed by the one around it.
BOOST_AUTO_TEST_CASE(lists_in_lists_a_hundred_thousand_deep) {
  constexpr int kLevels = 100'000;
  const auto around = [](const Tensor& inner) {
    return tensor_list_push_back(empty_tensor_list(-1, -1, kVariant), inner);
  };
  const auto inside = [](const Tensor& outer) { return tensor_list_get_item(outer, 0, -1, kVariant); };
  Tensor list = list_of_numbers({1, 2});
  for (int i = 0; i < kLevels; ++i) list = around(list);
  for (int i = 0; i < kLevels; ++i) list = inside(list);
  BOOST_TEST(numbers(list) == std::vector<float>({1, 2}), boost::test_tools::per_element());
  for (int i = 0; i < kLevels; ++i) list = around(list);
  list = list_of_numbers({3});  // all are gone
  for (int i = 0; i < 999; ++i) list = around(list);
  Tensor twice = add_n({list, list}), zeros = zeros_like(list);
  for (int i = 0; i < 999; ++i) {
    twice = inside(twice);
    zeros = inside(zeros);
  }
  BOOST_TEST(numbers(twice) == std::vector<float>({6}), boost::test_tools::per_element());
  BOOST_TEST(numbers(zeros) == std::vector<float>({0}), boost::test_tools::per_element());
  list = around(list);
  const char* too_deep =
      "ResourceExhausted: sums and zeros of lists: expected at most 1000 inside one another, got more";
  expect_error_begins([&] { add_n({list, list}); }, too_deep);
  expect_error_begins([&] { zeros_like(list); }, too_deep);
  BOOST_TEST(numbers(zeros_like(list_of_numbers({1}))) == std::vector<float>({0}), boost::test_tools::per_element());
}

// A list in its own memory would never be freed.
BOOST_AUTO_TEST_CASE(lists_in_themselves_are_freed) {
  std::weak_ptr<VariantValue> held;
  {
    Tensor list = empty_tensor_list(-1, -1, kVariant);
    list = tensor_list_push_back(std::move(list), list_of_numbers({1}));
    held = list.data<Variant>()[0].value;
    const Tensor longer = tensor_list_push_back(list, list_of_numbers({2}));
    const Tensor nested = tensor_list_push_back(longer, list);  // which shares memory with neither
    BOOST_TEST(list_of(nested).size() == 3);
    Graph graph;
    {
      const GraphScope scope(graph);
      Tensor l = empty_tensor_list(-1, -1, kVariant);
      l = tensor_list_push_back(l, empty_tensor_list(-1, -1, kFloat32));
      l = tensor_list_push_back(l, l);  // the last use of l, twice
      named("length", tensor_list_length(tensor_list_set_item(l, 0, l)));
    }
    Session session(graph);
    session.run("length");
    const int64_t before = cpu_device().memory_stats().bytes_in_use;
    for (int i = 0; i < 3; ++i) BOOST_TEST(session.run("length").item<int32_t>() == 2);
    BOOST_TEST(cpu_device().memory_stats().bytes_in_use == before);
  }
  BOOST_TEST(held.expired());
}

BOOST_AUTO_TEST_CASE(lists_are_added) {
  const Tensor a = list_of_numbers({1, 2, 3});
  Tensor b = tensor_list_reserve(-1, 3, kFloat32);
  b = tensor_list_set_item(b, 1, 10.f);
  BOOST_TEST(numbers(add_n({a, b, a})) == std::vector<float>({2, 14, 6}), boost::test_tools::per_element());
  BOOST_TEST(numbers(add_n({b, b})) == std::vector<float>({-99, 20, -99}), boost::test_tools::per_element());
  BOOST_TEST(numbers(zeros_like(b)) == std::vector<float>({-99, 0, -99}), boost::test_tools::per_element());
  expect_error_begins([&] { add_n({a, list_of_numbers({1})}); },
                      "InvalidArgument: lists: expected one length, got 3 and 1");
  expect_error_begins([&] { add_n({a, tensor_list_reserve(-1, 3, kFloat64)}); },
                      "InvalidArgument: lists: expected one element_dtype, got float32 and float64");
}

BOOST_AUTO_TEST_CASE(prints_what_it_is) {
  BOOST_TEST(list_of_numbers({1, 2}).to_string() == "<list of 2 float32?>");
  BOOST_TEST(empty_floats({2, -1}).to_string() == "<list of 0 float32[2,?]>");
}

// ---- In place: that nothing is copied is asked in tests/speed  -----------------------------------------------------

BOOST_AUTO_TEST_CASE(a_list_that_is_held_is_not_changed) {
  Tensor list = list_of_numbers({1, 2, 3});
  const Tensor held = list;
  list = tensor_list_set_item(std::move(list), 0, 9.f);
  const Tensor view = identity(list);
  list = tensor_list_set_item(std::move(list), 1, 8.f);
  const Tensor packed = stack({list, list});  // two elements that hold it
  list = tensor_list_set_item(std::move(list), 2, 7.f);
  BOOST_TEST(numbers(held) == std::vector<float>({1, 2, 3}), boost::test_tools::per_element());
  BOOST_TEST(numbers(view) == std::vector<float>({9, 2, 3}), boost::test_tools::per_element());
  BOOST_TEST(numbers(packed[0]) == std::vector<float>({9, 8, 3}), boost::test_tools::per_element());
  BOOST_TEST(numbers(list) == std::vector<float>({9, 8, 7}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_list_that_nobody_else_holds_is_changed_itself) {
  Tensor list = list_of_numbers({1, 2});
  const auto held_by = [](const Tensor& t) { return t.data<Variant>()[0].value.get(); };
  const VariantValue* value = held_by(list);
  Tensor x = tensor(3.f);
  const int64_t id = x.id();
  list = tensor_list_push_back(std::move(list), std::exchange(x, Tensor()));
  BOOST_TEST(held_by(list) == value);
  const Tensor held = list;
  list = tensor_list_push_back(std::move(list), 4.f);
  BOOST_TEST(held_by(list) != value);
  list = tensor_list_pop_back(std::move(list), -1, kFloat32).output_handle;
  auto [rest, last] = tensor_list_pop_back(std::move(list), -1, kFloat32);
  BOOST_TEST(last.item<float>() == 3);
  BOOST_TEST(last.id() != id);
  BOOST_TEST(numbers(rest) == std::vector<float>({1, 2}), boost::test_tools::per_element());
  BOOST_TEST(numbers(held) == std::vector<float>({1, 2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(gradient_of_lists_that_are_given_away) {
  const Tensor x = tensor(3.f);
  GradientTape tape;
  tape.watch(x);
  Tensor list = tensor_list_push_back(empty_floats(), x * 2.f);
  list = tensor_list_push_back(std::move(list), x * x);
  auto [rest, last] = tensor_list_pop_back(std::move(list), -1, kFloat32);
  auto [none, first] = tensor_list_pop_back(std::move(rest), -1, kFloat32);
  BOOST_TEST(tape.gradient(last * 10.f + first, x).item<float>() == 62);
}

BOOST_AUTO_TEST_CASE(what_is_popped_is_freed) {
  const Tensor row = ones({1000}, kFloat32);
  Tensor list = empty_floats();
  for (int i = 0; i < 3; ++i) list = tensor_list_push_back(std::move(list), row * 2.f);
  const int64_t before = cpu_device().memory_stats().bytes_in_use;
  list = tensor_list_pop_back(std::move(list), -1, kFloat32).output_handle;
  BOOST_TEST(cpu_device().memory_stats().bytes_in_use <= before - 4000);
}

// What a plan puts into a list is not written over by its later steps, nor by its next run.
BOOST_AUTO_TEST_CASE(plans_keep_what_lists_hold) {
  const auto f = trace(
      [](const Tensor& x) {
        Tensor list = tensor_list_reserve(-1, 2, kFloat32);
        const Tensor y = tanh(x);  // several hundred bytes: in the plan's own memory
        Tensor other = tensor_list_set_item(tensor_list_reserve(-1, 2, kFloat32), 0, y);
        list = add_n({tensor_list_set_item(list, 1, y * 2.f), other});  // has y itself
        Tensor z = x;
        for (int i = 0; i < 6; ++i) z = sin(z + 1.f) * 3.f;
        return std::vector<Tensor>{list, sum(z)};
      },
      {TensorSpec(kFloat32, {200})});
  const Tensor x = linspace(-1.f, 1.f, 200);
  const Tensor first = f(x)[0];
  const Tensor second = f(x * 0.5f)[0];
  const auto expect = [](const Tensor& list, const Tensor& of) {
    const std::vector<float> y = tanh(of).to_vector<float>();
    BOOST_TEST(list_of(list).at(0).to_vector<float>() == y, boost::test_tools::per_element());
    BOOST_TEST(list_of(list).at(1).to_vector<float>() == (tanh(of) * 2.f).to_vector<float>(),
               boost::test_tools::per_element());
  };
  expect(first, x);
  expect(second, x * 0.5f);
}

// ---- Gradients ------------------------------------------------------------------------------------------------------

using Inputs = std::span<const Tensor>;

// Gradient, and the gradient's gradient, against finite differences; eagerly and traced.
void check_gradients(const GradcheckFunction& f, const std::vector<Tensor>& inputs) {
  const GradcheckResult first = gradcheck(f, inputs);
  BOOST_TEST(first.ok, first.report);
  const GradcheckResult second = gradcheck_second_order(f, inputs);
  BOOST_TEST(second.ok, second.report);
  std::vector<TensorSpec> specs;
  for (const Tensor& t : inputs) specs.emplace_back(t.dtype(), PartialShape::of_rank(t.rank()));
  const Function traced =
      make_traced([&](Inputs x) { return std::vector<Tensor>{f(x)}; }, specs, std::source_location::current());
  const GradcheckFunction g = [&](Inputs x) { return traced.call(x)[0]; };
  const GradcheckResult third = gradcheck(g, inputs);
  BOOST_TEST(third.ok, "traced: " + third.report);
  const GradcheckResult fourth = gradcheck_second_order(g, inputs);
  BOOST_TEST(fourth.ok, "traced: " + fourth.report);
}

const Tensor kX = tensor({0.3, -0.7, 1.1});
const Tensor kRows = tensor({{0.3, -0.7, 1.1}, {0.9, 0.2, -0.4}});
const std::vector<int64_t> kScalar = {};

BOOST_AUTO_TEST_CASE(gradient_of_pushes) {
  check_gradients(
      [](Inputs in) {
        Tensor list = empty_tensor_list(-1, -1, kFloat64);
        for (int i = 0; i < 3; ++i) list = tensor_list_push_back(std::move(list), tanh(in[0][i]) * in[0][0]);
        return tensor_list_stack(list, kScalar, kFloat64);
      },
      {kX});
}

BOOST_AUTO_TEST_CASE(gradient_of_pops) {
  check_gradients(
      [](Inputs in) {
        Tensor list = tensor_list_from_tensor(square(in[0]), std::vector<int64_t>{3});
        auto [rest, last] = tensor_list_pop_back(list, -1, kFloat64);  // and the rest is not used any more
        return last * last;
      },
      {kRows});
  check_gradients(
      [](Inputs in) {
        Tensor list = tensor_list_from_tensor(square(in[0]), kScalar);
        Tensor product = tensor(1.0);
        for (int i = 0; i < 3; ++i) {
          auto [rest, last] = tensor_list_pop_back(list, kScalar, kFloat64);
          product = product * last;
          list = rest;
        }
        return product;
      },
      {kX});
  check_gradients(  // what is popped is not used
      [](Inputs in) {
        Tensor list = tensor_list_from_tensor(square(in[0]), kScalar);
        list = tensor_list_pop_back(list, kScalar, kFloat64).output_handle;
        return square(tensor_list_stack(list, kScalar, kFloat64));
      },
      {kX});
}

BOOST_AUTO_TEST_CASE(gradient_of_items) {
  check_gradients(
      [](Inputs in) {
        Tensor list = tensor_list_from_tensor(in[0], kScalar);
        list = tensor_list_set_item(list, 1, tanh(in[0][2]));  // what was there does not count any more
        const Tensor a = tensor_list_get_item(list, 1, kScalar, kFloat64);
        const Tensor b = tensor_list_get_item(list, 0, kScalar, kFloat64);
        const Tensor c = tensor_list_get_item(list, 1, kScalar, kFloat64);
        return square(a) * b + c;
      },
      {kX});
  check_gradients(
      [](Inputs in) {
        Tensor list = tensor_list_reserve(std::vector<int64_t>{3}, 3, kFloat64);
        list = tensor_list_set_item(list, 2, square(in[0][0]));
        list = tensor_list_set_item(list, 0, in[0][1]);
        return square(tensor_list_stack(list, std::vector<int64_t>{3}, kFloat64));
      },
      {kRows});
}

BOOST_AUTO_TEST_CASE(gradient_of_grown_lists) {
  check_gradients(  // the gradient of the list is as long as the list was before
      [](Inputs in) {
        Tensor list = empty_tensor_list(kScalar, -1, kFloat64);
        for (int i = 0; i < 2; ++i) list = tensor_list_push_back(std::move(list), square(in[0][i]));
        list = tensor_list_set_item(list, 4, in[0][2], {.resize_if_index_out_of_bounds = true});
        list = tensor_list_resize(list, 7);
        return square(tensor_list_stack(tensor_list_resize(list, 5), kScalar, kFloat64));
      },
      {kX});
}

BOOST_AUTO_TEST_CASE(gradient_of_several_items) {
  check_gradients(  // one twice, and one not at all
      [](Inputs in) {
        const Tensor list = tensor_list_from_tensor(square(in[0]), kScalar);
        return square(tensor_list_gather(list, {2, 0, 2}, kScalar, kFloat64));
      },
      {kX});
  check_gradients(
      [](Inputs in) {
        Tensor list = tensor_list_scatter(square(in[0]), {3, 0, 3}, kScalar, 5);
        list = tensor_list_scatter_into_existing_list(list, in[0] * in[0][1], {1, 2, 6});
        return square(tensor_list_stack(list, kScalar, kFloat64));
      },
      {kX});
  check_gradients(
      [](Inputs in) {
        Tensor list = tensor_list_split(square(in[0]), {-1}, tensor({int64_t{2}, int64_t{0}, int64_t{1}}));
        list = tensor_list_push_back(list, in[0]);
        return square(tensor_list_concat(list, {-1}, zeros({0}, kInt64), kFloat64).tensor);
      },
      {kX});
}

BOOST_AUTO_TEST_CASE(several_items_that_are_not_set) {
  Tensor list = tensor_list_reserve(std::vector<int64_t>{-1, 2}, 3, kFloat32);
  expect_error_begins([&] { tensor_list_concat(list, {-1, 2}, zeros({0}, kInt64), kFloat32); },
                      "InvalidArgument: leading_dims: expected the length of element 0, which is not set, got none");
  const auto [all, lengths] = tensor_list_concat(list, {-1, 2}, tensor({int64_t{1}, int64_t{0}, int64_t{2}}), kFloat32);
  BOOST_TEST(all.to_string() == "[[0. 0.]\n [0. 0.]\n [0. 0.]]");
  BOOST_TEST(lengths.to_string() == "[1 0 2]");
  expect_error_begins([&] { tensor_list_gather(list, {0}, -1, kFloat32); },
                      "InvalidArgument: element_shape: expected every dimension, as no element was set, got [?,2]");
  BOOST_TEST(tensor_list_gather(list, {0}, {1, 2}, kFloat32).to_string() == "[[[0. 0.]]]");
}

// The list is the same as the tensor that is stacked by hand: to the last bit, since nothing else is computed.
BOOST_AUTO_TEST_CASE(gradient_as_of_stacked_values) {
  const auto by_list = [](const Tensor& x) {
    Tensor list = empty_tensor_list(kScalar, -1, kFloat64);
    for (int i = 0; i < 3; ++i) list = tensor_list_push_back(std::move(list), tanh(x[i]));
    return sum(square(tensor_list_stack(list, kScalar, kFloat64)));
  };
  const auto by_hand = [](const Tensor& x) { return sum(square(stack({tanh(x[0]), tanh(x[1]), tanh(x[2])}))); };
  const auto gradient = [](const auto& f) {
    GradientTape tape;
    tape.watch(kX);
    return tape.gradient(f(kX), kX);
  };
  BOOST_TEST(gradient(by_list).to_vector<double>() == gradient(by_hand).to_vector<double>(),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(gradients_by_lists) {
  const Tensor list = list_of_numbers({1, 2});
  GradientTape tape;
  tape.watch(list);
  const Tensor longer = tensor_list_push_back(list, 3.f);
  const Tensor dlist = tape.gradient(longer, list, list_of_numbers({10, 20, 30}));
  BOOST_TEST(numbers(dlist) == std::vector<float>({10, 20}), boost::test_tools::per_element());
  GradientTape other;
  other.watch(list);
  expect_error_begins([&] { other.gradient(list, list); },
                      "InvalidArgument: seed: expected one for a target of type variant, got none");
}

BOOST_AUTO_TEST_CASE(tangents_of_lists) {
  const auto f = [](const Tensor& x) {
    Tensor list = tensor_list_from_tensor(x, kScalar);
    list = tensor_list_push_back(list, square(x[0]));
    auto [rest, last] = tensor_list_pop_back(list, kScalar, kFloat64);
    rest = tensor_list_set_item(rest, 1, last * 3.0);
    return tensor_list_stack(rest, kScalar, kFloat64);
  };
  const auto [y, dy] = jvp(f, kX, tensor({1.0, 10.0, 100.0}));
  BOOST_TEST(y.to_vector<double>() == std::vector<double>({0.3, 0.3 * 0.3 * 3, 1.1}), boost::test_tools::per_element());
  BOOST_TEST(dy.to_vector<double>() == std::vector<double>({1.0, 2 * 0.3 * 3, 100.0}),
             boost::test_tools::per_element());
}

// ---- Graphs ---------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(graphs_with_lists_are_saved) {
  Graph graph;
  {
    const GraphScope scope(graph);
    const Tensor x = placeholder(kFloat32, {2}, "x");
    Tensor list = empty_tensor_list(std::vector<int64_t>{2}, -1, kFloat32);
    list = tensor_list_push_back(list, x);
    list = tensor_list_push_back(list, x * 2.f);
    named("length", tensor_list_length(list));
    named("all", tensor_list_stack(list, -1, kFloat32));
  }
  const Graph again = parse_graph(to_graph_def(graph));
  BOOST_TEST(again.info(again.output("all")).shape.to_string() == "[?,2]");
  Session session(again);
  const auto result = session.run({"all", "length"}, {{"x", tensor({1.f, 2.f})}});
  BOOST_TEST(result[0].to_string() == "[[1. 2.]\n [2. 4.]]");
  BOOST_TEST(result[1].item<int32_t>() == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
