// The table of a model's layers, and values that go from one model to another.
#include "panto/nn/layers/convolution.h"
#include "panto/nn/layers/core/reshaping.h"
#include "panto/nn/layers/normalization.h"
#include "panto/nn/layers/recurrent.h"
#include "panto/tests/expect.h"
#include "panto/tests/nn/layers/layers.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(summary)

// As keras.Sequential([Conv2D(8, 3, activation="relu"), BatchNormalization(), Flatten(), Dense(10)]).summary() for
// images of 28 x 28, but for what stands in the first column.
BOOST_AUTO_TEST_CASE(of_a_sequence) {
  const Sequential model(Conv2D(1, 8, 3, {.activation = relu}), BatchNorm(8), Flatten(), Dense(5408, 10));
  BOOST_TEST(model.summary({-1, 28, 28, 1}) ==
             "Model: \"Sequential\"\n"
             "┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓\n"
             "┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃\n"
             "┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩\n"
             "│ Conv2D(1, 8, 3)                 │ (None, 26, 26, 8)      │            80 │\n"
             "├─────────────────────────────────┼────────────────────────┼───────────────┤\n"
             "│ BatchNorm(8)                    │ (None, 26, 26, 8)      │            32 │\n"
             "├─────────────────────────────────┼────────────────────────┼───────────────┤\n"
             "│ Flatten()                       │ (None, 5408)           │             0 │\n"
             "├─────────────────────────────────┼────────────────────────┼───────────────┤\n"
             "│ Dense(5408, 10)                 │ (None, 10)             │        54,090 │\n"
             "└─────────────────────────────────┴────────────────────────┴───────────────┘\n"
             " Total params: 54,202 (211.73 KB)\n"
             " Trainable params: 54,186 (211.66 KB)\n"
             " Non-trainable params: 16 (64.00 B)\n");
}

struct Two : Layer {
  Dense a{3, 4}, b{4, 2};
  Lstm unused{2, 2};
  Variable scale{ones({1}), "scale"};
  Parts parts() const override { return {a, frozen(b), unused, scale}; }
  Tensor forward(const Tensor& x) const override { return b(a(x)) * scale; }
};

BOOST_AUTO_TEST_CASE(of_ones_own) {
  const Two model;
  const std::string text = model.summary({5, 3});
  BOOST_TEST(text.starts_with("Model: \"Two\"\n"), text);
  for (const char* line : {"│ Dense(3, 4)                     │ (5, 4)                 │            16 │",
                           "│ Dense(4, 2)                     │ (5, 2)                 │            10 │",
                           "│ Lstm(2, 2)                      │ ?                      │            40 │",
                           " Total params: 67 (268.00 B)\n", " Trainable params: 57 (228.00 B)\n",
                           " Non-trainable params: 10 (40.00 B)\n"}) {
    BOOST_TEST(text.find(line) != std::string::npos, text);
  }
  // One layer is a row of its own; integers may go in.
  BOOST_TEST(Dense(3, 4).summary({-1, 7, 3}).find("│ (None, 7, 4)           │            16 │") != std::string::npos);
  expect_error_begins([&] { model.summary({5, 4}); },
                      "InvalidArgument: Dense: expected an input of shape [..., 3], got [5,4]");
  BOOST_TEST(model.summary().find("│ Dense(3, 4)                     │ ?                      │            16 │") !=
             std::string::npos);
  BOOST_TEST(model.parts().layers().size() == 3U);
}

BOOST_AUTO_TEST_CASE(values_of_another_model) {
  const auto make = [] { return Sequential(Dense(3, 4), BatchNorm(4), Dense(4, 2)); };
  const Sequential from = make(), to = make();
  const Tensor x = wave({2, 3});
  {
    const TrainingScope training;
    from(x);  // moves running statistics
  }
  to.copy_values(from);
  expect_near(to(x), {2, 2}, values_of(from(x)), 0);
  // They are values: what changes later stays where it is.
  from.variables()[0].assign(zeros({3, 4}));
  BOOST_TEST(values_of(to(x)) != values_of(from(x)));
  const auto expect_invalid = [&](const Layer& other, const std::string& text) {
    const std::vector<double> before = values_of(to(x));
    expect_error_begins([&] { to.copy_values(other); }, "InvalidArgument: copy_values: expected " + text);
    expect_near(to(x), {2, 2}, before, 0);
  };
  expect_invalid(Dense(3, 4), "a variable 'batch_norm/scale', got none of that name");
  expect_invalid(Sequential(Dense(3, 4), BatchNorm(4), Dense(4, 3)),
                 "'dense_1/kernel' to be float32[4,2], got float32[4,3]");
  expect_invalid(Sequential(Dense(3, 4), BatchNorm(4), Dense(4, 2), Dense(2, 2)),
                 "no other variables, got 'dense_2/bias'");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
