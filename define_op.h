// For those who define ops of their own: what blocks, shape functions, gradients and CPU kernels are written with.
// docs/add-an-op.md shows how.
#pragma once

#include "panto/device/cpu/kernel.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/step/async.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/tangents.h"
#include "panto/panto.h"
