// What is asked about every row of the table. To add a question: a function `void ask_...(const Row&)` that checks with
// Boost.Test, and a line in the list in questions.cc.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "panto/tests/ops/table.h"

namespace panto::test {

struct Question {
  const char* name;  // of the test case
  bool (*applies)(const Row&, const Op&);
  void (*ask)(const Row&);
  bool about_gradients = false;
  // Of every fourth row in a build with sanitizers or an emulator: how calls become graphs depends little on the op.
  bool about_graphs = false;
};

std::span<const Question> questions();
// One more, which needs a GPU: its cases are in a suite of their own, gpu/<row>.
const Question& device_question();

// questions_values.cc
void ask_reference(const Row& row);  // equals the reference in every type
void ask_effect(const Row& row);     // changes variables as the reference says
void ask_float64(const Row& row);    // equals its float64 run
void ask_empty(const Row& row);      // elementwise: shapes without elements
void ask_broadcast(const Row& row);  // two operands of different shapes
void ask_special(const Row& row);    // infinities, NaN, zeros

// questions_calls.cc
void ask_unaligned(const Row& row);  // inputs anywhere in memory
void ask_reuse(const Row& row);      // inputs given away
void ask_prepared(const Row& row);   // a prepared call gives the same
void ask_body(const Row& row);       // a composite's kernel gives what the ops of its body give, eagerly and traced

// questions_types.cc
void ask_types(const Row& row);   // every allowed type runs, every other is refused with what there is
void ask_errors(const Row& row);  // the error samples' codes and texts

// questions_shapes.cc
void ask_inference(const Row& row);  // META infers the real output's shape, from all or part of the inputs' shapes

// questions_gradient.cc
void ask_gradient(const Row& row);      // equals finite differences
void ask_second_order(const Row& row);  // and the gradient's gradient does
void ask_taped(const Row& row);         // under a tape: the same values; gradients of the right type, in every type

// questions_late.cc
void ask_late(const Row& row);  // prepared before shapes are known: whatever comes, as eagerly

// questions_graph.cc
void ask_traced(const Row& row);           // as a function, not optimized, with known and with unknown shapes
void ask_optimized(const Row& row);        // optimized; folded
void ask_round_trip(const Row& row);       // saved as a GraphDef, binary and text, and loaded
void ask_traced_gradient(const Row& row);  // the gradient of the traced function

// questions_transforms.cc
void ask_batched(const Row& row);  // inside vmap: as a loop over the batch
void ask_jvp(const Row& row);      // tangents: as finite differences and as the gradient say

// questions_saved.cc
void ask_saved(const Row& row);  // state, effects and random numbers: as a graph, saved and loaded

// questions_gpu.cc
bool has_samples_for(const Row& row, DeviceKind kind);  // of a type that has a kernel there
void ask_accelerator(const Row& row);                   // equals the CPU's result, on test::accelerator()

using TensorsFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
// The gradients, by input, of the sum of all outputs, weighed so that no two elements count alike; undefined where
// there is none. `call` instead of the op, if given.
std::vector<Tensor> gradients_of(const Bound& b, std::vector<Tensor>& outputs, const TensorsFunction& call = nullptr);

// A question about gradients that a row (or some of its samples) cannot answer, though the op has a gradient. They are
// counted, and shown when the program ends if any such question was asked.
void note_unanswered(const Row& row, const char* question, const char* reason);

// A failure of the case that runs. One case shows a few and counts the rest.
void complain(const std::string& text);
void complain(const Bound& bound, const std::string& text);  // names the sample
// Runs `ask` and says how many failures were not shown.
void ask_within_limit(const Question& question, const Row& row);
// Reports a difference, if there is one, as a failure of this sample.
void check_same(const std::string& difference, const Bound& bound, const std::string& what);
void compare(const std::vector<Array>& expected, std::span<const Tensor> got, const Bound& bound,
             const std::string& what);
void compare(const std::vector<Tensor>& expected, std::span<const Tensor> got, const Bound& bound,
             const std::string& what);
// Runs `body`; an error is a failure of this sample.
template <class Body>
void attempt(const Bound& bound, const std::string& what, Body body) {
  try {
    body();
  } catch (const Error& error) {
    complain(bound, what + ": " + error.what());
  }
}
// New tensors with the values of the inputs (except resources, variants and strings, which are the inputs).
std::vector<Tensor> copies(const Bound& bound);

}  // namespace panto::test
