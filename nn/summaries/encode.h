// Encodes values for TensorBoard's plugins. Internal.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::summaries {

// The elements of a real tensor. Throws InvalidArgument for other dtypes; `what` names the kind of summary.
std::vector<double> numbers_of(const Tensor& t, std::string_view what);

// Converts to uint8: bytes stay, floating-point values are clipped to [0, 1] and scaled so that 1 is 255, as
// tf.image.convert_image_dtype.
Tensor image_bytes(const Tensor& image);
// float64 [buckets, 3]: lower bound, upper bound, count. If all values are equal, one bucket of width 1 around them;
// without values [0, 3]. (As TensorBoard's own summary_v2.py.)
Tensor histogram(const std::vector<double>& values, int64_t buckets);
// string [2 + images]: width, height, PNGs.
Tensor pictures(const Tensor& images, int64_t most);
// string [clips, 2]: WAVs, labels.
Tensor clips(const Tensor& samples, int64_t sample_rate, int64_t most);

}  // namespace panto::summaries
