// Optimizers and gradients that are rows of variables.
#include "panto/autograd/tape.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

// The gradient of the sum of a row's squares is twice the row.
Variable make_table() { return Variable(tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}, {7.0, 8.0}}), "table"); }

Tensor squares(const Tensor& t) { return sum(square(t)); }

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(optimizers)

Tensor lookup_loss(const Variable& table) { return squares(gather(table, {3, 0, 3}, 0)); }

BOOST_AUTO_TEST_CASE(sgd_changes_rows_only) {
  const Variable table = make_table();
  Sgd sgd({table}, {.learning_rate = 0.25});
  GradientTape tape;
  sgd.apply(tape.sparse_gradient(lookup_loss(table), sgd.variables()));
  // v - 0.25 * 2 v for each time it was looked up.
  expect_near(table.value(), {4, 2}, {0.5, 1, 3, 4, 5, 6, 0, 0});
}

// As it does by whole gradients: by the first step's sign, and afterwards also rows that no step looks up again.
BOOST_AUTO_TEST_CASE(adam_makes_rows_whole) {
  const Variable sparse = make_table(), whole = make_table();
  Adam by_rows({sparse}, {.learning_rate = 0.1}), by_whole({whole}, {.learning_rate = 0.1});
  for (int i = 0; i < 3; ++i) {
    const auto loss = [i](const Variable& v) { return i == 0 ? lookup_loss(v) : squares(gather(v, {1}, 0)); };
    GradientTape tape({.persistent = true});
    by_rows.apply(tape.sparse_gradient(loss(sparse), by_rows.variables()));
    by_whole.apply(tape.gradient(loss(whole), by_whole.variables()));
    if (i == 0) expect_near(sparse.value(), {4, 2}, {0.9, 1.9, 3, 4, 5, 6, 6.9, 7.9});
  }
  expect_near(sparse.value(), {4, 2}, values_of(whole.value()), 1e-14);
  BOOST_TEST(sparse.value()(0, 0).item<double>() < 0.85);
}

// Momentum goes on only where there is a gradient; weight decay is of the whole table.
BOOST_AUTO_TEST_CASE(sgd_with_momentum_changes_rows_only) {
  const Variable table = make_table();
  Sgd sgd({table}, {.learning_rate = 0.125, .momentum = 0.5, .weight_decay = 0.5});
  const auto step = [&](const Tensor& indices) {
    GradientTape tape;
    sgd.apply(tape.sparse_gradient(squares(gather(table, indices, 0)), sgd.variables()));
  };
  step(tensor({0, 1}));  // 15/16 of all, then -0.125 * 2 v of the rows, v before the decay
  const double left = 0.9375;
  expect_near(
      table.value(), {4, 2},
      {left - 0.25, 2 * (left - 0.25), 3 * (left - 0.25), 4 * (left - 0.25), 5 * left, 6 * left, 7 * left, 8 * left});
  step(tensor({1}));
  const double row = (left - 0.25) * left - 0.5 * 0.25 - 0.25 * (left - 0.25);
  expect_near(table.value(), {4, 2},
              {(left - 0.25) * left, 2 * (left - 0.25) * left, 3 * row, 4 * row, 5 * left * left, 6 * left * left,
               7 * left * left, 8 * left * left});
}

BOOST_AUTO_TEST_CASE(rows_and_weight_decay) {
  const Variable table = make_table();
  Sgd sgd({table}, {.learning_rate = 0.25, .weight_decay = 2});
  GradientTape tape;
  sgd.apply(tape.sparse_gradient(lookup_loss(table), sgd.variables()));
  expect_near(table.value(), {4, 2}, {0, 0, 1.5, 2, 2.5, 3, -3.5, -4});
}

BOOST_AUTO_TEST_CASE(a_traced_step_by_rows) {
  const Variable table = make_table(), bias(tensor({1.0, 1.0}), "bias");
  Sgd sgd({table, bias}, {.learning_rate = 0.25});
  const Function step = trace(
      [&](const Tensor& indices) {
        GradientTape tape;
        const Tensor loss = squares(gather(table, indices, 0)) + sum(square(bias));
        sgd.apply(tape.sparse_gradient(loss, sgd.variables()));
        return loss;
      },
      {TensorSpec(kInt32, {-1})});
  expect_near(step(tensor({3, 0, 3})), 5 + 2 * 113 + 2);
  expect_near(table.value(), {4, 2}, {0.5, 1, 3, 4, 5, 6, 0, 0});
  expect_near(bias.value(), {2}, {0.5, 0.5});
  expect_near(step(tensor({0})), 1.25 + 0.5);
}

BOOST_AUTO_TEST_CASE(rows_that_do_not_fit_change_nothing) {
  const Variable table = make_table(), k(tensor({1.0}), "k");
  Sgd sgd({k, table}, {.learning_rate = 1});
  Adam adam({k, table});
  const Gradient one{.whole = tensor({1.0})};
  const auto apply = [&](const Gradient& g) { sgd.apply(std::vector<Gradient>{one, g}); };
  const std::string of = "InvalidArgument: gradient of '" + table.name() + "': ";
  const Tensor row = tensor({{1.0, 1.0}}), four = tensor(4);
  expect_error_begins([&] { sgd.apply(std::vector<Gradient>{one}); },
                      "InvalidArgument: gradients: expected one for each of 2 variables, got 1");
  expect_error_begins([&] { apply({.rows = row, .num_rows = four}); },
                      of + "expected rows with indices of int32 or int64, got none");
  expect_error_begins([&] { apply({.indices = tensor({1.0}), .rows = row, .num_rows = four}); },
                      of + "expected rows with indices of int32 or int64, got float64");
  expect_error_begins([&] { apply({.indices = tensor({1}), .rows = tensor({{1.F, 1.F}}), .num_rows = four}); },
                      of + "expected rows of float64[4,2], got float32[1,2]");
  expect_error_begins([&] { apply({.indices = tensor({1}), .rows = tensor({{1.0}}), .num_rows = four}); },
                      of + "expected rows of float64[4,2], got float64[1,1]");
  expect_error_begins([&] { apply({.indices = tensor({1}), .rows = tensor({1.0, 1.0}), .num_rows = four}); },
                      of + "expected rows of float64[4,2], got float64[2]");
  expect_error_begins([&] { apply({.indices = tensor({1, 2}), .rows = row, .num_rows = four}); },
                      of + "expected an index for each row, shape [1], got [2]");
  expect_error_begins([&] { apply({.whole = tensor({1.0})}); }, of + "expected float64[4,2], got float64[1]");
  const Gradient five{.indices = tensor({1}), .rows = row, .num_rows = tensor(5)};
  expect_error_begins([&] { adam.apply(std::vector<Gradient>{one, five}); },
                      of + "expected float64[4,2], got float64[5,2]");
  expect_near(k.value(), {1}, {1});
  expect_near(table.value(), {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  // Found by the op that changes the rows.
  const Gradient outside{.indices = tensor({1, 4}), .rows = tensor({{1.0, 1.0}, {1.0, 1.0}}), .num_rows = four};
  expect_error_begins([&] { apply(outside); }, "InvalidArgument: indices[1]: expected a row in [0, 4), got 4");
  expect_near(table.value(), {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
