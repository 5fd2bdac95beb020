// Datasets that call functions with their elements.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/datasets/dataset_value.h"
#include "panto/lib/core/op/function_body.h"

namespace panto::datasets {

// A function attribute of a dataset op, with its captured tensors, which are passed after an element's tensors. No tape
// and no trace hears the ops that it calls. Thread-safe.
class PANTO_EXPORT DatasetFunction {
 public:
  // Throws InvalidArgument if the function does not take `types` followed by the types of `captured`. Unknown types
  // (kInvalid) match any type.
  DatasetFunction(const FunctionRef& function, std::vector<Tensor> captured, const std::vector<DType>& types);
  // Throws InvalidArgument if the function does not return these types.
  const DatasetFunction& giving(const std::vector<DType>& results) const;
  const std::vector<DType>& results() const noexcept { return results_; }

  ElementTensors operator()(const ElementTensors& element) const;
  // For a function that returns a scalar of this type. Throws InvalidArgument for other results.
  bool truth(const ElementTensors& element) const;
  int64_t integer(const ElementTensors& element) const;
  // For a function that returns a dataset.
  DatasetHandle dataset(const ElementTensors& element) const;

 private:
  std::shared_ptr<const FunctionBody> body_;
  std::vector<Tensor> captured_;
  std::vector<DType> results_;
};

PANTO_EXPORT DatasetHandle map_dataset(std::string name, DatasetHandle input, DatasetFunction f,
                                       bool preserve_cardinality, ElementSpec spec);
// The predicate returns a bool scalar.
PANTO_EXPORT DatasetHandle filter_dataset(std::string name, DatasetHandle input, DatasetFunction predicate,
                                          ElementSpec spec);
PANTO_EXPORT DatasetHandle take_while_dataset(DatasetHandle input, DatasetFunction predicate, ElementSpec spec);
// The elements of the datasets that f returns, one dataset after the other.
PANTO_EXPORT DatasetHandle flat_map_dataset(DatasetHandle input, DatasetFunction f, ElementSpec spec);
struct InterleaveOptions {
  int64_t cycle = 1;  // datasets read in turn
  int64_t block = 1;  // elements of each dataset per turn
  // Number of datasets that are each read ahead by a thread of its own, up to kMostThreads. A thread keeps up to
  // `buffer` elements ready. The order does not change.
  int64_t threads = 0;
  int64_t buffer = 1;
};
// As flat_map_dataset, but reads `cycle` datasets in turn. Throws InvalidArgument unless cycle, block and buffer are
// positive.
PANTO_EXPORT DatasetHandle interleave_dataset(std::string name, DatasetHandle input, DatasetFunction f,
                                              const InterleaveOptions& options, ElementSpec spec);
// f takes a state and an element, and returns the next state and then the output element.
PANTO_EXPORT DatasetHandle scan_dataset(DatasetHandle input, DatasetFunction f, std::vector<Tensor> initial,
                                        bool preserve_cardinality, ElementSpec spec);
// init returns a state; next returns elements of it until it fails with OutOfRange; finalize ends it.
PANTO_EXPORT DatasetHandle generator_dataset(DatasetFunction init, DatasetFunction next, DatasetFunction finalize,
                                             ElementSpec spec);
// Groups elements by key (an int64). When a group has as many elements as `size` returns for its key, or the input
// ends, the group is passed as a dataset to `reduce`; the output has the elements of the dataset that `reduce` returns.
PANTO_EXPORT DatasetHandle group_by_window_dataset(DatasetHandle input, DatasetFunction key, DatasetFunction reduce,
                                                   DatasetFunction size, ElementSpec spec);
// One element for each key: `init` makes a state, `reduce` updates it with each element of the key, `finalize` turns it
// into the output.
PANTO_EXPORT DatasetHandle group_by_reducer_dataset(DatasetHandle input, DatasetFunction key, DatasetFunction init,
                                                    DatasetFunction reduce, DatasetFunction finalize, ElementSpec spec);
// Folds the dataset: calls f with the state, at first `initial`, and each element; returns the last state.
PANTO_EXPORT std::vector<Tensor> reduce_dataset(const DatasetHandle& input, const DatasetFunction& f,
                                                std::vector<Tensor> initial);

}  // namespace panto::datasets
