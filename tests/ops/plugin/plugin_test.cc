// Ops from a user's own shared library are ops like ours: eagerly, under a tape, traced, saved and loaded.
// A program of its own: what it opens would stay in the registry of the others.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "panto/autograd/gradcheck.h"
#include "panto/autograd/tape.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/op/library.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/tests/expect.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

const char* const kCubeLibrary = PANTO_TEST_BUILD "/tests/ops/plugin/libcube.so";
const char* const kPassLibrary = PANTO_TEST_BUILD "/tests/ops/plugin/libsquares_pass.so";
const char* const kFaultyLibrary = PANTO_TEST_BUILD "/tests/ops/plugin/libfaulty.so";

struct Opened {
  Opened() { load_library(kCubeLibrary); }
};

Tensor cube(const Tensor& x) { return dispatch::call("Cube", {&x, 1})[0]; }

BOOST_AUTO_TEST_SUITE(plugin)

BOOST_AUTO_TEST_CASE(is_opened_once) {
  BOOST_TEST(find_op("Cube") == nullptr);
  load_library(kCubeLibrary);
  load_library(kCubeLibrary);
  BOOST_REQUIRE(find_op("Cube") != nullptr);
  BOOST_TEST(get_op("Cube").doc() == "x * x * x, element by element.");
  BOOST_TEST(get_op("ScaledCubes").cpp_name() == "scaled_cubes");
}

BOOST_FIXTURE_TEST_CASE(eager, Opened) {
  BOOST_TEST(cube(tensor({1.f, -2.f, 3.f})).to_vector<float>() == (std::vector<float>{1, -8, 27}),
             boost::test_tools::per_element());
  BOOST_TEST(cube(tensor(0.5)).item<double>() == 0.125);
  const Tensor two = tensor(2.f);
  const std::pair<std::string, AttrValue> scale[] = {{"scale", AttrValue(0.5f)}};
  BOOST_TEST(dispatch::call("ScaledCubes", {&two, 1}, scale)[0].item<float>() == 4);
}

BOOST_FIXTURE_TEST_CASE(refuses_other_types, Opened) {
  expect_error([] { cube(tensor({1, 2})); },
               "InvalidArgument: T: expected one of (float32, float64), got int32 [in Cube(x: int32[2])]");
}

BOOST_FIXTURE_TEST_CASE(gradients, Opened) {
  const Tensor x = tensor({1.f, -2.f});
  GradientTape tape;
  tape.watch(x);
  BOOST_TEST(tape.gradient(cube(x), x).to_vector<float>() == (std::vector<float>{3, 12}),
             boost::test_tools::per_element());
  const std::vector<Tensor> inputs = {tensor({0.5, -1.5})};
  const GradcheckFunction f = [](std::span<const Tensor> in) { return cube(in[0]); };
  BOOST_TEST(gradcheck(f, inputs).report == "");
  BOOST_TEST(gradcheck_second_order(f, inputs).report == "");
}

BOOST_FIXTURE_TEST_CASE(traced_saved_and_loaded, Opened) {
  const Function f = trace([](const Tensor& x) { return cube(x); }, {TensorSpec(kFloat32, {-1}, "x")});
  const Tensor x = tensor({2.f, 3.f});
  BOOST_TEST(f(x).to_vector<float>() == (std::vector<float>{8, 27}), boost::test_tools::per_element());
  const Function g = function_of(parse_graph(to_graph_def(f.frozen_graph(), {.own_ops = true})));
  BOOST_TEST(g(x).to_vector<float>() == (std::vector<float>{8, 27}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(passes) {
  load_pass_library(kPassLibrary);
  load_pass_library(kPassLibrary);  // which does nothing
  const std::vector<std::string> names = pass_names();
  const auto at = std::ranges::find(names, "arithmetic");
  BOOST_REQUIRE(at != names.end());
  BOOST_TEST(*std::next(at) == "squares_to_products");
  const Function f = trace([](const Tensor& x) { return square(x) - 1.0f; }, {TensorSpec(kFloat32, {-1}, "x")});
  const std::string text = optimize(f.graph(), {}, {}, "squares_to_products").to_string();
  BOOST_TEST(text.find("Square_product = Mul(x, x)") != std::string::npos, text);
  expect_error([] { load_pass_library(kCubeLibrary); },
               std::string("InvalidArgument: ") + kCubeLibrary +
                   ": expected a library whose panto_add_passes adds passes, got one that adds none");
  expect_error_begins([] { load_pass_library("/nowhere/none.so"); }, "NotFound: library: ");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_opened) {
  expect_error_begins([] { load_library("/nowhere/none.so"); },
                      "NotFound: library: expected a shared library that can be opened, got ");
}

// The process lives on, and what was right is there.
BOOST_AUTO_TEST_CASE(faulty_blocks) {
  const std::string text = error_text([] { load_library(kFaultyLibrary); });
  BOOST_TEST(text.starts_with("InvalidArgument: "), text);
  for (const char* fault : {"signature \"Broken(x: T; T: numbers) -> (y: T)\"",
                            "op Shapeless: expected a shape function or a body, got neither",
                            "kernel for NoSuchOp on CPU: expected an op of that name, got none"}) {
    BOOST_TEST(text.find(fault) != std::string::npos, fault << "\n  is missing in: " << text);
  }
  BOOST_TEST(find_op("Broken") == nullptr);
  const Tensor x = tensor(3.f);
  BOOST_TEST(dispatch::call("Sound", {&x, 1})[0].item<float>() == 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
