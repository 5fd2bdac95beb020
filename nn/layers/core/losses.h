// Losses that layers add of what passes through them.
//
//   const CollectLosses penalties;
//   Tensor y = model(x);                                     // has an ActivityRegularization among its layers
//   Tensor loss = mean_squared_error(y, target) + penalties.total();
//
// A layer of your own calls add_loss in `forward`. Thread-safety: a scope hears its own thread.
#pragma once

#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

// While one lives, the losses that layers add on this thread are kept here. Of nested ones the innermost.
class PANTO_EXPORT CollectLosses {
 public:
  CollectLosses() noexcept;
  ~CollectLosses();
  CollectLosses(const CollectLosses&) = delete;
  CollectLosses& operator=(const CollectLosses&) = delete;
  const std::vector<Tensor>& losses() const { return losses_; }
  // Their sum; a float32 zero where there are none.
  Tensor total() const;

 private:
  friend PANTO_EXPORT void add_loss(const Tensor& loss);
  std::vector<Tensor> losses_;
  CollectLosses* outer_;
};

// A scalar for the innermost CollectLosses of this thread; without one, inside a GraphScope, for the collection
// "losses" (get_total_loss adds those up); elsewhere nothing happens. Not in the body of a loop that is traced, whose
// values nobody outside has. Throws InvalidArgument for what is no floating scalar.
PANTO_EXPORT void add_loss(const Tensor& loss);

namespace detail {
// Of what a layer gives, a regularizer's number divided by the batch's size, where somebody hears of it.
void add_activity_loss(const Tensor& y, const Regularizer& regularizer);
}  // namespace detail

struct ActivityRegularizationOptions {
  double l1 = 0;  // times the sum of absolute values
  double l2 = 0;  // times the sum of squares
};

// x itself, of which a penalty is added as a loss: for each example, and of the batch the mean, as in Keras.
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
