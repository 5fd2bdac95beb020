// Kernels of control flow ops. Executors implement TensorFlow 1's ops themselves; called alone, these kernels fail.

#include "panto/device/cpu/kernel.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/control/control.h"

namespace panto {
namespace {

void refuse(KernelContext& c) {
  failf(Code::kFailedPrecondition, "{}: expected a node of a graph that runs, got a call of its own", c.op().name());
}

void abort_step(KernelContext& c) {
  const std::string_view text = c.text("error_msg");
  failf(Code::kAborted, "abort: expected not to be reached, got there{}{}", text.empty() ? "" : ": ", text);
}

const CpuKernel switch_kernel("Switch", dtypes::kAny, refuse);
const CpuKernel merge_kernel("Merge", dtypes::kAny, refuse);
const CpuKernel enter_kernel("Enter", dtypes::kAny, refuse);
const CpuKernel exit_kernel("Exit", dtypes::kAny, refuse);
const CpuKernel next_iteration_kernel("NextIteration", dtypes::kAny, refuse);
const CpuKernel loop_cond_kernel("LoopCond", refuse);
// ControlTrigger has no effect of its own, neither here nor in a graph.
const CpuKernel control_trigger_kernel("ControlTrigger", [](KernelContext&) {});
const CpuKernel abort_kernel("Abort", abort_step);
const CpuKernel to_bool_kernel("ToBool", dtypes::kAny,
                               [](KernelContext& c) { *c.out_data<bool>(0) = detail::is_true(c.in(0)); });

}  // namespace
}  // namespace panto
