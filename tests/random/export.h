// Programs as files, for another library to run: tests/interop/graphs/test_random.py.
#pragma once

#include <string>

#include "panto/tests/random/program/program.h"

namespace panto::random {

// Writes `base`.pb, a GraphDef; `base`.npz, arrays in_0 ... (feeds), out_0 ... (what the eager program gives) and tol_0
// ... (how much rounding may matter, -1 for elements that rounding decides); and `base`.txt, a line for each output:
// the name to fetch. False, with nothing written, for programs that are no such graph: illegal ones, those with
// variables, and those with ops that only this library has.
bool export_program(const Program& program, const std::string& base);

}  // namespace panto::random
