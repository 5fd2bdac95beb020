// Passes that make elements in threads of their own, before they are asked for. A pass owns its threads: they begin
// with its first element and end with it. They belong to the step in which the pass began, but for its being stopped:
// who asks for an element may be stopped while it waits, and the element stays for the next who asks.
#pragma once

#include <cstdint>
#include <string>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/datasets/dataset_value.h"

namespace panto::datasets {

// More threads of one pass than this are no faster, and a graph may ask for any number.
inline constexpr int64_t kMostThreads = 128;

// The elements as they are, of which a thread keeps up to `buffer` ready (-1: a number that is chosen; 0: there is no
// thread). A fault of one element comes in its turn; the thread goes on once it was heard of.
PANTO_EXPORT DatasetHandle prefetch_dataset(DatasetHandle input, int64_t buffer, ElementSpec spec);
// The same, of a positive number of elements, of which the first ones are made as soon as a pass begins.
PANTO_EXPORT DatasetHandle prefetch_at_once_dataset(DatasetHandle input, int64_t buffer, ElementSpec spec);

struct ParallelMapOptions {
  int64_t calls = 1;    // elements that are made at a time; -1: as many as there are threads
  bool ordered = true;  // false: as they get ready
  bool preserve_cardinality = false;
  bool keeps_batches = false;  // an element stays a batch of as many
};
// What a function, which several threads may call, makes of an element. OutOfRange ends the elements.
using ElementMap = Callable<ElementTensors(const ElementTensors& element)>;
// Several elements at a time. Who asks for an element reads the input; threads call the function. Throws
// InvalidArgument unless calls are positive or -1.
PANTO_EXPORT DatasetHandle parallel_map_dataset(std::string name, DatasetHandle input, ElementMap f,
                                                const ParallelMapOptions& options, ElementSpec spec);

}  // namespace panto::datasets
