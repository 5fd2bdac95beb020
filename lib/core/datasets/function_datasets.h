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

// A function of an op's attribute with the tensors that it has besides an element's, behind these. What it calls is in
// no tape and no trace. Thread-safe.
class PANTO_EXPORT DatasetFunction {
 public:
  // Throws InvalidArgument where the function does not take `types` and then those of `captured`, or where `results`
  // are given and it gives others. Types that are not known, of kInvalid, are any.
  DatasetFunction(const FunctionRef& function, std::vector<Tensor> captured, const std::vector<DType>& types);
  // As before; throws InvalidArgument where the function does not give these types. `what` it gives, for messages.
  const DatasetFunction& giving(const std::vector<DType>& results) const;
  const std::vector<DType>& results() const noexcept { return results_; }

  ElementTensors operator()(const ElementTensors& element) const;
  // Of one that gives a scalar of this type. Throws InvalidArgument for others.
  bool truth(const ElementTensors& element) const;
  int64_t integer(const ElementTensors& element) const;
  // Of one that gives a dataset.
  DatasetHandle dataset(const ElementTensors& element) const;

 private:
  std::shared_ptr<const FunctionBody> body_;
  std::vector<Tensor> captured_;
  std::vector<DType> results_;
};

PANTO_EXPORT DatasetHandle map_dataset(std::string name, DatasetHandle input, DatasetFunction f,
                                       bool preserve_cardinality, ElementSpec spec);
// The predicate gives a bool scalar.
PANTO_EXPORT DatasetHandle filter_dataset(std::string name, DatasetHandle input, DatasetFunction predicate,
                                          ElementSpec spec);
PANTO_EXPORT DatasetHandle take_while_dataset(DatasetHandle input, DatasetFunction predicate, ElementSpec spec);
// The elements of the dataset that f makes of each element.
PANTO_EXPORT DatasetHandle flat_map_dataset(DatasetHandle input, DatasetFunction f, ElementSpec spec);
struct InterleaveOptions {
  int64_t cycle = 1;  // so many of them at a time
  int64_t block = 1;  // elements of each in turn
  // So many of them, at most the most threads of a pass, are each read by a thread, which keeps up to `buffer` elements
  // ready. The order is the same.
  int64_t threads = 0;
  int64_t buffer = 1;
};
// The same of several of them at a time. Throws InvalidArgument unless cycle, block and buffer are positive.
PANTO_EXPORT DatasetHandle interleave_dataset(std::string name, DatasetHandle input, DatasetFunction f,
                                              const InterleaveOptions& options, ElementSpec spec);
// f gives the next state, then the element, of a state and an element.
PANTO_EXPORT DatasetHandle scan_dataset(DatasetHandle input, DatasetFunction f, std::vector<Tensor> initial,
                                        bool preserve_cardinality, ElementSpec spec);
// init gives a state, next the elements of it until it fails with OutOfRange; finalize ends it.
PANTO_EXPORT DatasetHandle generator_dataset(DatasetFunction init, DatasetFunction next, DatasetFunction finalize,
                                             ElementSpec spec);
// Elements of one key (an int64), so many as `size` gives for it, as a dataset to `reduce`, which makes a dataset of
// it.
PANTO_EXPORT DatasetHandle group_by_window_dataset(DatasetHandle input, DatasetFunction key, DatasetFunction reduce,
                                                   DatasetFunction size, ElementSpec spec);
// For each key what finalize makes of the state that init made and reduce changed by each element of that key.
PANTO_EXPORT DatasetHandle group_by_reducer_dataset(DatasetHandle input, DatasetFunction key, DatasetFunction init,
                                                    DatasetFunction reduce, DatasetFunction finalize, ElementSpec spec);
// What f makes of `initial`, and of what it made, with each element.
PANTO_EXPORT std::vector<Tensor> reduce_dataset(const DatasetHandle& input, const DatasetFunction& f,
                                                std::vector<Tensor> initial);

}  // namespace panto::datasets
