// A table of vectors, looked up by number.
#pragma once

#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

struct EmbeddingOptions {
  Initializer initializer = uniform_initializer(-0.05, 0.05);  // Keras's
  std::string name = "embedding";                              // of the variable: "embedding/table"
  DType dtype = kFloat32;
};

// Rows of a table [rows, features]: integers [...] -> [..., features].
//
// The table's gradient is zero but for the rows that were looked up. Where it is large and the optimizer is Sgd, ask
// for those only: `sgd.apply(tape.sparse_gradient(loss, model.variables()))`.
class PANTO_EXPORT Embedding final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless rows and features are positive.
  Embedding(int64_t rows, int64_t features, EmbeddingOptions options);
  Embedding(int64_t rows, int64_t features);
  // x int16, int32 or int64. Throws InvalidArgument for another dtype and for an index that is not in [0, rows).
  Tensor forward(const Tensor& x) const override;
  std::vector<Variable> variables() const override;
  std::string to_string() const override;
  const Variable& table() const { return table_; }

 private:
  int64_t rows_, features_;
  Variable table_;
};

}  // namespace panto
