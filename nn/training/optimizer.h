// Optimizers: they update variables by gradients. Includes all headers of optimizers/.
//
//   Adam adam(model.variables(), {.learning_rate = 1e-3});
//   GradientTape tape;
//   Tensor loss = ...;
//   adam.apply(tape.gradient(loss, adam.variables()));
//
// Or `adam.minimize([&] { return mean_squared_error(model(x), y); })`.
//
// The rate is a number, which set_learning_rate changes at any time, or a schedule (nn/training/schedule.h), which
// follows the optimizer's own step count. Both are variables, so traced steps and graphs follow them. An optimizer
// makes its other variables when it is constructed, so that a training step can be traced.
//
// Inside a GraphScope TensorFlow 1's form works: `Sgd({.learning_rate = 0.5}).minimize(loss)` trains the variables of
// the graph. A rate given as a number is then a constant of the graph, not a variable that must be initialized. For a
// rate that changes use a placeholder or a variable: `{.learning_rate = rate}`.
//
// Gradients may be sparse, holding some rows of a variable (tape.sparse_gradient), as for an embedding's table. Rows
// that occur several times are added up. Sgd, Momentum, RMSprop, Ftrl, Adadelta, Adagrad, AdagradDA and the proximal
// optimizers then change only those rows (weight decay: all). The others make such gradients dense, because their
// averages decay, and change the variable also where the gradient is zero. Each header says which of TensorFlow 1 and
// Keras 3 its optimizers follow.
//
// Weight decay (`.weight_decay`) is decoupled from the gradient, as in Keras and AdamW (Loshchilov and Hutter 2019): a
// step first computes v -= learning_rate * weight_decay * v for each variable that has a gradient.
//
// Constructors throw InvalidArgument for options out of range. Thread-safety: one call at a time.
#pragma once

// IWYU pragma: begin_exports
#include "panto/nn/training/optimizers/adagrad.h"
#include "panto/nn/training/optimizers/adam.h"
#include "panto/nn/training/optimizers/gradient_descent.h"
#include "panto/nn/training/optimizers/layerwise.h"
#include "panto/nn/training/optimizers/multi.h"
#include "panto/nn/training/optimizers/optimizer.h"
#include "panto/nn/training/optimizers/rmsprop.h"
#include "panto/nn/training/optimizers/sign.h"
// IWYU pragma: end_exports
