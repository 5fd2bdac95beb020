// The passes of the library. The list of them, in order, is in optimizer.cc. Internal.
#pragma once

#include "panto/lib/runtime/optimizer.h"

namespace panto::passes {

int prune(PassContext& context);
int fold_constants(PassContext& context);
int simplify(PassContext& context);
int merge_reshapes(PassContext& context);
int move_loop_invariants(PassContext& context);
int move_common_of_branches(PassContext& context);
int narrow_matmuls(PassContext& context);
int pad_in_convolutions(PassContext& context);
int merge_common(PassContext& context);
int clean_dependencies(PassContext& context);
int fuse(PassContext& context);
int fuse_elementwise(PassContext& context);

}  // namespace panto::passes
