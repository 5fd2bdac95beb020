// Samples of ragged tensors that variants hold. What the variants hold is told by RaggedTensorFromVariant, whose
// answers are TensorFlow's in tests/interop.
#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/table.h"
#include "panto/trace/trace.h"

namespace panto::test::ragged_variant_rows {
namespace {

Tensor splits(const std::vector<int64_t>& values) { return tensor(values); }
const Tensor& six() {
  static const Tensor values = tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f});
  return values;
}

template <class T>
std::string shown_as(const Tensor& t) {
  std::string text = t.shape().to_string();
  for (const T& x : t.to_vector<T>()) text += " " + fmt::format("{}", x);
  return text;
}

// "[4] 0 2 2 6 | [6] 1 2 3 4 5 6": the splits, and the values.
std::string shown(const Tensor& encoded, int64_t input_rank, int64_t output_rank) {
  const auto ragged = ragged_tensor_from_variant(encoded, input_rank, output_rank, kFloat32);
  std::string all;
  for (const Tensor& t : ragged.output_nested_splits) all += shown_as<int64_t>(t) + " | ";
  return all + shown_as<float>(ragged.output_dense_values);
}

// Of whole ragged tensors, and of rows of one and of two dimensions.
void check_there_and_back() {
  const Tensor matrix = reshape(six(), {2, 3});
  BOOST_TEST(shown(ragged_tensor_to_variant({splits({0, 2, 2, 6})}, six(), false), 1, 1) ==
             "[4] 0 2 2 6 | [6] 1 2 3 4 5 6");
  BOOST_TEST(shown(ragged_tensor_to_variant({}, matrix, false), 0, 0) == "[2,3] 1 2 3 4 5 6");
  const Tensor rows = ragged_tensor_to_variant({splits({0, 2, 2, 6})}, six(), true);
  BOOST_TEST(rows.shape() == Shape({3}));
  BOOST_TEST(shown(rows, 0, 1) == "[4] 0 2 2 6 | [6] 1 2 3 4 5 6");
  BOOST_TEST(shown(rows, -1, 1) == "[4] 0 2 2 6 | [6] 1 2 3 4 5 6");
  BOOST_TEST(shown(rows[2], 0, 0) == "[4] 3 4 5 6");
  const Tensor tables = ragged_tensor_to_variant({splits({0, 2, 3}), splits({0, 2, 2, 6})}, six(), true);
  BOOST_TEST(shown(tables, 1, 2) == "[3] 0 2 3 | [4] 0 2 2 6 | [6] 1 2 3 4 5 6");
  BOOST_TEST(shown(tables[1], 1, 1) == "[2] 0 4 | [4] 3 4 5 6");
  BOOST_TEST(shown(ragged_tensor_to_variant({}, matrix, true), 0, 1) == "[3] 0 3 6 | [6] 1 2 3 4 5 6");
  BOOST_TEST(shown(ragged_tensor_to_variant({}, matrix, true), 0, 0) == "[2,3] 1 2 3 4 5 6");
  // Rows in another order, and in more dimensions: these are rows of one length.
  BOOST_TEST(shown(gather(rows, tensor({2, 1, 0, 2}), 0), 0, 1) == "[5] 0 4 4 6 10 | [10] 3 4 5 6 1 2 3 4 5 6");
  const Tensor table = reshape(gather(rows, tensor({2, 1, 0, 2}), 0), {2, 2});
  BOOST_TEST(shown(table, 0, 2) == "[3] 0 2 4 | [5] 0 4 4 6 10 | [10] 3 4 5 6 1 2 3 4 5 6");
  const Tensor cube = reshape(ragged_tensor_to_variant({splits({0, 1, 2, 3, 4, 5, 6})}, six(), true), {1, 2, 3});
  BOOST_TEST(shown(cube, 0, 3) == "[2] 0 2 | [3] 0 3 6 | [7] 0 1 2 3 4 5 6 | [6] 1 2 3 4 5 6");
  // Nothing at all, and strings with splits of int32.
  BOOST_TEST(shown(ragged_tensor_to_variant({splits({0}), splits({0})}, tensor(std::vector<float>{}), true), 1, 2) ==
             "[1] 0 | [1] 0 | [0]");
  const auto words = ragged_tensor_from_variant(
      ragged_tensor_to_variant({tensor({0, 2, 3}), tensor({0, 1, 1, 3})}, tensor({"a", "b", "c"}), true), 1, 2, kString,
      {.Tsplits = kInt32});
  BOOST_TEST(shown_as<int32_t>(words.output_nested_splits[1]) == "[4] 0 1 1 3");
  BOOST_TEST(shown_as<std::string>(words.output_dense_values) == "[3] a b c");
}

void check_errors() {
  const auto to = [](const std::vector<int64_t>& s) { return ragged_tensor_to_variant({splits(s)}, six(), true); };
  expect_error_begins([&] { to({1, 6}); }, "InvalidArgument: rt_nested_splits[0]: expected 0, got 1");
  expect_error_begins([&] { to({0, 4, 2, 6}); }, "InvalidArgument: rt_nested_splits[2]: expected at least 4");
  expect_error_begins([&] { to({0, 9}); }, "InvalidArgument: rt_nested_splits: expected at most 6");
  expect_error_begins([&] { to({0, 4}); }, "InvalidArgument: rt_nested_splits: expected 6 at the end");
  expect_error_begins([&] { to({}); }, "InvalidArgument: rt_nested_splits: expected at least one");
  const Tensor rows = to({0, 2, 2, 6});
  expect_error_begins([&] { shown(rows, 1, 1); }, "InvalidArgument: output_ragged_rank: expected 2, the dimensions");
  expect_error_begins([&] { shown(reshape(rows, {3, 1}), -1, 1); },
                      "InvalidArgument: output_ragged_rank: expected at least 2, the dimensions");
  expect_error_begins([&] { shown(rows, 1, 2); },
                      "InvalidArgument: encoded_ragged[0]: expected 1 ragged dimensions, got 0");
  expect_error_begins([&] { ragged_tensor_from_variant(rows, 0, 1, kInt32); },
                      "InvalidArgument: encoded_ragged[0]: expected values of int32, got float32");
  const Tensor tables = ragged_tensor_to_variant({splits({0, 1}), splits({0, 6})}, six(), true);
  expect_error_begins([&] { ragged_tensor_from_variant(tables, 1, 2, kFloat32, {.Tsplits = kInt32}); },
                      "InvalidArgument: encoded_ragged[0]: expected splits of int32, got int64");
  expect_error_begins([&] { shown(ragged_tensor_to_variant({}, six(), true), 0, 1); },
                      "InvalidArgument: encoded_ragged[0]: expected values with at least 1 dimension");
  const auto whole_matrix = [](const Shape& s) { return ragged_tensor_to_variant({}, reshape(six(), s), false); };
  expect_error_begins([&] { shown(stack({whole_matrix({2, 3}), whole_matrix({3, 2})}), 0, 1); },
                      "InvalidArgument: encoded_ragged[1]: expected values of shape");
  expect_error_begins([] { shown(optional_none(), 0, 0); },
                      "InvalidArgument: encoded_ragged: expected variants that hold a RaggedTensor, got Optional at 0");
}

// Of a loss of squares: twice the values, once for each time that they were taken.
void check_gradients() {
  const auto loss = [](const Tensor& encoded, int64_t input_rank, int64_t output_rank) {
    return sum(square(ragged_tensor_from_variant(encoded, input_rank, output_rank, kFloat32).output_dense_values));
  };
  struct Case {
    const char* what;
    std::function<Tensor(const Tensor&)> f;
    std::vector<float> expected;
  };
  const Tensor s = splits({0, 2, 2, 6}), outer = splits({0, 2, 3});
  const Case cases[] = {
      {"whole",
       [&](const Tensor& x) { return loss(ragged_tensor_to_variant({s}, x, false), 1, 1); },
       {2, 4, 6, 8, 10, 12}},
      {"rows",
       [&](const Tensor& x) { return loss(ragged_tensor_to_variant({s}, x, true), 0, 1); },
       {2, 4, 6, 8, 10, 12}},
      {"rows of two dimensions",
       [&](const Tensor& x) { return loss(ragged_tensor_to_variant({outer, s}, x, true), 1, 2); },
       {2, 4, 6, 8, 10, 12}},
      {"rows of a matrix",
       [&](const Tensor& x) { return loss(ragged_tensor_to_variant({}, reshape(x, {2, 3}), true), 0, 1); },
       {2, 4, 6, 8, 10, 12}},
      {"rows in two dimensions",
       [&](const Tensor& x) {
         return loss(reshape(ragged_tensor_to_variant({splits({0, 2, 2, 5, 6})}, x, true), {2, 2}), 0, 2);
       },
       {2, 4, 6, 8, 10, 12}},
      {"taken twice",
       [&](const Tensor& x) {
         const Tensor rows = ragged_tensor_to_variant({s}, x, true);
         return loss(rows, 0, 1) + loss(rows, 0, 1);
       },
       {4, 8, 12, 16, 20, 24}},
      {"one row",
       [&](const Tensor& x) { return loss(ragged_tensor_to_variant({s}, x, true)[2], 0, 0); },
       {0, 0, 6, 8, 10, 12}},
  };
  for (const Case& c : cases) {
    BOOST_TEST_CONTEXT(c.what) {
      GradientTape tape;
      tape.watch(six());
      const Tensor y = c.f(six());
      BOOST_TEST(tape.gradient(y, six()).to_vector<float>() == c.expected, boost::test_tools::per_element());
      const Function traced = trace([&](const Tensor& x) {
        GradientTape inner;
        inner.watch(x);
        return inner.gradient(c.f(x), x);
      });
      BOOST_TEST(traced(six()).to_vector<float>() == c.expected, boost::test_tools::per_element());
    }
  }
}

void check_gradient_op() {
  const Tensor rows = ragged_tensor_to_variant({splits({0, 2, 2, 6})}, six(), true);
  const auto gradient = [&](const std::vector<int32_t>& shape, DType type) {
    return ragged_tensor_to_variant_gradient(rows, splits({0, 2, 2, 6}), tensor(shape), type);
  };
  BOOST_TEST(shown_as<float>(gradient({6}, kFloat32)) == "[6] 1 2 3 4 5 6");
  expect_error_begins([&] { gradient({7}, kFloat32); },
                      "InvalidArgument: encoded_ragged_grad: expected 7 elements, as dense_values_shape says, got 6");
  expect_error_begins(
      [&] { gradient({5}, kFloat32); },
      "InvalidArgument: encoded_ragged_grad: expected 5 elements, as dense_values_shape says, got more");
  expect_error_begins([&] { gradient({6}, kFloat64); },
                      "InvalidArgument: encoded_ragged_grad[0]: expected values of float64, got float32");
}

// The same from a graph that was saved; its gradient has the third op.
void check_saved() {
  const Function f = trace(
      [](const Tensor& x) {
        GradientTape tape;
        tape.watch(x);
        const Tensor rows = ragged_tensor_to_variant({splits({0, 2, 2, 6})}, x, true);
        const auto ragged = ragged_tensor_from_variant(rows, 0, 1, kFloat32);
        const Tensor y = square(ragged.output_dense_values);
        return std::vector<Tensor>{y, ragged.output_nested_splits[0], tape.gradient(y, x)};
      },
      {TensorSpec(kFloat32, {6}, "x")});
  const std::string text = to_graph_def(f.frozen_graph());
  for (const char* op : {"RaggedTensorToVariant", "RaggedTensorFromVariant", "RaggedTensorToVariantGradient"}) {
    BOOST_TEST(text.find(op) != std::string::npos, op);
  }
  const std::vector<Tensor> y = function_of(parse_graph(text)).call(std::vector<Tensor>{six()});
  BOOST_TEST(shown_as<float>(y.at(0)) == "[6] 1 4 9 16 25 36");
  BOOST_TEST(shown_as<int64_t>(y.at(1)) == "[4] 0 2 2 6");
  BOOST_TEST(shown_as<float>(y.at(2)) == "[6] 2 4 6 8 10 12");
}

// Sums of gradients.
void check_sums() {
  const auto whole = [](const std::vector<int64_t>& s) { return ragged_tensor_to_variant({splits(s)}, six(), false); };
  BOOST_TEST(shown(add_n({whole({0, 2, 6}), whole({0, 2, 6})}), 1, 1) == "[3] 0 2 6 | [6] 2 4 6 8 10 12");
  BOOST_TEST(shown(zeros_like(whole({0, 2, 6})), 1, 1) == "[3] 0 2 6 | [6] 0 0 0 0 0 0");
  expect_error_begins([&] { add_n({whole({0, 2, 6}), whole({0, 3, 6})}); },
                      "InvalidArgument: ragged tensors: expected all with the same row_splits, got others");
}

const Family ragged_variants(
    "sparse",
    {
        {"RaggedTensorToVariant",
         {.own = {{"there_and_back", check_there_and_back},
                  {"errors", check_errors},
                  {"gradients", check_gradients},
                  {"saved", check_saved},
                  {"sums", check_sums}}}},
        {"RaggedTensorFromVariant", {.own = {{"there_and_back", check_there_and_back}, {"saved", check_saved}}}},
        {"RaggedTensorToVariantGradient", {.own = {{"values", check_gradient_op}, {"saved", check_saved}}}},
    });

}  // namespace
}  // namespace panto::test::ragged_variant_rows
