// Looks up rows of tables by id: one row per id, or the combined rows of several ids. Tables may be partitioned.
//
//   Tensor rows = embedding_lookup(table, ids);                                  // [..., features]
//   Tensor words = embedding_lookup_sparse(table, bags, {.combiner = Combiner::kMean});
//   Tensor safe = safe_embedding_lookup_sparse(table, bags, {.weights = weights});
//
// A table is a variable, a PartitionedVariable, a tensor, or a list of variables or tensors, which are its slices along
// the first dimension. Its gradient is sparse: it has only the rows that were looked up (tape.sparse_gradient). As in
// TensorFlow. All throw InvalidArgument for an id without a row. Thread-safety: as that of ops.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/sparse/sparse_tensor.h"
#include "panto/nn/variables/partitioned.h"

namespace panto {

class PANTO_EXPORT EmbeddingTable {
 public:
  // NOLINTBEGIN(google-explicit-constructor): implicit on purpose. Throw InvalidArgument where there is no part.
  EmbeddingTable(const Variable& variable);
  EmbeddingTable(const Tensor& tensor);
  EmbeddingTable(const PartitionedVariable& variable);
  EmbeddingTable(const std::vector<Variable>& parts);
  EmbeddingTable(std::vector<Tensor> parts);
  // NOLINTEND(google-explicit-constructor)
  // The values, read at construction.
  const std::vector<Tensor>& parts() const { return parts_; }

 private:
  std::vector<Tensor> parts_;
};

// Which of n parts has the row of an id.
enum class PartitionStrategy : uint8_t {
  kDiv,  // parts hold contiguous ids, evenly, the first parts one more: as partitioners cut variables
  kMod,  // part id % n, row id / n in it
};

struct EmbeddingLookupOptions {
  PartitionStrategy strategy = PartitionStrategy::kDiv;
  std::optional<double> max_norm = std::nullopt;  // longer rows are scaled to this Euclidean norm; positive
};
// ids [...] int32 or int64 -> [..., shape of a row].
PANTO_EXPORT Tensor embedding_lookup(const EmbeddingTable& table, Arg ids, const EmbeddingLookupOptions& options = {});

enum class Combiner : uint8_t {
  kSum,
  kMean,   // the weighted sum divided by the sum of the weights
  kSqrtN,  // the weighted sum divided by the root of the sum of squared weights
};
struct EmbeddingSparseOptions {
  Combiner combiner = Combiner::kMean;
  Tensor weights = {};  // floating, [entries]: one per id; undefined: all 1
  PartitionStrategy strategy = PartitionStrategy::kDiv;
  std::optional<double> max_norm = std::nullopt;
};
// Combines the rows of each example's ids: ids [batch, ...] -> [batch, shape of a row]; zeros for an example without
// ids. Entries must be in ascending order of their first index.
PANTO_EXPORT Tensor embedding_lookup_sparse(const EmbeddingTable& table, const SparseTensor& ids,
                                            const EmbeddingSparseOptions& options = {});

struct SafeEmbeddingOptions {
  Combiner combiner = Combiner::kMean;
  Tensor weights = {};
  std::optional<int64_t> default_id = std::nullopt;  // for examples without an id; none: zeros
  PartitionStrategy strategy = PartitionStrategy::kDiv;
  std::optional<double> max_norm = std::nullopt;
};
// The same for ids [..., n]: [..., features]. Negative ids are ignored, and ids whose weight is not positive, except
// with kSum. Entries must be in ascending order; rows of the table are vectors.
PANTO_EXPORT Tensor safe_embedding_lookup_sparse(const EmbeddingTable& table, const SparseTensor& ids,
                                                 const SafeEmbeddingOptions& options = {});

}  // namespace panto
