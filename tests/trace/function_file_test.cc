// Saved functions: what comes back has the inputs and outputs that were saved, in their order.
#include <algorithm>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"
#include "panto/tests/written.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

const TensorSpec kVector(kFloat64, {-1}, "x");
using List = std::vector<Tensor>;

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(function_files)

void expect_same(const List& got, const List& expected) {
  BOOST_REQUIRE_EQUAL(got.size(), expected.size());
  for (size_t k = 0; k < got.size(); ++k) {
    BOOST_TEST_CONTEXT("output " << k) { expect_near(got[k], expected[k].shape(), values_of(expected[k]), 1e-12); }
  }
}

// By both formats, and once more after a round through them.
void expect_same_when_loaded(const Function& f, const List& inputs, const List& expected) {
  const TestFolder folder;
  for (const char* name : {"f.pb", "f.pbtxt"}) {
    f.save(folder / name);
    const Function g = load(folder / name);
    BOOST_TEST(g.inputs().size() == inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) BOOST_TEST(g.inputs()[i].name == f.inputs()[i].name);
    expect_same(g.call(inputs), expected);
    g.save(folder / "again.pb");
    expect_same(load(folder / "again.pb").call(inputs), expected);
  }
  expect_same(function_of(f.frozen_graph()).call(inputs), expected);
}

// The constant k is captured: its node is made when the file is, after that of a + 1.
BOOST_AUTO_TEST_CASE(outputs_keep_their_order) {
  const Tensor k = tensor({10.0, 20.0}), x = tensor({1.0, 2.0});
  expect_same_when_loaded(trace([&](const Tensor& a) { return List{a * k, a + 1.0}; }, {kVector}), {x},
                          {tensor({10.0, 40.0}), tensor({2.0, 3.0})});
  expect_same_when_loaded(trace([&](const Tensor& a) { return List{a + 1.0, a * k}; }, {kVector}), {x},
                          {tensor({2.0, 3.0}), tensor({10.0, 40.0})});
}

BOOST_AUTO_TEST_CASE(outputs_that_are_no_nodes_of_their_own) {
  const Tensor outside = tensor({7.0, 8.0}), x = tensor({1.0, 2.0}), y = tensor({3.0, 5.0});
  const Function f = trace(
      [&](const Tensor& a, const Tensor& b) {
        const Tensor product = a * b;
        const List halves = split(0, a, 2);
        return List{product,        b,         product, outside, halves[1], a, exp(product * 0.0),
                    fill({1}, 4.0), halves[0], b,       outside};
      },
      {TensorSpec(kFloat64, {2}, "a"), TensorSpec(kFloat64, {2}, "b")});
  const Tensor product = tensor({3.0, 10.0});
  expect_same_when_loaded(
      f, {x, y},
      {product, y, product, outside, tensor({2.0}), x, tensor({1.0, 1.0}), tensor({4.0}), tensor({1.0}), y, outside});
}

// Programs of random steps on the same few values, whose outputs are picked at random.
BOOST_AUTO_TEST_CASE(random_functions) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    const List outside{tensor({0.5, -1.0}), tensor({2.0, 0.25})};
    const Variable v(tensor({1.5, -0.5}), "v");
    std::vector<std::array<size_t, 3>> steps(1 + below(8));
    for (size_t i = 0; i < steps.size(); ++i) steps[i] = {below(6), below(i + 6), below(i + 6)};
    std::vector<size_t> picked(1 + below(5));
    for (size_t& p : picked) p = below(steps.size() + 6);
    const auto fn = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
      List values{a, b, c, outside[0], outside[1], v.value()};
      for (const auto& [op, l, r] : steps) {
        const Tensor &x = values[l], &y = values[r];
        switch (op) {
          case 0: values.push_back(x + y); break;
          case 1: values.push_back(x * outside[l % 2]); break;
          case 2: values.push_back(tanh(x)); break;
          case 3: values.push_back(x - 1.0); break;
          case 4: values.push_back(x * v); break;
          default: values.push_back(identity(y)); break;
        }
      }
      List out;
      for (const size_t p : picked) out.push_back(values[p]);
      return out;
    };
    const List at{tensor({0.1, 0.2}), tensor({-0.3, 0.4}), tensor({0.5, 0.6})};
    BOOST_TEST_CONTEXT("seed " << seed) {
      expect_same_when_loaded(
          trace(fn, {TensorSpec(kFloat64, {-1}, "a"), TensorSpec(kFloat64, {-1}, "b"), TensorSpec(kFloat64, {2}, "c")}),
          at, fn(at[0], at[1], at[2]));
    }
  }
}

// ---- Files that others wrote anew -----------------------------------------------------------------------------------

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// Nodes as they stand in a text file, and what comes behind them.
std::pair<std::vector<std::string>, std::string> nodes_of(const std::string& text) {
  std::vector<std::string> nodes;
  std::istringstream in(text);
  std::string line, rest;
  bool inside = false;
  while (std::getline(in, line)) {
    if (line == "node {") {
      nodes.emplace_back();
      inside = true;
    }
    (inside ? nodes.back() : rest) += line + "\n";
    if (line == "}") inside = false;
  }
  return {nodes, rest};
}

std::string joined(const std::vector<std::string>& nodes, const std::string& rest) {
  std::string text;
  for (const std::string& node : nodes) text += node;
  return text + rest;
}

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

const Function& sample() {
  static const Function f = trace(
      [](const Tensor& a, const Tensor& b) { return List{named("difference", a - b), named("product", a * b), a}; },
      {TensorSpec(kFloat64, {-1}, "a"), TensorSpec(kFloat64, {-1}, "b")});
  return f;
}

BOOST_AUTO_TEST_CASE(the_order_of_nodes_does_not_matter) {
  const TestFolder folder;
  sample().save(folder / "f.pbtxt");
  auto [nodes, rest] = nodes_of(text_of(folder / "f.pbtxt"));
  const List at{tensor({5.0, 7.0}), tensor({2.0, 3.0})}, expected = sample().call(at);
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) {
    std::ranges::shuffle(nodes, random);
    write(folder / "g.pbtxt", joined(nodes, rest));
    const Function g = load(folder / "g.pbtxt");
    BOOST_TEST(g.inputs()[0].name == "a");
    expect_same(g.call(at), expected);
  }
}

BOOST_AUTO_TEST_CASE(an_incomplete_order_is_an_error) {
  const TestFolder folder;
  sample().save(folder / "f.pbtxt");
  const auto [nodes, rest] = nodes_of(text_of(folder / "f.pbtxt"));
  const auto error_without = [&](const std::string& name) {
    std::vector<std::string> left = nodes;
    std::erase_if(
        left, [&](const std::string& node) { return node.find("  name: \"" + name + "\"\n") != std::string::npos; });
    BOOST_REQUIRE_EQUAL(left.size(), nodes.size() - 1);
    write(folder / "g.pbtxt", joined(left, rest));
    return error_text([&] { load(folder / "g.pbtxt"); });
  };
  BOOST_TEST(error_without("product").starts_with(
                 "InvalidArgument: outputs of the function: expected 3, each once, got none that is number 1"),
             error_without("product"));
  BOOST_TEST(
      error_without("Identity")
          .starts_with("InvalidArgument: outputs of the function: expected 3, each once, got none that is number 2"),
      error_without("Identity"));
  // A part of it can be had by name.
  expect_near(load(folder / "g.pbtxt", {"a", "b"}, {"product"})(tensor({2.0}), tensor({4.0})), {1}, {8});
  // Two functions in one file.
  std::vector<std::string> both = nodes;
  for (std::string node : nodes) {
    for (size_t at = 0; (at = node.find("name: \"", at)) != std::string::npos; at += 7) node.insert(at + 7, "other/");
    for (size_t at = 0; (at = node.find("input: \"", at)) != std::string::npos; at += 8) node.insert(at + 8, "other/");
    both.push_back(node);
  }
  write(folder / "both.pbtxt", joined(both, rest));
  const std::string twice = error_text([&] { load(folder / "both.pbtxt"); });
  BOOST_TEST(twice.starts_with("InvalidArgument: inputs of the function: expected each once, got number 0 at both 'a' "
                               "and 'other/a'"),
             twice);
  expect_near(load(folder / "both.pbtxt", {"other/b", "other/a"}, {"other/difference:0"})(tensor({2.0}), tensor({5.0})),
              {1}, {3});
  // A Placeholder that the outputs need, though it is none of the inputs.
  std::string changed = joined(nodes, rest);
  const size_t at = changed.find("input: \"b\"");
  changed.replace(at, 10, "input: \"other\"");
  changed +=
      "node {\n  name: \"other\"\n  op: \"Placeholder\"\n  attr { key: \"dtype\" value { type: DT_DOUBLE } }\n}\n";
  write(folder / "more.pbtxt", changed);
  const std::string more = error_text([&] { load(folder / "more.pbtxt"); });
  BOOST_TEST(more.starts_with("InvalidArgument: inputs of the function: expected every Placeholder that the outputs "
                              "need, got 'other' that is none"),
             more);
}

// What TensorFlow wrote says nothing of an order: it is that of the nodes.
BOOST_AUTO_TEST_CASE(foreign_graphs) {
  const TestFolder folder;
  Graph g;
  {
    GraphScope in(g);
    const Tensor a = placeholder(kFloat64, {-1}, "a"), b = placeholder(kFloat64, {-1}, "b");
    const Tensor inner = named("inner", a - b);
    named("last", named("middle", inner * 2.0) + 1.0);
    named("other", inner * a);
  }
  write_graph(g, folder / "g.pb");
  const List at{tensor({5.0}), tensor({2.0})};
  const Function by_order = load(folder / "g.pb");
  expect_same(by_order.call(at), {tensor({7.0}), tensor({15.0})});
  const Function by_name = load(folder / "g.pb", {"b", "a:0"}, {"other", "inner:0", "b", "inner", "a"});
  BOOST_TEST(by_name.inputs()[0].name == "b");
  expect_same(by_name.call(List{at[1], at[0]}), {tensor({15.0}), tensor({3.0}), at[1], tensor({3.0}), at[0]});
  expect_same_when_loaded(by_name, {at[1], at[0]}, {tensor({15.0}), tensor({3.0}), at[1], tensor({3.0}), at[0]});
  // An inner value as an input: what it was made of is not asked for.
  const Function behind = load(folder / "g.pb", {"inner"}, {"last"});
  expect_near(behind(tensor({10.0})), {1}, {21});
  expect_same_when_loaded(behind, {tensor({10.0})}, {tensor({21.0})});
  const Function same = function_of(g, {"inner", "a"}, {"other", "last"});
  expect_same(same.call(List{tensor({10.0}), tensor({2.0})}), {tensor({20.0}), tensor({21.0})});

  expect_error_begins([&] { load(folder / "g.pb", {"a"}, {"nothing"}); },
                      "NotFound: node: expected a name of the graph, got 'nothing'");
  expect_error_begins([&] { load(folder / "g.pb", {"a:1"}, {"last"}); }, "OutOfRange: output of node 'a'");
  expect_error_begins([&] { load(folder / "g.pb", {"a", "a:0"}, {"last"}); },
                      "InvalidArgument: inputs of the function: expected each once, got 'a' twice");
  expect_error_begins([&] { load(folder / "g.pb", {"a"}, {"last"}); },
                      "InvalidArgument: inputs of the function: expected every Placeholder that the outputs need, got "
                      "'b' that is none");
}

// Marks of a function's file are no marks of a part of it, or of what was added to it.
BOOST_AUTO_TEST_CASE(a_part_of_a_saved_function_is_saved_as_what_it_is) {
  const TestFolder folder;
  sample().save(folder / "f.pb");
  const Function part = load(folder / "f.pb", {"b", "a"}, {"product"});
  const List at{tensor({5.0, 7.0}), tensor({2.0, 3.0})};
  expect_same_when_loaded(part, at, {tensor({10.0, 21.0})});
}

// Attributes that a runtime does not know do it no harm: passes keep or lose them, and results are the same.
BOOST_AUTO_TEST_CASE(passes_leave_the_order_alone) {
  const Function f = trace(
      [](const Tensor& a) {
        const Tensor y = exp(a) * 2.0 + 1.0;
        return List{y, exp(a) * 2.0, y * 1.0, exp(a) * 2.0 + 1.0};
      },
      {kVector});
  const Tensor x = tensor({0.0, 1.0});
  const List expected = f.call({&x, 1});
  const Graph smaller = optimize(f.frozen_graph());
  expect_same(function_of(smaller).call({&x, 1}), expected);
}

// ---- What is left when variables are frozen -------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_variables_value_as_an_output) {
  const Variable v(tensor({1.0, 2.0}), "v");
  const Tensor x = tensor({3.0, 4.0});
  expect_same_when_loaded(trace([&](const Tensor&) { return v.value(); }, {kVector}), {x}, {tensor({1.0, 2.0})});
  expect_same_when_loaded(
      trace([&](const Tensor& a) { return List{v.value(), a * v, v.value(), stop_gradient(v.value())}; }, {kVector}),
      {x}, {tensor({1.0, 2.0}), tensor({3.0, 8.0}), tensor({1.0, 2.0}), tensor({1.0, 2.0})});
  expect_same_when_loaded(trace([&] { return v.value(); }, {}), {}, {tensor({1.0, 2.0})});
  // A read that only an order of effects needs.
  const Function ordered = trace(
      [&](const Tensor& a) {
        const Tensor read = v.value();
        const ControlDependencies after(std::span(&read, 1));
        return a * 2.0;
      },
      {kVector});
  expect_same_when_loaded(ordered, {x}, {tensor({6.0, 8.0})});
  // What no output needs is not asked for.
  const Variable table(tensor({{1.0, 2.0}, {3.0, 4.0}}), "table");
  const Function unused = trace(
      [&](const Tensor& a) {
        resource_gather(table.handle(), tensor({1}), kFloat64);
        return a * 2.0;
      },
      {kVector});
  expect_same_when_loaded(unused, {x}, {tensor({6.0, 8.0})});
  const Function handle = trace([&](const Tensor&) { return v.handle(); }, {kVector});
  expect_error_begins([&] { handle.frozen_graph(); },
                      "FailedPrecondition: freezing: expected only reads of the whole variable '");
}

// Which random algorithm is asked for is known when the variable has become a constant of the file.
BOOST_AUTO_TEST_CASE(an_output_that_cannot_run) {
  const Variable algorithm(tensor(2), "algorithm");
  const Function f = trace(
      [&](const Tensor& key) {
        return stateless_random_uniform({3}, key, tensor<uint64_t>({0, 0}), algorithm.value());
      },
      {TensorSpec(kUint64, {1}, "key")});
  const TestFolder folder;
  for (const char* name : {"f.pb", "f.pbtxt"}) {
    f.save(folder / name);
    const Function g = load(folder / name);
    expect_error_begins([&] { g(tensor<uint64_t>({7})); },
                        "Unimplemented: alg: expected 1 (Philox) or 3 (automatic), got 2 (ThreeFry)");
  }
}

// ---- Effects --------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(prints_are_no_outputs) {
  const TestFolder folder;
  const Function f = trace(
      [](const Tensor& a) {
        print_data(a, {a}, {.message = "passing "});
        print_text("text");
        return List{a * 2.0, print_data(a + 1.0, {a}, {.message = "out "})};
      },
      {kVector});
  f.save(folder / "f.pb");
  const Tensor x = tensor({3.0});
  for (const Function& g : {f, load(folder / "f.pb"), function_of(f.frozen_graph())}) {
    List out;
    const std::string text = test::written([&] { out = g.call({&x, 1}); });
    BOOST_TEST(text == "passing [3]\ntext\nout [3]\n");
    BOOST_REQUIRE_EQUAL(out.size(), 2U);
    expect_near(out[0], {1}, {6});
    expect_near(out[1], {1}, {4});
  }
  const Function only = trace([](const Tensor& a) { print_data(a, {a}); }, {kVector});
  only.save(folder / "only.pbtxt");
  const Function loaded = load(folder / "only.pbtxt");
  BOOST_TEST(test::written([&] { BOOST_TEST(loaded.call({&x, 1}).empty()); }) == "[3]\n");
  BOOST_TEST(test::written([&] { BOOST_TEST(load(folder / "only.pbtxt").call({&x, 1}).empty()); }) == "[3]\n");
}

BOOST_AUTO_TEST_CASE(saved_and_loaded) {
  const TestFolder folder;
  const Variable k(tensor({{1.0, -2.0}, {3.0, 4.0}}), "k");
  const Tensor shift = tensor({0.5, -0.5});
  const Function f =
      trace([&](const Tensor& a) { return tanh(matmul(a, k) + shift); }, {TensorSpec(kFloat64, {-1, 2}, "a")});
  const Tensor x = tensor({{0.1, 0.2}, {-0.3, 0.4}, {0.0, 1.0}});
  f.set_optimizer("off");
  const auto expected = values_of(f(x));
  for (const char* name : {"f.pb", "f.pbtxt"}) {
    f.save(folder / name);
    const Function g = load(folder / name);
    BOOST_TEST(g.inputs().size() == 1U);
    BOOST_TEST(g.inputs()[0].name == "a");
    BOOST_TEST(g.inputs()[0].to_string() == "float64[?,2]");
    BOOST_TEST(g.variables().empty());  // frozen
    g.set_optimizer("off");
    BOOST_TEST((values_of(g(x)) == expected));
    g.set_optimizer("");
    expect_near(g(x), {3, 2}, expected, 1e-12);
  }
  BOOST_TEST(folder.files() == 2U);
  // What was saved has the values of then.
  k.assign(tensor({{0.0, 0.0}, {0.0, 0.0}}));
  expect_near(load(folder / "f.pb")(x), {3, 2}, expected, 1e-12);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_saved) {
  const TestFolder folder;
  const Variable k(tensor(1.0), "k");
  const Function assigns = trace(
      [&](const Tensor& a) {
        k.assign_add(tensor(1.0));
        return a * k;
      },
      {kVector});
  BOOST_TEST(error_text([&] {
               assigns.save(folder / "f.pb");
             }).starts_with("FailedPrecondition: freezing: expected a graph that only reads variables, got node '"));
  const Function f = trace([](const Tensor& a) { return a * 2.0; }, {kVector});
  BOOST_TEST(
      error_text([&] { f.save(folder / "model"); }).starts_with("Unimplemented: save: expected a file name that"));
  BOOST_TEST(error_text([&] { load(folder.path().string()); }).starts_with("Unimplemented: load: expected a .pb or"));
  BOOST_CHECK_THROW(f.save(folder / "no/such/folder/f.pb"), Error);
  BOOST_TEST(error_text([&] { load(folder / "none.pb"); }).starts_with("NotFound: "));
  BOOST_TEST(folder.files() == 0U);
}

// Also one of several of a node, one that another one is made of, and those that were computed in another order.
BOOST_AUTO_TEST_CASE(a_loaded_function_has_the_outputs_of_the_saved_one) {
  const TestFolder folder;
  const Function f = trace(
      [](const Tensor& a) {
        const std::vector<Tensor> halves = split(0, a, 2);
        const Tensor inner = exp(halves[0]), last = square(a);
        const Tensor outer = inner + 1.0;
        return std::vector<Tensor>{last, inner, outer, halves[1]};
      },
      {TensorSpec(kFloat64, {4}, "a")});
  const Tensor x[] = {tensor({0.0, 1.0, 2.0, 3.0})};
  const std::vector<Tensor> expected = f.call(x);
  for (const char* name : {"f.pb", "f.pbtxt"}) {
    f.save(folder / name);
    const std::vector<Tensor> got = load(folder / name).call(x);
    BOOST_REQUIRE_EQUAL(got.size(), expected.size());
    for (size_t k = 0; k < got.size(); ++k) expect_near(got[k], expected[k].shape(), values_of(expected[k]), 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(rows_of_variables_are_not_frozen) {
  const Variable table(tensor({{1.0, 2.0}, {3.0, 4.0}}), "table");
  const Function f = trace([&](const Tensor& i) { return resource_gather(table.handle(), i, kFloat64); },
                           {TensorSpec(kInt32, {-1}, "i")});
  expect_near(f(tensor({1})), {1, 2}, {3, 4});
  BOOST_TEST(error_text([&] {
               f.frozen_graph();
             }).starts_with("FailedPrecondition: freezing: expected only reads of the whole variable '"));
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
