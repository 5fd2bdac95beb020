// Losses that layers add while they run.
//
//   const CollectLosses penalties;
//   Tensor y = model(x);                                     // has an ActivityRegularization among its layers
//   Tensor loss = mean_squared_error(y, target) + penalties.total();
//
// A layer of your own calls add_loss in `forward`. Thread-safety: a scope collects the losses of its own thread.
#pragma once

#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

// Collects the losses that layers add on this thread while it lives. Of nested scopes the innermost collects.
class PANTO_EXPORT CollectLosses {
 public:
  CollectLosses() noexcept;
  ~CollectLosses();
  CollectLosses(const CollectLosses&) = delete;
  CollectLosses& operator=(const CollectLosses&) = delete;
  const std::vector<Tensor>& losses() const { return losses_; }
  // The sum of the losses; a float32 zero if there are none.
  Tensor total() const;

 private:
  friend PANTO_EXPORT void add_loss(const Tensor& loss);
  std::vector<Tensor> losses_;
  CollectLosses* outer_;
};

// Adds a scalar to the innermost CollectLosses of this thread; without one, inside a GraphScope, to the collection
// "losses" (get_total_loss sums it up); otherwise does nothing. Do not call it in the body of a traced loop: its values
// do not exist outside the loop. Throws InvalidArgument unless `loss` is a floating scalar.
PANTO_EXPORT void add_loss(const Tensor& loss);

namespace detail {
// Adds the regularizer's penalty of a layer's output y, divided by the batch size, if anything collects losses.
void add_activity_loss(const Tensor& y, const Regularizer& regularizer);
}  // namespace detail

struct ActivityRegularizationOptions {
  double l1 = 0;  // times the sum of absolute values
  double l2 = 0;  // times the sum of squares
};

// Returns x, and adds a penalty of it as a loss: computed per example and averaged over the batch, as in Keras.
class PANTO_EXPORT ActivityRegularization final : public BuiltInLayer {
 public:
  // Throws InvalidArgument for numbers below 0.
  explicit ActivityRegularization(ActivityRegularizationOptions options);
  // x of rank 1 or more, [batch, ...].
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  ActivityRegularizationOptions options_;
};

}  // namespace panto
