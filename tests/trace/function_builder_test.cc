#include "panto/trace/function_builder.h"

#include "panto/lib/core/tensor/variable.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(function_builder)

BOOST_AUTO_TEST_CASE(a_function_by_hand) {
  FunctionBuilder b("line");
  const auto x = b.input("x", kFloat32, {-1});
  const auto w = b.input("w", kFloat32, {});
  const auto product = b.node("Mul", {x, w}, {}, {.name = "product"});
  b.output("y", b.node("AddV2", {product, b.constant(1.f)}));
  b.output("total", b.node("Sum", {product, b.constant(0)}, {{"keep_dims", AttrValue(true)}}));
  const Function f = b.build();
  BOOST_TEST(f.to_string().starts_with("(x: float32[?], w: float32[]) -> (float32[?], float32[1])"), f.to_string());
  auto [y, total] = f.call<2>(tensor({1.f, 2.f}), tensor(3.f));
  BOOST_TEST(y.to_vector<float>() == (std::vector<float>{4, 7}));
  BOOST_TEST(total.to_vector<float>() == (std::vector<float>{9}));
  // It has gradients as others have.
  const Tensor at = tensor({1.f, 2.f}), by = tensor(3.f);
  GradientTape tape;
  tape.watch(by);
  BOOST_TEST(tape.gradient(f.call(std::vector<Tensor>{at, by})[0], by).item<float>() == 3);
}

BOOST_AUTO_TEST_CASE(nodes_of_several_outputs) {
  FunctionBuilder b("largest");
  const auto x = b.input("x", kFloat32, {-1});
  const auto best = b.node("TopKV2", {x, b.constant(2)});
  b.output("values", best);
  b.output("indices", best[1]);
  auto [values, indices] = b.build().call<2>(tensor({1.f, 5.f, 3.f}));
  BOOST_TEST(values.to_vector<float>() == (std::vector<float>{5, 3}));
  BOOST_TEST(indices.to_vector<int32_t>() == (std::vector<int32_t>{1, 2}));
}

BOOST_AUTO_TEST_CASE(effects_run_in_order) {
  Variable v(tensor(0.f), "builder_v");
  FunctionBuilder b("count");
  const auto handle = b.input("v", kResource, {});
  const auto add = b.node("AssignAddVariableOp", {handle, b.constant(2.f)});
  b.output("now", b.node("ReadVariableOp", {handle}, {{"dtype", AttrValue(kFloat32)}}, {.after = {add}}));
  const Function f = b.build();
  BOOST_TEST(f(v.handle()).item<float>() == 2);
  BOOST_TEST(f(v.handle()).item<float>() == 4);
  BOOST_TEST(v.value().item<float>() == 4);
}

BOOST_AUTO_TEST_CASE(all_mistakes_are_said_at_once) {
  FunctionBuilder b("wrong");
  const auto x = b.input("x", kFloat32, {3});
  b.input("x", kFloat32, {});
  const auto unknown = b.node("Mull", {x, x});
  const auto follows = b.node("Neg", {unknown});  // no further mistake
  b.node("MatMul", {x, x}, {}, {.name = "mm"});
  b.node("Sum", {x, b.constant(0)}, {{"keepdims", AttrValue(true)}});
  b.node("Neg", {x[3]});
  b.output("y", follows);
  b.output("y", x);
  const std::string text = error_text([&] { b.build(); });
  BOOST_TEST(text.starts_with("InvalidArgument: function 'wrong': expected one without mistakes, got 6: "), text);
  for (const char* part : {"input 'x'", "Mull", "node 'mm': a: expected a matrix, got shape [3]", "got 'keepdims'",
                           "which has 1, got number 3", "output 'y': expected a name that is not taken"}) {
    BOOST_TEST(text.find(part) != std::string::npos, part << " in " << text);
  }
  BOOST_TEST(error_text([] { FunctionBuilder("empty").build(); }).find("outputs: expected at least one") !=
             std::string::npos);
}

// Written as TensorFlow's functions, and read again.
BOOST_AUTO_TEST_CASE(function_defs) {
  const Variable v(tensor(2.f), "def_v");
  const auto plain = trace([&](const Tensor& x) { return x * v + 1.f; }, {TensorSpec(kFloat32, {-1}, "x")});
  const Function again = function_from_def(plain.to_function_def("plain"));
  BOOST_TEST(again(tensor({1.f, 2.f})).to_vector<float>() == (std::vector<float>{3, 5}));
  BOOST_TEST(again.inputs()[0].name == "x");
  BOOST_TEST(plain.to_function_def("plain") == plain.to_function_def("plain"));

  const auto calls =
      trace([](const Tensor& x) { return cond(sum(x) > 0.f, [&] { return x * 2.f; }, [&] { return -x; }); },
            {TensorSpec(kFloat32, {-1}, "x")});
  expect_error_begins([&] { calls.to_function_def("calls"); },
                      "InvalidArgument: function 'calls': expected one that calls no others, got one that calls 2");
  const std::string library = calls.to_function_library("calls");
  const Function both = function_from_library(library, "calls");
  BOOST_TEST(both(tensor({1.f})).item<float>() == 2);
  BOOST_TEST(both(tensor({-1.f})).item<float>() == 1);
  expect_error_begins([&] { function_from_library(library, "other"); },
                      "NotFound: function: expected one of the library");
  expect_error_begins([] { function_from_def("\xff\xff"); }, "DataLoss: ");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
