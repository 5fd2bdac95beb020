// The datasets that call no function: sources, and transformations of datasets. The arguments are those of the op of
// the same name; `spec` describes the elements of the new dataset.
//
//   const DatasetHandle numbers = range_dataset(0, 10, 1, {{kInt64}, {Shape{}}});
//   const DatasetHandle batches = batch_dataset(numbers, 4, /*drop_remainder=*/true, {{kInt64}, {Shape{4}}});
//
// Each throws InvalidArgument for invalid arguments.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/datasets/dataset_value.h"

namespace panto::datasets {

// ---- Sources (sources.cc) ------------------------------------------------------------------------------------------

// start, start + step ... below stop (above stop if step is negative).
PANTO_EXPORT DatasetHandle range_dataset(int64_t start, int64_t stop, int64_t step, ElementSpec spec);
// One element.
PANTO_EXPORT DatasetHandle tensor_dataset(std::vector<Tensor> components, ElementSpec spec);
// The rows of the tensors.
PANTO_EXPORT DatasetHandle tensor_slice_dataset(std::vector<Tensor> components, ElementSpec spec);
// The rows of a sparse tensor with indices int64[n,r], values [n] and shape int64[r]. An element has the indices,
// values and shape of one row.
PANTO_EXPORT DatasetHandle sparse_slice_dataset(Tensor indices, Tensor values, Tensor shape, ElementSpec spec);

// ---- One input, or several (transforms.cc) -------------------------------------------------------------------------

// Negative counts: endless (repeat), all elements (take), no elements (skip).
PANTO_EXPORT DatasetHandle repeat_dataset(DatasetHandle input, int64_t count, ElementSpec spec);
PANTO_EXPORT DatasetHandle take_dataset(DatasetHandle input, int64_t count, ElementSpec spec);
PANTO_EXPORT DatasetHandle skip_dataset(DatasetHandle input, int64_t count, ElementSpec spec);
PANTO_EXPORT DatasetHandle zip_dataset(std::vector<DatasetHandle> inputs, ElementSpec spec);
PANTO_EXPORT DatasetHandle concatenate_dataset(DatasetHandle first, DatasetHandle second, ElementSpec spec);
// Every num_shards-th element from number `index` on.
PANTO_EXPORT DatasetHandle shard_dataset(DatasetHandle input, int64_t num_shards, int64_t index, bool require_non_empty,
                                         ElementSpec spec);
// The elements unchanged: `name` is the op's.
PANTO_EXPORT DatasetHandle same_dataset(std::string name, DatasetHandle input, ElementSpec spec);
// Skips elements that fail.
PANTO_EXPORT DatasetHandle ignore_errors_dataset(DatasetHandle input, bool log, ElementSpec spec);
// A pass fails if it has another number of elements.
PANTO_EXPORT DatasetHandle assert_cardinality_dataset(DatasetHandle input, int64_t cardinality, ElementSpec spec);
// The elements without duplicates. They must have one component, of an integer type or string.
PANTO_EXPORT DatasetHandle unique_dataset(DatasetHandle input, ElementSpec spec);
PANTO_EXPORT DatasetHandle unbatch_dataset(DatasetHandle input, ElementSpec spec);
// Each element comes from the input that the selector's next element (an int64 scalar) names.
PANTO_EXPORT DatasetHandle directed_interleave_dataset(DatasetHandle selector, std::vector<DatasetHandle> inputs,
                                                       bool stop_on_empty, ElementSpec spec);

// The elements that one pass made, for the passes after it.
class PANTO_EXPORT ElementCache {
 public:
  ElementCache();
  ~ElementCache();
  ElementCache(const ElementCache&) = delete;
  ElementCache& operator=(const ElementCache&) = delete;

  // Null until a pass has reached its end.
  std::shared_ptr<const std::vector<ElementTensors>> elements() const;
  // Ignored if there are elements already.
  void set(std::vector<ElementTensors> elements);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
// Caches the elements in memory. Passes that begin before another one has reached its end make the elements themselves.
PANTO_EXPORT DatasetHandle cache_dataset(DatasetHandle input, std::shared_ptr<ElementCache> cache, ElementSpec spec);

// ---- Several elements in one (batches.cc) --------------------------------------------------------------------------

PANTO_EXPORT DatasetHandle batch_dataset(DatasetHandle input, int64_t size, bool drop_remainder, ElementSpec spec);
// `shapes`: of the components, with -1 for the largest size in the batch. `padding`: scalars.
PANTO_EXPORT DatasetHandle padded_batch_dataset(DatasetHandle input, int64_t size, std::vector<PartialShape> shapes,
                                                std::vector<Tensor> padding, bool drop_remainder, ElementSpec spec);
// Batches elements of one component into a sparse tensor [elements, *row_shape], given as variants of its indices,
// values and shape. Each element has the rank of `row_shape` and is not larger; where `row_shape` is -1, the largest
// element of the batch decides.
PANTO_EXPORT DatasetHandle dense_to_sparse_batch_dataset(DatasetHandle input, int64_t size, PartialShape row_shape,
                                                         ElementSpec spec);
// The elements are datasets of `size` input elements, one dataset for each component.
PANTO_EXPORT DatasetHandle window_dataset(DatasetHandle input, int64_t size, int64_t shift, int64_t stride,
                                          bool drop_remainder, ElementSpec spec);
PANTO_EXPORT DatasetHandle sliding_window_dataset(DatasetHandle input, int64_t size, int64_t shift, int64_t stride,
                                                  bool drop_remainder, ElementSpec spec);
// Cuts or joins batches into batches of these sizes, one size after the other, in a cycle.
PANTO_EXPORT DatasetHandle rebatch_dataset(DatasetHandle input, std::vector<int64_t> sizes, bool drop_remainder,
                                           ElementSpec spec);

// Cardinality arithmetic that several datasets share.
PANTO_EXPORT int64_t batched_cardinality(int64_t elements, int64_t size, bool drop_remainder);
PANTO_EXPORT int64_t repeated_cardinality(int64_t elements, int64_t count);

}  // namespace panto::datasets
