// Embeddings: tables of vectors, looked up by index.
//
//   Embedding words(10000, 64);
//   Tensor x = words(ids);                       // int32 [batch, steps] -> float32 [batch, steps, 64]
#pragma once

#include <string>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

struct EmbeddingOptions {
  Initializer initializer = uniform_initializer(-0.05, 0.05);  // Keras's
  Regularizer regularizer = nullptr, activity_regularizer = nullptr;
  Constraint constraint = nullptr;
  std::string name = "embedding";  // of the variable: "embedding/table"
  DType dtype = kFloat32;
};

// Rows of a table [rows, features]: integers [...] -> [..., features].
//
// The table's gradient is zero except for the rows that were looked up. For a large table trained by Sgd, ask for these
// rows only: `sgd.apply(tape.sparse_gradient(loss, model.variables()))`.
class PANTO_EXPORT Embedding final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless rows and features are positive.
  Embedding(int64_t rows, int64_t features, EmbeddingOptions options);
  Embedding(int64_t rows, int64_t features);
  // x int16, int32 or int64. Throws InvalidArgument for another dtype and for an index that is not in [0, rows).
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override { return {table_}; }
  std::string to_string() const override;
  const Variable& table() const { return table_; }

 private:
  int64_t rows_, features_;
  Variable table_;
};

struct ReversibleEmbeddingOptions {
  bool tie_weights = true;    // `reverse` uses the same table; false: a variable of its own
  double logit_soft_cap = 0;  // reverse's scores s become cap * tanh(s / cap); 0: no cap
  Initializer initializer = uniform_initializer(-0.05, 0.05);
  std::string name = "reversible_embedding";  // of the variables: "reversible_embedding/table", ".../reverse"
  DType dtype = kFloat32;
};

// An Embedding whose `reverse` gives vectors a score for each row, as at the end of language models. As Keras's.
class PANTO_EXPORT ReversibleEmbedding final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless rows and features are positive and the cap is at least 0.
  ReversibleEmbedding(int64_t rows, int64_t features, const ReversibleEmbeddingOptions& options = {});
  // As Embedding.
  Tensor forward(const Tensor& x) const override { return embedding_(x); }
  // [..., features] -> [..., rows]. Throws InvalidArgument for another last dimension.
  Tensor reverse(const Tensor& x) const;
  Parts parts() const override { return {embedding_, reverse_}; }
  std::string to_string() const override;
  const Variable& table() const { return embedding_.table(); }

 private:
  int64_t rows_, features_;
  double cap_;
  Embedding embedding_;
  Variable reverse_;  // [features, rows]; undefined with tie_weights
};

}  // namespace panto
