// The datasets that call no function: what their elements are made of, and in which order they come. Every argument is
// as the op of that name has it; `spec` is what is said of the new one's elements.
//
// Each throws InvalidArgument for arguments that no such dataset has.
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

// start, start + step ... below stop (above it, where step is negative).
PANTO_EXPORT DatasetHandle range_dataset(int64_t start, int64_t stop, int64_t step, ElementSpec spec);
// One element.
PANTO_EXPORT DatasetHandle tensor_dataset(std::vector<Tensor> components, ElementSpec spec);
// The rows of the tensors.
PANTO_EXPORT DatasetHandle tensor_slice_dataset(std::vector<Tensor> components, ElementSpec spec);
// The rows of a sparse tensor: indices, values and shape of each. Of indices int64[n,r], values [n], shape int64[r].
PANTO_EXPORT DatasetHandle sparse_slice_dataset(Tensor indices, Tensor values, Tensor shape, ElementSpec spec);

// ---- One input, or several (transforms.cc) -------------------------------------------------------------------------

// Negative counts: without end (repeat), all (take), none left (skip).
PANTO_EXPORT DatasetHandle repeat_dataset(DatasetHandle input, int64_t count, ElementSpec spec);
PANTO_EXPORT DatasetHandle take_dataset(DatasetHandle input, int64_t count, ElementSpec spec);
PANTO_EXPORT DatasetHandle skip_dataset(DatasetHandle input, int64_t count, ElementSpec spec);
PANTO_EXPORT DatasetHandle zip_dataset(std::vector<DatasetHandle> inputs, ElementSpec spec);
PANTO_EXPORT DatasetHandle concatenate_dataset(DatasetHandle first, DatasetHandle second, ElementSpec spec);
// Every num_shards-th element from number `index` on.
PANTO_EXPORT DatasetHandle shard_dataset(DatasetHandle input, int64_t num_shards, int64_t index, bool require_non_empty,
                                         ElementSpec spec);
// The elements as they are: `name` is the op's.
PANTO_EXPORT DatasetHandle same_dataset(std::string name, DatasetHandle input, ElementSpec spec);
// Elements whose making fails are passed over.
PANTO_EXPORT DatasetHandle ignore_errors_dataset(DatasetHandle input, bool log, ElementSpec spec);
// Fails where a pass has another number of elements.
PANTO_EXPORT DatasetHandle assert_cardinality_dataset(DatasetHandle input, int64_t cardinality, ElementSpec spec);
// Elements that are equal to none before. Of one component, of an integer type or a string.
PANTO_EXPORT DatasetHandle unique_dataset(DatasetHandle input, ElementSpec spec);
PANTO_EXPORT DatasetHandle unbatch_dataset(DatasetHandle input, ElementSpec spec);
// The first element of each pass comes from the input that the selector's next element (an int64 scalar) names.
PANTO_EXPORT DatasetHandle directed_interleave_dataset(DatasetHandle selector, std::vector<DatasetHandle> inputs,
                                                       bool stop_on_empty, ElementSpec spec);

// What a pass has made, for the passes after it.
class PANTO_EXPORT ElementCache {
 public:
  ElementCache();
  ~ElementCache();
  ElementCache(const ElementCache&) = delete;
  ElementCache& operator=(const ElementCache&) = delete;

  // Null until a pass has come to its end.
  std::shared_ptr<const std::vector<ElementTensors>> elements() const;
  // Where there are none yet.
  void set(std::vector<ElementTensors> elements);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
// In memory. Passes that begin before one has ended make the elements themselves.
PANTO_EXPORT DatasetHandle cache_dataset(DatasetHandle input, std::shared_ptr<ElementCache> cache, ElementSpec spec);

// ---- Several elements in one (batches.cc) --------------------------------------------------------------------------

PANTO_EXPORT DatasetHandle batch_dataset(DatasetHandle input, int64_t size, bool drop_remainder, ElementSpec spec);
// `shapes`: of the components, -1 for the largest dimension of a batch. `padding`: scalars.
PANTO_EXPORT DatasetHandle padded_batch_dataset(DatasetHandle input, int64_t size, std::vector<PartialShape> shapes,
                                                std::vector<Tensor> padding, bool drop_remainder, ElementSpec spec);
// Elements of one component, side by side in a sparse tensor [elements, *row_shape], as variants of its indices, values
// and shape. Each has the rank of `row_shape` and is not larger; where that has -1, the largest of a batch counts.
PANTO_EXPORT DatasetHandle dense_to_sparse_batch_dataset(DatasetHandle input, int64_t size, PartialShape row_shape,
                                                         ElementSpec spec);
// Elements are datasets of `size` elements, for each component one.
PANTO_EXPORT DatasetHandle window_dataset(DatasetHandle input, int64_t size, int64_t shift, int64_t stride,
                                          bool drop_remainder, ElementSpec spec);
PANTO_EXPORT DatasetHandle sliding_window_dataset(DatasetHandle input, int64_t size, int64_t shift, int64_t stride,
                                                  bool drop_remainder, ElementSpec spec);
// Batches cut or joined into batches of these sizes, one after the other and from the first again.
PANTO_EXPORT DatasetHandle rebatch_dataset(DatasetHandle input, std::vector<int64_t> sizes, bool drop_remainder,
                                           ElementSpec spec);

// Cardinalities that several share.
PANTO_EXPORT int64_t batched_cardinality(int64_t elements, int64_t size, bool drop_remainder);
PANTO_EXPORT int64_t repeated_cardinality(int64_t elements, int64_t count);

}  // namespace panto::datasets
