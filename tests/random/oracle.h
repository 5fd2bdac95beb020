// What is compared with what, and how exactly.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "panto/tests/random/interpret.h"

namespace panto::random {

// Empty, or how the bits differ (NaNs of any kind are alike).
std::string difference_in_bits(std::span<const Tensor> expected, std::span<const Tensor> got,
                               bool signs_of_zeros = true);
// Empty, or how they differ by more than rounding in contractions explains: `program` is run with noise on them.
std::string difference_beyond_noise(const Program& program, std::span<const Tensor> inputs,
                                    std::span<const Tensor> expected, std::span<const Tensor> got);
// Of gradients, undefined ones among them. `noisy`: the expected ones again, with noise on all values; what that
// explains is no difference.
std::string difference_of_gradients(std::span<const Tensor> expected, std::span<const Tensor> got,
                                    std::span<const std::vector<Tensor>> noisy);
// Whether these failures say what every mode must do.
bool judgeable(const Outcome& expected);

// Lines that the library wrote to standard error, which is a file here, since it was last asked.
class WatchedErrors {
 public:
  // Sends standard error to this file, which is read from its end on.
  static void begin(int file);
  static std::string take();
};

}  // namespace panto::random
