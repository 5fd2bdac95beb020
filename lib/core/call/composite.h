// Calls of composites: ops that are made of others. Internal to the dispatcher and to what does its work on graphs.
//
// A composite has a body. It may have kernels and a gradient of its own as well, and is then one call wherever nobody
// has to see what is inside. It is the calls of its body
// - where a recorder looks inside (Recorder::looks_inside): a tape, for lack of a gradient of the whole;
// - in a transform that has no rule for the whole;
// - where its body has effects that no argument stands for, and it has no kernels;
// - where it would run and there is no kernel for the type on the device.
// While a graph is traced nothing runs: the graph has one node, whichever device that is placed on.
#pragma once

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/call/thread_state.h"

namespace panto::dispatch {

// The first three of these reasons.
bool must_expand(const Call& call, ThreadState& state);
// Sets the outputs of a call, whose inputs and outputs are bound, to what the body makes.
void run_body(Call& call);
// Sets the specs of such a call to those of what the body makes of symbolic tensors. Nobody hears of it.
void infer_from_body(Call& call);
// Throws Internal where `called`, a call of the body, has an effect that the composite's block does not name: the whole
// could be dropped, or merged with another, which its parts could not.
PANTO_EXPORT void expect_effects(const Op& composite, const Op& called);

}  // namespace panto::dispatch
