// vmap and jvp of conditionals and loops. Internal.
#pragma once

namespace panto {

class BatchContext;
class JvpContext;

// For FunctionRuntime. Throw Unimplemented where examples choose differently among functions that have effects, or
// where a function that has some would be called twice.
void batch_branches(BatchContext& c);
void batch_loop(BatchContext& c);
void jvp_branches(JvpContext& c);
void jvp_loop(JvpContext& c);

}  // namespace panto
