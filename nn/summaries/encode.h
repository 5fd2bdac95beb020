// Values in the forms that TensorBoard's plugins show. Internal.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::summaries {

// The elements of a real tensor. Throws InvalidArgument for other dtypes, as `what` of a summary.
std::vector<double> numbers_of(const Tensor& t, std::string_view what);

// uint8, of what is that or floating-point from 0 to 1 (others become the nearer of these). As
// tf.image.convert_image_dtype: 1 is 255.
Tensor image_bytes(const Tensor& image);
// float64 [buckets, 3]: from, to, how many. Of values that are all the same one bucket, one wide, around them; of none
// [0, 3]. (TensorBoard's own summary_v2.py does so.)
Tensor histogram(const std::vector<double>& values, int64_t buckets);
// string [2 + images]: width, height, PNGs.
Tensor pictures(const Tensor& images, int64_t most);
// string [clips, 2]: WAVs, labels.
Tensor clips(const Tensor& samples, int64_t sample_rate, int64_t most);

}  // namespace panto::summaries
