// Where MirrorPad, on every device, finds the elements that it pads with.
#pragma once

#include "panto/device/math/vocabulary.h"
#include "panto/lib/core/call/call.h"

namespace panto {

// How many of the outermost elements are not repeated: 1 in mode REFLECT, else 0.
inline int not_mirrored(const KernelContext& c) { return c.text("mode") == "REFLECT" ? 1 : 0; }

// Returns the position in a dimension of `size` elements that has the element for position `at`, which may be outside.
template <class Int>
PANTO_FN Int mirrored(Int at, Int size, Int apart) {
  if (at < 0) at = apart - 1 - at;
  return at < size ? at : 2 * size - 1 - apart - at;
}

}  // namespace panto
