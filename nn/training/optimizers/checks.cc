#include "panto/nn/training/optimizers/checks.h"

#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"

namespace panto {
namespace {

void expect_whole_fits(const Variable& v, DType dtype, const PartialShape& shape) {
  if (dtype != v.dtype() || !shape.compatible_with(v.shape())) {
    invalid("gradient of '{}': expected {}{}, got {}{}", v.name(), dtype_name(v.dtype()), v.shape().to_string(),
            dtype_name(dtype), shape.to_string());
  }
}

// Checks that there is one index per row, and that rows have the shape of the variable's.
void expect_rows_fit(const Variable& v, const Gradient& g) {
  if (!g.indices.defined() || (g.indices.dtype() != kInt32 && g.indices.dtype() != kInt64)) {
    invalid("gradient of '{}': expected rows with indices of int32 or int64, got {}", v.name(),
            g.indices.defined() ? dtype_name(g.indices.dtype()) : "none");
  }
  const PartialShape& rows = g.rows.partial_shape();
  bool fits = g.rows.dtype() == v.dtype() && rows.rank() != 0;
  if (rows.known_rank() && v.shape().known_rank()) {
    fits = fits && rows.rank() == v.shape().rank();
    for (int k = 1; fits && k < rows.rank(); ++k) {
      fits = rows.dim(k) < 0 || v.shape().dim(k) < 0 || rows.dim(k) == v.shape().dim(k);
    }
  }
  if (!fits) {
    invalid("gradient of '{}': expected rows of {}{}, got {}{}", v.name(), dtype_name(v.dtype()), v.shape().to_string(),
            dtype_name(g.rows.dtype()), rows.to_string());
  }
  if (rows.known_rank()) {
    const PartialShape indices{rows.dim(0)};
    if (!indices.compatible_with(g.indices.partial_shape())) {
      invalid("gradient of '{}': expected an index for each row, shape {}, got {}", v.name(), indices.to_string(),
              g.indices.partial_shape().to_string());
    }
  } else if (!g.indices.partial_shape().compatible_with(PartialShape{-1})) {
    invalid("gradient of '{}': expected an index for each row, got {}", v.name(),
            g.indices.partial_shape().to_string());
  }
  // The shape of the dense gradient.
  if (!g.num_rows.defined() || g.num_rows.is_meta() || g.num_rows.numel() != 1 || !rows.known_rank()) return;
  const RecorderPause unheard;  // a trace must not record the number
  std::vector<int64_t> whole{g.num_rows.item<int64_t>()};
  for (int k = 1; k < rows.rank(); ++k) whole.push_back(rows.dim(k));
  expect_whole_fits(v, g.rows.dtype(), PartialShape(whole));
}

}  // namespace

void expect_gradient_fits(const Variable& v, const Gradient& g) {
  if (g.sparse()) {
    expect_rows_fit(v, g);
  } else if (g.defined()) {
    expect_whole_fits(v, g.whole.dtype(), g.whole.partial_shape());
  }
}

void expect_gradients_fit(const std::vector<Variable>& variables, std::span<const Gradient> gradients) {
  if (variables.empty()) {
    fail(
        Code::kFailedPrecondition,
        "apply: expected an optimizer that was given variables, got one of the graph's: `Sgd(model.variables(), ...)`");
  }
  if (gradients.size() != variables.size())
    invalid("gradients: expected one for each of {} variables, got {}", variables.size(), gradients.size());
  for (size_t i = 0; i < gradients.size(); ++i) expect_gradient_fits(variables[i], gradients[i]);
}

}  // namespace panto
