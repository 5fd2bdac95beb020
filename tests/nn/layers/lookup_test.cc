// Vocabularies: numbers as Keras 3 gives them; in traces, in files and in graphs; what they refuse.
#include "panto/nn/layers/preprocessing/lookup.h"

#include "panto/lib/core/call/scopes.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/expect.h"
#include "panto/tests/nn/layers/layers.h"
#include "panto/trace/graph_scope.h"

namespace panto {
namespace {

using Texts = std::vector<std::string>;
using Numbers = std::vector<double>;

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(lookup)

// The same numbers eagerly, traced, from a file and in a graph made by hand.
Numbers everywhere_of(const Layer& layer, const Tensor& x) {
  const Tensor y = layer(x);
  std::vector<int64_t> dims(static_cast<size_t>(x.shape().rank()), -1);
  dims.back() = x.dim(x.shape().rank() - 1);
  const Function traced =
      trace([&](const Tensor& t) { return layer(t); }, {TensorSpec(x.dtype(), PartialShape(dims), "x")});
  expect_near(traced(x), y.shape(), values_of(y));
  const TestFolder folder;
  traced.save(folder / "lookup.pb");
  expect_near(load(folder / "lookup.pb")(x), y.shape(), values_of(y));
  Graph graph;
  {
    const GraphScope building(graph);
    named("y", layer(placeholder(x.dtype(), PartialShape(dims), "x")));
  }
  Session session(graph);
  expect_near(session.run("y", {{"x", x}}), y.shape(), values_of(y));
  return values_of(y);
}

BOOST_AUTO_TEST_CASE(strings) {
  const Tensor x = reshape(tensor({"dog", "cow", "", "cat", "pig", "hen"}), {2, 3});
  const StringLookup plain({"cat", "dog"});
  BOOST_TEST(everywhere_of(plain, x) == (Numbers{2, 0, 0, 1, 0, 0}));
  const StringLookup several({"cat", "dog"}, {.oov = 3, .mask = ""});
  BOOST_TEST(everywhere_of(several, x) == (Numbers{5, 2, 0, 4, 2, 1}));
  BOOST_TEST((several.vocabulary() == Texts{"", "[UNK]", "[UNK]", "[UNK]", "cat", "dog"}));
  BOOST_TEST((plain.words(tensor({1, 2, 0})).to_vector<std::string>() == Texts{"cat", "dog", "[UNK]"}));
  const StringLookup counts({"cat", "dog"}, {.output = CategoryOutput::kCount});
  BOOST_TEST(everywhere_of(counts, reshape(tensor({"dog", "cow", "dog"}), {1, 3})) == (Numbers{1, 0, 2}));
  BOOST_TEST(plain.to_string() == "StringLookup(2 words)");
  const StringLookup learned({.max_tokens = 4}), copy = learned;
  BOOST_TEST(everywhere_of(learned, tensor({"a"})) == Numbers{0});
  learned.adapt(tensor({"b", "a", "c", "b", "a", "d", "b"}));
  BOOST_TEST((copy.vocabulary() == Texts{"[UNK]", "b", "a", "d"}));
  BOOST_TEST(everywhere_of(copy, tensor({"a", "d", "c"})) == (Numbers{2, 3, 0}));
  BOOST_TEST(copy(tensor(Texts())).shape().to_string() == "[0]");
}

BOOST_AUTO_TEST_CASE(integers) {
  const IntegerLookup several({12, -3, 7}, {.oov = 2, .mask = 0});
  BOOST_TEST(everywhere_of(several, tensor({{12, 7, 0}, {-3, 5, -8}})) == (Numbers{3, 5, 0, 4, 2, 1}));
  const IntegerLookup learned;
  learned.adapt(tensor({5, 3, 5, 3, 1}));
  BOOST_TEST((learned.vocabulary() == std::vector<int64_t>{5, 3, 1}));
  BOOST_TEST(everywhere_of(learned, tensor({int64_t{1}, int64_t{5}, int64_t{9}})) == (Numbers{3, 1, 0}));
  const IntegerLookup hot({4, 6}, {.output = CategoryOutput::kMultiHot});
  BOOST_TEST(everywhere_of(hot, tensor({{4, 4}, {6, 1}})) == (Numbers{0, 1, 0, 1, 0, 1}));
}

BOOST_AUTO_TEST_CASE(texts) {
  const Tensor known = tensor({"The cat sat.", "The dog, the cat!"});
  const TextVectorization fixed({.length = 4}), longest, counts({.output = CategoryOutput::kCount});
  for (const TextVectorization* t : {&fixed, &longest, &counts}) t->adapt(known);
  BOOST_TEST((fixed.vocabulary() == Texts{"", "[UNK]", "the", "cat", "sat", "dog"}));
  BOOST_TEST(everywhere_of(fixed, tensor({"the Dog sat", "a cat and the dog sat", ""})) ==
             (Numbers{2, 5, 4, 0, 1, 3, 1, 2, 0, 0, 0, 0}));
  BOOST_TEST(everywhere_of(longest, tensor({"the Dog sat", "cat"})) == (Numbers{2, 5, 4, 3, 0, 0}));
  BOOST_TEST((counts.vocabulary() == Texts{"[UNK]", "the", "cat", "sat", "dog"}));
  BOOST_TEST(everywhere_of(counts, reshape(tensor({"the the Dog sat", "a cat", ""}), {3, 1})) ==
             (Numbers{0, 2, 0, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0}));
  const TextVectorization whole({"New York"}, {.standard = TextStandard::kNone, .split = TextSplit::kNone});
  BOOST_TEST(everywhere_of(whole, tensor({"New York", "Rome"})) == (Numbers{2, 1}));
  BOOST_TEST(fixed(tensor({"a"})).shape().to_string() == "[1,4]");
}

BOOST_AUTO_TEST_CASE(misuse) {
  const auto expect_invalid = [](const auto& f, const std::string& text) {
    expect_error_begins(f, "InvalidArgument: " + text);
  };
  expect_invalid([] { StringLookup({"a", "a"}); }, "StringLookup: expected each word once, and not the mask, got 'a'");
  expect_invalid([] { StringLookup({"a"}, {.mask = "a"}); }, "StringLookup: expected each word once");
  expect_invalid([] { StringLookup({.oov = 0}); }, "StringLookup: expected a positive oov, got 0");
  expect_invalid([] { StringLookup({.max_tokens = 1}); }, "StringLookup: expected max_tokens above 1, or 0, got 1");
  expect_invalid([] { StringLookup(Texts{"a"})(tensor({1})); }, "StringLookup: expected strings, got int32");
  expect_invalid([] { IntegerLookup({1, 1}); }, "IntegerLookup: expected each integer once");
  expect_invalid([] { IntegerLookup()(tensor({1.F})); }, "IntegerLookup: expected int32 or int64, got float32");
  expect_invalid([] { TextVectorization({.length = -1}); },
                 "TextVectorization: expected a length of at least 0, got -1");
  expect_invalid([] { TextVectorization()(reshape(tensor({"a", "b"}), {1, 2})); },
                 "TextVectorization: expected strings of shape [batch] or [batch, 1], got [1,2]");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
