// vmap and jvp of conditionals and loops. Internal.
#pragma once

namespace panto {

class BatchContext;
class JvpContext;

// For FunctionRuntime. Throw Unimplemented if examples would choose differently among functions with effects, or if a
// function with effects would be called twice.
void batch_branches(BatchContext& c);
void batch_loop(BatchContext& c);
void jvp_branches(JvpContext& c);
void jvp_loop(JvpContext& c);

}  // namespace panto
