// Arrays and stacks that are changed in place.
#include <boost/test/unit_test.hpp>

#include "panto/autograd/tape.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"

namespace panto::test::tensor_array_rows {
namespace {

std::string read(const Tensor& array, int index) { return tensor_array_read(array, index, 0.f, kFloat32).to_string(); }

void written_and_read() {
  const auto [array, flow] = tensor_array(3, kFloat32);
  BOOST_TEST(flow.shape().to_string() == "[]");
  BOOST_TEST(tensor_array_write(array, 1, tensor({1.f, 2.f}), 5.f).item<float>() == 5.f);
  tensor_array_write(array, 0, tensor({3.f}), flow);
  BOOST_TEST(tensor_array_size(array, flow).item<int32_t>() == 3);
  BOOST_TEST(read(array, 1) == "[1. 2.]");
  expect_error_begins([&] { read(array, 1); },
                      "InvalidArgument: element 1: expected one that is read once, as clear_after_read says, got a ");
  expect_error_begins([&] { tensor_array_write(array, 1, tensor({1.f}), flow); },
                      "InvalidArgument: element 1: expected one that was not read yet, got one that was");
  expect_error_begins([&] { tensor_array_write(array, 0, tensor({1.f}), flow); },
                      "InvalidArgument: element 0: expected one that was not written yet, got one that was");
  expect_error_begins([&] { read(array, 2); },
                      "InvalidArgument: element 2: expected one that was written, as the array does not know its shape "
                      "?, got none");
  expect_error_begins([&] { tensor_array_write(array, 3, 1.f, flow); },
                      "InvalidArgument: index: expected one in [0, 3), got 3");
  expect_error_begins([&] { read(array, -1); }, "InvalidArgument: index: expected one in [0, 3), got -1");
  expect_error_begins([&] { tensor_array_write(array, 2, 1, flow); },
                      "InvalidArgument: dtype: expected the array's float32, got int32");
  expect_error_begins([&] { tensor_array_read(array, 0, 0.f, kInt32); },
                      "InvalidArgument: dtype: expected the array's float32, got int32");
  tensor_array_close(array);
  expect_error_begins([&] { read(array, 0); }, "InvalidArgument: array: expected an open one, got one that was closed");
  expect_error_begins([] { tensor_array(-1, kFloat32); }, "InvalidArgument: size: expected at least 0, got -1");
  expect_error_begins([] { tensor_array(INT32_MAX, kFloat32); }, "ResourceExhausted: size: ");
  expect_error_begins([&] { tensor_array_size(fifo_queue({kFloat32}), 0.f); },
                      "InvalidArgument: handle: expected one of a TensorArray, got one of a FIFOQueue named \"\"");
}

void of_known_shapes() {
  const Tensor array = tensor_array(2, kFloat32, {.element_shape = PartialShape{2}, .clear_after_read = false}).handle;
  BOOST_TEST(read(array, 1) == "[0. 0.]");
  expect_error_begins([&] { tensor_array_write(array, 0, tensor({1.f}), 0.f); },
                      "InvalidArgument: value: expected the array's element shape [2], got [1]");
  tensor_array_write(array, 0, tensor({1.f, 2.f}), 0.f);
  BOOST_TEST(read(array, 0) == "[1. 2.]");
  BOOST_TEST(read(array, 0) == "[1. 2.]");  // as often as one likes
  const Tensor alike = tensor_array(2, kFloat32, {.identical_element_shapes = true}).handle;
  tensor_array_write(alike, 0, tensor({1.f}), 0.f);
  expect_error_begins([&] { tensor_array_write(alike, 1, 1.f, 0.f); },
                      "InvalidArgument: value: expected the array's element shape [1], got []");
  BOOST_TEST(read(alike, 1) == "[0.]");
}

void that_grow() {
  const Tensor array = tensor_array(0, kFloat32, {.dynamic_size = true}).handle;
  tensor_array_write(array, 4, 1.f, 0.f);
  BOOST_TEST(tensor_array_size(array, 0.f).item<int32_t>() == 5);
  expect_error_begins([&] { tensor_array_write(array, INT32_MAX, 1.f, 0.f); }, "ResourceExhausted: index: ");
}

void several_elements() {
  const Tensor array = tensor_array(3, kFloat32).handle;
  tensor_array_scatter(array, {2, 0, 1}, tensor({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}}), 0.f);
  BOOST_TEST(tensor_array_gather(array, {0, 2}, 0.f, kFloat32).to_string() == "[[3. 4.]\n [1. 2.]]");
  expect_error_begins([&] { tensor_array_gather(array, std::vector<int64_t>{}, 0.f, kFloat32); },
                      "InvalidArgument: element_shape: expected every dimension, as there are no elements, got ?");
  BOOST_TEST(tensor_array_gather(array, std::vector<int64_t>{}, 0.f, kFloat32, {.element_shape = PartialShape{2}})
                 .shape()
                 .to_string() == "[0,2]");
  expect_error_begins([&] { tensor_array_scatter(array, {0}, tensor({1.f, 2.f}), 0.f); }, "InvalidArgument: ");
  const Tensor pieces = tensor_array(3, kFloat32).handle;
  tensor_array_split(pieces, tensor({{1.f}, {2.f}, {3.f}}), {1, 0, 2}, 0.f);
  const auto [all, lengths] = tensor_array_concat(pieces, 0.f, kFloat32);
  BOOST_TEST(all.to_string() == "[[1.]\n [2.]\n [3.]]");
  BOOST_TEST(lengths.to_string() == "[1 0 2]");
  expect_error_begins([&] { tensor_array_split(pieces, tensor({1.f, 2.f}), {1, 2}, 0.f); },
                      "InvalidArgument: lengths: expected 2 in all, got 3");
  expect_error_begins([&] { tensor_array_split(pieces, tensor({1.f, 2.f}), {3, -1}, 0.f); },
                      "InvalidArgument: lengths: expected at least 0, got -1");
}

void gradients_are_added() {
  const Tensor array = tensor_array(3, kFloat32, {.dynamic_size = true}).handle;
  tensor_array_write(array, 0, tensor({1.f, 2.f}), 0.f);
  tensor_array_write(array, 1, 1.f, 0.f);
  const auto of = [&](const char* source) { return tensor_array_grad(array, 7.f, source).grad_handle; };
  BOOST_TEST(tensor_array_grad(array, 7.f, "a").flow_out.item<float>() == 7.f);
  tensor_array_write(of("a"), 1, 2.f, 0.f);
  tensor_array_write(of("a"), 1, 3.f, 0.f);
  tensor_array_write(of("b"), 1, 10.f, 0.f);
  BOOST_TEST(read(of("a"), 1) == "5.0");
  BOOST_TEST(read(of("b"), 1) == "10.0");
  BOOST_TEST(read(of("a"), 0) == "[0. 0.]");  // as the element is
  expect_error_begins([&] { tensor_array_write(array, 3, 1.f, 0.f); }, "InvalidArgument: index: ");
  GradientTape tape;
  const Tensor x = tensor(1.f);
  tape.watch(x);
  const Tensor other = tensor_array(1, kFloat32).handle;
  const Tensor flow = tensor_array_write(other, 0, x, 0.f);
  const Tensor y = tensor_array_read(other, 0, flow, kFloat32);
  expect_error_begins(
      [&] { tape.gradient(y, x); },
      "Unimplemented: gradient of TensorArrayReadV3: expected a list of the ops TensorList..., got an ");
}

void gradients_of_more_dimensions() {
  const Tensor array = tensor_array(2, kFloat32).handle;
  tensor_array_write(array, 0, tensor({1.f, 2.f}), 0.f);
  const auto [grads, flow] = tensor_array_grad_with_shape(array, 7.f, {3}, "a");
  BOOST_TEST(flow.item<float>() == 7.f);
  BOOST_TEST(tensor_array_size(grads, flow).item<int32_t>() == 2);
  BOOST_TEST(read(grads, 0) == "[[0. 0.]\n [0. 0.]\n [0. 0.]]");
  tensor_array_write(grads, 0, ones({3, 2}), flow);
  tensor_array_write(grads, 0, full({3, 2}, 10.f), flow);
  BOOST_TEST(read(grads, 0) == "[[11. 11.]\n [11. 11.]\n [11. 11.]]");
  BOOST_TEST(read(tensor_array_grad(array, 0.f, "a").grad_handle, 0) == read(grads, 0));  // the same array
  expect_error_begins([&] { read(grads, 1); }, "InvalidArgument: element 1: expected one that was written, ");
  const Tensor known = tensor_array(1, kFloat32, {.element_shape = PartialShape{2}}).handle;
  const Tensor of_known = tensor_array_grad_with_shape(known, 0.f, {1, 2}, "a").grad_handle;
  BOOST_TEST(tensor_array_read(of_known, 0, 0.f, kFloat32).shape().to_string() == "[1,2,2]");
  expect_error_begins([&] { tensor_array_write(of_known, 0, tensor({1.f, 2.f}), 0.f); },
                      "InvalidArgument: value: expected the array's element shape [1,2,2], got [2]");
  expect_error_begins([&] { tensor_array_grad_with_shape(array, 0.f, {-1}, "b"); },
                      "InvalidArgument: shape_to_prepend: expected dimensions of at least 0, got -1");
}

void gradients_of_more_dimensions_saved() {
  const auto build = [] {
    const auto [array, flow] = tensor_array(1, kFloat32);
    const Tensor written = tensor_array_write(array, 0, placeholder(kFloat32, {}, "x"), flow);
    const auto [grads, after] = tensor_array_grad_with_shape(array, written, {2}, "a");
    const Tensor added = tensor_array_write(grads, 0, tensor({1.f, 2.f}), after);
    named("y", tensor_array_read(grads, 0, added, kFloat32));
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    for (int i = 0; i < 2; ++i) BOOST_TEST(session.run("y", {{"x", 3.f}}).to_string() == "[1. 2.]");
  }
}

void stacks() {
  const Tensor stack = tensor_stack(2, kFloat32);
  BOOST_TEST(tensor_stack_push(stack, tensor({1.f, 2.f})).to_string() == "[1. 2.]");
  tensor_stack_push(stack, 3.f);
  expect_error_begins([&] { tensor_stack_push(stack, 4.f); },
                      "InvalidArgument: stack: expected fewer than its max_size 2, got 2 elements");
  BOOST_TEST(tensor_stack_pop(stack, kFloat32).to_string() == "3.0");
  BOOST_TEST(tensor_stack_pop(stack, kFloat32).to_string() == "[1. 2.]");
  expect_error_begins([&] { tensor_stack_pop(stack, kFloat32); },
                      "InvalidArgument: stack: expected at least 1 element, got none");
  expect_error_begins([&] { tensor_stack_push(stack, 1); },
                      "InvalidArgument: element: expected the stack's float32, got int32");
  tensor_stack_close(stack);
  expect_error_begins([&] { tensor_stack_push(stack, 1.f); },
                      "InvalidArgument: stack: expected an open one, got one that was closed");
}

// What is changed in place is put in order by the flow, and every run has arrays of its own.
void in_saved_graphs() {
  const auto build = [] {
    const Tensor x = placeholder(kFloat32, {2}, "x");
    auto [array, flow] = tensor_array(2, kFloat32, {.element_shape = PartialShape{2}, .clear_after_read = false});
    flow = tensor_array_write(array, 0, x, flow);
    flow = tensor_array_write(array, 1, x * 2.f, flow);
    named("one", tensor_array_read(array, 1, flow, kFloat32));
    const Tensor all = named("all", tensor_array_gather(array, {1, 0}, flow, kFloat32));
    BOOST_TEST(all.partial_shape().to_string() == "[2,2]");
    named("concat", tensor_array_concat(array, flow, kFloat32).value);
    named("size", tensor_array_size(array, flow));
    auto [gradient, gradient_flow] = tensor_array_grad(array, flow, "g");
    gradient_flow = tensor_array_scatter(gradient, {0, 1}, all, gradient_flow);
    gradient_flow = tensor_array_write(gradient, 0, x, gradient_flow);
    named("sum", tensor_array_read(gradient, 0, gradient_flow, kFloat32));
    auto [pieces, pieces_flow] = tensor_array(2, kFloat32);
    pieces_flow = tensor_array_split(pieces, x, {1, 1}, pieces_flow);
    const Tensor piece = named("piece", tensor_array_read(pieces, 1, pieces_flow, kFloat32));
    const CollectEffects effects;
    const ControlDependencies after({piece});
    tensor_array_close(pieces);
    group(effects.operations(), "close");
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    for (int i = 0; i < 2; ++i) {
      const auto get = [&](const char* name) { return session.run(name, {{"x", tensor({1.f, 2.f})}}).to_string(); };
      BOOST_TEST(get("one") == "[2. 4.]");
      BOOST_TEST(get("all") == "[[2. 4.]\n [1. 2.]]");
      BOOST_TEST(get("concat") == "[1. 2. 2. 4.]");
      BOOST_TEST(get("size") == "2");
      BOOST_TEST(get("sum") == "[3. 6.]");
      BOOST_TEST(get("piece") == "[2.]");
      session.run({"^close"}, {{"x", tensor({1.f, 2.f})}});
    }
  }
}

void stacks_in_saved_graphs() {
  const auto build = [] {
    const Tensor x = placeholder(kFloat32, {}, "x");
    const Tensor stack = tensor_stack(-1, kFloat32);
    const Tensor first = tensor_stack_push(stack, x);
    const ControlDependencies then({first});
    const Tensor second = tensor_stack_push(stack, x * 2.f);
    const ControlDependencies after({second});
    const Tensor top = named("top", tensor_stack_pop(stack, kFloat32));
    const ControlDependencies last({top});
    const CollectEffects effects;
    tensor_stack_close(stack);
    group(effects.operations(), "close");
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    const auto [top, nothing] = session.run<2>({"top", "^close"}, {{"x", 3.f}});
    BOOST_TEST(top.item<float>() == 6.f);
    BOOST_TEST(!nothing.defined());
  }
}

const OwnTest kSaved{"saved", in_saved_graphs};
const OwnTest kStacksSaved{"saved", stacks_in_saved_graphs};

const Family arrays("tensor_array",
                    {
                        {"TensorArrayV3", {.own = {{"shapes", of_known_shapes}, {"grow", that_grow}, kSaved}}},
                        {"TensorArrayGradWithShape",
                         {.own = {{"more dimensions", gradients_of_more_dimensions},
                                  {"saved", gradients_of_more_dimensions_saved}}}},
                        {"TensorArrayGradV3", {.own = {{"added", gradients_are_added}, kSaved}}},
                        {"TensorArrayWriteV3", {.own = {{"read", written_and_read}, kSaved}}},
                        {"TensorArrayReadV3", {.own = {{"read", written_and_read}, kSaved}}},
                        {"TensorArrayGatherV3", {.own = {{"several", several_elements}, kSaved}}},
                        {"TensorArrayScatterV3", {.own = {{"several", several_elements}, kSaved}}},
                        {"TensorArrayConcatV3", {.own = {{"several", several_elements}, kSaved}}},
                        {"TensorArraySplitV3", {.own = {{"several", several_elements}, kSaved}}},
                        {"TensorArraySizeV3", {.own = {{"grow", that_grow}, kSaved}}},
                        {"TensorArrayCloseV3", {.own = {{"read", written_and_read}, kSaved}}},
                        {"StackV2", {.own = {{"stacks", stacks}, kStacksSaved}}},
                        {"StackPushV2", {.own = {{"stacks", stacks}, kStacksSaved}}},
                        {"StackPopV2", {.own = {{"stacks", stacks}, kStacksSaved}}},
                        {"StackCloseV2", {.own = {{"stacks", stacks}, kStacksSaved}}},
                    });

}  // namespace
}  // namespace panto::test::tensor_array_rows
