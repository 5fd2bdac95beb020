// Optimizers: they change variables by gradients.
//
//   Adam adam(model.variables(), {.learning_rate = 1e-3});
//   GradientTape tape;
//   Tensor loss = ...;
//   adam.apply(tape.gradient(loss, adam.variables()));
//
// Or `adam.minimize([&] { return mean_squared_error(model(x), y); })`.
//
// The rate is a number, which set_learning_rate changes at any time, or a schedule (nn/training/schedule.h), which
// follows the optimizer's own count of steps. Both are variables, so traced steps and graphs follow them. What else a
// step keeps, the optimizer makes when it is constructed, so that a training step can be traced.
//
// Inside a GraphScope it may be as in TensorFlow 1: `Sgd({.learning_rate = 0.5}).minimize(loss)` trains the variables
// of the graph. A rate that is a number is a constant of the graph there, and no variable that would have to be
// initialized. One that is to change is a placeholder, or a variable: `{.learning_rate = rate}`.
//
// Gradients may be rows of variables (tape.sparse_gradient), as of an embedding's table. Rows that occur several times
// are added up. Sgd, Momentum, RMSprop, Ftrl, Adadelta, Adagrad, AdagradDA and the proximal ones then change those rows
// only (weight decay: all). The others make them whole, since their averages decay, and change the variable, where the
// gradient is zero too. Each header says which of TensorFlow 1 and Keras 3 its optimizers follow.
//
// Weight decay (`.weight_decay`) is decoupled from the gradient, as in Keras and AdamW (Loshchilov and Hutter 2019): a
// step first makes v -= learning_rate * weight_decay * v of each variable that has a gradient.
//
// Constructors throw InvalidArgument for options out of their range. Thread-safety: one call at a time.
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
