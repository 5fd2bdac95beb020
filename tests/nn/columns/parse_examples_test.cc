// Records as features: written, parsed, and taken by layers of columns.
#include "panto/nn/columns/parse_examples.h"

#include "panto/lib/core/io/example.h"
#include "panto/lib/core/io/record_file.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/columns/columns.h"
#include "panto/nn/columns/feature_layers.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"
#include "panto/trace/graph_scope.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(columns)

Tensor records() {
  return tensor(std::vector<std::string>{
      make_example({{"age", tensor({31.f})}, {"words", tensor({"a", "b"})}, {"ids", tensor({2, 0})}}),
      make_example({{"age", tensor({7.f})}, {"words", tensor({"c"})}, {"ids", tensor({1})}})});
}

BOOST_AUTO_TEST_CASE(examples_are_written_and_read) {
  const TestFolder folder;
  {
    RecordWriter writer(folder / "a.tfrecord");
    writer.write(make_example({{"f", tensor({0.5, 2.0})}, {"b", tensor({true, false})}, {"i", tensor({-1})}}));
    writer.close();
  }
  RecordReader reader(folder / "a.tfrecord");
  std::string record;
  BOOST_REQUIRE(reader.read(record));
  std::string text;
  for (const auto& [name, values] : read_example(record))
    text += name + values.to_string() + dtype_name(values.dtype()).data();
  BOOST_TEST(text == "b[1 0]int64f[0.5 2. ]float32i[-1]int64");
  BOOST_TEST(read_example(make_example({})).empty());
  const SequenceExample sequence = read_sequence_example(make_sequence_example(
      {.context = {{"user", tensor(7)}}, .lists = {{"words", {tensor({"a", "b"}), tensor({"c"})}}, {"none", {}}}}));
  BOOST_TEST(sequence.context[0].second.to_string() == "[7]");
  BOOST_TEST(sequence.lists[0].first == "none");
  BOOST_TEST(sequence.lists[1].second[0].to_string() == "[b'a' b'b']");
  expect_error_begins([] { make_example({{"a", tensor(1)}, {"a", tensor(2)}}); },
                      "InvalidArgument: features: expected each name once, got 'a' twice");
  expect_error_begins([] { make_example({{"a", cast(tensor(1.f), kComplex64)}}); },
                      "InvalidArgument: feature: expected floats, integers or strings, got complex64");
  expect_error_begins([] { read_example("?"); }, "InvalidArgument: example: expected the bytes of a message");
}

BOOST_AUTO_TEST_CASE(columns_take_parsed_features) {
  const std::vector<DenseColumnPtr> columns = {
      numeric_column("age"), indicator_column(categorical_column_with_vocabulary_list("words", {"a", "b", "c"})),
      indicator_column(categorical_column_with_identity("ids", 3))};
  const ExampleSpec spec = make_parse_example_spec({columns.begin(), columns.end()});
  const std::vector<double> expected = {31, 1, 0, 1, 1, 1, 0, 7, 0, 1, 0, 0, 0, 1};
  expect_near(DenseFeatures(columns)(parse_example(records(), spec)), {2, 7}, expected);
  // Ragged ones are as sparse ones.
  ExampleSpec ragged = spec;
  ragged["words"] = RaggedFeature{kString};
  const Features features = parse_example(records(), ragged);
  BOOST_TEST(features.at("words").ragged().row_splits[0].to_string() == "[0 2 3]");
  expect_near(DenseFeatures(columns)(features), {2, 7}, expected);
  // In a graph.
  Graph graph;
  Tensor fed, x;
  {
    const GraphScope building(graph);
    fed = placeholder(kString, {-1});
    x = input_layer(parse_example(fed, spec), columns, {.scope = "x"});
  }
  Session session(graph);
  expect_near(session.run(x, {{fed, records()}}), {2, 7}, expected);
}

BOOST_AUTO_TEST_CASE(kinds_of_features) {
  const Features all =
      parse_example(records(), {{"ids", FixedLenSequenceFeature{{}, kInt64, true, tensor(int64_t{-1})}},
                                {"age", FixedLenFeature{{}, kFloat32}},
                                {"none", FixedLenFeature{{1, 2}, kInt64, tensor({int64_t{5}, int64_t{6}})}},
                                {"words", VarLenFeature{kString}}});
  BOOST_TEST(all.at("ids").dense().to_string() == tensor({{2, 0}, {1, -1}}).to_string());
  BOOST_TEST(all.at("age").dense().to_string() == "[31.  7.]");
  BOOST_TEST(all.at("none").dense().shape().to_string() == "[2,1,2]");
  BOOST_TEST(all.at("words").sparse().dense_shape.to_string() == "[2 2]");
  const Features one = parse_single_example(make_example({{"a", tensor({1.f, 2.f})}}),
                                            {{"a", FixedLenFeature{{2}}}, {"r", RaggedFeature{kInt64}}});
  BOOST_TEST(one.at("a").dense().to_string() == "[1. 2.]");
  BOOST_TEST(one.at("r").dense().numel() == 0);

  const std::string first = make_sequence_example(
      {.context = {{"user", tensor(7)}},
       .lists = {{"words", {tensor({"a", "b"}), tensor({"c"})}}, {"x", {tensor({1.f}), tensor({2.f})}}}});
  const std::string second = make_sequence_example({.lists = {{"words", {tensor({"d"})}}}});
  const auto parsed = parse_sequence_example(
      tensor(std::vector<std::string>{first, second}), {{"user", FixedLenFeature{{}, kInt64, tensor(int64_t{0})}}},
      {{"words", RaggedFeature{kString}}, {"x", FixedLenSequenceFeature{{1}, kFloat32, true}}});
  BOOST_TEST(parsed.context.at("user").dense().to_string() == "[7 0]");
  BOOST_TEST(parsed.lists.at("x").dense().shape().to_string() == "[2,2,1]");
  BOOST_TEST(parsed.lengths.at("x").to_string() == "[2 0]");
  BOOST_TEST(to_sparse(parsed.lists.at("words").ragged()).dense_shape.to_string() == "[2 2 2]");
  const auto single =
      parse_single_sequence_example(first, {{"user", VarLenFeature{kInt64}}}, {{"words", VarLenFeature{}}});
  BOOST_TEST(single.context.at("user").sparse().values.to_string() == "[7]");
  BOOST_TEST(single.lists.at("words").sparse().dense_shape.to_string() == "[2 2]");
}

// The values and order of tf.io.parse_example with tf.io.SparseFeature.
BOOST_AUTO_TEST_CASE(values_at_places) {
  const std::string first = make_example({{"row", tensor({int64_t{2}, int64_t{0}, int64_t{2}})},
                                          {"column", tensor({int64_t{1}, int64_t{3}, int64_t{0}})},
                                          {"value", tensor({0.5f, 1.5f, 2.5f})}});
  const std::string second =
      make_example({{"row", tensor({int64_t{1}})}, {"column", tensor({int64_t{1}})}, {"value", tensor({-1.f})}});
  const Tensor both = tensor(std::vector<std::string>{first, second});
  const ExampleSpec spec = {{"matrix", SparseFeature{{"row", "column"}, "value", kFloat32, {3, 4}}},
                            {"line", SparseFeature{{"column"}, "value", kFloat32, {4}, true}},
                            {"value", VarLenFeature{kFloat32}}};
  const Features parsed = parse_example(both, spec);
  BOOST_TEST(parsed.size() == 3U);
  const SparseTensor& matrix = parsed.at("matrix").sparse();
  BOOST_TEST(matrix.indices.to_string() == tensor({{0, 0, 3}, {0, 2, 0}, {0, 2, 1}, {1, 1, 1}}).to_string());
  BOOST_TEST(matrix.values.to_string() == "[ 1.5  2.5  0.5 -1. ]");
  BOOST_TEST(matrix.dense_shape.to_string() == "[2 3 4]");
  const SparseTensor& line = parsed.at("line").sparse();
  BOOST_TEST(line.indices.to_string() == tensor({{0, 1}, {0, 3}, {0, 0}, {1, 1}}).to_string());
  BOOST_TEST(line.dense_shape.to_string() == "[2 4]");
  const SparseTensor single =
      parse_single_example(first, {{"matrix", SparseFeature{{"row", "column"}, "value", kFloat32, {3, 4}}}})
          .at("matrix")
          .sparse();
  BOOST_TEST(single.indices.to_string() == tensor({{0, 3}, {2, 0}, {2, 1}}).to_string());
  BOOST_TEST(single.dense_shape.to_string() == "[3 4]");
  expect_error_begins([&] { parse_example(both, {{"m", SparseFeature{{"row"}, "value", kFloat32, {3, 4}}}}); },
                      "InvalidArgument: feature 'm': expected a size for each index key, got 2 and 1");
  expect_error_begins([&] { parse_example(both, {{"m", SparseFeature{{"value"}, "value", kFloat32, {3}}}}); },
                      "InvalidArgument: feature 'value': expected one type of it, got int64 and float32");
}

BOOST_AUTO_TEST_CASE(specs_that_cannot_be) {
  const auto refused = [](const ExampleFeature& feature, const char* text) {
    expect_error_begins([&] { parse_example(records(), {{"age", feature}}); }, text);
  };
  refused(FixedLenFeature{{1}, kFloat64},
          "InvalidArgument: feature 'age': expected float32, int64 or string, got float64");
  refused(FixedLenFeature{{2}, kFloat32, tensor({1.f})},
          "InvalidArgument: default_value of feature 'age': expected float32[2], got float32[1]");
  refused(FixedLenSequenceFeature{{}, kFloat32}, "InvalidArgument: feature 'age': expected allow_missing");
  refused(VarLenFeature{kInt64}, "InvalidArgument: feature: expected int64, got float32 [feature 'age' of record 0]");
  expect_error_begins([] { parse_example(records(), {{"none", FixedLenFeature{{1}}}}, {.names = tensor({"p", "q"})}); },
                      "InvalidArgument: feature: expected float32 of it, since there is no default, got none [feature "
                      "'none' of record 0 ('p')]");
  expect_error_begins([] { parse_single_example(records(), {}); }, "InvalidArgument: serialized: expected a scalar");
  expect_error_begins([] { parse_example(7, {}); }, "InvalidArgument: serialized: expected strings, got numbers");
  expect_error_begins([] { parse_sequence_example(records(), {}, {{"x", FixedLenFeature{{1}}}}); },
                      "InvalidArgument: feature 'x': expected no FixedLenFeature of a list");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
