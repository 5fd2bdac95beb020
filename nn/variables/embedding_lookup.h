// Rows of tables, which may be in several parts, by number: of one id each, or of several, combined.
//
//   Tensor rows = embedding_lookup(table, ids);                                  // [..., features]
//   Tensor words = embedding_lookup_sparse(table, bags, {.combiner = Combiner::kMean});
//   Tensor safe = safe_embedding_lookup_sparse(table, bags, {.weights = weights});
//
// A table is a variable, a PartitionedVariable, a tensor, or a list of variables or tensors, whose slices along the
// first dimension are its parts. Its gradient is that of the rows that were looked up (tape.sparse_gradient). As in
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
  // The values, read at the construction.
  const std::vector<Tensor>& parts() const { return parts_; }

 private:
  std::vector<Tensor> parts_;
};

// Which part of n has the row of an id.
enum class PartitionStrategy : uint8_t {
  kDiv,  // parts have ids in a row, as equally many as can be, the first ones one more: as partitioners cut variables
  kMod,  // part id % n, row id / n
};

struct EmbeddingLookupOptions {
  PartitionStrategy strategy = PartitionStrategy::kDiv;
  std::optional<double> max_norm = std::nullopt;  // longer rows are scaled to this Euclidean norm; positive
};
// ids [...] int32 or int64 -> [..., the dimensions of a row].
PANTO_EXPORT Tensor embedding_lookup(const EmbeddingTable& table, Arg ids, const EmbeddingLookupOptions& options = {});

enum class Combiner : uint8_t {
  kSum,
  kMean,   // the sum divided by that of the weights
  kSqrtN,  // ... by the root of that of their squares
};
struct EmbeddingSparseOptions {
  Combiner combiner = Combiner::kMean;
  Tensor weights = {};  // floating, [entries]: of each id; 1 where undefined
  PartitionStrategy strategy = PartitionStrategy::kDiv;
  std::optional<double> max_norm = std::nullopt;
};
// Of ids [batch, ...] the rows of each of the batch, combined: [batch, the dimensions of a row]; zeros where it has no
// id. Entries are in ascending order of their first index.
PANTO_EXPORT Tensor embedding_lookup_sparse(const EmbeddingTable& table, const SparseTensor& ids,
                                            const EmbeddingSparseOptions& options = {});

struct SafeEmbeddingOptions {
  Combiner combiner = Combiner::kMean;
  Tensor weights = {};
  std::optional<int64_t> default_id = std::nullopt;  // of those without an id; none: zeros
  PartitionStrategy strategy = PartitionStrategy::kDiv;
  std::optional<double> max_norm = std::nullopt;
};
// The same of ids [..., n]: [..., features]. Negative ids, and those whose weight is not positive (unless they are
// added up), count as none. Entries are in ascending order; rows of the table are vectors.
PANTO_EXPORT Tensor safe_embedding_lookup_sparse(const EmbeddingTable& table, const SparseTensor& ids,
                                                 const SafeEmbeddingOptions& options = {});

}  // namespace panto
