// What Keras and TensorFlow compute of training, and of losses and metrics: tests/reference/training/training_cases.py,
// optimizer_cases.py and loss_cases.py say what each array is.
#pragma once

#include <map>
#include <string>

#include "panto/lib/core/io/npy.h"

namespace panto {

inline std::map<std::string, Tensor> reference_arrays(const std::string& file) {
  std::map<std::string, Tensor> all;
  for (const auto& [key, value] : read_npz(PANTO_TEST_SOURCE "/tests/reference/values/" + file)) all[key] = value;
  return all;
}

inline const Tensor& training_reference(const std::string& name) {
  static const auto* const arrays = new std::map<std::string, Tensor>(reference_arrays("training.npz"));
  return arrays->at(name);
}

inline const Tensor& loss_reference(const std::string& name) {
  static const auto* const arrays = new std::map<std::string, Tensor>(reference_arrays("losses.npz"));
  return arrays->at(name);
}

inline const Tensor& optimizer_reference(const std::string& name) {
  static const auto* const arrays = new std::map<std::string, Tensor>(reference_arrays("optimizers.npz"));
  return arrays->at(name);
}

}  // namespace panto
