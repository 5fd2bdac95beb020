#include "panto/lib/runtime/passes/passes.h"
#include "panto/lib/runtime/rewrite.h"

namespace panto::passes {

int prune(PassContext& context) { return remove_dead(context.graph, context.sink, context.feeds); }

}  // namespace panto::passes
