// A program's answer in every mode, compared with its eager one.
//
// Bits are compared. Two things have bounds instead: where the pass "matmul" may have run, and a contraction is among
// the ops, what one unit of the last place more or less on every contraction's elements makes of the outputs, 64 times;
// and gradients of traced functions, which sum in another order (`kGradientBounds` in oracle.cc; where terms cancel,
// also 64 times what noise on all values makes of them). Inputs of shapes that were ruled out, and samples of the op
// table's errors, must be refused. Programs that draw random numbers are compared with themselves: three calls of a
// function give the same, whatever passes run, what shapes are called with in between, saved or not. A program that
// fails eagerly must fail with that code and leaf message in every mode, if an output or a variable depends on what
// failed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "panto/tests/random/program/program.h"

namespace panto::random {

struct Verdict {
  std::string mode;
  std::string text;  // what is wrong
};

// Called with the mode's name before it is tried: a crash is then known by it.
using Notify = std::function<void(const std::string& mode)>;

struct Answers {
  std::vector<Verdict> wrong;
  int asked = 0;    // modes
  int skipped = 0;  // modes that do not apply, or cannot be judged
  int legal = 0;    // further calls that the eager program answers
};

// `only`: one mode, "" all. Standard error must be a file (`WatchedErrors` in oracle.h reads it).
Answers ask(const Program& program, const std::string& only, const Notify& notify);

}  // namespace panto::random
