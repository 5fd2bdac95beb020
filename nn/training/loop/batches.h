// The sources of batches for a training loop. Internal.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/training/loop/fit.h"

namespace panto::loop {

struct Batch {
  std::vector<Tensor> tensors;  // inputs, perhaps targets, perhaps weights
};

// The numbers of inputs and targets in a batch. There may be no weights, one, or as many as targets.
struct Layout {
  int64_t inputs = 1, targets = 1;
};

// "inputs", "targets" or "weights".
const char* name_of(size_t tensor, const Layout& layout);

class Batches {
 public:
  virtual ~Batches() = default;
  // Starts again from the beginning, in a new order if shuffled.
  virtual void restart() = 0;
  // Returns false at the end.
  virtual bool next(Batch& batch) = 0;
  // The number of batches in a pass; none if it does not end or is unknown.
  virtual std::optional<int64_t> size() const = 0;
};

// Throws InvalidArgument, naming `what`, if tensors have different numbers of samples, or there are none; and, with
// `needs_targets`, without y.
std::unique_ptr<Batches> batches_of(const char* what, const TrainingData& data, int64_t batch_size, bool shuffle,
                                    bool needs_targets, Layout layout = {});
// Splits off the last `share` of the samples: (the others, the last). Throws InvalidArgument for a Dataset, and if one
// part would be empty.
std::pair<TrainingData, TrainingData> split(const TrainingData& data, double share, Layout layout = {});

}  // namespace panto::loop
