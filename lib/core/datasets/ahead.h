// Passes over a dataset that make elements ahead, in threads of their own. A pass owns its threads: they start with its
// first element and end with the pass. They run in the step in which the pass began, but ignore its stop requests. The
// caller that asks for an element may be stopped while it waits; the element then stays for the next caller.
#pragma once

#include <cstdint>
#include <string>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/datasets/dataset_value.h"

namespace panto::datasets {

// Upper limit for the threads of one pass: more are no faster, and a graph may ask for any number.
inline constexpr int64_t kMostThreads = 128;

// The same elements; a thread keeps up to `buffer` of them ready (-1: the library chooses; 0: no thread). An error of
// one element is thrown in the element's turn; the thread continues after that.
PANTO_EXPORT DatasetHandle prefetch_dataset(DatasetHandle input, int64_t buffer, ElementSpec spec);
// The same, with a positive buffer, whose first elements are made as soon as a pass begins.
PANTO_EXPORT DatasetHandle prefetch_at_once_dataset(DatasetHandle input, int64_t buffer, ElementSpec spec);

struct ParallelMapOptions {
  int64_t calls = 1;    // elements made in parallel; -1: as many as there are threads
  bool ordered = true;  // false: elements come as they get ready
  bool preserve_cardinality = false;
  bool keeps_batches = false;  // each element stays a batch of the same size
};
// Maps an element to a new one; called by several threads. An OutOfRange error ends the dataset.
using ElementMap = Callable<ElementTensors(const ElementTensors& element)>;
// Maps several elements in parallel. The caller's thread reads the input; worker threads call the function. Throws
// InvalidArgument unless `calls` is positive or -1.
PANTO_EXPORT DatasetHandle parallel_map_dataset(std::string name, DatasetHandle input, ElementMap f,
                                                const ParallelMapOptions& options, ElementSpec spec);

}  // namespace panto::datasets
