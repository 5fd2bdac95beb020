#include "panto/nn/layers/core/losses.h"

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/layers/core/merge.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/trace/graph_scope.h"

namespace panto {
namespace {

thread_local constinit CollectLosses* innermost = nullptr;

}  // namespace

CollectLosses::CollectLosses() noexcept : outer_(std::exchange(innermost, this)) {}
CollectLosses::~CollectLosses() { innermost = outer_; }

Tensor CollectLosses::total() const { return losses_.empty() ? tensor(0.0F) : add(losses_); }

void add_loss(const Tensor& loss) {
  const PartialShape& shape = loss.partial_shape();
  if ((shape.known_rank() && shape.rank() != 0) || !dtypes::kDifferentiable.contains(loss.dtype())) {
    invalid("add_loss: expected a floating scalar, got {}{}", dtype_name(loss.dtype()), shape.to_string());
  }
  if (innermost != nullptr) {
    innermost->losses_.push_back(loss);
  } else if (in_graph_scope()) {
    add_to_collection("losses", {loss});
  }
}

void detail::add_activity_loss(const Tensor& y, const Regularizer& regularizer) {
  if (innermost == nullptr && !in_graph_scope()) return;
  const Tensor penalty = regularizer(y);
  const PartialShape& shape = y.partial_shape();
  const bool scalar = shape.known_rank() && shape.rank() == 0;
  add_loss(scalar ? penalty : div_no_nan(penalty, cast(panto::shape(y)[0], penalty.dtype())));
}

ActivityRegularization::ActivityRegularization(ActivityRegularizationOptions options) : options_(options) {
  if (!(options.l1 >= 0 && options.l2 >= 0)) {
    invalid("ActivityRegularization: expected numbers of at least 0, got {} and {}", options.l1, options.l2);
  }
}

Tensor ActivityRegularization::forward(const Tensor& x) const {
  const PartialShape& shape = x.partial_shape();
  if (shape.known_rank() && shape.rank() == 0) {
    invalid("ActivityRegularization: expected an input of shape [batch, ...], got {}", shape.to_string());
  }
  if (options_.l1 != 0 || options_.l2 != 0) {
    detail::add_activity_loss(x, regularizers::l1_l2(options_.l1, options_.l2));
  }
  return x;
}

std::string ActivityRegularization::to_string() const {
  return fmt::format("ActivityRegularization(l1 = {}, l2 = {})", options_.l1, options_.l2);
}

}  // namespace panto
