// Sends float32 values between devices as bfloat16. Internal.
#pragma once

#include "panto/lib/runtime/rewrite.h"

namespace panto {

// Inserts casts between each float32 value and its consumers on other devices: one Cast to bfloat16 on the producer's
// device, shared by all, and one Cast back on each reading device. The relative error is at most 2^-8 (the absolute
// error at most 2^-134 for denormal values); values beyond 3.39e38 become infinite. Feeds, constants and handles are
// not sent and stay unchanged, and so do values that TensorFlow 1's control flow makes or reads. Precondition: the
// graph is placed. Throws Unimplemented if a device cannot cast.
void narrow_transfers(WorkGraph& work);

}  // namespace panto
