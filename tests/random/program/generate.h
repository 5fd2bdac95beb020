// Makes random programs of what the op table (tests/ops/table.h) has samples of.
#pragma once

#include <cstdint>

#include "panto/tests/random/program/program.h"
#include "panto/tests/random/program/rng.h"

namespace panto::random {

// The same program for the same seed. Every op was tried eagerly, so that the program's own inputs are legal, but for
// one in twenty programs that ends with a sample of the table's errors.
Program generate(uint64_t seed);

// Values of that type and shape between `low` and `high`, some of them the same.
Tensor draw_tensor(Rng& rng, DType dtype, const Shape& shape, double low, double high);

}  // namespace panto::random
