// What Keras computes of training; tests/reference/training_cases.py says what each array is.
#pragma once

#include <map>
#include <string>

#include "panto/lib/core/io/npy.h"

namespace panto {

inline const Tensor& training_reference(const std::string& name) {
  static const auto* const arrays = [] {
    auto* all = new std::map<std::string, Tensor>;
    for (const auto& [key, value] : read_npz(PANTO_TEST_SOURCE "/tests/reference/training.npz")) (*all)[key] = value;
    return all;
  }();
  return arrays->at(name);
}

}  // namespace panto
