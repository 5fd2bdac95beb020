// Typed functions of all ops, by family: generated from the op blocks (lib/ops/generate.py).
#pragma once

#include "panto/ops/array.h"
#include "panto/ops/control.h"
#include "panto/ops/image.h"
#include "panto/ops/linalg.h"
#include "panto/ops/lists.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"
#include "panto/ops/queues.h"
#include "panto/ops/random.h"
#include "panto/ops/readers.h"
#include "panto/ops/signal.h"
#include "panto/ops/sparse.h"
#include "panto/ops/state.h"
#include "panto/ops/strings.h"
#include "panto/ops/tables.h"
