// What a training loop takes its batches from. Internal.
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

// How many of each a batch has. Weights: none, one, or as many as targets.
struct Layout {
  int64_t inputs = 1, targets = 1;
};

// "inputs", "targets" or "weights".
const char* name_of(size_t tensor, const Layout& layout);

class Batches {
 public:
  virtual ~Batches() = default;
  // From the beginning, in a new order where there is a shuffle.
  virtual void restart() = 0;
  // False at the end.
  virtual bool next(Batch& batch) = 0;
  // Of a pass; none where it does not end.
  virtual std::optional<int64_t> size() const = 0;
};

// Throws InvalidArgument, which names `what`, where tensors have different numbers of samples, or there are none;
// `needs_targets`: where there is no y.
std::unique_ptr<Batches> batches_of(const char* what, const TrainingData& data, int64_t batch_size, bool shuffle,
                                    bool needs_targets, Layout layout = {});
// The last `share` of the samples, and the others before. Throws InvalidArgument for a Dataset, and where one of the
// two would be empty.
std::pair<TrainingData, TrainingData> split(const TrainingData& data, double share, Layout layout = {});

}  // namespace panto::loop
