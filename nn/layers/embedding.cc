#include "panto/nn/layers/embedding.h"

#include "panto/lib/base/text/format.h"
#include "panto/ops/array.h"

namespace panto {

std::vector<Variable> Embedding::variables() const { return {table_}; }

Embedding::Embedding(int64_t rows, int64_t features) : Embedding(rows, features, EmbeddingOptions()) {}

Embedding::Embedding(int64_t rows, int64_t features, EmbeddingOptions options) : rows_(rows), features_(features) {
  if (rows < 1 || features < 1) invalid("Embedding: expected positive sizes, got {} and {}", rows, features);
  table_ = Variable(options.initializer({rows, features}, options.dtype), options.name + "/table");
}

Tensor Embedding::forward(const Tensor& x) const {
  const DType t = x.dtype();
  if (t != kInt16 && t != kInt32 && t != kInt64) {
    invalid("Embedding: expected int16, int32 or int64 row numbers, got {}", dtype_name(t));
  }
  // Of the value that was read, not ResourceGather: so a saved graph needs no variables.
  return gather(table_, x, 0);
}

std::string Embedding::to_string() const { return fmt::format("Embedding({}, {})", rows_, features_); }

}  // namespace panto
