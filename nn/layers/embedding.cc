#include "panto/nn/layers/embedding.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {

Embedding::Embedding(int64_t rows, int64_t features) : Embedding(rows, features, EmbeddingOptions()) {}

Embedding::Embedding(int64_t rows, int64_t features, EmbeddingOptions options) : rows_(rows), features_(features) {
  if (rows < 1 || features < 1) invalid("Embedding: expected positive sizes, got {} and {}", rows, features);
  table_ = Variable(options.initializer({rows, features}, options.dtype), options.name + "/table");
  regularize(table_, options.regularizer);
  constrain(table_, options.constraint);
  set_activity_regularizer(options.activity_regularizer);
}

Tensor Embedding::forward(const Tensor& x) const {
  const DType t = x.dtype();
  if (t != kInt16 && t != kInt32 && t != kInt64) {
    invalid("Embedding: expected int16, int32 or int64 row numbers, got {}", dtype_name(t));
  }
  // Gathers from the value instead of using ResourceGather, so that a saved graph needs no variables.
  return gather(table_, x, 0);
}

std::string Embedding::to_string() const { return fmt::format("Embedding({}, {})", rows_, features_); }

ReversibleEmbedding::ReversibleEmbedding(int64_t rows, int64_t features, const ReversibleEmbeddingOptions& options)
    : rows_(rows),
      features_(features),
      cap_(options.logit_soft_cap),
      embedding_(rows, features, {.initializer = options.initializer, .name = options.name, .dtype = options.dtype}) {
  if (!(cap_ >= 0)) invalid("ReversibleEmbedding: expected a logit_soft_cap of at least 0, got {}", cap_);
  if (!options.tie_weights) {
    reverse_ = Variable(options.initializer({features, rows}, options.dtype), options.name + "/reverse");
  }
}

Tensor ReversibleEmbedding::reverse(const Tensor& x) const {
  const PartialShape& shape = x.partial_shape();
  if (!shape.known_rank() || shape.rank() < 2 ||
      (shape.dim(shape.rank() - 1) >= 0 && shape.dim(shape.rank() - 1) != features_)) {
    invalid("ReversibleEmbedding: expected an input of shape [..., {}], got {}", features_, shape.to_string());
  }
  const Tensor kernel = reverse_.defined() ? reverse_.value() : transpose(embedding_.table().value());
  const Tensor scores = shape.rank() > 2 ? batch_matmul(x, kernel) : matmul(x, kernel);
  return cap_ == 0 ? scores : tanh(scores / cap_) * cap_;
}

std::string ReversibleEmbedding::to_string() const {
  return fmt::format("ReversibleEmbedding({}, {})", rows_, features_);
}

}  // namespace panto
