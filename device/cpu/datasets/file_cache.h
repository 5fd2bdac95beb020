// Elements of a dataset in a file.
#pragma once

#include <string>

#include "panto/lib/core/datasets/dataset_value.h"

namespace panto::datasets {

// The elements, which a pass that comes to its end writes, as a whole or not at all, as checkpoint `prefix`: component
// k of element i under the name that TensorFlow gives it there. Passes that begin when it is there read them. Throws
// InvalidArgument for elements without values, and what writing and reading checkpoints throws.
DatasetHandle file_cache_dataset(DatasetHandle input, std::string prefix, ElementSpec spec);

}  // namespace panto::datasets
