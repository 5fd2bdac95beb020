// Embedding lookups: TensorFlow 2.21's numbers (tf.nn.*embedding_lookup*), and gradients that are rows.
#include "panto/nn/variables/embedding_lookup.h"

#include "panto/autograd/tape.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(embedding_lookups)

// Row i is [2 i - 7, 2 i - 6].
Tensor table() { return reshape(cast(range(0, 20, 1), kFloat32), {10, 2}) - 7.f; }
std::vector<Tensor> in_a_row() { return split(table(), std::vector<int64_t>{4, 3, 3}); }
std::vector<Tensor> in_turn() {
  std::vector<Tensor> parts;
  for (int i = 0; i < 3; ++i) parts.push_back(table()(Slice(i, {}, 3)));
  return parts;
}
const Tensor& ids() {
  static const Tensor t = tensor({{9, 0, 4}, {3, 7, 6}});
  return t;
}

BOOST_AUTO_TEST_CASE(of_parts) {
  const std::vector<double> rows = {11, 12, -7, -6, 1, 2, -1, 0, 7, 8, 5, 6};
  expect_near(embedding_lookup(table(), ids()), {2, 3, 2}, rows);
  expect_near(embedding_lookup(in_a_row(), ids()), {2, 3, 2}, rows);
  expect_near(embedding_lookup(in_a_row(), cast(ids(), kInt64)), {2, 3, 2}, rows);
  expect_near(embedding_lookup(in_turn(), ids(), {.strategy = PartitionStrategy::kMod}), {2, 3, 2}, rows);
  expect_near(embedding_lookup(in_a_row(), tensor(5)), {2}, {3, 4});
  const Function traced = trace([](const Tensor& x) { return embedding_lookup(in_a_row(), x); });
  expect_near(traced(ids()), {2, 3, 2}, rows);
  BOOST_TEST(error_text([] { embedding_lookup(in_a_row(), tensor({10})); }).starts_with("InvalidArgument: "));
  BOOST_TEST(error_text([] { embedding_lookup(in_a_row(), tensor({-1})); }).starts_with("InvalidArgument: "));
  expect_error_begins([] { embedding_lookup(table(), tensor({1.f})); },
                      "InvalidArgument: ids: expected int32 or int64, got float32");
  expect_error_begins([] { embedding_lookup(std::vector<Tensor>(), tensor({1})); },
                      "InvalidArgument: table: expected at least one part, got none");
}

BOOST_AUTO_TEST_CASE(of_bounded_norm) {
  const std::vector<double> expected = {
      2.0271739959716797, 2.2114624977111816, -2.2777698040008545, -1.9523741006851196, 1.0, 2.0, -1.0, 0.0,
      1.9755138158798218, 2.257730007171631,  1.920553207397461,   2.304663896560669};
  for (const EmbeddingTable& t : {EmbeddingTable(table()), EmbeddingTable(in_a_row())}) {
    expect_near(embedding_lookup(t, ids(), {.max_norm = 3}), {2, 3, 2}, expected);
  }
  for (const double bad : {0.0, -1.0, std::nan("")}) {
    BOOST_TEST(error_text([&] {
                 embedding_lookup(table(), ids(), {.max_norm = bad});
               }).starts_with("InvalidArgument: max_norm: expected a positive finite number"));
  }
  // A row of zeros stays, and its gradient is that of any short row.
  const Variable zeros_table(zeros({2, 2}), "zeros");
  GradientTape tape;
  const Tensor loss = sum(embedding_lookup(zeros_table, tensor({1}), {.max_norm = 3}));
  expect_near(tape.gradient(loss, {zeros_table})[0], {2, 2}, {0, 0, 1, 1});
}

SparseTensor sparse_ids() {
  return {tensor<int64_t>({{0, 0}, {0, 1}, {1, 0}, {2, 3}}), tensor({1, 3, -1, 1}), tensor<int64_t>({4, 4})};
}

BOOST_AUTO_TEST_CASE(combined_safely) {
  const Tensor weights = tensor({2.f, 0.5f, 1.f, 3.f});
  const struct {
    Combiner combiner;
    std::vector<double> weighted, plain;
  } rows[] = {{Combiner::kSum, {-10.5, -8, 0, 0, -15, -12, 0, 0}, {-6, -4, -3, -2, -5, -4, -3, -2}},
              {Combiner::kMean, {-4.2, -3.2, 0, 0, -5, -4, 0, 0}, {-3, -2, -3, -2, -5, -4, -3, -2}},
              {Combiner::kSqrtN,
               {-5.09324836730957, -3.88057017326355, 0, 0, -5, -4, 0, 0},
               {-4.242640495300293, -2.8284270763397217, -3, -2, -5, -4, -3, -2}}};
  for (const auto& row : rows) {
    for (const EmbeddingTable& t : {EmbeddingTable(table()), EmbeddingTable(in_a_row())}) {
      expect_near(safe_embedding_lookup_sparse(t, sparse_ids(), {.combiner = row.combiner, .weights = weights}), {4, 2},
                  row.weighted);
      expect_near(safe_embedding_lookup_sparse(t, sparse_ids(), {.combiner = row.combiner, .default_id = 2}), {4, 2},
                  row.plain);
    }
  }
  expect_near(safe_embedding_lookup_sparse(table(), sparse_ids(),
                                           {.combiner = Combiner::kSqrtN, .weights = tensor({2.f, -0.5f, 1.f, 3.f})}),
              {4, 2}, {-5, -4, 0, 0, -5, -4, 0, 0});
  const SparseTensor cube{tensor<int64_t>({{0, 0, 0}, {0, 1, 1}, {1, 0, 0}, {1, 1, 2}}), tensor({1, 3, -1, 4}),
                          tensor<int64_t>({2, 2, 3})};
  expect_near(safe_embedding_lookup_sparse(in_a_row(), cube), {2, 2, 2}, {-5, -4, -1, 0, 0, 0, 1, 2});
}

// Rows without ids are there, in the middle and at the end.
BOOST_AUTO_TEST_CASE(combined) {
  const SparseTensor bags{tensor<int64_t>({{0, 0}, {0, 1}, {2, 0}}), tensor({1, 3, 1}), tensor<int64_t>({4, 2})};
  expect_near(embedding_lookup_sparse(table(), bags), {4, 2}, {-3, -2, 0, 0, -5, -4, 0, 0});
  const EmbeddingSparseOptions weighted = {.combiner = Combiner::kSum, .weights = tensor({1.f, 2.f, 3.f})};
  expect_near(embedding_lookup_sparse(in_a_row(), bags, weighted), {4, 2}, {-7, -4, 0, 0, -15, -12, 0, 0});
  expect_error_begins([&] { embedding_lookup_sparse(table(), bags, {.weights = tensor({1.f})}); },
                      "InvalidArgument: weights: expected one for each of ids [3], got [1]");
  const Tensor halves = cast(table(), kFloat16);
  BOOST_TEST(dtype_name(embedding_lookup_sparse(halves, bags, weighted).dtype()) == "float16");
  expect_near(embedding_lookup_sparse(halves, bags, weighted), {4, 2}, {-7, -4, 0, 0, -15, -12, 0, 0});
}

BOOST_AUTO_TEST_CASE(gradients) {
  const Variable v(table(), "table");
  {
    GradientTape tape;
    const Tensor loss = sum(square(embedding_lookup(v, tensor({3, 0, 3}))));
    const std::vector<Gradient> g = tape.sparse_gradient(loss, {v});
    BOOST_TEST(g[0].sparse());
    expect_near(g[0].dense()(3), {2}, {-4, 0});
  }
  const VariableStore store;
  const VariableStoreScope in(store);
  const PartitionedVariable parts = get_partitioned_variable(
      "table", {10, 2},
      {.initializer = [](const Shape&, DType) { return table(); }, .partitioner = fixed_size_partitioner(3)});
  GradientTape tape;
  const SparseTensor bags{tensor<int64_t>({{0, 0}, {0, 1}, {1, 0}}), tensor({9, 0, 4}), tensor<int64_t>({2, 2})};
  const Tensor loss = sum(embedding_lookup_sparse(parts, bags, {.combiner = Combiner::kMean}));
  const std::vector<Tensor> g = tape.gradient(loss, parts.variables());
  expect_near(g[0], {4, 2}, {0.5, 0.5, 0, 0, 0, 0, 0, 0});
  expect_near(g[1], {3, 2}, {1, 1, 0, 0, 0, 0});
  expect_near(g[2], {3, 2}, {0, 0, 0, 0, 0.5, 0.5});
}

BOOST_AUTO_TEST_CASE(in_a_graph) {
  Graph g;
  Operation init;
  Tensor y;
  {
    const GraphScope in(g);
    const PartitionedVariable parts = get_partitioned_variable(
        "table", {10, 2},
        {.initializer = [](const Shape&, DType) { return table(); }, .partitioner = fixed_size_partitioner(3)});
    const SparseTensor fed{placeholder(kInt64, {-1, 2}, "indices"), placeholder(kInt32, {-1}, "values"),
                           placeholder(kInt64, {2}, "shape")};
    y = safe_embedding_lookup_sparse(parts, fed, {.combiner = Combiner::kSum});
    init = global_variables_initializer();
  }
  Session s(g);
  s.run(init);
  const SparseTensor bags = sparse_ids();
  expect_near(s.run(y, {{"indices", bags.indices}, {"values", bags.values}, {"shape", bags.dense_shape}}), {4, 2},
              {-6, -4, 0, 0, -5, -4, 0, 0});
}

BOOST_AUTO_TEST_CASE(sparse_tensors) {
  const Tensor dense = tensor({{0.f, 5.f}, {7.f, 0.f}});
  const SparseTensor s = from_dense(dense);
  expect_near(s.indices, {2, 2}, {0, 1, 1, 0});
  expect_near(s.values, {2}, {5, 7});
  expect_near(to_dense(s), {2, 2}, {0, 5, 7, 0});
  expect_near(to_dense(s, -1.f), {2, 2}, {-1, 5, 7, -1});
  expect_near(to_dense(sparse_retain(s, s.values > 6.f)), {2, 2}, {0, 0, 7, 0});
  expect_near(to_dense(sparse_reshape(s, {-1})), {4}, {0, 5, 7, 0});
  const SparseTensor turned{tensor<int64_t>({{1, 0}, {0, 1}}), tensor({7.f, 5.f}), tensor<int64_t>({2, 2})};
  expect_near(sparse_reorder(turned).values, {2}, {5, 7});
  const Tensor words = tensor({{"", "a"}, {"b", ""}});
  BOOST_TEST(from_dense(words).values.to_vector<std::string>() == (std::vector<std::string>{"a", "b"}));
  BOOST_TEST(to_dense(from_dense(words)).to_vector<std::string>() == words.to_vector<std::string>());
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
