// Calls of composites: ops that have a body of other ops. Internal to the dispatcher and to the code that does its work
// on graphs.
//
// A composite may also have kernels and a gradient of its own; it then stays one call where possible. It is replaced by
// the calls of its body
// - if a recorder looks inside (Recorder::looks_inside): a tape does if the op has no gradient of its own;
// - in a transform that has no rule for the op;
// - if its body has effects on resources that are not arguments, and the op has no kernels;
// - if it must run and has no kernel for the dtype on the device.
// While a graph is traced, no kernel runs: the graph gets one node, whatever device it is placed on.
#pragma once

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/call/thread_state.h"

namespace panto::dispatch {

// True for the first three of these reasons.
bool must_expand(const Call& call, ThreadState& state);
// Runs the body and stores its results as the call's outputs. Inputs and outputs must be bound.
void run_body(Call& call);
// Runs the body on symbolic tensors and stores the results' dtypes and shapes as the call's specs. No recorder hears of
// it.
void infer_from_body(Call& call);
// Throws Internal if `called`, an op call of the body, has an effect that the composite's block does not declare.
// Otherwise the composite could be dropped or merged with another one although its parts could not.
PANTO_EXPORT void expect_effects(const Op& composite, const Op& called);

}  // namespace panto::dispatch
