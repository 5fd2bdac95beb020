// Layers that reorder or reshape the elements of examples. The first dimension, the batch, stays.
//
//   Reshape({28, 28, 1})         // [batch, 784] -> [batch, 28, 28, 1]
//   Permute({2, 1})              // [batch, steps, features] -> [batch, features, steps]
//   TimeDistributed(Dense(16, 32))
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

// [batch, ...] -> [batch, dims...]; one dimension may be -1 and is computed from the others.
class PANTO_EXPORT Reshape final : public BuiltInLayer {
 public:
  // Throws InvalidArgument for a dimension below -1, and for more than one -1.
  explicit Reshape(std::vector<int64_t> dims);
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  std::vector<int64_t> dims_;
};

// Reorders dimensions, counted from 1 (the batch is 0): Permute({2, 1}) exchanges two.
class PANTO_EXPORT Permute final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless `dims` is a permutation of 1, 2, ..., its length.
  explicit Permute(std::vector<int64_t> dims);
  // Throws InvalidArgument for an x of another rank.
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  std::vector<int64_t> dims_;
};

// [batch, features] -> [batch, times, features].
class PANTO_EXPORT RepeatVector final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless times is positive.
  explicit RepeatVector(int64_t times);
  // Throws InvalidArgument for an x of another rank.
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  int64_t times_;
};

// Applies a layer to each step of [batch, steps, ...]: all steps become examples of one batch.
class PANTO_EXPORT TimeDistributed final : public BuiltInLayer {
 public:
  template <class L>
    requires(std::is_base_of_v<Layer, L> && !std::is_same_v<L, TimeDistributed>)
  explicit TimeDistributed(L layer) : layer_(std::make_shared<const L>(std::move(layer))) {}
  explicit TimeDistributed(std::shared_ptr<const Layer> layer);
  // Throws InvalidArgument for an x of unknown rank, or of a rank below 2.
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override { return {layer_}; }
  std::string to_string() const override;

 private:
  std::shared_ptr<const Layer> layer_;
};

}  // namespace panto
