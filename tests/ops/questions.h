// What is asked about every row of the table. To add a question: a function `void ask_...(const Row&)` that checks with
// Boost.Test, and a line in the list in questions.cc.
#pragma once

#include <span>

#include "panto/tests/ops/table.h"

namespace panto::test {

struct Question {
  const char* name;  // of the test case
  bool (*applies)(const Row&, const Op&);
  void (*ask)(const Row&);
};

std::span<const Question> questions();

// questions_values.cc
void ask_reference(const Row& row);  // equals the reference in every type
void ask_float64(const Row& row);    // equals its float64 run
void ask_empty(const Row& row);      // elementwise: shapes without elements
void ask_broadcast(const Row& row);  // two operands of different shapes
void ask_special(const Row& row);    // infinities, NaN, zeros
void ask_unaligned(const Row& row);  // inputs anywhere in memory
void ask_reuse(const Row& row);      // inputs given away
void ask_prepared(const Row& row);   // a prepared call gives the same
void ask_types(const Row& row);      // every allowed type runs, every other is refused with what there is
void ask_errors(const Row& row);

// questions_shapes.cc
void ask_inference(const Row& row);  // META infers the real output's shape, from all or part of the inputs' shapes

// questions_gradient.cc
void ask_gradient(const Row& row);      // equals finite differences
void ask_second_order(const Row& row);  // and the gradient's gradient does
void ask_taped(const Row& row);         // under a tape: the same values; gradients of the right type, in every type

// Reports a difference, if there is one, as a failure of this sample.
void check_same(const std::string& difference, const Bound& bound, const char* what);

}  // namespace panto::test
