// Statements that belong together, such as a pass looks for and single random ops rarely make.
#pragma once

#include "panto/tests/random/program/builder.h"

namespace panto::random {

// One of them, made of what the body has; false, and nothing added, where nothing fits. Values are of type `main` where
// the motif takes any type.
bool add_motif(Builder& b, DType main);

}  // namespace panto::random
