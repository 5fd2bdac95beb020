// Feature columns, one at a time: TensorFlow's numbers, and what is refused.
#include "panto/nn/columns/columns.h"

#include <fstream>

#include "panto/lib/core/io/npy.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/columns/feature_layers.h"
#include "panto/nn/training/checkpoint.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"
#include "panto/tests/nn/columns/examples.h"
#include "panto/trace/graph_scope.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(columns)

Tensor alone(const DenseColumnPtr& column) { return DenseFeatures({column})(examples()); }
Tensor shown(const CategoricalColumnPtr& column) { return alone(indicator_column(column)); }

BOOST_AUTO_TEST_CASE(numbers) {
  const ExampleColumns c;
  expect_near(alone(c.age), {3, 1}, {17, 30, 65});
  expect_near(alone(c.pair), {3, 2}, {2, -4, 1, 8, 18, 6});
  expect_near(alone(c.ages), {3, 4}, {1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  const std::vector<double> pairs = {0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1};
  expect_near(alone(c.pairs), {3, 6}, pairs);
  expect_near(shown(c.pairs), {3, 6}, pairs);
  BOOST_TEST(c.pairs->num_buckets() == 6);
  BOOST_TEST(c.pairs->name() == "pair_bucketized");
}

BOOST_AUTO_TEST_CASE(categories) {
  const ExampleColumns c;
  expect_near(shown(c.words), {3, 7}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0});
  expect_near(shown(c.months), {3, 5}, {0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0});
  expect_near(shown(c.cities), {3, 3}, {0, 0, 1, 0, 0, 0, 1, 0, 0});
  expect_near(shown(categorical_column_with_vocabulary_list("words", {"dog"}, {.num_oov_buckets = 3})), {3, 4},
              {1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1});
  expect_near(shown(categorical_column_with_vocabulary_list("month", {11, 2}, {.default_value = 1})), {3, 2},
              {0, 1, 1, 0, 0, 0});
  expect_near(shown(categorical_column_with_vocabulary_list("month", std::vector<int64_t>{11})), {3, 1}, {0, 1, 0});
  expect_near(shown(categorical_column_with_vocabulary_list("city", {"Rome", "Paris"})), {3, 2}, {0, 1, 0, 0, 1, 0});
  expect_near(shown(c.ids), {3, 3}, {0, 0, 1, 1, 0, 1, 0, 0, 0});
  expect_near(shown(categorical_column_with_identity("month", 4, 2)), {3, 4}, {0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0});
  expect_near(shown(c.weighted), {3, 7}, {0.5, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0});
  BOOST_TEST(c.weighted->name() == "words_weighted_by_w");
  BOOST_TEST(error_text([] { shown(categorical_column_with_identity("month", 4)); }).find("expected ids in [0, 4)") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(vocabulary_files) {
  const TestFolder folder;
  const std::string path = folder / "cities.txt";
  std::ofstream(path) << "Rome\r\nOslo\nParis\nNice";
  expect_near(shown(categorical_column_with_vocabulary_file("city", path)), {3, 4},
              {0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0});
  expect_near(shown(categorical_column_with_vocabulary_file("city", path, {.vocabulary_size = 2})), {3, 2},
              {0, 0, 0, 0, 1, 0});
  std::ofstream(folder / "months.txt") << "7\n3\n";
  expect_near(shown(categorical_column_with_vocabulary_file("month", folder / "months.txt", {.dtype = kInt64})), {3, 2},
              {0, 1, 0, 0, 0, 0});
  expect_error_begins([&] { categorical_column_with_vocabulary_file("city", path, {.vocabulary_size = 5}); },
                      "InvalidArgument: vocabulary_size of 'city': expected at most 4, the lines of ");
  BOOST_TEST(
      error_text([&] { categorical_column_with_vocabulary_file("city", folder / "none"); }).starts_with("NotFound: "));
  BOOST_TEST(error_text([&] {
               categorical_column_with_vocabulary_file("city", path, {.dtype = kInt64});
             }).starts_with("InvalidArgument: "));
}

BOOST_AUTO_TEST_CASE(crossed) {
  const ExampleColumns c;
  expect_near(shown(c.where_and_when), {3, 11},
              {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0});
  expect_near(shown(crossed_column({c.ages, "words", c.pairs}, 13, {.hash_key = 5})), {3, 13},
              {2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
               0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0});
  const CategoricalColumnPtr nested = crossed_column({c.where_and_when, "words"}, 17);
  BOOST_TEST(nested->name() == "city_X_month_X_words");
  std::vector<double> expected(51, 0);
  expected[4] = expected[7] = expected[34 + 15] = 1;
  expect_near(shown(nested), {3, 17}, expected);
  expect_error([&] { crossed_column({"city"}, 11); }, "InvalidArgument: keys: expected at least 2 to cross, got 1");
  expect_error([&] { crossed_column({"city", "month"}, 1); },
               "InvalidArgument: hash_bucket_size: expected at least 2, got 1");
  BOOST_TEST(error_text([&] { shown(crossed_column({c.weighted, "city"}, 9)); }).find("expected one without weights") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(embedded) {
  const ExampleColumns c;
  expect_near(alone(embedding_column(c.words, 2, {.initializer = counted})), {3, 2}, {2, 3, 0, 0, -3, -2});
  expect_near(alone(embedding_column(c.weighted, 2, {.combiner = Combiner::kSqrtN, .initializer = counted})), {3, 2},
              {6.063390731811523, 7.276069164276123, 0, 0, -3, -2});
  expect_near(alone(embedding_column(c.ids, 2, {.combiner = Combiner::kSum, .initializer = counted, .max_norm = 2})),
              {3, 2}, {0.8944271802902222, 1.7888543605804443, -0.7696734666824341, 0.67945396900177, 0, 0});
  const std::vector<EmbeddingColumnPtr> shared =
      shared_embedding_columns({c.ids, categorical_column_with_identity("month", 3, 1)}, 2, {.initializer = counted});
  const DenseFeatures both({shared[0], shared[1]});
  expect_near(both(examples()), {3, 4}, {1, 2, -1, 0, -1, 0, -1, 0, 0, 0, 0, 0});
  BOOST_TEST(both.variables().size() == 1U);
  BOOST_TEST(shared[1]->name() == "month_shared_embedding");
  // By default: deviation 1 / sqrt(dimension), nothing beyond two of it.
  const DenseFeatures drawn({embedding_column(categorical_column_with_identity("ids", 1000), 25)});
  double squares = 0;
  for (const double x : values_of(drawn.variables()[0].value())) {
    BOOST_TEST(std::fabs(x) <= 0.4);
    squares += x * x;
  }
  BOOST_TEST(std::fabs(std::sqrt(squares / 25000) - 0.2 * 0.8796) < 0.004);
}

BOOST_AUTO_TEST_CASE(loaded) {
  const TestFolder folder;
  const std::string path = folder / "table.npz";
  write_npz(path, std::vector<NamedTensor>{{"a/b", counted({3, 2}, kFloat32)}});
  const ExampleColumns c;
  const auto load = [&](const char* name, int64_t dimension) {
    return DenseFeatures(
        {embedding_column(c.ids, dimension, {.ckpt_to_load_from = path, .tensor_name_in_ckpt = name})});
  };
  expect_near(load("a/b", 2)(examples()), {3, 2}, {1, 2, -1, 0, 0, 0});
  BOOST_TEST(error_text([&] { load("b", 2); }).starts_with("NotFound: 'b': expected a tensor of that name in "));
  BOOST_TEST(error_text([&] { load("a/b", 3); }).starts_with("InvalidArgument: 'a/b' in "));
  const std::string checkpoint = folder / "model.ckpt";
  save_variables(checkpoint, {{"a/b", Variable(counted({3, 2}, kFloat32))}, {"other", Variable(tensor(1.f))}});
  const DenseFeatures restored(
      {embedding_column(c.ids, 2, {.ckpt_to_load_from = checkpoint, .tensor_name_in_ckpt = "a/b"})});
  expect_near(restored(examples()), {3, 2}, {1, 2, -1, 0, 0, 0});
  expect_error_begins([&] { embedding_column(c.ids, 2, {.tensor_name_in_ckpt = "x"}); },
                      "InvalidArgument: 'ids_embedding': expected ckpt_to_load_from and tensor_name_in_ckpt");
}

// Expected: tf.keras.experimental.SequenceFeatures' rules, by hand.
BOOST_AUTO_TEST_CASE(sequences) {
  const SparseTensor words{tensor<int64_t>({{0, 0}, {0, 1}, {2, 0}}), tensor({"a", "b", "b"}), tensor<int64_t>({3, 2})};
  const SparseTensor numbers{tensor<int64_t>({{0, 0}, {0, 1}, {0, 2}, {0, 3}, {2, 0}, {2, 1}}),
                             tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}), tensor<int64_t>({3, 4})};
  const CategoricalColumnPtr letters = sequence_categorical_column_with_vocabulary_list("words", {"a", "b"});
  const SequenceFeatures layer({embedding_column(letters, 2, {.initializer = counted}), indicator_column(letters),
                                sequence_numeric_column("numbers", {.shape = {2}, .default_value = -1})});
  const SequenceTensor x = layer({{"words", words}, {"numbers", numbers}});
  // numbers (2), words_embedding (2), words_indicator (2)
  expect_near(x.values, {3, 2, 6}, {1,  2,  -3, -2, 1, 0, 3, 4, -1, 0, 0, 1, -1, -1, 0, 0, 0, 0,
                                    -1, -1, 0,  0,  0, 0, 5, 6, -1, 0, 0, 1, -1, -1, 0, 0, 0, 0});
  expect_near(x.lengths, {3}, {2, 0, 1});
  BOOST_TEST(layer.variables().size() == 1U);
  BOOST_TEST(error_text([&] {
               DenseFeatures({indicator_column(letters)})({{"words", words}});
             }).find("SequenceFeatures takes those") != std::string::npos);
  const SparseTensor fewer{tensor<int64_t>({{0, 0}, {2, 0}}), tensor({1.f, 5.f}), tensor<int64_t>({3, 2})};
  const SequenceFeatures both({indicator_column(letters), sequence_numeric_column("numbers")});
  BOOST_TEST(error_text([&] {
               both({{"words", words}, {"numbers", fewer}});
             }).find("expected the same numbers of steps as the columns before") != std::string::npos);
  const ExampleColumns c;
  BOOST_TEST(error_text([&] {
               SequenceFeatures({indicator_column(c.words)})(examples());
             }).find("expected one of a sequence of categories") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(weights_that_do_not_fit) {
  const ExampleColumns c;
  Features features = examples();
  features["w"] = tensor({{0.5f, 0.f}, {0.f, 0.f}, {0.f, 0.f}});  // of three words one has a weight
  for (const DenseColumnPtr& column :
       std::vector<DenseColumnPtr>{indicator_column(c.weighted), embedding_column(c.weighted, 2)}) {
    const DenseFeatures layer({column});
    expect_error_begins([&] { layer(features); },
                        "InvalidArgument: feature 'w': expected a weight for each of 3 entries of 'words', got [1]");
  }
}

// What is looked up in belongs to the column, wherever that is made.
BOOST_AUTO_TEST_CASE(made_in_a_graph) {
  Graph g;
  Tensor y;
  {
    const GraphScope in(g);
    const Features features = {{"city", placeholder(kString, {-1}, "city")}, {"n", placeholder(kFloat32, {-1}, "n")}};
    const NumericColumnPtr n = numeric_column("n", {.default_value = {7}});
    BOOST_TEST(!std::get<FixedLenFeature>(n->parse_spec().at("n")).default_value.is_meta());
    y = input_layer(features,
                    {indicator_column(categorical_column_with_vocabulary_list("city", {"Rome", "Oslo", "Paris"})), n});
  }
  Session s(g);
  expect_near(s.run(y, {{"city", tensor({"Paris", "Bonn"})}, {"n", tensor({1.f, 2.f})}}), {2, 4},
              {0, 0, 1, 1, 0, 0, 0, 2});
}

struct Squared final : DenseColumn {
  mutable int transformed = 0;
  std::string name() const override { return "age_squared"; }
  Feature transform(LazyBuilder& builder) const override {
    ++transformed;
    const Tensor& age = builder.get("age").dense();
    return age * age;
  }
  Shape variable_shape() const override { return {1}; }
  Tensor dense_tensor(LazyBuilder& builder, StateManager&) const override { return builder.get(*this).dense(); }
  ExampleSpec parse_spec() const override { return {{"age", FixedLenFeature{.shape = {1}}}}; }
};

BOOST_AUTO_TEST_CASE(of_ones_own) {
  const auto squared = std::make_shared<Squared>();
  LazyBuilder builder(examples());
  expect_near(builder.get(*squared).dense(), {3, 1}, {289, 900, 4225});
  builder.get(*squared);
  BOOST_TEST(squared->transformed == 1);
  expect_near(DenseFeatures({squared, numeric_column("age")})(examples()), {3, 2}, {17, 289, 30, 900, 65, 4225});
}

BOOST_AUTO_TEST_CASE(specs) {
  const ExampleColumns c;
  const ExampleSpec spec = make_parse_example_spec({c.pair, c.words, c.weighted, c.where_and_when, c.ages});
  BOOST_TEST(spec.size() == 6U);
  BOOST_TEST(std::get<FixedLenFeature>(spec.at("pair")).shape.to_string() == "[2]");
  BOOST_TEST(!std::get<FixedLenFeature>(spec.at("age")).default_value.defined());
  for (const char* key : {"words", "city", "month"}) {
    BOOST_TEST(dtype_name(std::get<VarLenFeature>(spec.at(key)).dtype) == "string");
  }
  BOOST_TEST(dtype_name(std::get<VarLenFeature>(spec.at("w")).dtype) == "float32");
  const auto n = numeric_column("n", {.shape = {2, 2}, .default_value = {7}, .dtype = kFloat64});
  expect_near(std::get<FixedLenFeature>(n->parse_spec().at("n")).default_value, {2, 2}, {7, 7, 7, 7});
  expect_error_begins([&] { make_parse_example_spec({c.age, categorical_column_with_hash_bucket("age", 3)}); },
                      "InvalidArgument: feature 'age': expected one form for all columns, got another of 'age'");
}

BOOST_AUTO_TEST_CASE(refused) {
  const ExampleColumns c;
  const auto starts = [](const auto& body, std::string_view text) { expect_error_begins(body, text); };
  starts([] { numeric_column("n", {.shape = {0}}); }, "InvalidArgument: shape of 'n': expected positive dimensions");
  starts([] { numeric_column("n", {.shape = {2}, .default_value = {1, 2, 3}}); },
         "InvalidArgument: default_value of 'n': expected one number or 2, got 3");
  starts([] { numeric_column("n", {.dtype = kString}); }, "InvalidArgument: dtype of 'n': expected a floating");
  starts([&] { bucketized_column(c.age, {}); }, "InvalidArgument: boundaries of 'age': expected at least one");
  starts([&] { bucketized_column(c.age, {1, 1}); }, "InvalidArgument: boundaries of 'age': expected them to ascend");
  starts([&] { bucketized_column(c.age, {std::nanf("")}); }, "InvalidArgument: boundaries of 'age': expected them to");
  starts([] { bucketized_column(nullptr, {1}); }, "InvalidArgument: source: expected a numeric column, got none");
  starts([] { categorical_column_with_hash_bucket("x", 0); }, "InvalidArgument: buckets of 'x': expected at least 1");
  starts([] { categorical_column_with_hash_bucket("x", 2, kFloat32); },
         "InvalidArgument: dtype of 'x': expected string");
  starts([] { categorical_column_with_identity("x", 2, 2); },
         "InvalidArgument: default_value of 'x': expected one in [0, 2), got 2");
  starts([] { categorical_column_with_vocabulary_list("x", std::vector<std::string>{"a", "b", "a"}); },
         "InvalidArgument: vocabulary of 'x': expected each value once");
  starts([] { categorical_column_with_vocabulary_list("x", std::vector<std::string>{}); },
         "InvalidArgument: vocabulary: expected at least one value, got none");
  starts([] { categorical_column_with_vocabulary_list("x", {"a", "b"}, {.num_oov_buckets = 1, .default_value = 0}); },
         "InvalidArgument: default_value of 'x': expected none beside num_oov_buckets, got 0");
  starts([] { weighted_categorical_column(nullptr, "w"); }, "InvalidArgument: column: expected a categorical one");
  starts([&] { embedding_column(c.words, 0); }, "InvalidArgument: dimension of 'words_embedding': expected at least 1");
  starts([&] { shared_embedding_columns({c.words, c.ids}, 2); },
         "InvalidArgument: columns: expected 7 buckets, as "
         "'words' has, got 3 of 'ids'");
  starts([&] { DenseFeatures({}); }, "InvalidArgument: columns: expected at least one, got none");
  starts([&] { DenseFeatures({c.age, numeric_column("age")}); },
         "InvalidArgument: columns: expected each name once, got 'age' again");
  const auto of = [](const DenseColumnPtr& column, const Features& features) {
    return error_text([&] { DenseFeatures({column})(features); });
  };
  BOOST_TEST(of(c.age, {{"x", tensor({1.f})}})
                 .starts_with("NotFound: feature 'age': expected one of those given, 'x', got another name"));
  BOOST_TEST(
      of(c.age, {{"age", tensor(1.f)}}).starts_with("InvalidArgument: feature 'age': expected a batch of known"));
  BOOST_TEST(of(c.age, {{"age", examples().at("w")}}).starts_with("InvalidArgument: feature 'age': expected a tensor"));
  BOOST_TEST(of(indicator_column(c.words), {{"words", tensor({1, 2})}})
                 .starts_with("InvalidArgument: feature 'words': expected strings, got int32"));
  BOOST_TEST(of(indicator_column(c.ids), {{"ids", tensor({1.f})}})
                 .starts_with("InvalidArgument: ids: expected strings or integers, got float32"));
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
