// Rows that several files of elementwise ops have.
#pragma once

#include <utility>
#include <vector>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test {

inline const ErrorSample kDivisionByZero = {
    .in = {list({1, 2, 3}), list({1, 0, 2})}, .text = "integer division by zero", .type = kInt32};

// Numbers of which both parts count.
inline std::vector<Sample> complex_samples(int operands, double low = -2, double high = 2) {
  std::vector<Sample> samples;
  int seed = 1;
  for (const Index& dims : {Index{}, {2, 3}, {37}}) {
    Sample s;
    for (int i = 0; i < operands; ++i) s.in.push_back(draw_complex(dims, low, high, seed++));
    samples.push_back(std::move(s));
  }
  if (operands == 2) samples.push_back({.in = {draw_complex({2, 3}, low, high, 7), draw_complex({3}, low, high, 8)}});
  return samples;
}
inline Details complex_row(int operands, Reference reference, double units = 16, double low = -2, double high = 2) {
  return {.samples = complex_samples(operands, low, high),
          .reference = std::move(reference),
          .label = "complex",
          .types = dtypes::kComplex,
          .units = units,
          .floor = 0.1};
}

}  // namespace panto::test
