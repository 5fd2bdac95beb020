#include "panto/trace/control/function_gradients.h"
#include "panto/trace/control/ready_function.h"

namespace panto {

void make_loop_ready(Graph&, int) { fail(Code::kUnimplemented, "loop"); }
void loop_gradient(GradContext&) { fail(Code::kUnimplemented, "loop"); }

}  // namespace panto
