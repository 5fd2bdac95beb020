// Gradients as rows: those of what was looked up in a table.
#include "panto/autograd/tape.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

// [[1, 2], [3, 4], [5, 6], [7, 8]]: the gradient of the sum of a row's squares is twice the row.
Variable make_table() { return Variable(tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}, {7.0, 8.0}}), "table"); }

Tensor squares(const Tensor& t) { return sum(square(t)); }

void expect_rows(const Gradient& g, const std::vector<double>& indices, const std::vector<double>& rows) {
  BOOST_REQUIRE(g.sparse());
  BOOST_TEST(!g.whole.defined());
  const auto n = static_cast<int64_t>(indices.size());
  expect_near(g.indices, {n}, indices);
  expect_near(g.rows, {n, 2}, rows);
  expect_near(g.num_rows, 4);
}

void expect_whole(const Gradient& g, const std::vector<double>& values) {
  BOOST_TEST(!g.sparse());
  expect_near(g.whole, {4, 2}, values);
  expect_near(g.dense(), {4, 2}, values);
}

BOOST_AUTO_TEST_SUITE(tape)
BOOST_AUTO_TEST_SUITE(sparse_gradients)

BOOST_AUTO_TEST_CASE(are_the_rows_that_were_looked_up) {
  const Variable table = make_table();
  for (const Tensor& indices : {tensor({2, 0}), tensor({int64_t{2}, int64_t{0}})}) {
    GradientTape tape;
    const Gradient g = tape.sparse_gradient(squares(gather(table, indices, 0)), table);
    expect_rows(g, {2, 0}, {10, 12, 2, 4});
    BOOST_TEST(dtype_name(g.indices.dtype()) == dtype_name(indices.dtype()));
    expect_near(g.dense(), {4, 2}, {2, 4, 0, 0, 10, 12, 0, 0});
  }
}

BOOST_AUTO_TEST_CASE(of_narrow_and_negative_axes) {
  const Variable table = make_table();
  GradientTape tape({.persistent = true});
  const Tensor narrow = squares(gather(table, cast(tensor({3}), kInt16), 0));
  const Gradient g = tape.sparse_gradient(narrow, table);
  expect_rows(g, {3}, {14, 16});
  BOOST_TEST(dtype_name(g.indices.dtype()) == "int32");  // which ops on rows of variables take
  expect_rows(tape.sparse_gradient(squares(gather(table, {1}, -2)), table), {1}, {6, 8});
}

// Against TensorFlow's IndexedSlices: tf.gather(e, [[3, 1], [1, 0]]) of e[k] = sin(1.7 k), sum of squares.
BOOST_AUTO_TEST_CASE(of_indices_of_rank_two_with_repeats) {
  const Tensor table = sin(range(0.0, 8.0, 1.0) * 1.7);
  const Variable v(reshape(table, {4, 2}), "table");
  GradientTape tape;
  const Gradient g = tape.sparse_gradient(squares(gather(v, tensor({{3, 1}, {1, 0}}), 0)), v);
  BOOST_REQUIRE(g.sparse());
  expect_near(g.indices, {4}, {3, 1, 1, 0});
  expect_near(g.rows, {4, 2},
              {-1.39974937519, -1.23627422447, -0.511082204054, -1.85162936466, -0.511082204054, -1.85162936466, 0,
               1.9833296209},
              1e-11);
  expect_near(g.dense(), {4, 2},
              {0, 1.9833296209, -1.02216440811, -3.70325872931, 0, 0, -1.39974937519, -1.23627422447}, 1e-11);
}

BOOST_AUTO_TEST_CASE(of_a_scalar_index_and_of_none) {
  const Variable table = make_table();
  GradientTape tape({.persistent = true});
  expect_rows(tape.sparse_gradient(squares(gather(table, 2, 0)), table), {2}, {10, 12});
  const Gradient none =
      tape.sparse_gradient(squares(gather(table, cast(tensor(std::vector<int>{}), kInt32), 0)), table);
  BOOST_REQUIRE(none.sparse());
  expect_near(none.rows, {0, 2}, {});
  expect_near(none.dense(), {4, 2}, {0, 0, 0, 0, 0, 0, 0, 0});
}

BOOST_AUTO_TEST_CASE(of_rows_of_other_ranks) {
  const Variable numbers(tensor({1.0, 2.0, 3.0}), "numbers");
  const Variable matrices(reshape(range(0.0, 12.0, 1.0), {3, 2, 2}), "matrices");
  const Variable empty(tensor(std::vector<double>{}, Shape{3, 0}), "empty");
  GradientTape tape({.persistent = true});
  const Tensor at = tensor({{2, 0}});
  const Gradient a = tape.sparse_gradient(squares(gather(numbers, at, 0)), numbers);
  expect_near(a.rows, {2}, {6, 2});
  const Gradient b = tape.sparse_gradient(squares(gather(matrices, at, 0)), matrices);
  expect_near(b.rows, {2, 2, 2}, {16, 18, 20, 22, 0, 2, 4, 6});
  const Gradient c = tape.sparse_gradient(squares(gather(empty, at, 0)), empty);
  expect_near(c.rows, {2, 0}, {});
}

BOOST_AUTO_TEST_CASE(of_an_index_out_of_range) {
  const Variable table = make_table();
  GradientTape tape;
  for (int index : {-1, 4}) {
    const std::string text = error_text([&] { gather(table, tensor({0, index}), 0); });
    BOOST_TEST(text.find("got " + std::to_string(index)) != std::string::npos, text);
  }
  BOOST_TEST(!tape.sparse_gradient(squares(tensor({1.0})), table).defined());
}

BOOST_AUTO_TEST_CASE(several_lookups_follow_each_other) {
  const Variable table = make_table();
  GradientTape tape;
  const Tensor first = squares(gather(table, {1}, 0));
  const Tensor second = squares(gather(table, tensor({int64_t{0}, int64_t{1}}), 0));
  const Gradient g = tape.sparse_gradient(first + second, table);
  expect_rows(g, {0, 1, 1}, {2, 4, 6, 8, 6, 8});
  BOOST_TEST(dtype_name(g.indices.dtype()) == "int64");
  expect_near(g.dense(), {4, 2}, {2, 4, 12, 16, 0, 0, 0, 0});
}

BOOST_AUTO_TEST_CASE(of_rows_read_from_the_variable) {
  const Variable table = make_table();
  GradientTape tape;
  const Tensor rows = resource_gather(table.handle(), tensor({{2, 0}, {2, 1}}), kFloat64);
  expect_rows(tape.sparse_gradient(squares(rows), table), {2, 0, 2, 1}, {10, 12, 2, 4, 10, 12, 6, 8});
}

BOOST_AUTO_TEST_CASE(of_tensors_and_what_passes_them_on) {
  const Tensor table = make_table().value();
  GradientTape tape({.persistent = true});
  tape.watch(table);
  const Tensor same = identity(table);
  const Tensor y = squares(gather(same, {3}, 0));
  expect_rows(tape.sparse_gradient(y, table), {3}, {14, 16});
  const std::vector<Gradient> both = tape.sparse_gradient(y, {table, same});
  expect_rows(both[0], {3}, {14, 16});
  expect_rows(both[1], {3}, {14, 16});
}

BOOST_AUTO_TEST_CASE(of_a_table_used_whole_too) {
  const Variable table = make_table();
  for (const bool one_read : {false, true}) {
    GradientTape tape;
    const Tensor value = table.value();
    const Tensor whole = one_read ? value : table.value();
    const Tensor y = squares(gather(value, {1, 1}, 0)) + sum(whole) * 10.0;
    expect_whole(tape.sparse_gradient(y, table), {10, 10, 22, 26, 10, 10, 10, 10});
  }
}

// Its gradient must go on, whole, to what it was made of.
BOOST_AUTO_TEST_CASE(of_what_was_computed_from_a_source) {
  const Variable table = make_table();
  GradientTape tape;
  const Tensor doubled = table * 2.0;
  const Tensor y = squares(gather(doubled, {1}, 0));
  const std::vector<Gradient> g = tape.sparse_gradient(y, {table, doubled});
  expect_whole(g[0], {0, 0, 24, 32, 0, 0, 0, 0});
  expect_whole(g[1], {0, 0, 12, 16, 0, 0, 0, 0});
}

BOOST_AUTO_TEST_CASE(of_other_axes_are_whole) {
  const Variable table = make_table();
  GradientTape tape({.persistent = true});
  expect_whole(tape.sparse_gradient(squares(gather(table, {1}, 1)), table), {0, 4, 0, 8, 0, 12, 0, 16});
  const Tensor each = gather(table, tensor({{0}, {1}, {1}, {0}}), 1, {.batch_dims = 1});
  expect_whole(tape.sparse_gradient(squares(each), table), {2, 0, 0, 8, 0, 12, 14, 0});
}

BOOST_AUTO_TEST_CASE(stay_whole_when_asked_for_whole) {
  const Variable table = make_table();
  GradientTape tape;
  expect_near(tape.gradient(squares(gather(table, {1, 1, 3}, 0)), table), {4, 2}, {0, 0, 12, 16, 0, 0, 14, 16});
}

BOOST_AUTO_TEST_CASE(beside_others_seeds_and_no_dependence) {
  const Variable table = make_table(), k(tensor({1.0, -1.0}), "k"), other(tensor(1.0), "other");
  GradientTape tape({.persistent = true});
  const Tensor y = gather(table, {2}, 0) * k;
  const std::vector<Variable> variables = {table, k, other};
  const std::vector<Gradient> g = tape.sparse_gradient(y, variables, tensor({{3.0, 5.0}}));
  expect_rows(g[0], {2}, {3, -5});
  expect_near(g[1].whole, {2}, {15, 30});
  BOOST_TEST(!g[2].defined());
  BOOST_TEST(!g[2].dense().defined());
  GradientTape zero({.unconnected_zero = true});
  expect_whole(zero.sparse_gradient(sum(k.value()), table), {0, 0, 0, 0, 0, 0, 0, 0});
}

BOOST_AUTO_TEST_CASE(of_a_used_tape) {
  const Variable table = make_table();
  GradientTape tape;
  const Tensor y = squares(gather(table, {1}, 0));
  expect_rows(tape.sparse_gradient(y, table), {1}, {6, 8});
  expect_error_begins([&] { tape.sparse_gradient(y, table); },
                      "FailedPrecondition: tape: expected one call of gradient, got a second");
}

// A persistent tape and a tape around this one hear the ops that make rows.
BOOST_AUTO_TEST_CASE(second_order) {
  const Variable table = make_table();
  const auto cubes = [&] {
    const Tensor rows = gather(table, tensor({{1, 0}, {1, 3}}), 0);
    return sum(rows * rows * rows);
  };
  const std::vector<double> expected = {6, 12, 2 * 18, 2 * 24, 0, 0, 42, 48};  // 6 x, of row 1 twice
  GradientTape persistent({.persistent = true});
  Gradient g = persistent.sparse_gradient(cubes(), table);
  expect_rows(g, {1, 0, 1, 3}, {27, 48, 3, 12, 27, 48, 147, 192});
  const Gradient rows = persistent.sparse_gradient(sum(g.rows), table);
  expect_rows(rows, {1, 0, 1, 3}, {18, 24, 6, 12, 18, 24, 42, 48});
  expect_near(persistent.gradient(sum(g.rows), table), {4, 2}, expected);
  GradientTape outer;
  {
    GradientTape inner;
    g = inner.sparse_gradient(cubes(), table);
  }
  expect_near(outer.sparse_gradient(sum(g.dense()), table).dense(), {4, 2}, expected);
}

BOOST_AUTO_TEST_CASE(without_indices_are_no_gradient) {
  Gradient g;
  g.rows = tensor({{1.0}});
  expect_error([&] { g.dense(); },
               "InvalidArgument: gradient: expected rows with indices and num_rows, got rows alone");
}

BOOST_AUTO_TEST_SUITE(traced)

// Inside a trace the rows are nodes as all else is.
BOOST_AUTO_TEST_CASE(inside_a_function) {
  const Variable table = make_table();
  const auto rows = [&](const Tensor& indices) {
    GradientTape tape;
    const Gradient g = tape.sparse_gradient(squares(gather(table, indices, 0)), table);
    return std::vector<Tensor>{g.indices, g.rows, g.dense()};
  };
  for (const PartialShape& shape : {PartialShape{3}, PartialShape{-1}, PartialShape{-1, 1}}) {
    const Function f = trace(rows, {TensorSpec(kInt32, shape, "indices")});
    const Tensor given[] = {shape.rank() == 1 ? tensor({3, 0, 3}) : tensor({{3}, {0}, {3}})};
    const std::vector<Tensor> out = f.call(given);
    expect_near(out[0], {3}, {3, 0, 3});
    expect_near(out[1], {3, 2}, {14, 16, 2, 4, 14, 16});
    expect_near(out[2], {4, 2}, {2, 4, 0, 0, 0, 0, 28, 32});
  }
}

BOOST_AUTO_TEST_CASE(are_whole_where_ranks_are_unknown) {
  const Variable table = make_table();
  const Function f = trace(
      [&](const Tensor& indices) {
        GradientTape tape;
        const Gradient g = tape.sparse_gradient(squares(gather(table, indices, 0)), table);
        BOOST_TEST(!g.sparse());
        return g.dense();
      },
      {TensorSpec(kInt32, PartialShape::unknown(), "indices")});
  expect_near(f(tensor({1, 1})), {4, 2}, {0, 0, 12, 16, 0, 0, 0, 0});
}

BOOST_AUTO_TEST_CASE(are_whole_through_a_function) {
  const Variable table = make_table();
  const Function f =
      trace([&](const Tensor& indices) { return squares(gather(table, indices, 0)); }, {TensorSpec(kInt32, {-1})});
  GradientTape tape;
  expect_whole(tape.sparse_gradient(f(tensor({1, 1})), table), {0, 0, 12, 16, 0, 0, 0, 0});
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
