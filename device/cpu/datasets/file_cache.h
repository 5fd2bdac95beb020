// A dataset whose elements are cached in a file.
#pragma once

#include <string>

#include "panto/lib/core/datasets/dataset_value.h"

namespace panto::datasets {

// A pass that reaches the end of `input` writes all elements as checkpoint `prefix`, completely or not at all:
// component k of element i under TensorFlow's name for it. Passes that begin when the checkpoint exists read it
// instead. Throws InvalidArgument for elements without values, and the errors of writing and reading checkpoints.
DatasetHandle file_cache_dataset(DatasetHandle input, std::string prefix, ElementSpec spec);

}  // namespace panto::datasets
