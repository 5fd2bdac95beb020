// Makes a program that fails smaller, as long as it goes on failing.
#pragma once

#include <functional>

#include "panto/tests/random/program/program.h"

namespace panto::random {

// `fails` is asked about every candidate, at most `budget` times. Candidates may be programs that are wrong in
// themselves: those must not count as failing.
Program shrink(Program program, const std::function<bool(const Program&)>& fails, int budget);

}  // namespace panto::random
