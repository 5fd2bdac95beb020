// What is asked about a program beside its own inputs.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "panto/tests/random/program/program.h"
#include "panto/tests/random/program/rng.h"

namespace panto::random {

std::vector<int64_t> dims_of(const Tensor& t);
inline bool is_integer(DType t) { return dtypes::kInteger.contains(t); }
// Chooses what traces know of the inputs, what these are in further calls, what a session is fed, and passes. `values`:
// what the program's values are.
void vary(Program& program, const std::map<int, Tensor>& values, Rng& rng);

}  // namespace panto::random
