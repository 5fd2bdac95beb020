// The arithmetic of FakeQuant on all devices, in float32. Operations are in TensorFlow's order, to give the same bits
// (tensorflow/core/kernels/fake_quant_ops_functor.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "panto/device/math/vocabulary.h"

namespace panto {

// The quantization of [min, max] to 2^bits values (one fewer if narrow), shifted so that 0 is one of them. If min and
// max are both 0, all results are 0 and all gradients pass.
struct FakeSteps {
  float low, high, size, per_step, zero;
  bool none;

  PANTO_FN FakeSteps(float min, float max, int64_t bits, bool narrow) : none(min == 0 && max == 0) {
    const float first = narrow ? 1 : 0, last = static_cast<float>((1 << bits) - 1);
    size = (max - min) / (last - first);
    const float at = std::min(std::max(std::round(first - min / size), first), last);
    low = (first - at) * size;
    high = (last - at) * size;
    per_step = 1.0F / size;
    zero = std::floor(0.5F - low * per_step);
  }

  PANTO_FN float nearest(float x) const {
    if (none) return 0;
    float kept = x > high ? high : x;
    kept = kept < low ? low : kept;  // last, so it decides if max < min
    return std::floor((kept - low) * per_step - zero + 0.5F) * size;
  }
  PANTO_FN bool inside(float x) const { return none || (x >= low && x <= high); }
};

}  // namespace panto
