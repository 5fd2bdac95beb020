// TensorFlow 1's loops and conditionals: ops that the dataflow executor runs (lib/runtime/dataflow).
//
// They only work inside graphs, since an eager tensor cannot be dead like a Switch's output that is not taken. Their
// kernels throw.

#include <algorithm>

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/ops/control.h"

namespace panto {
namespace {

void in_graphs_only(BatchContext&) {
  fail(Code::kUnimplemented, "control flow: expected a graph that runs by itself, got one inside vmap");
}

void passes_on(ShapeContext& c) {
  shapes::same_as_input(c);
  pass_values(c);
}

void condition(ShapeContext& c) {
  c.expect_scalar(0);
  c.output(PartialShape{});
}

// Output 0 has the shape that all inputs have in common.
void common_shape(ShapeContext& c) {
  PartialShape shape = c.shape(0);
  for (int i = 1; i < c.num_inputs(); ++i) shape = shape.in_common_with(c.shape(i));
  c.output(0, std::move(shape));
  c.output(1, PartialShape{});
  if (c.num_inputs() == 1) pass_values(c);
}

}  // namespace

const Op& kSwitch = define_op(  //
    "Switch(data: T, pred: bool @host; T: type) -> (output_false: T, output_true: T)",
    {.doc = "`data` at output 1 if `pred`, else at output 0; the other output is dead, and so is what is made of it.",
     .cpp = "switch_op",
     .kind = OpKind::kSwitch,
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(1);
           for (const int k : {0, 1}) {
             c.output(k, c.shape(0));
             pass_values(c, 0, k);
           }
         },
     .no_gradient = "it runs in graphs, which a tape does not follow",
     .batch = in_graphs_only});

const Op& kMerge = define_op(  //
    "Merge(inputs: N*T; T: type, N: int >= 1) -> (output: T, value_index: int32 @host)",
    {.doc = "The first of `inputs` that is not dead, and its number. It is dead if all of them are.",
     .cpp = "merge_op",
     .kind = OpKind::kMerge,
     .traits = {Trait::kSelfAllocating},
     .shape = common_shape,
     .no_gradient = "it runs in graphs, which a tape does not follow",
     .batch = in_graphs_only});

const Op& kEnter = define_op(  //
    "Enter(data: T; T: type, frame_name: string, is_constant: bool = false, parallel_iterations: int = 10) -> "
    "(output: T)",
    {.doc = "`data` inside the loop `frame_name`: in its first round or, if `is_constant`, in each. At most "
            "`parallel_iterations` rounds are begun before the first of them ends.",
     .cpp = "enter_op",
     .kind = OpKind::kEnter,
     .traits = {Trait::kSelfAllocating},
     .shape = passes_on,
     .no_gradient = "it runs in graphs, which a tape does not follow",
     .batch = in_graphs_only});

const Op& kExit = define_op(  //
    "Exit(data: T; T: type) -> (output: T)", {.doc = "`data` of the loop's last round, behind the loop.",
                                              .cpp = "exit_op",
                                              .kind = OpKind::kExit,
                                              .traits = {Trait::kSelfAllocating},
                                              .shape = passes_on,
                                              .no_gradient = "it runs in graphs, which a tape does not follow",
                                              .batch = in_graphs_only});

const Op& kNextIteration = define_op(  //
    "NextIteration(data: T; T: type) -> (output: T)",
    {.doc = "`data` in the loop's next round. A Merge may read it although it comes later.",
     .kind = OpKind::kNextIteration,
     .traits = {Trait::kSelfAllocating},
     .shape = passes_on,
     .no_gradient = "it runs in graphs, which a tape does not follow",
     .batch = in_graphs_only});

const Op& kLoopCond = define_op(  //
    "LoopCond(input: bool @host) -> (output: bool @host)",
    {.doc = "`input`, which says whether a loop goes on.",
     .kind = OpKind::kLoopCondition,
     .traits = {Trait::kSelfAllocating},
     .shape = condition,
     .no_gradient = "it runs in graphs, which a tape does not follow",
     .batch = in_graphs_only});

const Op& kControlTrigger = define_op(  //
    "ControlTrigger() -> ()", {.doc = "Does nothing, after what it waits for; runs also where that is dead.",
                               .kind = OpKind::kControlTrigger,
                               .shape = shapes::none,
                               .no_gradient = "it has no outputs"});

const Op& kAbort = define_op(  //
    "Abort(; error_msg: string = \"\", exit_without_error: bool = false) -> ()",
    {.doc = "Ends the step by an error Aborted that says `error_msg`. (TensorFlow's ends the process, without an error "
            "if `exit_without_error`, which here changes nothing.)",
     .cpp = "abort_op",
     .effects = {effects::external()},
     .shape = shapes::none,
     .no_gradient = "it has no outputs"});

}  // namespace panto
