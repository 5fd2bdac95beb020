// Which rows of the op table random programs are made of.
#pragma once

#include <vector>

#include "panto/tests/ops/table.h"
#include "panto/tests/random/program/program.h"
#include "panto/tests/random/program/rng.h"

namespace panto::random {

// A row, one of its types, and the samples that fit it.
struct Candidate {
  const test::Row* row = nullptr;
  DType type = DType::kInvalid;
  std::vector<const test::Sample*> samples;
};

// All that a program may hold: ops on data and variables, without random numbers, prints and files.
const std::vector<Candidate>& candidates();
// Ops that draw random numbers of a shape, from a generator of their own.
const std::vector<Candidate>& generators();
// A candidate: half of the time by op and type alike, so that each occurs; otherwise one of type `main`, with a
// preference for what hands its input on (views, copies, Identity).
const Candidate& pick_candidate(Rng& rng, DType main);
// Samples that are errors, of rows whose op has outputs.
struct Illegal {
  const test::Row* row = nullptr;
  const test::ErrorSample* sample = nullptr;
  DType type = DType::kInvalid;
};
const std::vector<Illegal>& illegal_samples();

}  // namespace panto::random
