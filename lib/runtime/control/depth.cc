#include "panto/lib/runtime/control/depth.h"

namespace panto {

int& CallDepth::depth() noexcept {
  thread_local constinit int depth = 0;
  return depth;
}

}  // namespace panto
