// float32 goes from device to device as bfloat16. Internal.
#pragma once

#include "panto/lib/runtime/rewrite.h"

namespace panto {

// Between each float32 value and the nodes of another device that read it: a Cast to bfloat16 where it is made, one for
// all, and a Cast back on each device that reads it. What comes out differs from what went in by at most 2^-8 of it
// (2^-134 where it is so small that it has fewer digits); beyond 3.39e38 it is infinite. Feeds, constants and handles
// are not sent, and go as they are, and so do values that TensorFlow 1's control flow makes or reads. Precondition: the
// graph is placed. Throws Unimplemented where a device cannot cast.
void narrow_transfers(WorkGraph& work);

}  // namespace panto
