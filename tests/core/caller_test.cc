// Errors name the line that called the library, whatever ops the library calls meanwhile; graphs' nodes too.
#include <boost/test/unit_test.hpp>
#include <source_location>
#include <vector>

#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/layers/embedding.h"
#include "panto/nn/layers/recurrent.h"
#include "panto/tests/expect.h"
#include "panto/trace/graph_scope.h"

namespace panto::test {
namespace {

struct Wrong {
  unsigned line;  // where it is called
  const char* what;
  void (*call)();
};

const Tensor& x() {
  static const Tensor value = tensor({{1.f, 2.f}, {3.f, 4.f}});
  return value;
}
const Variable& v() {
  static const Variable variable(x(), "caller");
  return variable;
}

// A layer of a user.
struct Broken final : Layer {
  static inline unsigned line = 0;
  Tensor forward(const Tensor& t) const override {
    line = std::source_location::current().line() + 1;
    return t + tensor({1.f, 2.f, 3.f});
  }
  std::string to_string() const override { return "Broken()"; }
};

// clang-format off: a line each
const Wrong kWrong[] = {
    {__LINE__, "x(5)", [] { x()(5); }},
    {__LINE__, "x(Slice(), 7)", [] { x()(Slice(), 7); }},
    {__LINE__, "x[3]", [] { x()[3]; }},
    {__LINE__, "x(mask)", [] { x()(tensor({true, false, true})); }},
    {__LINE__, "v(7) = x", [] { v()(7) = x(); }},
    {__LINE__, "v(0) = x", [] { v()(0) = tensor({1.f, 2.f, 3.f}); }},
    {__LINE__, "v(0) += x", [] { v()(0) += tensor({1.f, 2.f, 3.f}); }},
    {__LINE__, "v.assign", [] { v().assign(tensor({1})); }},
    {__LINE__, "x.sum", [] { x().sum({.axis = {4}}); }},
    {__LINE__, "x.sum(4)", [] { x().sum(4); }},
    {__LINE__, "x.std", [] { x().std({0, 3}); }},
    {__LINE__, "x.reshape", [] { x().reshape({3, -1}); }},
    {__LINE__, "x.transpose", [] { x().transpose({0, 2}); }},
    {__LINE__, "x.argmax", [] { x().argmax(3); }},
    {__LINE__, "x += y", [] { Tensor t = x(); t += tensor({1.f, 2.f, 3.f}); }},
    {__LINE__, "1 / 0 of integers", [] { (void)(tensor({1}) / tensor({2})); }},
    {__LINE__, "norm", [] { norm(x(), {.axis = {5}}); }},
    {__LINE__, "var", [] { var(x(), 3); }},
    {__LINE__, "logsumexp", [] { logsumexp(x(), {2, 3}); }},
    {__LINE__, "max", [] { max(x(), {.axis = {4}}); }},
    {__LINE__, "max(x, 4)", [] { max(x(), 4); }},
    {__LINE__, "max(strings)", [] { max(tensor(std::vector<std::string>{"a"})); }},
    {__LINE__, "max(x, y)", [] { max(x(), tensor({1.f, 2.f, 3.f})); }},
    {__LINE__, "sum(x, 4)", [] { sum(x(), 4); }},
    {__LINE__, "sort", [] { sort(x(), {.axis = 4}); }},
    {__LINE__, "argsort", [] { argsort(x(), {.axis = 4}); }},
    {__LINE__, "softmax", [] { softmax(x(), {.axis = 3}); }},
    {__LINE__, "repeat", [] { repeat(x(), -1); }},
    {__LINE__, "flip", [] { flip(x(), {4}); }},
    {__LINE__, "clip", [] { clip(x(), 0.f, tensor({1.f, 2.f, 3.f})); }},
    {__LINE__, "tril", [] { tril(tensor({1.f})); }},
    {__LINE__, "categorical", [] { categorical(x(), -1); }},
    {__LINE__, "matmul", [] { matmul(tensor({1.f}), x()); }},
    {__LINE__, "random_normal", [] { random_normal({-1}); }},
    {__LINE__, "random_uniform", [] { random_uniform({2}, {.min = 2, .max = 1}); }},
    {__LINE__, "Embedding", [] { Embedding(3, 4)(tensor({7})); }},
    {__LINE__, "Dense", [] { Dense(3, 4)(x()); }},
    {__LINE__, "Sequential", [] { Sequential(Dense(2, 3), Dense(4, 5))(x()); }},
    {__LINE__, "LstmCell", [] { LstmCell(3, 4)(x(), {}); }},
};
// clang-format on

std::string ending(unsigned line) { return "caller_test.cc:" + std::to_string(line) + "]"; }

BOOST_AUTO_TEST_SUITE(callers)

BOOST_AUTO_TEST_CASE(errors_end_with_the_line_of_the_call) {
  for (const Wrong& wrong : kWrong) {
    const std::string got = error_text(wrong.call);
    BOOST_TEST(got.ends_with(ending(wrong.line)), wrong.what << ": " << got);
    BOOST_TEST(got.find("[at ") == got.rfind("[at "), wrong.what << ": " << got);
  }
}

BOOST_AUTO_TEST_CASE(layers_are_named) {
  expect_error_begins([] { Sequential(Flatten(), Dense(4, 5))(x()); },
                      "InvalidArgument: Dense: expected an input of shape [..., 4], got [2,2] [in Dense(4, 5)] "
                      "[layer 2 of 2] [at ");
}

BOOST_AUTO_TEST_CASE(lines_of_the_users_layers_are_their_own) {
  for (const bool nested : {false, true}) {
    const std::string got = error_text([&] { nested ? Sequential(Flatten(), Broken())(x()) : Broken()(x()); });
    const std::string line = "/tests/core/" + ending(Broken::line) + " [in Broken()]";
    BOOST_TEST(got.find(line) != std::string::npos, got);
  }
}

BOOST_AUTO_TEST_CASE(nodes_know_the_line_of_the_call) {
  Graph graph;
  const Dense dense(2, 3);
  unsigned line = 0;
  {
    const GraphScope in(graph);
    const Tensor t = placeholder(kFloat32, {-1, 2}, "t");
    line = std::source_location::current().line() + 1;
    stddev(dense(t), 0);
  }
  int nodes = 0;
  for (const int id : graph.ids()) {
    const Node& node = graph.at(id);
    if (node.op().name() != "MatMul" && node.op().name() != "Sqrt" && node.op().name() != "BiasAdd") continue;
    ++nodes;
    BOOST_TEST(node.where().line == static_cast<int>(line));
    BOOST_TEST(node.where().file.ends_with("caller_test.cc"));
  }
  BOOST_TEST(nodes == 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
